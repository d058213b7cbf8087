"""Both clients against a scripted gateway, over real gRPC: sessions, tools, the journal, artifacts, references."""

from pathlib import Path
from typing import Any

import pytest
from interlock import Gateway, SyncGateway, errors
from interlock.calls import Progress
from interlock.journal import OperationEffect, OperationState, RollbackOutcome
from interlock.provider import ToolResult, UndoInfo, tool
from interlock.references import ArtifactReference, FileReference, ReferenceProblem
from interlock.testing import (
    Allow,
    Deny,
    FakeGateway,
    OutcomeUnknown,
    Preview,
)


@pytest.mark.req("SDK-1")
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


@pytest.mark.req("SDK-1")
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
        (RollbackOutcome.STOPPED_IRREVERSIBLE, 1),
    ]
    assert lines[1].manual_guide == "call them"
    assert [one.call_id for one in await session.operations(states=[OperationState.UNDONE])] == ["c-2"]


@pytest.mark.req("SDK-1", "UNDO-4")
async def test_an_unknown_operation_stops_a_rollback_until_it_is_settled(fake: FakeGateway, session: Any) -> None:
    fake.on("write", OutcomeUnknown())
    await session.call("write", {}, call_id="c-1")
    (line,) = await session.rollback(count=1)
    assert (line.outcome, line.remaining) == (RollbackOutcome.OUTCOME_UNKNOWN, 1)

    settled = await session.settle_operation(line.operation.operation_id, "none", "the file is not there")

    assert (settled.call_id, settled.state) == ("c-1", OperationState.FAILED)
    assert list(await session.rollback(count=1)) == []
    with pytest.raises(errors.NotFoundError):
        await session.settle_operation(line.operation.operation_id, OperationEffect.TOOK_EFFECT, "it is")


@pytest.mark.req("SDK-1")
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


@pytest.mark.req("SDK-1")
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
