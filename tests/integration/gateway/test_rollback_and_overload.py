"""What a rollback says when the state has too much to do: that it did not begin, only if it did not (UNDO-2)."""

from pathlib import Path

import pytest
from gateway_bench import Bench
from interlock.errors import RequestError
from interlock_gateway.core.operation import Operation
from interlock_gateway.pipeline.ports import StateOverloadedError
from rolling_back import put, rolled_back, shelved
from undoable_tools import Shelf


def overload(at: Bench, shelf: Shelf, patched: pytest.MonkeyPatch, *, after: int) -> None:
    """The store has no room to read an operation once so many are undone."""
    journal = at.gateway.rooms.store.journal
    read = journal.get_operation

    async def busy(operation_id: str) -> Operation | None:
        if len(shelf.undone) >= after:
            raise StateOverloadedError("too much is waiting for the state store")
        return await read(operation_id)

    patched.setattr(journal, "get_operation", busy)


@pytest.mark.req("UNDO-2", "UNDO-4")
@pytest.mark.parametrize(
    ("after", "asked", "reason"),
    [
        (0, {"count": 2}, "OVERLOADED"),
        (1, {"count": 2}, "STATE_UNAVAILABLE"),
        (2, {"count": 3}, "STATE_UNAVAILABLE"),
    ],
)
async def test_it_does_not_say_that_it_did_not_begin_once_something_is_undone(
    socket_directory: Path, monkeypatch: pytest.MonkeyPatch, after: int, asked: dict[str, int], reason: str
) -> None:
    async with shelved(socket_directory) as (at, shelf):
        session = at.agent.session("s")
        await put(session, "a", "b", "c")
        with monkeypatch.context() as patched:
            overload(at, shelf, patched, after=after)
            with pytest.raises(RequestError) as raised:
                await rolled_back(session, **asked)
        assert raised.value.reason == reason
        assert shelf.undone == ["c", "b", "a"][:after]
        await rolled_back(session, since_call_id="put-a")
        assert shelf.undone == ["c", "b", "a"]
