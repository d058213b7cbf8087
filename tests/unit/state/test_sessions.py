import asyncio

import pytest
from interlock_gateway.core.change import Change, Topic
from interlock_gateway.core.session import WantedSessions
from interlock_gateway.pipeline.ports import SessionDocuments
from interlock_gateway.state import session_store
from interlock_gateway.state.store import SqlStateStore
from state_records import NOW, a_session


async def test_a_session_comes_back_as_it_was_kept(store: SqlStateStore) -> None:
    session = a_session(
        "x", intent="tidy \ud800\x00 up", labels={"team": ["a", {"b": None}]}, tools=("t",), roots=("/w", "/v")
    )

    assert await store.sessions.ensure_session(session) == session
    assert await store.sessions.get_session("x") == session


async def test_a_session_that_was_never_opened_is_not_there(store: SqlStateStore) -> None:
    assert await store.sessions.get_session("nobody") is None
    assert await store.sessions.close_session("nobody", NOW) is None


async def test_the_first_owner_of_a_session_stays_its_owner(store: SqlStateStore) -> None:
    kept = await store.sessions.ensure_session(a_session("s", owner="mallory", intent="mine now"))

    assert kept == a_session()
    assert await store.sessions.get_session("s") == a_session()


async def test_closing_a_session_twice_keeps_the_first_time(store: SqlStateStore) -> None:
    await store.sessions.close_session("s", NOW + 1)
    closed = await store.sessions.close_session("s", NOW + 2)

    assert closed is not None
    assert closed.closed_at == NOW + 1
    assert not closed.is_open
    assert await store.sessions.ensure_session(a_session()) == closed


@pytest.mark.req("DEFER-2")
async def test_what_is_activated_adds_up_whoever_adds_it_and_ends_with_the_session(store: SqlStateStore) -> None:
    sessions = store.sessions
    await asyncio.gather(*(sessions.activate_tools("s", [f"t{n}", "same"]) for n in range(20)))
    kept = await sessions.get_session("s")
    assert kept is not None
    assert sorted(kept.activated) == sorted([*(f"t{n}" for n in range(20)), "same"])
    assert await sessions.ensure_session(a_session()) == kept

    closed = await sessions.close_session("s", NOW)
    assert closed is not None
    assert closed.activated == ()
    assert await sessions.activate_tools("s", ["late"]) == closed
    assert await sessions.activate_tools("nobody", ["t"]) is None


@pytest.mark.req("DEFER-2")
async def test_an_activation_is_told_of_once(store: SqlStateStore) -> None:
    told: list[Change] = []
    store.changes.subscribe(told.append)
    await store.sessions.activate_tools("s", ["t"])
    await store.sessions.activate_tools("s", ["t"])
    assert told == [Change(Topic.SESSION, "s", "s")]


async def test_sessions_are_listed_last_opened_first_page_by_page(store: SqlStateStore) -> None:
    for name, opened_at in (("d", NOW + 2), ("b", NOW + 1), ("c", NOW + 1), ("a", NOW + 3)):
        await store.sessions.ensure_session(a_session(name, opened_at=opened_at))

    async def page(after: str | None) -> list[str]:
        return [session.session_id for session in await store.sessions.list_sessions(2, after)]

    assert await page(None) == ["a", "d"]
    assert await page("d") == ["c", "b"]
    assert await page("b") == ["s"]
    assert await page("s") == []
    assert await page("nobody") == []


@pytest.fixture
async def many(store: SqlStateStore, monkeypatch: pytest.MonkeyPatch) -> SqlStateStore:
    """Twelve sessions beside the first one, of two owners, every third of them closed, with labels."""
    monkeypatch.setattr(session_store, "AT_ONCE", 3)
    for number in range(12):
        labels = {"team": "blue" if number % 4 == 0 else "red", "tags": ["a", number % 2], '\u00fc"': "\ud800"}
        name, owner = f"n{number:02}", "bob" if number % 2 else "alice"
        await store.sessions.ensure_session(a_session(name, owner=owner, opened_at=NOW + 1 + number, labels=labels))
        if number % 3 == 0:
            await store.sessions.close_session(name, NOW + 50)
    return store


@pytest.mark.parametrize(
    ("wanted", "numbers"),
    [
        (WantedSessions(owner="bob"), {1, 3, 5, 7, 9, 11}),
        (WantedSessions(owner="nobody"), set()),
        (WantedSessions(owner="alice", open=False), {0, 6}),
        (WantedSessions(open=False), {0, 3, 6, 9}),
        (WantedSessions(owner="bob", closed=False), {1, 5, 7, 11}),
        (WantedSessions(open=False, closed=False), set()),
        (WantedSessions(labels={"team": "blue"}), {0, 4, 8}),
        (WantedSessions(owner="alice", closed=False, labels={"team": "blue", "tags": '["a", 0]'}), {4, 8}),
        (WantedSessions(labels={'\u00fc"': "\ud800", "tags": '["a", 1]'}), {1, 3, 5, 7, 9, 11}),
        (WantedSessions(labels={"team": "green"}), set()),
        (WantedSessions(labels={"green": ""}), set()),
    ],
    ids=str,
)
async def test_of_those_that_are_wanted_every_page_but_the_last_is_full(
    many: SqlStateStore, wanted: WantedSessions, numbers: set[int]
) -> None:
    expected = [f"n{number:02}" for number in sorted(numbers, reverse=True)]
    for limit in (1, 2, 5, 100):
        found: list[str] = []
        while page := await many.sessions.list_sessions(limit, found[-1] if found else None, wanted):
            found += [session.session_id for session in page]
            assert len(page) == limit or found == expected
        assert found == expected


async def test_facts_are_kept_in_batches_and_the_last_ones_stay(store: SqlStateStore) -> None:
    await store.sessions.save_session_facts({"s": b'{"calls":1}', "of no session": b"{}"})
    await store.sessions.save_session_facts({"s": b'{"calls":2}'})

    assert await store.sessions.load_session_facts("s") == SessionDocuments(b'{"calls":2}')
    assert await store.sessions.load_session_facts("of no session") == SessionDocuments(b"{}")
    assert await store.sessions.load_session_facts("other") == SessionDocuments()


@pytest.mark.req("STATE-2")
async def test_each_replica_keeps_its_own_facts_and_sees_the_others(migrated: str, store: SqlStateStore) -> None:
    async with await SqlStateStore.open(migrated, replica_id="r2") as other:
        await store.sessions.save_session_facts({"s": b"1"})
        await other.sessions.save_session_facts({"s": b"2"})
        await store.sessions.save_session_facts({"s": b"3"})

        assert await store.sessions.load_session_facts("s") == SessionDocuments(b"3", (b"2",))
        assert await other.sessions.load_session_facts("s") == SessionDocuments(b"2", (b"3",))


@pytest.mark.req("STATE-1")
async def test_what_was_kept_is_there_after_a_restart(url: str) -> None:
    async with await SqlStateStore.open(url, replica_id="r1") as first:
        await first.sessions.ensure_session(a_session(intent="stay"))
    async with await SqlStateStore.open(url, replica_id="r1") as second:
        assert await second.sessions.get_session("s") == a_session(intent="stay")
