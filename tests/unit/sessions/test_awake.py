"""The loop stays awake beside one call that is alone, no longer than it is told, and for nobody else."""

import asyncio
from pathlib import Path

import pytest
from interlock_gateway.processors import processors
from interlock_gateway.sessions import awake
from interlock_gateway.sessions.gate import Gate


class Beside:
    """A call with the loop kept awake beside it, whose clock stands still until it is moved."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now, self.alone, self.turns = 100.0, True, 0
        monkeypatch.setattr(awake, "monotonic", lambda: self.now)
        self.awake = awake.Awake(1.0, self._may_be)

    def _may_be(self) -> bool:
        self.turns += 1
        return self.alone

    async def turns_in(self, rounds: int) -> int:
        """In how many of the loop's next rounds it was kept awake."""
        before = self.turns
        for _ in range(rounds):
            await asyncio.sleep(0)
        return self.turns - before


@pytest.fixture
def beside(monkeypatch: pytest.MonkeyPatch) -> Beside:
    return Beside(monkeypatch)


async def test_it_goes_round_until_the_time_is_up_and_sleeps_then(beside: Beside) -> None:
    beside.awake.begin()
    assert await beside.turns_in(20) == 20
    beside.now += 1.0
    assert await beside.turns_in(20) == 0


async def test_it_sleeps_as_soon_as_the_call_is_not_alone(beside: Beside) -> None:
    beside.awake.begin()
    assert await beside.turns_in(5) == 5
    beside.alone = False
    assert await beside.turns_in(20) == 1
    beside.alone = True
    assert await beside.turns_in(20) == 0, "it begins with the next call, not by itself"
    beside.awake.begin()
    assert await beside.turns_in(5) == 5


async def test_one_that_begins_meanwhile_prolongs_it_and_makes_it_no_more_often(beside: Beside) -> None:
    beside.awake.begin()
    assert await beside.turns_in(5) == 5
    beside.now += 0.9
    for _ in range(20):
        beside.awake.begin()
    beside.now += 0.9
    assert await beside.turns_in(5) == 5
    beside.now += 0.1
    assert await beside.turns_in(5) == 0


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
