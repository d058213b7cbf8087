"""A provider without a transport: dry runs, applying, undo, rendering, and pending actions of its own."""

import json
import logging
from typing import Any

import grpc
import pytest
from interlock.provider import (
    DryRunResult,
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
from interlock.provider._provider import RequestFailed
from interlock.v1 import provider_pb2
from interlock.v1 import tool_provider_service_pb2 as rpc
from provider_calls import invocation, returning


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


@pytest.mark.req("SDK-1")
async def test_a_dry_run_tells_and_changes_nothing() -> None:
    state = {"a": "old"}
    provider = ToolProvider([write_tool(state)])
    answer = await provider.dry_run(rpc.DryRunRequest(invocation=invocation("write", path="a", text="new")))
    assert list(answer.would_affect) == ["a"]
    assert (answer.preview, answer.state_token, answer.label) == ("old -> new", "old", "write a")
    assert (answer.estimated_impact, answer.details) == (b'{"files":1}', b'{"new":false}')
    assert state == {"a": "old"}


@pytest.mark.req("SDK-1")
async def test_a_preview_is_applied_while_its_state_is_the_one_that_was_seen() -> None:
    state = {"a": "old"}
    event = await ToolProvider([write_tool(state)]).execute(applying("old"))
    assert event.result.output == "written"
    assert state == {"a": "new"}


@pytest.mark.req("SDK-1")
async def test_a_preview_of_another_state_is_not_applied() -> None:
    state = {"a": "changed"}
    event = await ToolProvider([write_tool(state)]).execute(applying("old"))
    assert event.result.state_changed
    assert event.result.is_error
    assert state == {"a": "changed"}


@pytest.mark.req("SDK-1")
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


@pytest.mark.req("SDK-1")
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


@pytest.mark.req("SDK-1")
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


@pytest.mark.req("SDK-1")
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


def resolution(token: str, *, extra: bytes = b"") -> provider_pb2.PendingResolution:
    return provider_pb2.PendingResolution(
        session_id="s-1", call_id="r-1", token=token, reason="because", extra=extra, pending_id="p-1"
    )


@pytest.mark.req("SDK-1")
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


@pytest.mark.req("SDK-1")
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
