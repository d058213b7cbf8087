"""The turnstile of a session: safe calls share, others run alone, in the order they came (PIPE-8)."""

import asyncio
import random

import pytest
from interlock_gateway.sessions.turnstile import Turnstile


async def settle() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


@pytest.mark.req("PIPE-8")
async def test_an_exclusive_call_waits_for_the_shared_ones_and_keeps_later_ones_out() -> None:
    turnstile, order = Turnstile(), []

    async def hold(name: str, gate: asyncio.Event, *, shared: bool) -> None:
        await turnstile.acquire(shared=shared)
        order.append(name)
        await gate.wait()
        turnstile.release(shared=shared)

    gates = {name: asyncio.Event() for name in "abcd"}
    kinds = {"a": True, "b": True, "c": False, "d": True}
    tasks = []
    for name, shared in kinds.items():
        tasks.append(asyncio.create_task(hold(name, gates[name], shared=shared)))
        await settle()
    assert order == ["a", "b"]
    gates["a"].set()
    await settle()
    assert order == ["a", "b"]
    gates["b"].set()
    await settle()
    assert order == ["a", "b", "c"]
    gates["c"].set()
    await settle()
    assert order == ["a", "b", "c", "d"]
    gates["d"].set()
    await asyncio.gather(*tasks)
    assert turnstile.idle


@pytest.mark.req("PIPE-8")
async def test_a_cancelled_waiter_lets_those_behind_it_pass() -> None:
    turnstile = Turnstile()
    await turnstile.acquire(shared=True)
    alone = asyncio.create_task(turnstile.acquire(shared=False))
    await settle()
    behind = asyncio.create_task(turnstile.acquire(shared=True))
    await settle()
    assert not behind.done()
    alone.cancel()
    await asyncio.wait_for(behind, 30)


@pytest.mark.req("PIPE-8")
async def test_random_arrivals_departures_and_cancellations_never_break_the_rule() -> None:
    rng = random.Random(7)
    turnstile = Turnstile()
    inside: list[bool] = []

    async def pass_through(*, shared: bool) -> None:
        await turnstile.acquire(shared=shared)
        try:
            inside.append(shared)
            assert all(inside) or len(inside) == 1
            for _ in range(rng.randrange(4)):
                await asyncio.sleep(0)
        finally:
            inside.remove(shared)
            turnstile.release(shared=shared)

    tasks: list[asyncio.Task[None]] = []
    for _ in range(2000):
        tasks.append(asyncio.create_task(pass_through(shared=rng.random() < 0.6)))
        if rng.random() < 0.3:
            rng.choice(tasks).cancel()
        if rng.random() < 0.5:
            await asyncio.sleep(0)
    outcomes = await asyncio.gather(*tasks, return_exceptions=True)
    assert not [outcome for outcome in outcomes if isinstance(outcome, AssertionError)]
    assert turnstile.idle
