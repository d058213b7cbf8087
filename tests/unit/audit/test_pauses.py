"""The writer lets the event loop go on between a few records, and only as long as that is cheap."""

import time
from collections.abc import Callable

import pytest
from interlock_gateway.audit.pauses import FEW, LONGEST_S, Pauses


def _counting(monkeypatch: pytest.MonkeyPatch, lasts_s: float = 0.0) -> Callable[[], int]:
    slept: list[float] = []
    now = time.monotonic()

    def sleep(seconds: float) -> None:
        slept.append(seconds)

    monkeypatch.setattr(time, "sleep", sleep)
    monkeypatch.setattr(time, "monotonic", lambda: now + len(slept) * lasts_s)
    return lambda: len(slept)


def test_there_is_a_pause_behind_each_of_a_few_records(monkeypatch: pytest.MonkeyPatch) -> None:
    slept = _counting(monkeypatch)
    few = Pauses(FEW)
    for _ in range(FEW):
        few.pause()
    assert slept() == FEW


def test_many_records_are_written_without_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    slept = _counting(monkeypatch)
    Pauses(FEW + 1).pause()
    assert slept() == 0


def test_a_loop_that_gives_the_interpreter_back_late_is_waited_for_once(monkeypatch: pytest.MonkeyPatch) -> None:
    slept = _counting(monkeypatch, lasts_s=2 * LONGEST_S)
    few = Pauses(FEW)
    for _ in range(FEW):
        few.pause()
    assert slept() == 1
