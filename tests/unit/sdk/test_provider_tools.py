"""A provider without a transport: what tools declare, and what becomes of what they return and raise."""

import asyncio
import json
import logging
import threading
from dataclasses import dataclass
from typing import Any, TypedDict

import grpc
import pytest
from interlock.provider import (
    DryRunResult,
    Image,
    PendingAction,
    StateChangedError,
    Tool,
    ToolContext,
    ToolError,
    ToolProvider,
    ToolResult,
    UndoInfo,
    tool,
)
from interlock.provider._provider import Caller, RequestFailed
from interlock.v1 import provider_pb2, tool_pb2, undo_pb2
from interlock.v1 import tool_provider_service_pb2 as rpc

PNG = b"\x89PNG\r\n\x1a\n..."


def invocation(name: str, **arguments: Any) -> provider_pb2.ToolInvocation:
    return provider_pb2.ToolInvocation(
        session_id="s-1",
        call_id="c-1",
        tool=name,
        input=json.dumps(arguments).encode(),
        workdir="/w",
        labels={"k": "v"},
    )


async def run(made: Tool[..., Any], **arguments: Any) -> provider_pb2.ToolResult:
    provider = ToolProvider([made])
    try:
        event = await provider.execute(rpc.ExecuteRequest(invocation=invocation(made.name, **arguments)))
    finally:
        provider.close()
    return event.result


def returning(value: Any) -> Tool[..., Any]:
    @tool
    async def give() -> Any:
        return value

    return give


@dataclass
class Count:
    words: int


class Size(TypedDict):
    bytes: int


# -- definitions --


@pytest.mark.req("SDK-1", "TOOL-1")
def test_a_tool_that_declares_nothing_has_neither_metadata_nor_capability() -> None:
    @tool
    def bare() -> str:
        return ""

    (made,) = ToolProvider([bare]).describe().tools
    assert not made.HasField("metadata")
    assert not made.HasField("capability")
    assert not made.HasField("result_limits")
    assert not made.HasField("timeout")


@pytest.mark.req("SDK-1", "TOOL-1")
def test_everything_of_the_contract_can_be_declared() -> None:
    @tool(
        name="full",
        aliases=["f"],
        title="Full",
        description="All of it.",
        concurrency_safe=False,
        read_only=False,
        destructive=True,
        open_world=True,
        permission_class="file",
        audit_operation="write",
        requires_checkpoint=True,
        requires_reverse_thinking=False,
        search_hint="everything",
        knows_workdir=True,
        reversible=True,
        undo_tool="empty",
        min_confidence=70,
        affected_resources=["files"],
        max_result_bytes=100,
        max_result_lines=5,
        truncation="head_tail",
        timeout=1.5,
        prompt_snippet="full: everything",
        prompt_guidelines=["be careful"],
    )
    def full() -> str:
        return ""

    @full.dry_run
    def preview() -> str:
        return "nothing"

    (made,) = ToolProvider([full]).describe().tools
    expected = tool_pb2.ToolDefinition(
        name="full",
        aliases=["f"],
        title="Full",
        description="All of it.",
        input_schema=made.input_schema,
        metadata=tool_pb2.ToolMetadata(
            concurrency_safe=False,
            read_only=False,
            destructive=True,
            open_world=True,
            permission_class="file",
            audit_operation="write",
            requires_checkpoint=True,
            requires_reverse_thinking=False,
            search_hint="everything",
            knows_workdir=True,
        ),
        capability=tool_pb2.ToolCapability(
            dry_run=True,
            reversible=True,
            undo_method=undo_pb2.UNDO_METHOD_TOOL,
            undo_tool="empty",
            min_confidence=70,
            affected_resources=["files"],
        ),
        result_limits=tool_pb2.ResultLimits(
            max_bytes=100, max_lines=5, strategy=tool_pb2.TRUNCATION_STRATEGY_HEAD_TAIL
        ),
        prompt_snippet="full: everything",
        prompt_guidelines=["be careful"],
    )
    expected.timeout.FromMilliseconds(1500)
    assert made == expected


@pytest.mark.req("SDK-1")
def test_a_tool_stays_the_function_that_it_was() -> None:
    @tool(read_only=True)
    def add(a: int, b: int = 1) -> str:
        return str(a + b)

    assert add(2) == "3"
    assert add(a=2, b=2) == "4"


@pytest.mark.req("SDK-1")
def test_a_dataclass_or_a_typed_dict_that_is_returned_is_the_output_schema() -> None:
    @tool
    def count() -> Count:
        return Count(1)

    @tool
    def size() -> Size:
        return {"bytes": 1}

    first, second = ToolProvider([count, size]).describe().tools
    assert json.loads(first.output_schema)["properties"] == {"words": {"type": "integer"}}
    assert json.loads(second.output_schema)["properties"] == {"bytes": {"type": "integer"}}


@pytest.mark.parametrize("declared", [{"name": "a b"}, {"name": ""}, {"aliases": ["ü"]}, {"min_confidence": 101}])
def test_a_declaration_out_of_range_is_refused_when_the_tool_is_written(declared: Any) -> None:
    with pytest.raises(ValueError, match=r"tool name|min_confidence"):
        tool(**declared)(lambda: "x")


@pytest.mark.req("TOOL-4")
def test_a_name_that_is_there_twice_is_refused_naming_both() -> None:
    @tool(aliases=["peek"])
    def look() -> str:
        return ""

    @tool
    def peek() -> str:
        return ""

    with pytest.raises(ValueError, match="'peek' names both look and peek"):
        ToolProvider([look, peek])


# -- results --


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


# -- errors --


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


# -- context --


@pytest.mark.req("SDK-1", "TOOL-9")
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


@pytest.mark.req("SDK-1", "PIPE-7")
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


# -- dry run, apply --


def write_tool(state: dict[str, str], **declared: Any) -> Tool[..., Any]:
    @tool(**declared)
    async def write(path: str, text: str) -> str:
        state[path] = text
        return "written"

    @write.dry_run
    async def preview(path: str, text: str) -> DryRunResult:
        return DryRunResult(
            would_affect=[path], preview=f"{state.get(path)} -> {text}", estimated_impact={"files": 1},
            state_token=str(state.get(path)), label=f"write {path}", details={"new": path not in state},
        )  # fmt: skip

    return write


def applying(state_token: str) -> rpc.ExecuteRequest:
    apply = provider_pb2.ApplyContext(pending_id="p-1", state_token=state_token)
    return rpc.ExecuteRequest(invocation=invocation("write", path="a", text="new"), apply=apply)


@pytest.mark.req("SDK-1", "PREV-1")
async def test_a_dry_run_tells_and_changes_nothing() -> None:
    state = {"a": "old"}
    provider = ToolProvider([write_tool(state)])
    answer = await provider.dry_run(rpc.DryRunRequest(invocation=invocation("write", path="a", text="new")))
    assert list(answer.would_affect) == ["a"]
    assert (answer.preview, answer.state_token, answer.label) == ("old -> new", "old", "write a")
    assert (answer.estimated_impact, answer.details) == (b'{"files":1}', b'{"new":false}')
    assert state == {"a": "old"}


@pytest.mark.req("SDK-1", "PREV-5")
async def test_a_preview_is_applied_while_its_state_is_the_one_that_was_seen() -> None:
    state = {"a": "old"}
    event = await ToolProvider([write_tool(state)]).execute(applying("old"))
    assert event.result.output == "written"
    assert state == {"a": "new"}


@pytest.mark.req("SDK-1", "PREV-5")
async def test_a_preview_of_another_state_is_not_applied() -> None:
    state = {"a": "changed"}
    event = await ToolProvider([write_tool(state)]).execute(applying("old"))
    assert event.result.state_changed
    assert event.result.is_error
    assert state == {"a": "changed"}


@pytest.mark.req("SDK-1", "PREV-5")
async def test_a_tool_that_checks_the_state_itself_is_left_to() -> None:
    @tool(checks_state=True)
    async def write(ctx: ToolContext, path: str, text: str) -> str:
        if ctx.state_token == "old":
            raise StateChangedError(f"{path} is not what it was: {text}")
        return ctx.pending_id

    @write.dry_run
    async def preview() -> str:
        pytest.fail("it was asked to check by itself")

    provider = ToolProvider([write])
    changed = (await provider.execute(applying("old"))).result
    assert (changed.state_changed, changed.output) == (True, "a is not what it was: new")
    assert (await provider.execute(applying("new"))).result.output == "p-1"


@pytest.mark.req("SDK-1", "PREV-1")
async def test_a_dry_run_that_fails_says_whether_in_the_tools_own_words(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.CRITICAL)

    @tool
    def write(path: str) -> str:
        return path

    @write.dry_run
    def preview(path: str) -> str:
        if path == "a":
            raise ToolError("a is a directory")
        raise OSError(path)

    provider = ToolProvider([write])
    own = await provider.dry_run(rpc.DryRunRequest(invocation=invocation("write", path="a")))
    assert (own.is_error, own.tool_error, own.error_message) == (True, True, "a is a directory")
    other = await provider.dry_run(rpc.DryRunRequest(invocation=invocation("write", path="b")))
    assert (other.is_error, other.tool_error) == (True, False)
    assert other.error_message == "write failed unexpectedly (OSError)"


@pytest.mark.parametrize("method", ["dry_run", "generate_undo", "render_call", "render_result"])
async def test_what_a_tool_does_not_offer_is_unimplemented(method: str) -> None:
    provider = ToolProvider([returning("x")])
    requests = {
        "dry_run": rpc.DryRunRequest,
        "generate_undo": rpc.GenerateUndoRequest,
        "render_call": rpc.RenderCallRequest,
        "render_result": rpc.RenderResultRequest,
    }
    with pytest.raises(RequestFailed) as caught:
        await getattr(provider, method)(requests[method](invocation=invocation("give")))
    assert caught.value.code is grpc.StatusCode.UNIMPLEMENTED


# -- undo, rendering --


@pytest.mark.req("SDK-1", "UNDO-1")
async def test_undo_is_made_of_the_arguments_and_the_result() -> None:
    @tool
    def write(path: str, text: str) -> ToolResult:
        return ToolResult(content=f"{path}: {text}", data={"before": "old"})

    @write.undo
    def undo(path: str, result: ToolResult) -> UndoInfo:
        return UndoInfo(tool="write", input={"path": path, "text": result.data["before"]})

    provider = ToolProvider([write])
    (made,) = provider.describe().tools
    assert made.capability.reversible
    result = (await provider.execute(rpc.ExecuteRequest(invocation=invocation("write", path="a", text="b")))).result
    answer = await provider.generate_undo(
        rpc.GenerateUndoRequest(invocation=invocation("write", path="a", text="b"), result=result)
    )
    assert json.loads(answer.undo.input) == {"path": "a", "text": "old"}
    provider.close()


@pytest.mark.req("SDK-1", "BOX-11")
async def test_people_read_a_line_and_a_long_form() -> None:
    @tool
    def write(path: str, text: str) -> str:
        return path + text

    @write.render_call
    def call(path: str) -> str:
        return f"write {path}\n{'x' * 300}"

    @write.render_result
    def result(path: str, result: ToolResult) -> tuple[str, str]:
        return f"wrote {path}", result.text

    provider = ToolProvider([write])
    asked = invocation("write", path="a", text="b")
    shown = (await provider.render_call(rpc.RenderCallRequest(invocation=asked))).rendering
    assert shown.summary == "write a"
    assert shown.expanded.startswith("write a\nxxx")
    answer = provider_pb2.ToolResult(output="all of it")
    shown = (await provider.render_result(rpc.RenderResultRequest(invocation=asked, result=answer))).rendering
    assert (shown.summary, shown.expanded) == ("wrote a", "all of it")
    provider.close()


def test_a_handler_that_wants_what_the_tool_does_not_take_is_refused_when_it_is_written() -> None:
    @tool
    def write(path: str) -> str:
        return path

    with pytest.raises(TypeError, match="takes text; it can take path"):

        @write.dry_run
        def preview(text: str) -> str:
            return text


# -- pending actions of a provider's own --


def resolution(token: str, *, extra: bytes = b"") -> provider_pb2.PendingResolution:
    return provider_pb2.PendingResolution(
        session_id="s-1", call_id="r-1", token=token, reason="because", extra=extra, pending_id="p-1"
    )


@pytest.mark.req("SDK-1", "PREV-11")
async def test_a_tools_own_pending_action_comes_back_to_the_tool() -> None:
    @tool
    async def rename(pattern: str) -> ToolResult:
        return ToolResult(
            content="3 files", pending_action=PendingAction(label="rename 3 files", token=f"plan:{pattern}")
        )

    @rename.apply
    async def apply(ctx: ToolContext, token: str, reason: str, extra: dict[str, Any] | None) -> str:
        return f"{ctx.pending_id} {token} {reason} {extra}"

    @rename.reject
    async def reject(token: str) -> None:
        assert token == "plan:*.txt"

    provider = ToolProvider([rename])
    pushed = (
        await provider.execute(rpc.ExecuteRequest(invocation=invocation("rename", pattern="*.txt")))
    ).result.pending_action
    assert (pushed.label, pushed.has_reject, pushed.source_tool) == ("rename 3 files", True, "")
    applied = await provider.apply_pending(
        rpc.ApplyPendingRequest(resolution=resolution(pushed.token, extra=b'{"a":1}'))
    )
    assert applied.result.output == "p-1 plan:*.txt because {'a': 1}"
    rejected = await provider.reject_pending(rpc.RejectPendingRequest(resolution=resolution(pushed.token)))
    assert not rejected.HasField("result")


@pytest.mark.req("SDK-1", "PREV-7", "PREV-8", "PREV-12")
async def test_a_provider_can_handle_what_its_tools_do_not() -> None:
    @tool
    async def plan() -> ToolResult:
        return ToolResult(standing_handler=PendingAction(label="the plan", token="t"))

    async def on_apply(token: str) -> ToolResult:
        return ToolResult(content="approved", clear_standing_handler=token)

    async def on_reject(reason: str) -> str:
        raise ToolError(f"cannot: {reason}")

    provider = ToolProvider([plan], on_apply=on_apply, on_reject=on_reject)
    made = (await provider.execute(rpc.ExecuteRequest(invocation=invocation("plan")))).result.standing_handler.register
    assert (made.label, made.has_reject) == ("the plan", True)
    applied = (await provider.apply_pending(rpc.ApplyPendingRequest(resolution=resolution(made.token)))).result
    assert (applied.output, applied.standing_handler.clear_token) == ("approved", made.token)
    rejected = (await provider.reject_pending(rpc.RejectPendingRequest(resolution=resolution(made.token)))).result
    assert (rejected.output, rejected.tool_error) == ("cannot: because", True)


async def test_nobody_to_resolve_is_unimplemented() -> None:
    with pytest.raises(RequestFailed) as caught:
        await ToolProvider([returning("x")]).apply_pending(rpc.ApplyPendingRequest(resolution=resolution("give:t")))
    assert caught.value.code is grpc.StatusCode.UNIMPLEMENTED
