"""The loop stays awake beside one call that is alone, no longer than it is told, and for nobody else."""

import asyncio
from pathlib import Path

import pytest
from interlock_gateway.processors import processors
from interlock_gateway.sessions.awake import Awake
from interlock_gateway.sessions.gate import Gate


async def rounds_in(seconds: float) -> int:
    """How often the event loop goes round in that time, while nothing happens on it."""
    loop, rounds = asyncio.get_running_loop(), 0
    until = loop.time() + seconds
    select = loop._selector.select  # type: ignore[attr-defined]  # asyncio's own loop

    def counted(timeout: float | None = None) -> object:
        nonlocal rounds
        rounds += 1
        return select(timeout)

    loop._selector.select = counted  # type: ignore[attr-defined]  # as above
    try:
        await asyncio.sleep(until - loop.time())
    finally:
        loop._selector.select = select  # type: ignore[attr-defined]  # as above
    return rounds


async def test_it_goes_round_until_the_time_is_up_and_sleeps_then() -> None:
    awake = Awake(0.05, lambda: True)
    awake.begin()
    assert await rounds_in(0.2) > 50
    assert await rounds_in(0.05) < 10


async def test_it_sleeps_as_soon_as_the_call_is_not_alone() -> None:
    others: list[str] = []
    awake = Awake(60.0, lambda: not others)
    awake.begin()
    assert await rounds_in(0.05) > 50
    others.append("another")
    assert await rounds_in(0.05) < 10


async def test_one_that_begins_meanwhile_prolongs_it_and_makes_it_no_more_often() -> None:
    awake = Awake(0.05, lambda: True)
    turns = 0

    def is_alone() -> bool:
        nonlocal turns
        turns += 1
        return True

    awake._is_alone = is_alone
    for _ in range(20):
        awake.begin()
    for _ in range(10):
        await asyncio.sleep(0)
    assert turns <= 11


def test_the_gate_tells_of_a_call_that_is_alone_and_of_no_other() -> None:
    gate, told = Gate(10), []
    gate.on_alone = lambda: told.append(gate.in_flight)
    gate.enter("a")
    gate.enter("b")
    gate.leave("a")
    gate.enter("a")
    assert told == [1]
    gate.leave("a")
    gate.leave("b")
    gate.enter("b")
    assert told == [1, 1]


@pytest.mark.parametrize(
    ("files", "most"),
    [
        ({}, None),
        ({"cpu.max": "max 100000\n"}, None),
        ({"cpu.max": "50000 100000\n"}, 0.5),
        ({"cpu/cpu.cfs_quota_us": "-1\n", "cpu/cpu.cfs_period_us": "100000\n"}, None),
        ({"cpu/cpu.cfs_quota_us": "25000\n", "cpu/cpu.cfs_period_us": "100000\n"}, 0.25),
        ({"cpu.max": "nonsense"}, None),
        ({"cpu.max": "100000 0\n"}, None),
    ],
)
def test_processors_are_those_that_the_control_group_lets_be_used(
    tmp_path: Path, files: dict[str, str], most: float | None
) -> None:
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    found = processors(tmp_path)
    assert found == most if most is not None else found >= 1
