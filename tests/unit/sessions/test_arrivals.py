"""Calls of one session stand in line in the order in which they came, however long each is looked up (PIPE-8)."""

import asyncio
import random

import pytest
from interlock_gateway.sessions.arrivals import Arrivals, stand_in_line
from interlock_gateway.sessions.turnstile import Turnstile
from waiting import eventually


@pytest.mark.req("PIPE-8")
async def test_the_first_waits_for_nobody_and_nothing_is_left_of_it() -> None:
    arrivals = Arrivals()
    for _ in range(3):
        arrival = arrivals.arrive("p", "s")
        assert arrival.turn() is None
        arrival.leave()
        arrival.leave()
        assert len(arrivals) == 0


@pytest.mark.req("PIPE-8")
async def test_one_that_goes_away_lets_nobody_past_those_before_it() -> None:
    arrivals = Arrivals()
    first, second, third = (arrivals.arrive("p", "s") for _ in range(3))
    turn = third.turn()
    second.leave()
    assert turn is not None
    assert not turn.done()
    first.leave()
    assert turn.done()


@pytest.mark.req("PIPE-8")
async def test_calls_of_others_for_the_same_session_keep_nobody_waiting() -> None:
    arrivals = Arrivals()
    arrivals.arrive("mallory", "s")
    arrivals.arrive("p", "another")
    assert arrivals.arrive("p", "s").turn() is None


@pytest.mark.req("PIPE-8")
async def test_all_that_waited_for_one_go_on_at_once_and_before_who_comes_then() -> None:
    arrivals = Arrivals()
    first, second, third, looked_up, last = (arrivals.arrive("p", "s") for _ in range(5))
    turns = [one.turn() for one in (second, third, last)]
    assert [one.ahead() for one in (first, third, last)] == [0, 2, 4]
    first.leave()
    assert [turn is not None and turn.done() for turn in turns] == [True, True, False]
    newcomer = arrivals.arrive("p", "s")
    assert newcomer.turn() is not None
    second.leave()
    third.leave()
    assert looked_up.turn() is None
    assert [one.ahead() for one in (last, newcomer)] == [1, 2]
    for one in (looked_up, last, newcomer):
        one.leave()
    assert len(arrivals) == 0


@pytest.mark.req("PIPE-8")
async def test_who_waits_is_told_for_how_many_and_how_long_and_holds_no_place_once_it_has_gone() -> None:
    arrivals, turnstile = Arrivals(), Turnstile()
    told: list[int] = []
    first = arrivals.arrive("p", "s")

    async def call() -> float:
        with arrivals.arrive("p", "s") as arrival:
            return await stand_in_line(turnstile, arrival, told.append, shared=False)

    second, third = asyncio.create_task(call()), asyncio.create_task(call())
    await eventually(lambda: told == [1, 2])
    second.cancel()
    first.leave()
    assert await third > 0
    assert (second.cancelled(), len(arrivals), turnstile.idle) == (True, 0, False)
    turnstile.release(shared=False)
    assert turnstile.idle


@pytest.mark.req("PIPE-8", "REL-8")
async def test_what_resolves_waits_for_those_that_have_begun_and_no_others() -> None:
    arrivals = Arrivals()
    begun, waiting, behind = (arrivals.arrive("p", "s") for _ in range(3))
    waiting.waits_to_begin = True
    answer = arrivals.arrive("p", "s", resolves=True)
    turn, later = answer.turn(), behind.turn()
    assert turn is not None
    assert later is not None
    begun.leave()
    assert turn.done()
    waiting.waits_to_begin = False
    next_turn = waiting.turn()
    assert next_turn is not None
    answer.leave()
    assert next_turn.done()
    assert later.done(), "in the loop's next turn, behind it"
    waiting.leave()
    assert later.done()
    behind.leave()
    assert len(arrivals) == 0


@pytest.mark.req("PIPE-8")
async def test_random_lookups_and_cancellations_never_change_the_order() -> None:
    rng = random.Random(11)
    arrivals = Arrivals()
    order: list[int] = []

    async def call(number: int) -> None:
        arrival = arrivals.arrive("p", "s")
        try:
            for _ in range(rng.randrange(6)):
                await asyncio.sleep(0)
            if (turn := arrival.turn()) is not None:
                await turn
            order.append(number)
        finally:
            arrival.leave()

    calls: list[asyncio.Task[None]] = []
    for number in range(2000):
        calls.append(asyncio.create_task(call(number)))
        if rng.random() < 0.2:
            rng.choice(calls).cancel()
        if rng.random() < 0.5:
            await asyncio.sleep(0)
    await asyncio.gather(*calls, return_exceptions=True)
    assert order == sorted(order)
    assert len(order) > 1000
    assert len(arrivals) == 0
