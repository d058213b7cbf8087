"""What principals called lately, as it survives kills and is added up over replicas (POL-4)."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import dataclass

import pytest
from interlock_gateway.core.recent import LONGEST_S, NONE, Recent
from interlock_gateway.pipeline.ports import StateUnavailableError
from interlock_gateway.sessions import call_counts
from interlock_gateway.sessions.call_counts import CallCounts
from interlock_gateway.state.store import SqlStateStore
from postgres_server import PostgresServer

NOON = 1_767_268_800.0


@dataclass
class SetClock:
    """A clock that stands where a test sets it."""

    at: float = NOON

    def now(self) -> float:
        return self.at

    def monotonic(self) -> float:
        return self.at


async def call(counts: CallCounts, clock: SetClock, principal: str = "p", tool: str = "t") -> Recent:
    """One call, as the pipeline counts it: what it saw before it."""
    tally = await counts.of(principal)
    seen = tally.seen(tool, clock.now())
    counts.count(principal, tally, tool, clock.now(), destructive=True)
    return seen


@pytest.fixture
def clock() -> SetClock:
    return SetClock()


@pytest.mark.req("POL-4")
async def test_counts_that_were_flushed_are_there_after_a_kill(migrated: str, clock: SetClock) -> None:
    async with await SqlStateStore.open(migrated, replica_id="r1") as store:
        counts = CallCounts(store, clock)
        for _ in range(3):
            await call(counts, clock)
        await counts.flush()
        await call(counts, clock)  # and this one is lost: nothing is flushed when a process is killed

    async with await SqlStateStore.open(migrated, replica_id="r1") as store:
        assert await call(CallCounts(store, clock), clock) == Recent((3, 3, 3), (3, 3, 3), (3, 3, 3))


@pytest.mark.req("POL-4")
async def test_a_start_with_a_clock_that_was_set_back_resets_nothing(migrated: str, clock: SetClock) -> None:
    async with await SqlStateStore.open(migrated, replica_id="r1") as store:
        counts = CallCounts(store, clock)
        await call(counts, clock)
        await counts.flush()

    clock.at -= 40 * 86400
    async with await SqlStateStore.open(migrated, replica_id="r1") as store:
        counts = CallCounts(store, clock)
        await counts.forget_old()
        assert (await call(counts, clock)).tool == (1, 1, 1)


@pytest.mark.req("POL-4")
async def test_principals_are_dropped_from_memory_and_never_begin_anew(
    store: SqlStateStore, clock: SetClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(call_counts, "PRINCIPALS_KEPT", 3)
    counts = CallCounts(store, clock)
    names = [f"p{n}" for n in range(10)]
    for expected in ((0, 0, 0), (1, 1, 1), (2, 2, 2)):
        for name in names:
            assert (await call(counts, clock, name)).tool == expected
        assert len(counts) == 10  # none is dropped before it is written
        await counts.flush()
        assert len(counts) == 3


@pytest.mark.req("POL-4")
async def test_what_cannot_be_written_is_kept_and_written_later(
    store: SqlStateStore, clock: SetClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    counts = CallCounts(store, clock)
    await call(counts, clock)
    save = store.counts.save_counts

    async def fail(*_: object) -> None:
        raise StateUnavailableError("no disk")

    monkeypatch.setattr(store.counts, "save_counts", fail)
    with pytest.raises(StateUnavailableError):
        await counts.flush()
    monkeypatch.setattr(store.counts, "save_counts", save)
    await counts.flush()
    assert (await call(CallCounts(store, clock), clock)).tool == (1, 1, 1)


@pytest.mark.req("POL-4")
async def test_calls_at_once_bring_a_principal_in_as_one(store: SqlStateStore, clock: SetClock) -> None:
    counts = CallCounts(store, clock)
    seen = await asyncio.gather(*(call(counts, clock) for _ in range(50)))
    assert sorted(one.tool[0] for one in seen) == list(range(50))


@pytest.mark.req("POL-4")
async def test_documents_of_a_day_ago_are_dropped_and_later_ones_are_not(store: SqlStateStore, clock: SetClock) -> None:
    counts = CallCounts(store, clock)
    await call(counts, clock, "old")
    await counts.flush()
    clock.at += LONGEST_S - 10
    await call(counts, clock, "new")
    await counts.flush()
    clock.at += 20
    await counts.forget_old()
    assert (await store.counts.load_counts("old")).own is None
    assert (await call(CallCounts(store, clock), clock, "new")).tool == (1, 1, 1)


@pytest.mark.req("POL-4")
async def test_taking_back_what_was_dropped_meanwhile_does_no_harm(store: SqlStateStore, clock: SetClock) -> None:
    counts = CallCounts(store, clock)
    tally = await counts.of("p")
    counted = counts.count("p", tally, "t", clock.now(), destructive=True)
    await counts.flush()
    other = CallCounts(store, clock)
    other.take_back("p", counted)
    await other.flush()
    assert tally.seen("t", clock.now()).tool == (1, 1, 1)
    counts.take_back("p", counted)
    assert tally.seen("t", clock.now()).tool == NONE


@dataclass
class Two:
    here: CallCounts
    there: CallCounts


@pytest.fixture
async def two(postgres: PostgresServer, clock: SetClock) -> AsyncIterator[Two]:
    async with AsyncExitStack() as stack:
        url = stack.enter_context(postgres.database())
        made = []
        for name in ("r1", "r2"):
            store = await stack.enter_async_context(await SqlStateStore.open(url, replica_id=name))
            await store.join()
            made.append(CallCounts(store, clock))
        yield Two(*made)


@pytest.mark.req("POL-4", "STATE-2")
async def test_what_replicas_counted_adds_up_a_second_after_it_was_flushed(two: Two, clock: SetClock) -> None:
    for counts in (two.here, two.there):
        for _ in range(3):
            await call(counts, clock)
        await counts.flush()
    clock.at += 1.5
    for counts in (two.here, two.there):
        assert (await seen_by(counts, clock)).all == (6, 6, 6)


async def seen_by(counts: CallCounts, clock: SetClock) -> Recent:
    return (await counts.of("p")).seen("t", clock.now())


@pytest.mark.req("POL-4", "STATE-2")
async def test_another_replica_begins_with_what_the_first_has_flushed(two: Two, clock: SetClock) -> None:
    for _ in range(4):
        await call(two.here, clock)
    await two.here.flush()
    assert (await call(two.there, clock)).tool == (4, 4, 4)
