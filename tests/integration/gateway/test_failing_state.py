"""A database that fails in the middle of a resolve loses nothing of what became of it (PREV-13)."""

import json
from pathlib import Path

import pytest
from gateway_bench import Bench
from interlock import CallStatus
from interlock_gateway.core.operation import OperationState
from interlock_gateway.pipeline.ports import StateUnavailableError
from interlock_gateway.state import call_store
from interlock_gateway.state.store import SqlStateStore
from waiting import eventually


def signed(at: Bench, call_id: str) -> list[str]:
    """What receipts say of how the call ended."""
    folder = Path(at.gateway.config.at_state(at.gateway.config.audit.dir))
    lines = [line for path in folder.glob("receipts-*.jsonl") for line in path.read_text().splitlines()]
    records = [record for record in map(json.loads, lines) if record.get("call_id") == call_id]
    return [record["outcome"]["status"] for record in records if record["kind"] == "receipt"]


@pytest.mark.req("PREV-13")
async def test_an_apply_that_could_not_be_settled_is_settled_when_the_database_is_back(
    at: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def down(*_: object, **__: object) -> None:
        raise StateUnavailableError("gone for a moment")

    session = at.agent.session("s")
    await session.call("replace_value", {"value": "under"})
    await session.call("replace_value", {"value": "top"})
    with monkeypatch.context() as patched:
        patched.setattr(at.gateway.rooms.store.pending, "finish_pending", down)
        applied = await session.resolve("apply", "go")
        assert (applied.status, applied.text) == (CallStatus.COMPLETED, "now top")
        assert len(at.gateway.rooms.pipeline.unsettled) == 1
    await eventually(lambda: len(at.gateway.rooms.pipeline.unsettled) == 0)
    assert (await session.resolve("discard", "not any more")).text.startswith("Discarded: ")
    assert at.ledger.names() == ["replace_value"]


@pytest.mark.req("PIPE-9", "PIPE-10", "UNDO-1", "AUD-1")
async def test_an_outcome_that_could_not_be_written_is_written_when_the_database_is_back(
    at: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else who asks for the call at another replica would wait for it for as long as this one lives."""

    def down(*_: object, **__: object) -> None:
        raise StateUnavailableError("gone for a moment")

    session, store = at.agent.session("s"), at.gateway.rooms.store
    with monkeypatch.context() as patched:
        patched.setattr(call_store, "finish_operation", down)
        told = await session.call("set_value", {"value": "b"}, call_id="c")
        assert told.status is CallStatus.OUTCOME_UNKNOWN
        operation = await store.journal.operation_of_call("s", "c")
        assert operation is not None
        assert operation.state is OperationState.INTENDED
    await at.gateway.rooms.pipeline.settle()
    finished = await store.journal.operation_of_call("s", "c")
    assert finished is not None
    assert finished.state is OperationState.DONE
    assert (await session.call("set_value", {"value": "b"}, call_id="c")).status is CallStatus.COMPLETED
    assert at.ledger.names() == ["set_value"]
    await eventually(lambda: signed(at, "c") == ["completed"])


@pytest.mark.req("STATE-2", "PIPE-9")
async def test_a_call_that_was_not_sent_because_the_lease_was_lost_leaves_nothing_under_way(
    at: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = at.agent.session("s")
    with monkeypatch.context() as patched:
        patched.setattr(SqlStateStore, "stands", property(lambda _: False))
        refused = await session.call("set_value", {"value": "b"}, call_id="c")
    assert refused.status is CallStatus.DENIED
    operation = await at.gateway.rooms.store.journal.operation_of_call("s", "c")
    assert operation is not None
    assert operation.state is OperationState.FAILED
    assert at.ledger.ran == []
