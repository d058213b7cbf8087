"""What two replicas know of one session (STATE-2): counters, taints, whether it is closed, what is pending."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import dataclass

import pytest
from interlock_gateway.clock import SystemClock
from interlock_gateway.core.pending import PendingAction, PendingOrigin
from interlock_gateway.core.session import Principal, Role
from interlock_gateway.core.sessionfacts import PREVIOUS_KEPT, SessionFacts, together
from interlock_gateway.errors import RequestError
from interlock_gateway.sessions.book import SessionBook
from interlock_gateway.sessions.live import LiveSession
from interlock_gateway.state.store import SqlStateStore
from postgres_server import PostgresServer
from waiting import eventually

ME = Principal("me", "token", frozenset({Role.AGENT}))


@dataclass
class Replica:
    store: SqlStateStore
    book: SessionBook

    async def call(self, *, shared: bool = False, taint: str = "") -> LiveSession:
        """What the pipeline does to a session in a call, as far as it concerns the book."""
        live = await self.book.admit(ME, "s")
        await live.turnstile.acquire(shared=shared)
        try:
            live.facts.count_call("t", destructive=not shared, status="completed")
            if taint:
                live.facts.taints.add(taint)
            self.book.touch(live)
        finally:
            live.turnstile.release(shared=shared)
        return live

    async def seen(self) -> SessionFacts:
        """What policy would see in an exclusive call."""
        live = await self.book.admit(ME, "s")
        await live.turnstile.acquire(shared=False)
        try:
            return together([live.whole])
        finally:
            live.turnstile.release(shared=False)


@pytest.fixture
async def two(postgres: PostgresServer) -> AsyncIterator[tuple[Replica, Replica]]:
    async with AsyncExitStack() as stack:
        url = stack.enter_context(postgres.database())
        replicas = []
        for name in ("r1", "r2"):
            store = await stack.enter_async_context(await SqlStateStore.open(url, replica_id=name))
            await store.join()
            replicas.append(Replica(store, SessionBook(store, SystemClock(), ())))
        yield replicas[0], replicas[1]


def an_action() -> PendingAction:
    now = SystemClock().now()
    return PendingAction(
        "p", "s", "c", PendingOrigin.PREVIEW, "t", "x", "label", b"{}", "", "d" * 64, "f" * 64, now, now + 60
    )


@pytest.mark.req("STATE-2")
async def test_what_was_counted_at_one_is_known_in_the_next_call_at_the_other(two: tuple[Replica, Replica]) -> None:
    for replica in (two[0], two[1], two[0], two[0], two[1]):
        before = (await replica.seen()).calls
        await replica.call()
        assert (await replica.seen()).calls == before + 1

    assert [(await replica.seen()).calls for replica in two] == [5, 5]


@pytest.mark.req("STATE-2")
async def test_a_budget_holds_for_calls_at_both_together(two: tuple[Replica, Replica]) -> None:
    allowed = 0

    async def call_within_budget(replica: Replica) -> None:
        nonlocal allowed
        live = await replica.book.admit(ME, "s")
        await live.turnstile.acquire(shared=False)
        try:
            if live.whole.destructive_calls < 5:
                allowed += 1
                live.facts.count_dispatch(destructive=True)
                replica.book.touch(live)
        finally:
            live.turnstile.release(shared=False)

    await asyncio.gather(*(call_within_budget(replica) for _ in range(10) for replica in two))

    assert allowed == 5


@pytest.mark.req("STATE-2")
async def test_a_taint_reaches_the_other_without_waiting_to_be_flushed(two: tuple[Replica, Replica]) -> None:
    one, other = two
    live = await other.call(shared=True)
    await one.call(shared=True, taint="secret")

    await eventually(lambda: live.stale or "secret" in live.whole.taints)
    assert "secret" in (await other.book.admit(ME, "s")).whole.taints


@pytest.mark.req("STATE-2")
async def test_a_session_that_is_closed_at_one_takes_no_calls_at_the_other(two: tuple[Replica, Replica]) -> None:
    one, other = two
    live = await other.call()
    await one.book.close(ME, "s")

    await eventually(lambda: live.stale or not live.session.is_open)
    with pytest.raises(RequestError, match="closed"):
        await other.call()


@pytest.mark.req("STATE-2")
async def test_what_is_pending_at_one_is_counted_at_the_other(two: tuple[Replica, Replica]) -> None:
    one, other = two
    live = await other.call()
    assert live.pending_count == 0
    await one.store.pending.push_pending(an_action())

    await eventually(lambda: live.stale or live.pending_count == 1)
    assert (await other.book.admit(ME, "s")).pending_count == 1


def test_together_is_as_if_one_had_seen_it_all() -> None:
    parts = (SessionFacts(), SessionFacts())
    whole = SessionFacts()
    for n in range(50):
        for facts in (parts[n % 3 == 0], whole):
            facts.count_dispatch(destructive=n % 2 == 0)
            facts.count_call(f"t{n % 5}", destructive=n % 2 == 0, status="completed")
            facts.count_denial(f"d{n % 4}")
            facts.remember(f"t{n % 5}", "read_only", {}, float(n))
            facts.taints.add(f"x{n % 7}")
            facts.previews["previewed"] += 1

    assert together(parts) == whole
    assert together([SessionFacts.from_json(part.to_json()) for part in parts]) == whole
    assert len(whole.previous) == PREVIOUS_KEPT
    assert parts[0].calls + parts[1].calls == 50
