"""The short versions of REL-4; `crash_harness.crashes_hold` takes any number of kills."""

from pathlib import Path

import pytest
from crash_harness import crashes_hold, failpoints_reached
from failpoints import FAILPOINTS
from postgres_server import PostgresServer


@pytest.mark.req("REL-4")
async def test_the_work_of_the_harness_comes_by_every_failpoint(socket_directory: Path) -> None:
    assert await failpoints_reached(socket_directory, within_s=60.0) == set(FAILPOINTS)


@pytest.mark.req("REL-4", "PIPE-9", "PIPE-10", "PREV-13", "PREV-14", "AUD-2")
async def test_killed_at_failpoints_under_load_it_loses_nothing_and_does_nothing_twice(socket_directory: Path) -> None:
    tally = await crashes_hold(socket_directory, kills=3, seed=11)
    assert tally.faults == []
    assert tally.kills == tally.reached.total() == 3


@pytest.mark.req("REL-4", "STATE-1", "PIPE-9", "PIPE-10")
async def test_killed_at_failpoints_on_postgresql_it_loses_nothing_and_does_nothing_twice(
    socket_directory: Path, postgres: PostgresServer
) -> None:
    tally = await crashes_hold(socket_directory, kills=2, seed=12, database=postgres.database)
    assert tally.faults == []
    assert tally.kills == tally.reached.total() == 2
