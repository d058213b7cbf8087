"""The short version of REL-9; `drain_harness.drains_hold` takes any number of drains."""

import statistics
from pathlib import Path

import pytest
from drain_harness import drains_hold
from reached_in_time import WANTED_S, ends_reach_tools


@pytest.mark.req("REL-9", "PIPE-9", "PIPE-10", "BATCH-1")
async def test_ended_under_load_it_leaves_nobody_without_an_answer(socket_directory: Path) -> None:
    tally = await drains_hold(socket_directory, drains=2, seed=21)
    assert tally.faults == []
    assert tally.drains == 2
    assert tally.answered > 0


@pytest.mark.req("REL-9", "PIPE-7")
async def test_a_tool_learns_that_nobody_waits_any_more(socket_directory: Path) -> None:
    lags = await ends_reach_tools(socket_directory, calls=8)
    assert (len(lags.hung_up), len(lags.deadline), lags.lost) == (4, 4, 0)
    # One call in eight may meet a machine that does something else; in full, none of a thousand may be late.
    assert lags.late <= 1
    assert max(statistics.median(lags.hung_up), statistics.median(lags.deadline)) <= WANTED_S
