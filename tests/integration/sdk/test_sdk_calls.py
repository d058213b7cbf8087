"""Both clients against a scripted gateway, over real gRPC: calls, and what they make of the answers."""

import asyncio
from typing import Any

import grpc
import pytest
from interlock import Call, Deliverable, errors
from interlock.calls import CallState, OutputChunk, Progress
from interlock.decisions import Verdict
from interlock.provider import ToolError, ToolResult
from interlock.results import CallResult, CallStatus
from interlock.testing import (
    Allow,
    Checkpoint,
    Deny,
    Fail,
    FakeGateway,
    OutcomeUnknown,
    Preview,
    Reflect,
    RpcFailure,
)

REMINDER = "Call the `resolve` tool to apply or discard these changes."
DELIVERABLE = Deliverable(
    hidden_assumptions=["it is a copy"], failure_scenarios=["it is not"], verdict="proceed", verdict_reason="checked"
)


@pytest.mark.req("SDK-1")
async def test_a_call_sends_what_it_was_given_and_answers_with_a_typed_result(fake: FakeGateway, session: Any) -> None:
    fake.on("read", Allow(ToolResult(content="hello", data={"lines": 1}, details={"took": 3})))
    result = await session.call(
        "read", {"path": "ü"}, call_id="c-1", workdir="/w", intent="look", labels={"team": "docs"}
    )
    assert result.completed
    assert result.ok
    assert (result.call_id, result.text, result.data, result.details) == ("c-1", "hello", {"lines": 1}, {"took": 3})
    assert result.decision.verdict is Verdict.ALLOW
    (seen,) = fake.calls
    assert (seen.session_id, seen.tool, seen.input, seen.workdir) == ("s-1", "read", {"path": "ü"}, "/w")
    assert (seen.intent, seen.labels, seen.result) == ("look", {"team": "docs"}, result)


@pytest.mark.req("SDK-1")
@pytest.mark.parametrize(
    ("script", "status", "error"),
    [
        (Deny("not here", "path_outside"), CallStatus.DENIED, errors.DeniedError),
        (Preview("-a\n+b"), CallStatus.PREVIEW, errors.PreviewPendingError),
        (Reflect(), CallStatus.REFLECTION_REQUIRED, errors.ReflectionRequiredError),
        (Fail("it is down"), CallStatus.FAILED, errors.CallFailedError),
        (OutcomeUnknown(), CallStatus.OUTCOME_UNKNOWN, errors.OutcomeUnknownError),
    ],
)
async def test_what_did_not_run_is_a_result_first_and_an_error_on_request(
    fake: FakeGateway, session: Any, script: Any, status: CallStatus, error: type[errors.InterlockError]
) -> None:
    fake.on("write", script)
    result = await session.call("write", {"path": "a"})
    assert result.status is status
    assert not result.completed
    with pytest.raises(error):
        result.raise_for_status()
    assert fake.ran == []


@pytest.mark.req("SDK-1")
async def test_a_denial_says_why_in_words_and_in_codes(fake: FakeGateway, session: Any) -> None:
    fake.on("write", Deny("not here", "path_outside"))
    result = await session.call("write", {})
    assert (result.for_model, result.is_error) == ("not here", True)
    assert [(one.code, one.message) for one in result.decision.reasons] == [("path_outside", "not here")]


@pytest.mark.req("SDK-1")
async def test_a_tool_nobody_knows_is_denied(session: Any) -> None:
    result = await session.call("raed", {})
    assert result.status is CallStatus.DENIED
    assert result.text == "There is no tool named 'raed' in this session."


@pytest.mark.req("SDK-1")
async def test_a_preview_is_applied_by_resolve(fake: FakeGateway, session: Any) -> None:
    fake.on("write", Preview("-a\n+b", Allow("written"), ["a.txt"], {"files": 1}, "write a.txt"))
    shown = await session.call("write", {"path": "a.txt"})
    assert REMINDER in shown.for_model
    assert (shown.preview.preview, shown.preview.would_affect) == ("-a\n+b", ("a.txt",))
    assert shown.preview.estimated_impact == {"files": 1}
    assert shown.pending.label == "write a.txt"
    listed = await session.tools()
    assert (listed.required_tool, "resolve" in listed.names) == ("resolve", True)
    waiting = await session.pending()
    assert [one.pending_id for one in waiting.actions] == [shown.pending.pending_id]
    applied = await session.resolve("apply", "looks right", {"ticket": 7}, pending_id=shown.pending.pending_id)
    assert applied.completed
    assert applied.text == "written"
    assert applied.details == {
        "action": "apply", "reason": "looks right", "extra": {"ticket": 7},
        "sourceToolName": "write", "label": "write a.txt",
    }  # fmt: skip
    assert (await session.pending()).actions == ()


@pytest.mark.req("SDK-1")
async def test_a_preview_is_discarded_by_resolve(fake: FakeGateway, session: Any) -> None:
    fake.on("write", Preview("-a\n+b", label="write a"))
    await session.call("write", {})
    discarded = await session.resolve("discard", "too much")
    assert discarded.text == "Discarded: write a. Reason: too much"


@pytest.mark.req("SDK-1")
async def test_with_nothing_pending_resolve_says_so(session: Any) -> None:
    result = await session.resolve("apply", "why not")
    assert result.text == "No pending action to resolve. Nothing to apply or discard."
    assert result.is_error


@pytest.mark.req("SDK-1")
async def test_an_apply_that_failed_can_be_tried_again(fake: FakeGateway, session: Any) -> None:
    fake.on("write", Preview("-a\n+b", Fail("disk full")))
    await session.call("write", {})
    failed = await session.resolve("apply", "go")
    assert failed.text == "Apply failed: disk full"
    assert REMINDER in failed.for_model
    assert len((await session.pending()).actions) == 1


@pytest.mark.req("SDK-1")
async def test_an_action_that_is_none_is_refused_before_it_is_sent(session: Any) -> None:
    with pytest.raises(errors.InvalidRequestError, match="neither 'apply' nor 'discard'"):
        await session.resolve("accept", "typo")


@pytest.mark.req("SDK-1")
async def test_a_detached_call_is_picked_up_when_a_person_decided(fake: FakeGateway, session: Any) -> None:
    fake.on("deploy", Checkpoint("wait", Allow("deployed")))
    held = await session.call("deploy", {}, call_id="c-1", checkpoint_mode="detach")
    assert held.status is CallStatus.AWAITING_CHECKPOINT
    with pytest.raises(errors.CheckpointRequiredError):
        held.raise_for_status()
    record = await session.get_call("c-1")
    assert (record.settled, record.state) == (False, CallState.AWAITING_CHECKPOINT)
    waiting = asyncio.create_task(session.wait_call("c-1", timeout=10))
    fake.decide("c-1", "approve")
    record = await waiting
    assert record.settled
    assert record.result.text == "deployed"
    assert (await session.call("deploy", {}, call_id="c-1")).text == "deployed"
    assert len(fake.ran) == 1


@pytest.mark.req("SDK-1")
async def test_a_person_may_say_no(fake: FakeGateway, session: Any) -> None:
    fake.on("deploy", Checkpoint("deny", reason="not on a Friday"))
    result = await session.call("deploy", {})
    assert (result.status, result.text) == (CallStatus.DENIED, "not on a Friday")


@pytest.mark.req("SDK-1")
async def test_a_call_that_needs_reflection_runs_with_a_deliverable(fake: FakeGateway, session: Any) -> None:
    fake.on("drop", Reflect(Allow("dropped")))
    asked = await session.call("drop", {"table": "t"})
    assert asked.reflection.instructions
    done = await session.call("drop", {"table": "t"}, deliverable=DELIVERABLE)
    assert done.text == "dropped"
    assert fake.calls[-1].deliverable is not None
    assert fake.calls[-1].deliverable.verdict_reason == "checked"


@pytest.mark.req("SDK-1")
async def test_a_stream_tells_what_happens_and_ends_with_the_result(fake: FakeGateway, session: Any) -> None:
    events: list[Progress | OutputChunk] = [Progress(0.5, 1.0, "half"), OutputChunk("ok\n", "stdout"), Progress(3.0)]
    fake.on("build", Allow("built", events))
    seen = await session.stream("build", {})
    assert seen[:-1] == events
    assert isinstance(seen[-1], CallResult)
    assert seen[-1].text == "built"


@pytest.mark.req("SDK-1")
async def test_a_batch_answers_every_call_in_order(fake: FakeGateway, session: Any) -> None:
    fake.on("read", Allow(lambda given: given["path"])).on("write", Deny())
    first, second, third = await session.batch([("read", {"path": "a"}), Call(tool="write"), ("read", {"path": "b"})])
    assert [first.text, second.status, third.text] == ["a", CallStatus.DENIED, "b"]
    streamed = await session.stream_batch([("read", {"path": "a"}), ("read", {"path": "b"})])
    assert [(index, one.text) for index, one in streamed] == [(0, "a"), (1, "b")]


@pytest.mark.req("SDK-1")
async def test_a_batch_that_stops_says_of_each_call_that_it_was_not_begun(fake: FakeGateway, session: Any) -> None:
    fake.on("read", Allow("x")).on("write", Deny())
    _, last = await session.batch([("write", {}), ("read", {})], stop_on_error=True)
    assert isinstance(last, errors.RequestError)
    assert (last.reason, last.code) == ("BATCH_STOPPED", grpc.StatusCode.ABORTED)
    assert last.metadata == {"stopped_by_index": "0"}
    assert fake.ran == []


@pytest.mark.req("SDK-1")
async def test_the_same_call_id_answers_the_first_outcome(fake: FakeGateway, session: Any) -> None:
    fake.on("write", Allow("first"), Allow("second"))
    first = await session.call("write", {"a": 1}, call_id="c-1")
    again = await session.call("write", {"a": 1}, call_id="c-1")
    assert (first.text, again) == ("first", first)
    with pytest.raises(errors.InvalidRequestError) as caught:
        await session.call("write", {"a": 2}, call_id="c-1")
    assert caught.value.reason == "CALL_ID_REUSED"


@pytest.mark.req("SDK-1")
async def test_a_gateway_that_comes_back_in_time_is_not_noticed(fake: FakeGateway, session: Any) -> None:
    fake.on("write", RpcFailure(), RpcFailure(grpc.StatusCode.RESOURCE_EXHAUSTED, "OVERLOADED"), Allow("written"))
    assert (await session.call("write", {})).text == "written"
    assert len(fake.calls) == 1


@pytest.mark.req("SDK-1")
async def test_a_gateway_that_stays_away_is_an_error_with_its_reason(fake: FakeGateway, session: Any) -> None:
    fake.on("write", RpcFailure(reason="STATE_UNAVAILABLE", metadata={"operation": "call"}))
    with pytest.raises(errors.GatewayUnavailableError) as caught:
        await session.call("write", {}, call_id="c-1", timeout=1)
    assert (caught.value.reason, caught.value.metadata) == ("STATE_UNAVAILABLE", {"operation": "call"})
    assert caught.value.call_id == "c-1"


@pytest.mark.req("SDK-1")
async def test_a_deadline_ends_a_call_that_takes_too_long(fake: FakeGateway, session: Any) -> None:
    fake.on("deploy", Checkpoint("wait"))
    with pytest.raises(errors.DeadlineExceededError) as caught:
        await session.call("deploy", {}, call_id="c-1", timeout=0.2)
    assert caught.value.call_id == "c-1"
    record = await session.wait_call("c-1", timeout=5)
    assert (record.settled, record.state) == (True, CallState.DENIED)
    assert fake.ran == []


@pytest.mark.req("SDK-1")
async def test_a_tools_own_error_is_an_answer(fake: FakeGateway, session: Any) -> None:
    def refuse(given: dict[str, Any]) -> str:
        raise ToolError(f"no {given['path']}")

    fake.on("read", Allow(refuse))
    result = await session.call("read", {"path": "a"})
    assert (result.completed, result.is_error, result.text) == (True, True, "no a")
