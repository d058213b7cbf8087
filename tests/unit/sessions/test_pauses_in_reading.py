"""Which connections are not read for a moment, and when they are again (REL-8)."""

import asyncio
from functools import partial
from itertools import pairwise

import pytest
from interlock_gateway.sessions import pauses as module
from interlock_gateway.sessions.pauses import Pauses
from waiting import eventually

LONG_S = 3600.0


@pytest.mark.req("REL-8")
def test_a_pause_leaves_most_of_the_time_in_which_a_refusal_has_to_be_known() -> None:
    assert module.PAUSE_S + module.LATE_S <= 0.05 * 0.6


@pytest.mark.req("REL-8")
async def test_whoever_pauses_is_read_again_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PAUSE_S", 0.001)
    pauses, read = Pauses(), list[int]()
    for number in range(5):
        pauses.pause(0.0, partial(read.append, number))
    assert len(pauses) == 5
    await eventually(lambda: read == [0, 1, 2, 3, 4])
    assert len(pauses) == 0
    pauses.pause(0.0, partial(read.append, 5))
    await eventually(lambda: read[-1] == 5)


@pytest.mark.req("REL-8")
async def test_all_are_read_at_once_when_there_is_no_more_need_to_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PAUSE_S", LONG_S)
    pauses, read = Pauses(), list[int]()
    for number in range(100):
        pauses.pause(1.0, partial(read.append, number))
    pauses.end()
    assert read == list(range(100))
    assert len(pauses) == 0


@pytest.mark.req("REL-8")
async def test_one_turn_of_the_loop_reads_no_more_than_it_has_time_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PAUSE_S", -1.0)
    monkeypatch.setattr(module, "LATE_READING_S", 0.003)
    pauses, turns, read = Pauses(), list[int](), 0

    def again() -> None:
        nonlocal read
        read += 1

    for _ in range(10):
        pauses.pause(0.001, again)
    while len(pauses):
        turns.append(read)
        await asyncio.sleep(0)
    assert max(after - before for before, after in pairwise(turns)) == 3
    assert read == 10


@pytest.mark.req("REL-8")
async def test_whoever_only_gives_way_is_read_before_those_who_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PAUSE_S", LONG_S)
    pauses, read = Pauses(), list[str]()
    pauses.pause(0.0, partial(read.append, "pauses"))
    pauses.give_way(0.0, partial(read.append, "gives way"))
    await eventually(lambda: read == ["gives way"])
    assert len(pauses) == 1
    pauses.end()


@pytest.mark.req("REL-8")
async def test_whoever_gives_way_again_and_again_keeps_nobody_out_who_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PAUSE_S", 0.001)
    loop = asyncio.get_running_loop()
    pauses, greedy, read = Pauses(), 0, list[str]()

    def again() -> None:
        nonlocal greedy
        greedy += 1
        loop.call_soon(pauses.give_way, LONG_S, again)

    pauses.give_way(LONG_S, again)
    pauses.pause(0.0, partial(read.append, "pauses"))
    await eventually(lambda: read == ["pauses"])
    before = greedy
    await eventually(lambda: greedy > before + 1)


@pytest.mark.req("REL-8")
async def test_whoever_gives_way_is_read_though_others_are_late(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PAUSE_S", -1.0)
    pauses, read = Pauses(), list[str]()

    def again() -> None:
        if not read:
            pauses.pause(LONG_S, again)

    pauses.pause(LONG_S, again)
    pauses.give_way(0.0, partial(read.append, "gives way"))
    await eventually(lambda: read == ["gives way"])
