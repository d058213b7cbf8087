"""What a session has done and read, when the process that served it was killed: nothing is flushed then."""

import pytest
from interlock_gateway.clock import SystemClock
from interlock_gateway.core.call import CallState
from interlock_gateway.core.operation import OperationState
from interlock_gateway.core.session import Principal, Role
from interlock_gateway.core.sessionfacts import SessionFacts
from interlock_gateway.pipeline.ports import StateUnavailableError
from interlock_gateway.sessions.book import SessionBook
from interlock_gateway.sessions.live import LiveSession
from interlock_gateway.state.store import SqlStateStore
from state_records import NOW, a_record, an_operation

ALICE = Principal("alice", "token", frozenset({Role.AGENT}))


def book_of(store: SqlStateStore) -> SessionBook:
    return SessionBook(store, SystemClock(), ())


async def loaded(store: SqlStateStore) -> LiveSession:
    return await book_of(store).admit(ALICE, "s")


async def journaled(store: SqlStateStore, call_id: str, effect: str = "destructive", *, done: bool = True) -> None:
    operation = an_operation(call_id, effect=effect, tool=f"tool.{effect}")
    await store.calls.begin_call(a_record(call_id), operation)
    if done:
        await store.calls.finish_call(
            "s", call_id, operation.operation_id, CallState.COMPLETED, OperationState.DONE, now=NOW, result=b"{}"
        )


@pytest.mark.req("POL-4", "PIPE-12")
async def test_a_taint_is_on_disk_when_it_was_awaited(store: SqlStateStore) -> None:
    book = book_of(store)
    live = await book.admit(ALICE, "s")
    await book.taint(live, ("untrusted", "sensitive"))
    assert (await loaded(store)).facts.taints == {"untrusted", "sensitive"}


@pytest.mark.req("POL-4")
async def test_a_taint_is_written_once(store: SqlStateStore, monkeypatch: pytest.MonkeyPatch) -> None:
    book = book_of(store)
    live = await book.admit(ALICE, "s")
    await book.taint(live, ("untrusted",))

    async def fail(*_: object) -> None:
        raise StateUnavailableError("no disk")

    monkeypatch.setattr(store.sessions, "save_session_facts", fail)
    await book.taint(live, ("untrusted",))
    with pytest.raises(StateUnavailableError):
        await book.taint(live, ("untrusted", "sensitive"))
    assert live.whole.taints == {"untrusted", "sensitive"}  # a session is never less tainted than is known


@pytest.mark.req("POL-4", "PIPE-9")
async def test_destruction_that_was_not_flushed_is_counted_from_the_journal(store: SqlStateStore) -> None:
    book = book_of(store)
    live = await book.admit(ALICE, "s")
    await journaled(store, "flushed")
    live.facts.count_dispatch(destructive=True)
    book.touch(live)
    await book.flush()
    await journaled(store, "lost")
    await journaled(store, "running", done=False)
    await journaled(store, "an edit", effect="mutating")

    facts = (await loaded(store)).facts
    assert (facts.destructive_calls, facts.journaled) == (3, 4)
    assert facts.calls_by_tool == {"tool.destructive": 2, "tool.mutating": 1}
    assert facts.calls_by_status == {"completed": 2, "outcome_unknown": 1}
    assert [tool in call for tool, call in zip(("destructive", "mutating"), facts.previous, strict=True)] == [True] * 2


@pytest.mark.req("POL-4", "PIPE-9")
async def test_what_was_counted_from_the_journal_is_counted_once(store: SqlStateStore) -> None:
    await journaled(store, "lost")
    for _ in range(3):
        book = book_of(store)
        live = await book.admit(ALICE, "s")
        assert live.facts.destructive_calls == 1
        book.touch(live)
        await book.flush()


@pytest.mark.req("POL-4")
async def test_what_another_replica_journaled_is_its_own_to_count(migrated: str, store: SqlStateStore) -> None:
    await journaled(store, "lost")
    async with await SqlStateStore.open(migrated, replica_id="r2") as other:
        assert (await loaded(other)).facts.destructive_calls == 0


@pytest.mark.req("POL-4")
async def test_facts_from_before_destruction_was_counted_by_dispatch_are_counted_anew(store: SqlStateStore) -> None:
    await journaled(store, "before")
    old = SessionFacts(calls=7, destructive_calls=5).to_json().replace(b'"journaled": 0, ', b"")
    assert b"journaled" not in old
    await store.sessions.save_session_facts({"s": old})
    facts = (await loaded(store)).facts
    assert (facts.calls, facts.destructive_calls) == (7, 1)
