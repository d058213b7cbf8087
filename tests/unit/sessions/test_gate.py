"""Who may begin and who is refused when more calls come than can be served (REL-8)."""

import asyncio
import itertools
from collections import Counter
from contextlib import suppress
from functools import partial

import pytest
from interlock_gateway.errors import RequestError, RequestFault
from interlock_gateway.sessions import gate as gate_module
from interlock_gateway.sessions.gate import FIRST_A_TURN, Gate
from interlock_gateway.sessions.shares import Full, Shares

PATIENCE_S = 10.0


class Busy:
    """Policy workers that keep everything waiting until they are let go."""

    def __init__(self) -> None:
        self.delay_s = 1.0

    def __call__(self) -> float:
        return self.delay_s


async def crowd(gate: Gate, principal: str, count: int) -> "list[asyncio.Future[None]]":
    """So many calls that wait, the first of them known to the gate as waiting for something else."""
    places = [place for _ in range(count) if (place := gate.begin(principal)) is not None]
    await asyncio.sleep(0)
    return places


async def full(gate: Gate) -> None:
    """Begin as many as may begin in one turn, so that the next has to wait."""
    while (place := gate.begin("first")) is None:
        pass
    place.cancel()
    await asyncio.sleep(0)


@pytest.mark.req("REL-8")
async def test_calls_begin_at_once_as_long_as_there_are_few() -> None:
    gate = Gate(100)
    for _ in range(50):
        gate.check("agent")
        gate.enter("agent")
        assert gate.begin("agent") is None
        gate.leave("agent")
        await asyncio.sleep(0)
    assert (gate.in_flight, gate.waiting, gate.waited, gate.refusals.total) == (0, 0, 0, 0)


@pytest.mark.req("REL-8")
async def test_of_many_calls_only_some_begin_in_one_turn_and_all_begin_in_the_end() -> None:
    gate = Gate(1000)
    places = [gate.begin("agent") for _ in range(200)]
    assert places.count(None) == int(FIRST_A_TURN)
    waiting = [place for place in places if place is not None]
    await asyncio.wait_for(asyncio.gather(*waiting), PATIENCE_S)
    assert (gate.waiting, gate.waited) == (0, len(waiting))


@pytest.mark.req("REL-8")
async def test_nothing_begins_while_policy_keeps_waiting_what_has_begun() -> None:
    busy = Busy()
    gate = Gate(1000, busy)
    await full(gate)
    places = await crowd(gate, "agent", 20)
    for _ in range(5):
        await asyncio.sleep(0)
    assert not any(place.done() for place in places)
    busy.delay_s = 0.0
    await asyncio.wait_for(asyncio.gather(*places), PATIENCE_S)


@pytest.mark.req("REL-8")
async def test_principals_take_turns_whoever_came_first_with_many() -> None:
    busy = Busy()
    gate = Gate(1000, busy)
    await full(gate)
    order: list[str] = []

    def begun(principal: str, _place: "asyncio.Future[None]") -> None:
        order.append(principal)

    places = []
    for principal, count in (("many", 40), ("one", 1), ("two", 2)):
        for place in await crowd(gate, principal, count):
            place.add_done_callback(partial(begun, principal))
            places.append(place)
    busy.delay_s = 0.0
    await asyncio.wait_for(asyncio.gather(*places), PATIENCE_S)
    assert order[:5] == ["many", "one", "two", "many", "two"]
    assert Counter(order) == {"many": 40, "one": 1, "two": 2}


@pytest.mark.req("REL-8")
async def test_whoever_goes_gives_up_the_place() -> None:
    busy = Busy()
    gate = Gate(1000, busy)
    await full(gate)
    gone, stays = await crowd(gate, "agent", 2)
    gone.cancel()
    busy.delay_s = 0.0
    await asyncio.wait_for(stays, PATIENCE_S)
    assert (gate.waiting, gate.waited) == (0, 1)


@pytest.mark.req("REL-8")
async def test_what_would_wait_too_long_is_refused_with_the_time_to_wait_and_others_are_not() -> None:
    gate = Gate(10_000, Busy())
    await full(gate)
    await crowd(gate, "many", 2000)
    with pytest.raises(RequestError) as caught:
        gate.check("many")
    assert caught.value.fault is RequestFault.OVERLOADED
    assert caught.value.retry_s is not None
    assert caught.value.retry_s > 0
    gate.check("another")
    assert gate.refusals.counts == {"queue": 1}


@pytest.mark.req("REL-8")
async def test_heads_that_come_together_are_not_all_let_in_before_the_first_is_counted() -> None:
    gate = Gate(100_000, Busy())
    await full(gate)
    await crowd(gate, "agent", 1)
    let_in = 0
    with suppress(RequestError):
        for let_in in range(5000):  # noqa: B007 - how far it came is what is asked
            gate.check("agent")
    assert 0 < let_in < 1000


@pytest.mark.req("REL-8")
async def test_nobody_is_refused_because_another_s_heads_came_in_the_same_turn() -> None:
    gate = Gate(100_000, Busy())
    await full(gate)
    await crowd(gate, "greedy", 1)
    with suppress(RequestError):
        for _ in range(5000):
            gate.check("greedy")
    assert gate.refusals.total == 1
    gate.check("another")
    gate.check("a third")
    for number in range(5000):
        gate.check(f"newcomer {number}")
    with pytest.raises(RequestError):
        gate.check("newcomer 0")


@pytest.mark.req("REL-8")
async def test_those_refused_together_are_told_to_wait_for_different_times_and_longer_when_there_are_more() -> None:
    gate = Gate(1)
    gate.enter("agent")

    def told() -> set[float]:
        found = set()
        for _ in range(100):
            with pytest.raises(RequestError) as caught:
                gate.check("agent")
            found.add(caught.value.retry_s or 0.0)
        return found

    few = told()
    gate.refusals.scale(served=10)
    many = told()
    assert len(few) > 5
    assert max(few) < min(many) < max(many) < 20


async def test_a_call_that_was_let_in_before_is_refused_no_more() -> None:
    gate = Gate(1)
    with gate.entered("agent"):
        with pytest.raises(RequestError):
            gate.enter("agent")
        with gate.entered("agent", again=True):
            assert gate.in_flight == 2
    assert gate.in_flight == 0


@pytest.mark.req("REL-8")
def test_a_principal_that_wants_all_leaves_room_for_others() -> None:
    shares = Shares(1000)
    while shares.refusal("greedy") is None:
        shares.take("greedy")
    assert shares.refusal("greedy") is Full.SHARE
    assert shares.count == 800
    while shares.refusal("too") is None:
        shares.take("too")
    assert shares.refusal("newcomer") is None
    for _ in range(800):
        shares.give_back("greedy")
    assert shares.refusal("greedy") is None


def test_the_last_place_is_anybodys() -> None:
    shares = Shares(1)
    assert shares.refusal("one") is None
    shares.take("one")
    assert shares.refusal("one") is Full.ALL
    assert shares.refusal("two") is Full.ALL
    shares.give_back("one")
    assert shares.refusal("two") is None


@pytest.mark.req("REL-8")
async def test_who_has_more_waiting_than_begins_in_a_pause_may_be_read_after_one_and_nobody_else() -> None:
    busy = Busy()
    gate = Gate(10_000, busy)
    await full(gate)
    assert not gate.is_behind("greedy")
    greedy = await crowd(gate, "greedy", 1000)
    assert gate.is_behind("greedy")
    assert not gate.is_behind("newcomer"), "it begins with the next turn of the loop"
    modest = await crowd(gate, "modest", 1)
    assert not gate.is_behind("modest")
    busy.delay_s = 0.0
    await asyncio.wait_for(asyncio.gather(*greedy, *modest), PATIENCE_S)
    assert not gate.is_behind("greedy")


@pytest.mark.req("REL-8")
@pytest.mark.parametrize("is_refused", [False, True])
async def test_a_turn_may_last_a_little_longer_while_calls_are_refused(
    monkeypatch: pytest.MonkeyPatch, *, is_refused: bool
) -> None:
    between = (gate_module.TURN_S + gate_module.REFUSING_TURN_S) / 2
    monkeypatch.setattr(gate_module, "thread_time", partial(next, itertools.count(step=between)))
    monkeypatch.setattr(gate_module, "BURST_S", 0.0)
    gate = Gate(10_000)
    places = [place for _ in range(1000) if (place := gate.begin("agent")) is not None]
    if is_refused:
        with pytest.raises(RequestError):
            gate.check("agent")
    before = FIRST_A_TURN
    for _ in range(8):
        await asyncio.sleep(0)
        done = sum(place.done() for place in places)
        assert (done >= before) if is_refused else (done < before)
        places, before = [place for place in places if not place.done()], done
