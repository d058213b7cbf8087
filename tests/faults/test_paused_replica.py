"""A replica that is paused at a failpoint until others have taken it for dead, and then goes on (REL-4, STATE-2)."""

import asyncio
from pathlib import Path

import pytest
from crash_harness import HERE, world_in
from failpoints import Action
from gateway_process import GatewayProcess
from interlock.results import CallStatus
from postgres_server import PostgresServer
from waiting import eventually


@pytest.mark.req("REL-4", "STATE-2", "PIPE-9", "PIPE-10")
@pytest.mark.parametrize(("failpoint", "effects"), [("after the journal has the intent", 0), ("before dispatch", 1)])
async def test_a_replica_that_wakes_up_after_its_call_was_called_unknown_does_nothing_twice(
    socket_directory: Path, postgres: PostgresServer, failpoint: str, effects: int
) -> None:
    with postgres.database() as url:
        async with world_in(socket_directory, url) as world:
            paused = world.process
            paused.lease_s = 2.0
            launcher = str(HERE / "serve_to_be_killed.py")
            paused.launcher = (launcher, failpoint, "1", Action.PAUSE, str(world.trigger))
            (socket_directory / "other").mkdir()
            other = GatewayProcess(socket_directory / "other", paused.providers, database=url, lease_s=2.0)
            try:
                async with await paused.start() as here, await other.start() as there:
                    world.trigger.touch()
                    first = asyncio.create_task(here.session("s").call("note", {"key": "k"}, call_id="c"))
                    await eventually(lambda: bool(world.trigger.read_text()))

                    taken_over = await there.session("s").call("note", {"key": "k"}, call_id="c")
                    paused.go_on()

                    assert taken_over.status is CallStatus.OUTCOME_UNKNOWN
                    assert (await first).status in (CallStatus.OUTCOME_UNKNOWN, CallStatus.DENIED)
                    assert (await there.session("s").call("note", {"key": "k"}, call_id="c")) == taken_over
                    assert [effect.key for effect in world.read_ledger()] == ["k"] * effects
            finally:
                await other.stop()
