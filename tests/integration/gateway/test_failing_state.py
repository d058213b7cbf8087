"""A database that fails in the middle of a resolve loses nothing of what became of it (PREV-13)."""

import pytest
from gateway_bench import Bench
from interlock import CallStatus
from interlock_gateway.pipeline.ports import StateUnavailableError
from waiting import eventually


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
