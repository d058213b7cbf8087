"""A provider without a transport: what becomes of what tools return and raise, and what they may know."""

import asyncio
import logging
import threading
from dataclasses import dataclass
from typing import Any

import grpc
import pytest
from interlock.provider import (
    Image,
    ToolContext,
    ToolError,
    ToolProvider,
    ToolResult,
    UndoInfo,
    tool,
)
from interlock.provider._provider import Caller, RequestFailed
from interlock.v1 import provider_pb2
from interlock.v1 import tool_provider_service_pb2 as rpc
from provider_calls import invocation, returning, run

PNG = b"\x89PNG\r\n\x1a\n..."


@dataclass
class Count:
    words: int


@pytest.mark.req("SDK-1")
@pytest.mark.parametrize(
    ("value", "output", "data"),
    [
        ("words", "words", b""),
        ("", "", b""),
        (None, "", b""),
        (7, "7", b""),
        (True, "true", b""),
        ({"a": [1, "ü"]}, '{"a":[1,"ü"]}', '{"a":[1,"ü"]}'.encode()),
        ([1, 2], "[1,2]", b"[1,2]"),
        (Count(3), '{"words":3}', b'{"words":3}'),
        (ToolResult(content="shown", data={"a": 1}), "shown", b'{"a":1}'),
    ],
)
async def test_what_a_tool_returns_is_text_or_data(value: Any, output: str, data: bytes) -> None:
    result = await run(returning(value))
    assert (result.output, result.data, result.is_error) == (output, data, False)


@pytest.mark.req("SDK-1")
@pytest.mark.parametrize("value", [PNG, Image(PNG), ToolResult(content=["see", Image(PNG)])])
async def test_pictures_are_recognised_by_content(value: Any) -> None:
    result = await run(returning(value))
    image = result.content[-1].image
    assert (image.data, image.media_type) == (PNG, "image/png")


@pytest.mark.req("SDK-1")
async def test_a_result_carries_everything_the_contract_knows() -> None:
    undo = UndoInfo(tool="edit", input={"path": "a"}, description="put it back")
    result = await run(
        returning(ToolResult(content="x", details={"d": 1}, undo=undo, taint=["untrusted"], state_changed=True))
    )
    assert result.details == b'{"d":1}'
    assert (result.undo.tool, result.undo.input, result.undo.description) == ("edit", b'{"path":"a"}', "put it back")
    assert list(result.taint) == ["untrusted"]
    assert result.state_changed


@pytest.mark.req("SDK-1")
@pytest.mark.parametrize("value", [float("nan"), {"a": object()}, b"no picture", "\ud800"])
async def test_what_cannot_be_told_is_a_failure_and_leaves_nothing_behind(
    value: Any, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.CRITICAL)
    result = await run(returning(value))
    assert result.is_error
    assert not result.tool_error
    assert result.data == b""


@pytest.mark.req("SDK-1")
async def test_a_tools_own_error_is_passed_on_as_it_is() -> None:
    @tool
    def refuse() -> str:
        raise ToolError("no such page", details={"page": 7})

    result = await run(refuse)
    assert (result.output, result.is_error, result.tool_error) == ("no such page", True, True)
    assert result.details == b'{"page":7}'


@pytest.mark.req("SDK-1")
async def test_anything_else_is_a_failure_that_says_no_more_than_its_class(caplog: pytest.LogCaptureFixture) -> None:
    @tool
    def fall() -> str:
        raise FileNotFoundError(2, "No such file", "/srv/secret/key.pem")

    result = await run(fall)
    assert result.output == "fall failed unexpectedly (FileNotFoundError)"
    assert (result.is_error, result.tool_error) == (True, False)
    assert "/srv/secret/key.pem" in caplog.text


@pytest.mark.req("SDK-1")
async def test_arguments_that_do_not_fit_are_told_to_the_model() -> None:
    @tool
    def look(path: str) -> str:
        return path

    result = await run(look, path=3, pat="x")
    assert result.output == (
        "Invalid input for look: path must be a string, not a number; pat is not known (known: path)"
    )
    assert (result.is_error, result.tool_error) == (True, True)


@pytest.mark.parametrize("raw", [b"{", b"[]", b'{"a": NaN}', b"\xff", b"1"])
async def test_an_input_that_is_no_object_is_told_to_the_model(raw: bytes) -> None:
    provider = ToolProvider([returning("x")])
    asked = provider_pb2.ToolInvocation(tool="give", input=raw)
    event = await provider.execute(rpc.ExecuteRequest(invocation=asked))
    assert event.result.tool_error
    assert event.result.output.startswith("Invalid input for give: the input ")


async def test_a_tool_that_is_not_here_is_an_error_of_the_protocol() -> None:
    with pytest.raises(RequestFailed) as caught:
        await ToolProvider([]).execute(rpc.ExecuteRequest(invocation=invocation("gone")))
    assert caught.value.code is grpc.StatusCode.NOT_FOUND


@pytest.mark.req("SDK-1")
async def test_a_handler_that_wants_the_context_gets_it() -> None:
    seen: list[ToolContext] = []

    @tool
    def look(ctx: ToolContext, path: str) -> str:
        seen.append(ctx)
        return path

    assert (await run(look, path="a")).output == "a"
    (ctx,) = seen
    assert (ctx.tool, ctx.session_id, ctx.call_id, ctx.workdir, ctx.labels) == ("look", "s-1", "c-1", "/w", {"k": "v"})
    assert ctx.state_token is None
    assert ctx.time_left is None


@pytest.mark.req("SDK-1")
async def test_a_plain_function_runs_in_a_thread_and_one_that_does_not_block_on_the_loop() -> None:
    @tool
    def threaded() -> str:
        return threading.current_thread().name

    @tool(blocking=False)
    def inline() -> str:
        return threading.current_thread().name

    assert (await run(threaded)).output.startswith("interlock-tool")
    assert (await run(inline)).output == threading.current_thread().name


@pytest.mark.req("SDK-1")
async def test_progress_and_output_are_cut_to_what_may_travel() -> None:
    events: list[Any] = []

    @tool
    async def work(ctx: ToolContext) -> str:
        await ctx.progress("m" * 1000, 0.5)
        ctx.output("ü" * 40_000, "stderr")
        return "done"

    await ToolProvider([work]).execute(rpc.ExecuteRequest(invocation=invocation("work")), Caller(events.append))
    assert len(events[0].progress.message) == 256
    assert (events[0].progress.progress, events[0].progress.total) == (0.5, 1.0)
    chunks = [event.output.text for event in events[1:]]
    assert "".join(chunks) == "ü" * 40_000
    assert all(len(chunk.encode()) <= 64 * 1024 for chunk in chunks)


@pytest.mark.req("SDK-1")
async def test_a_thread_can_see_that_its_caller_has_gone() -> None:
    begun, told = threading.Event(), threading.Event()

    @tool
    def slow(ctx: ToolContext) -> str:
        begun.set()
        while not ctx.cancelled:
            threading.Event().wait(0.005)
        told.set()
        return "too late"

    provider = ToolProvider([slow])
    task = asyncio.create_task(provider.execute(rpc.ExecuteRequest(invocation=invocation("slow"))))
    await asyncio.to_thread(begun.wait, 5)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert await asyncio.to_thread(told.wait, 5)
    provider.close()
