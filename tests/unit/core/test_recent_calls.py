"""Counting a principal's calls in sliding windows: never one too few, and never reset by a clock."""

import random

import pytest
from interlock_gateway.core.recent import LONGEST_S, MAX_TOOLS, NONE, PrincipalCalls, Recent, summed, without

NOON = 1_767_268_800.0
SPANS = (60, 3600, 86400)


def totals(calls: PrincipalCalls, now: float, tool: str = "t") -> tuple[int, int, int]:
    return calls.seen(tool, now).tool


@pytest.mark.req("POL-4")
def test_a_window_never_counts_too_few_and_at_most_one_part_more() -> None:
    chance = random.Random(7)
    for _ in range(30):
        calls, now = PrincipalCalls(), NOON + chance.random()
        times: list[float] = []
        for _ in range(400):
            now += chance.choice((0.0, 0.3, 2.0, 31.0, 700.0, 40_000.0)) * chance.random()
            seen = totals(calls, now)
            for counted, span in zip(seen, SPANS, strict=True):
                exact = sum(now - span < at for at in times)
                generous = sum(now - span * 31 / 30 <= at for at in times)
                assert exact <= counted <= generous
            calls.count("t", now, destructive=False)
            times.append(now)


@pytest.mark.req("POL-4")
def test_tools_all_and_destructive_are_counted_apart() -> None:
    calls = PrincipalCalls()
    for tool, destructive in (("a", False), ("a", True), ("b", True)):
        calls.count(tool, NOON, destructive=destructive)
    assert calls.seen("a", NOON) == Recent((2, 2, 2), (3, 3, 3), (2, 2, 2))
    assert calls.seen("b", NOON) == Recent((1, 1, 1), (3, 3, 3), (2, 2, 2))
    assert calls.seen("c", NOON).tool == NONE


@pytest.mark.req("POL-4")
def test_a_call_leaves_its_windows_one_after_the_other() -> None:
    calls = PrincipalCalls()
    calls.count("t", NOON, destructive=True)
    assert totals(calls, NOON + 60) == (1, 1, 1)
    assert totals(calls, NOON + 63) == (0, 1, 1)
    assert totals(calls, NOON + 3600) == (0, 1, 1)
    assert totals(calls, NOON + 3721) == (0, 0, 1)
    assert totals(calls, NOON + 86400) == (0, 0, 1)
    assert totals(calls, NOON + LONGEST_S) == (0, 0, 0)
    assert calls.seen("t", NOON + LONGEST_S) == Recent()


@pytest.mark.req("POL-4")
@pytest.mark.parametrize("back_s", [1, 59, 61, 3600, 10 * 86400, NOON])
def test_a_clock_that_goes_back_resets_nothing(back_s: float) -> None:
    calls = PrincipalCalls()
    for _ in range(5):
        calls.count("t", NOON, destructive=True)
    assert totals(calls, NOON - back_s) == (5, 5, 5)
    calls.count("t", NOON - back_s, destructive=True)
    assert calls.seen("t", NOON - back_s) == Recent((6, 6, 6), (6, 6, 6), (6, 6, 6))
    # Nor is anything counted for ever: it lasts as long from now on as it would have.
    assert totals(calls, NOON - back_s + 2 * LONGEST_S) == NONE


@pytest.mark.req("POL-4")
def test_a_call_that_is_taken_back_is_as_if_it_had_not_been() -> None:
    calls = PrincipalCalls()
    first = calls.count("t", NOON, destructive=True)
    second = calls.count("t", NOON, destructive=True)
    calls.take_back(first)
    assert calls.seen("t", NOON) == Recent((1, 1, 1), (1, 1, 1), (1, 1, 1))
    assert totals(calls, NOON + 10) == (1, 1, 1)
    calls.take_back(second, destructive_only=True)
    assert calls.seen("t", NOON + 10) == Recent((1, 1, 1), (1, 1, 1), NONE)
    calls.take_back(second._replace(destructive=False))
    assert calls.seen("t", NOON + 10) == Recent()


@pytest.mark.req("POL-4")
def test_taking_back_a_call_that_has_left_a_window_changes_nothing_there() -> None:
    calls = PrincipalCalls()
    early = calls.count("t", NOON, destructive=False)
    calls.count("t", NOON + 300, destructive=False)
    calls.take_back(early)
    assert totals(calls, NOON + 300) == (1, 1, 1)


@pytest.mark.req("POL-4")
def test_it_comes_back_as_it_was_kept() -> None:
    calls, chance, now = PrincipalCalls(), random.Random(3), NOON
    for _ in range(500):
        now += chance.random() * 600
        calls.count(chance.choice("abc"), now, destructive=chance.random() < 0.3)
    again = PrincipalCalls.from_json(calls.to_json())
    for later in (0, 30, 2000, 50_000):
        for tool in "abcd":
            assert again.seen(tool, now + later) == calls.seen(tool, now + later)
    with pytest.raises(ValueError, match="version"):
        PrincipalCalls.from_json(b'{"version":2}')


@pytest.mark.req("POL-4")
def test_more_tools_than_are_counted_apart_share_a_count_and_none_begins_anew() -> None:
    calls = PrincipalCalls()
    for n in range(MAX_TOOLS + 50):
        calls.count(f"t{n}", NOON, destructive=False)
    assert totals(calls, NOON, f"t{MAX_TOOLS + 7}") == (50, 50, 50)
    assert totals(calls, NOON, "t0")[0] >= 1
    for late in (NOON + 80_000, NOON + 86_000):
        calls.count("t0", late, destructive=False)
    kept = PrincipalCalls.from_json(calls.to_json())
    assert totals(kept, NOON + 86_000, f"t{MAX_TOOLS + 7}")[2] == 50


@pytest.mark.req("POL-4")
def test_tools_that_were_not_called_for_a_day_are_not_kept() -> None:
    calls = PrincipalCalls()
    calls.count("old", NOON, destructive=False)
    calls.count("new", NOON + 2 * LONGEST_S, destructive=False)
    assert b"old" not in calls.to_json()
    assert calls.seen("new", NOON + 2 * LONGEST_S).all == (1, 1, 1)


@pytest.mark.req("POL-4")
def test_counts_of_replicas_add_up_and_one_call_can_be_left_out() -> None:
    here, there = Recent((1, 2, 3), (4, 5, 6), (0, 0, 1)), Recent((1, 1, 1), (1, 1, 1), (0, 1, 1))
    both = summed((here, there))
    assert both == Recent((2, 3, 4), (5, 6, 7), (0, 1, 2))
    assert without(both, NOON - 100, NOON, destructive=True) == Recent((2, 2, 3), (5, 5, 6), (0, 0, 1))
    assert without(both, NOON, NOON, destructive=False) == Recent((1, 2, 3), (4, 5, 6), (0, 1, 2))
    assert without(both, NOON - 2 * LONGEST_S, NOON, destructive=True) == both
    assert without(Recent(), NOON, NOON, destructive=True) == Recent()
