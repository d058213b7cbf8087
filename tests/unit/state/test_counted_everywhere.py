"""What is counted over all replicas, and for a page of sessions at once (STATE-2)."""

import pytest
from interlock_gateway.pipeline.ports import SessionDocuments
from interlock_gateway.state.some_ids import AT_ONCE
from interlock_gateway.state.store import SqlStateStore
from state_records import NOW, a_session, an_action


async def test_sessions_are_counted_until_they_are_closed(store: SqlStateStore) -> None:
    assert await store.sessions.count_open() == 1
    await store.sessions.ensure_session(a_session("t"))
    assert await store.sessions.count_open() == 2
    await store.sessions.close_session("s", NOW + 1)
    assert await store.sessions.count_open() == 1


async def test_the_facts_of_a_page_of_sessions_are_those_of_each(store: SqlStateStore, migrated: str) -> None:
    for name, opened in (("before", NOW - 5), ("a", NOW + 1), ("b", NOW + 2), ("after", NOW + 9)):
        await store.sessions.ensure_session(a_session(name, opened_at=opened))
    await store.sessions.save_session_facts({name: name.encode() for name in ("before", "a", "after")})
    async with await SqlStateStore.open(migrated, replica_id="r2") as other:
        await other.sessions.save_session_facts({"a": b"elsewhere", "s": b"only there"})
    page = [one for one in await store.sessions.list_sessions(9) if one.session_id in {"a", "b", "s"}]

    found = await store.sessions.facts_of(page)

    assert found == {
        "a": SessionDocuments(b"a", (b"elsewhere",)),
        "b": SessionDocuments(None, ()),
        "s": SessionDocuments(None, (b"only there",)),
    }
    assert await store.sessions.facts_of(()) == {}


@pytest.mark.req("PREV-13")
async def test_so_are_its_pending_actions_without_those_whose_time_is_up(store: SqlStateStore) -> None:
    for name, opened in (("a", NOW + 1), ("after", NOW + 9)):
        await store.sessions.ensure_session(a_session(name, opened_at=opened))
    for number, (session_id, expires) in enumerate([("a", 9), ("a", 9), ("a", 2), ("s", 9), ("after", 9)]):
        await store.pending.push_pending(an_action(f"p{number}", session_id, expires_at=NOW + expires))
    await store.pending.discard_pending("p3", NOW + 3, "no")
    page = [one for one in await store.sessions.list_sessions(9) if one.session_id != "after"]

    counts = await store.pending.count_pending_of(page, NOW + 3)

    assert (counts.get("a", 0), counts.get("s", 0), counts.get("after", 0)) == (2, 0, 0)
    assert await store.pending.count_pending_of((), NOW) == {}


async def test_of_more_than_a_statement_takes_each_is_counted(store: SqlStateStore) -> None:
    names = [f"n{number}" for number in range(2 * AT_ONCE + 1)]
    page = [await store.sessions.ensure_session(a_session(name, opened_at=NOW + 1)) for name in names]
    await store.sessions.save_session_facts({name: name.encode() for name in names})
    for number, name in enumerate((names[0], names[0], names[AT_ONCE], names[-1])):
        await store.pending.push_pending(an_action(f"p{number}", name, expires_at=NOW + 9))

    documents = await store.sessions.facts_of(page)
    counts = await store.pending.count_pending_of(page, NOW)

    assert documents == {name: SessionDocuments(name.encode()) for name in names}
    assert counts == {names[0]: 2, names[AT_ONCE]: 1, names[-1]: 1}


async def test_what_is_known_of_the_owner_is_kept_with_the_session(store: SqlStateStore) -> None:
    session = a_session("x", owner_kind="mtls", owner_roles=("agent", "auditor"))
    await store.sessions.ensure_session(session)
    assert await store.sessions.get_session("x") == session
