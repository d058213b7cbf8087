"""Which replica's calls of a session may run (PIPE-8)."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass, field

import psycopg
import pytest
from interlock_gateway.pipeline.ports import StateUnavailableError
from interlock_gateway.sessions.turnstile import Turnstile
from interlock_gateway.state.session_locks import MAX_KEPT, SessionLocks
from interlock_gateway.state.store import SqlStateStore
from waiting import eventually

pytestmark = pytest.mark.parametrize("kind", ["postgresql"], indirect=True)
LEASE_S = 1.0


@dataclass
class Gateway:
    """One replica's turnstiles, and what its book would have been asked to do."""

    store: SqlStateStore
    turnstiles: dict[str, Turnstile] = field(default_factory=dict)
    log: list[str] = field(default_factory=list)
    trouble: Exception | None = None

    def __post_init__(self) -> None:
        self.locks.attend(self._arrived, self._departing)

    @property
    def locks(self) -> SessionLocks:
        assert isinstance(self.store.crossing, SessionLocks)
        return self.store.crossing

    def at(self, session_id: str) -> Turnstile:
        return self.turnstiles.setdefault(session_id, Turnstile(session_id, self.locks))

    async def enter(self, session_id: str = "s", *, shared: bool = False, within_s: float = 10.0) -> None:
        async with asyncio.timeout(within_s):
            await self.at(session_id).acquire(shared=shared)

    def leave(self, session_id: str = "s", *, shared: bool = False) -> None:
        self.at(session_id).release(shared=shared)

    async def _arrived(self, session_id: str) -> None:
        self.log.append(f"+{session_id}")
        if self.trouble is not None:
            raise self.trouble

    async def _departing(self, session_id: str) -> None:
        self.log.append(f"-{session_id}")


Start = Callable[[str], Awaitable[Gateway]]


@pytest.fixture
async def start(migrated: str) -> AsyncIterator[Start]:
    async with AsyncExitStack() as stack:

        async def started(replica_id: str) -> Gateway:
            store = await stack.enter_async_context(await SqlStateStore.open(migrated, replica_id=replica_id))
            await store.join(LEASE_S)
            return Gateway(store)

        yield started


@pytest.fixture
async def two(start: Start) -> tuple[Gateway, Gateway]:
    return await start("r1"), await start("r2")


async def refused_for_now(gateway: Gateway, session_id: str = "s", *, shared: bool = False) -> bool:
    with suppress(TimeoutError):
        await gateway.enter(session_id, shared=shared, within_s=0.3)
        gateway.leave(session_id, shared=shared)
        return False
    return True


@pytest.mark.req("PIPE-8")
async def test_an_exclusive_call_keeps_every_call_of_the_session_out_of_the_other_replica(
    two: tuple[Gateway, Gateway],
) -> None:
    one, other = two
    await one.enter()

    assert await refused_for_now(other)
    assert await refused_for_now(other, shared=True)
    await other.enter("another session")
    one.leave()
    await other.enter()
    assert await refused_for_now(one, shared=True)
    other.leave()
    await one.enter(shared=True)


@pytest.mark.req("PIPE-8")
async def test_safe_calls_share_a_session_across_replicas_and_keep_exclusive_ones_out(
    two: tuple[Gateway, Gateway],
) -> None:
    one, other = two
    await one.enter(shared=True)
    await other.enter(shared=True)

    assert await refused_for_now(other)
    one.leave(shared=True)
    other.leave(shared=True)
    await other.enter()
    assert await refused_for_now(one, shared=True)


@pytest.mark.req("PIPE-8")
async def test_a_session_goes_back_and_forth_and_each_time_its_facts_are_taken_along(
    two: tuple[Gateway, Gateway],
) -> None:
    one, other = two
    for gateway in (one, other, one):
        await gateway.enter()
        gateway.leave()

    assert one.log == ["+s", "-s", "+s"]
    assert other.log == ["+s", "-s"]


async def test_a_session_that_stays_costs_nothing_more(two: tuple[Gateway, Gateway]) -> None:
    one, _ = two
    await one.enter(shared=False)
    one.leave()

    for shared in (True, False, True):
        assert one.locks.enter("s", shared=shared) is None
        one.locks.leave("s")
    assert one.log == ["+s"]


@pytest.mark.req("PIPE-8")
async def test_calls_of_two_busy_replicas_never_overlap_and_all_get_their_turn(two: tuple[Gateway, Gateway]) -> None:
    inside: list[str] = []
    most = 0

    async def call(gateway: Gateway, name: str) -> None:
        nonlocal most
        await gateway.enter(within_s=60)
        inside.append(name)
        most = max(most, len(inside))
        await asyncio.sleep(0)
        inside.remove(name)
        gateway.leave()

    await asyncio.gather(*(call(gateway, f"{n}") for n in range(50) for gateway in two))

    assert most == 1


async def test_whoever_is_cancelled_while_waiting_leaves_nothing_behind(two: tuple[Gateway, Gateway]) -> None:
    one, other = two
    await one.enter()
    waiting = [asyncio.create_task(other.enter(shared=shared)) for shared in (False, True)]
    await eventually(lambda: other.at("s").ahead() > 0)
    for task in waiting:
        task.cancel()
    await asyncio.gather(*waiting, return_exceptions=True)
    assert other.at("s").idle

    one.leave()
    await one.enter()
    one.leave()
    await other.enter()


@pytest.mark.req("PIPE-8", "STATE-2")
async def test_a_replica_whose_connection_is_gone_holds_nobody_up(migrated: str, two: tuple[Gateway, Gateway]) -> None:
    one, other = two
    await one.enter()
    assert one.store._replica is not None
    connection = one.store._replica._presence._connection
    assert connection is not None
    one.store._replica._presence._keeper.cancel()  # type: ignore[union-attr]  # it is there once it has joined
    async with await psycopg.AsyncConnection.connect(migrated, autocommit=True) as killer:
        await killer.execute("SELECT pg_terminate_backend(%s)", (connection.info.backend_pid,))

    await other.enter()


@pytest.mark.req("STATE-2")
async def test_a_paused_replicas_locks_are_taken_from_it(two: tuple[Gateway, Gateway]) -> None:
    paused, other = two
    await paused.enter()
    assert paused.store._replica is not None
    paused.store._replica._presence._keeper.cancel()  # type: ignore[union-attr]  # it is there once it has joined

    await other.enter(within_s=5 * LEASE_S)

    await eventually(lambda: not paused.store.stands)
    paused.leave()
    with pytest.raises((StateUnavailableError, TimeoutError)):
        await paused.enter(within_s=1)


async def test_only_so_many_locks_are_kept(start: Start) -> None:
    one = await start("r1")
    for n in range(MAX_KEPT + 20):
        await one.enter(f"s{n}")
        one.leave(f"s{n}")

    await eventually(lambda: len(one.locks._places) <= MAX_KEPT)
    await (await start("r2")).enter("s0")


@pytest.mark.req("PIPE-8", "STATE-2")
@pytest.mark.parametrize("trouble", [StateUnavailableError("gone for a moment"), ValueError("not what was written")])
async def test_no_call_is_let_in_before_what_others_did_in_the_session_was_read(
    start: Start, trouble: Exception
) -> None:
    """The lock is here by then; whoever comes next must not take that for enough."""
    gateway = await start("r1")
    gateway.trouble = trouble
    with pytest.raises(StateUnavailableError):
        await gateway.enter()
    with pytest.raises(StateUnavailableError):
        await gateway.enter(shared=True)
    gateway.trouble = None
    await gateway.enter()
    assert gateway.log == ["+s", "+s", "+s"]
    gateway.leave()
    await gateway.enter()
    assert gateway.log == ["+s", "+s", "+s"]
