"""The short version of STATE-2 over three replicas; `cluster_faults.cluster_holds` takes any number of faults."""

from pathlib import Path

import pytest
from cluster_faults import SABOTAGE, cluster_holds
from postgres_server import PostgresServer
from s3_server import S3Server


@pytest.mark.timeout(600)
@pytest.mark.req("STATE-2", "ART-2", "PIPE-9", "PIPE-10", "CHK-9", "AUD-2")
async def test_three_replicas_that_are_killed_cut_off_and_replaced_lose_nothing_and_do_nothing_twice(
    socket_directory: Path, postgres: PostgresServer, s3: S3Server
) -> None:
    tally = await cluster_holds(socket_directory, rounds=1, seed=5, server=postgres, s3=s3)
    assert tally.faults == []
    assert set(tally.done) == set(SABOTAGE)
    assert tally.carried > 0
    assert tally.artifacts > 0
