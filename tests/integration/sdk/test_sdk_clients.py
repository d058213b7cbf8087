"""Both clients against a scripted gateway, over real gRPC: what they send, what they make of the answers."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import grpc
import pytest
from interlock import Call, Deliverable, Gateway, SyncGateway, errors
from interlock.calls import CallState, OutputChunk, Progress
from interlock.decisions import Verdict
from interlock.journal import OperationState, RollbackOutcome
from interlock.provider import ToolError, ToolResult, UndoInfo, tool
from interlock.references import ArtifactReference, FileReference, ReferenceProblem
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


class Either:
    """A session of either client, to be awaited: what blocks runs in a thread, what iterates becomes a list."""

    def __init__(self, session: Any, *, threads: bool) -> None:
        self._session = session
        self._threads = threads

    def __getattr__(self, name: str) -> Callable[..., Any]:
        method = getattr(self._session, name)
        iterates = name in ("stream", "stream_batch", "rollback")

        async def invoke(*args: Any, **kwargs: Any) -> Any:
            if self._threads:
                return await asyncio.to_thread(
                    lambda: list(method(*args, **kwargs)) if iterates else method(*args, **kwargs)
                )
            return [one async for one in method(*args, **kwargs)] if iterates else await method(*args, **kwargs)

        return invoke


@pytest.fixture
def fake() -> Iterator[FakeGateway]:
    with FakeGateway() as made:
        yield made


@pytest.fixture(params=["async", "sync"])
async def session(fake: FakeGateway, request: pytest.FixtureRequest) -> AsyncIterator[Any]:
    if request.param == "async":
        async with fake.gateway(timeout=20) as gateway:
            yield Either(gateway.session("s-1"), threads=False)
    else:
        with fake.sync_gateway(timeout=20) as sync_gateway:
            yield Either(sync_gateway.session("s-1"), threads=True)


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


@pytest.mark.req("SDK-1", "PREV-1", "PREV-9")
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


@pytest.mark.req("SDK-1", "PREV-8")
async def test_a_preview_is_discarded_by_resolve(fake: FakeGateway, session: Any) -> None:
    fake.on("write", Preview("-a\n+b", label="write a"))
    await session.call("write", {})
    discarded = await session.resolve("discard", "too much")
    assert discarded.text == "Discarded: write a. Reason: too much"


@pytest.mark.req("SDK-1", "PREV-4")
async def test_with_nothing_pending_resolve_says_so(session: Any) -> None:
    result = await session.resolve("apply", "why not")
    assert result.text == "No pending action to resolve. Nothing to apply or discard."
    assert result.is_error


@pytest.mark.req("SDK-1", "PREV-7")
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


@pytest.mark.req("SDK-1", "CHK-4")
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


@pytest.mark.req("SDK-1", "CHK-7")
async def test_a_person_may_say_no(fake: FakeGateway, session: Any) -> None:
    fake.on("deploy", Checkpoint("deny", reason="not on a Friday"))
    result = await session.call("deploy", {})
    assert (result.status, result.text) == (CallStatus.DENIED, "not on a Friday")


@pytest.mark.req("SDK-1", "REV-1")
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


@pytest.mark.req("SDK-1", "BATCH-2")
async def test_a_batch_answers_every_call_in_order(fake: FakeGateway, session: Any) -> None:
    fake.on("read", Allow(lambda given: given["path"])).on("write", Deny())
    first, second, third = await session.batch([("read", {"path": "a"}), Call(tool="write"), ("read", {"path": "b"})])
    assert [first.text, second.status, third.text] == ["a", CallStatus.DENIED, "b"]
    streamed = await session.stream_batch([("read", {"path": "a"}), ("read", {"path": "b"})])
    assert [(index, one.text) for index, one in streamed] == [(0, "a"), (1, "b")]


@pytest.mark.req("SDK-1", "BATCH-2")
async def test_a_batch_that_stops_says_of_each_call_that_it_was_not_begun(fake: FakeGateway, session: Any) -> None:
    fake.on("read", Allow("x")).on("write", Deny())
    _, last = await session.batch([("write", {}), ("read", {})], stop_on_error=True)
    assert isinstance(last, errors.RequestError)
    assert (last.reason, last.code) == ("BATCH_STOPPED", grpc.StatusCode.ABORTED)
    assert last.metadata == {"stopped_by_index": "0"}
    assert fake.ran == []


@pytest.mark.req("SDK-1", "PIPE-10")
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
        await session.call("write", {}, call_id="c-1")
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


@pytest.mark.req("SDK-1", "DEFER-2")
async def test_tools_are_listed_found_and_activated(fake: FakeGateway, session: Any) -> None:
    @tool(read_only=True, prompt_snippet="word_count: counts")
    def word_count(text: str) -> str:
        """Count the words of a text."""
        return str(len(text.split()))

    with FakeGateway([word_count]) as other, other.sync_gateway() as gateway:
        listed = gateway.session().tools()
        assert listed.tools[0].input_schema["required"] == ["text"]
        assert gateway.session().call("word_count", {"text": "a b"}).text == "2"
    fake.on("read", Allow())
    assert [one.name for one in await session.search_tools("rea")] == ["read"]
    activation = await session.activate_tools(["read", "gone"])
    assert ([one.name for one in activation.activated], activation.unknown) == (["read"], ("gone",))


@pytest.mark.req("SDK-1")
async def test_a_decision_can_be_had_alone(fake: FakeGateway, session: Any) -> None:
    fake.on("read", Allow()).on("write", Deny())
    assert (await session.evaluate("read", {})).allowed
    assert not (await session.evaluate("write", {})).allowed
    assert fake.calls == []


@pytest.mark.req("SDK-1", "UNDO-2", "UNDO-3")
async def test_operations_are_listed_and_rolled_back(fake: FakeGateway, session: Any) -> None:
    undo = UndoInfo(tool="write", input={"path": "a"}, description="put it back")
    never = UndoInfo(irreversible=True, manual_guide="call them")
    fake.on("write", Allow(ToolResult(content="ok", undo=undo))).on(
        "mail", Allow(ToolResult(content="sent", undo=never))
    )
    await session.call("mail", {}, call_id="c-1")
    written = await session.call("write", {}, call_id="c-2")
    assert written.undo.input == {"path": "a"}
    operations = await session.operations()
    assert [(one.call_id, one.state) for one in operations] == [
        ("c-2", OperationState.DONE),
        ("c-1", OperationState.DONE),
    ]
    lines = await session.rollback(since_call_id="c-1", reason="start over")
    assert [(one.outcome, one.remaining) for one in lines] == [
        (RollbackOutcome.UNDONE, 1),
        (RollbackOutcome.STOPPED_IRREVERSIBLE, 0),
    ]
    assert lines[1].manual_guide == "call them"
    assert [one.call_id for one in await session.operations(states=[OperationState.UNDONE])] == ["c-2"]


@pytest.mark.req("SDK-1", "ART-3")
async def test_artifacts_are_read_in_parts_and_searched(fake: FakeGateway, session: Any) -> None:
    uri = fake.store("one\ntwo\nthree\nfour\n")
    assert (await session.stat_artifact(uri)).lines == 4
    whole = await session.read_artifact(uri)
    assert (whole.text, whole.end, whole.artifact.total_bytes) == ("one\ntwo\nthree\nfour\n", True, 19)
    assert (await session.read_artifact(uri, offset=4, length=3)).text == "two"
    lines = await session.read_artifact(uri, first_line=2, lines=2)
    assert (lines.text, lines.offset, lines.end) == ("two\nthree\n", 4, False)
    found = await session.search_artifact(uri, "t", context_lines=1)
    assert [(one.line, one.text) for one in found.matches] == [(2, "two"), (3, "three")]
    assert found.matches[0].before == ("one",)
    first = await session.search_artifact(uri, pattern="^T", ignore_case=True, max_matches=1)
    assert (len(first.matches), first.more_matches) == (1, True)
    with pytest.raises(errors.NotFoundError) as caught:
        await session.read_artifact("artifact://fake/none")
    assert caught.value.reason == "ARTIFACT_NOT_FOUND"


@pytest.mark.req("SDK-1", "REF-1", "REF-3")
async def test_references_become_messages_or_alerts(fake: FakeGateway, session: Any) -> None:
    fake.files["a.py"] = "print()"
    uri = fake.store("stored")
    prompt = await session.resolve_references(
        ["look at ", FileReference("a.py", "@a.py"), " and ", ArtifactReference(uri, "that"), FileReference("b.py")]
    )
    assert [(one.role, one.text) for one in prompt.messages] == [
        ("user", "look at @a.py and that[unresolved file ref: b.py]"),
        ("system", "[File: a.py]\nprint()"),
        ("system", f"[File: {uri}]\nstored"),
    ]
    assert [(one.segment_index, one.problem) for one in prompt.alerts] == [(4, ReferenceProblem.NOT_FOUND)]


@pytest.mark.req("SDK-1")
async def test_a_closed_session_takes_no_calls(fake: FakeGateway, session: Any) -> None:
    fake.on("write", Preview("x"))
    await session.call("write", {})
    assert await session.close() == 1
    with pytest.raises(errors.RequestError) as caught:
        await session.call("write", {})
    assert caught.value.reason == "SESSION_CLOSED"


@pytest.mark.req("SDK-1")
async def test_a_session_is_opened_and_closed_by_its_context(fake: FakeGateway) -> None:
    fake.on("read", Allow("x"))
    async with fake.gateway() as gateway, await gateway.open_session(intent="look", tools=["read"]) as session:
        assert (await session.tools()).names == ("read",)
        assert (await session.call("read")).ok
    with fake.sync_gateway() as sync_gateway:
        with sync_gateway.open_session(session_id="s-9", intent="look") as opened:
            assert opened.session_id == "s-9"
        with pytest.raises(errors.RequestError):
            opened.call("read")


@pytest.mark.req("SDK-1")
async def test_leaving_a_stream_early_ends_it(fake: FakeGateway) -> None:
    fake.on("build", Allow("built", [Progress(0.1), Progress(0.2)]))
    async with fake.gateway() as gateway:
        async for event in gateway.session().stream("build"):
            assert event == Progress(0.1)
            break
    with fake.sync_gateway() as sync_gateway:
        for event in sync_gateway.session().stream("build"):
            assert event == Progress(0.1)
            break


@pytest.mark.req("SDK-1")
async def test_the_token_is_sent_and_a_wrong_one_refused(tmp_path: Path) -> None:
    with FakeGateway(token="t0p", address=f"unix:{tmp_path}/gateway.sock").on("read", Allow("x")) as fake:
        async with fake.gateway() as gateway:
            assert (await gateway.session().call("read")).ok
        with SyncGateway(fake.address, token="wrong") as stranger, pytest.raises(errors.NotAuthorizedError) as caught:
            stranger.session().call("read")
        assert caught.value.reason == "UNAUTHENTICATED"


@pytest.mark.req("SDK-1")
async def test_a_gateway_that_is_not_there_is_unavailable(tmp_path: Path) -> None:
    address = f"unix:{tmp_path}/nobody.sock"
    async with Gateway(address) as gateway:
        with pytest.raises(errors.GatewayUnavailableError):
            await gateway.session().call("read")
    with SyncGateway(address) as sync_gateway, pytest.raises(errors.GatewayUnavailableError):
        sync_gateway.session().tools()


@pytest.mark.req("SDK-1")
async def test_a_tools_own_error_is_an_answer(fake: FakeGateway, session: Any) -> None:
    def refuse(given: dict[str, Any]) -> str:
        raise ToolError(f"no {given['path']}")

    fake.on("read", Allow(refuse))
    result = await session.call("read", {"path": "a"})
    assert (result.completed, result.is_error, result.text) == (True, True, "no a")
