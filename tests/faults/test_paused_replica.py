"""A replica that is paused at a failpoint until others have taken it for dead, and then goes on (REL-4, STATE-2)."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import pytest
from crash_harness import HERE, World, world_in
from failpoints import Action
from gateway_process import GatewayProcess
from interlock import Gateway
from interlock.errors import RequestError
from interlock.results import CallStatus
from postgres_server import PostgresServer
from waiting import eventually, eventually_so


@dataclass
class Pair:
    """Two replicas; the first stands still at its failpoint once it is armed, until it is told to go on."""

    world: World
    here: Gateway
    there: Gateway

    def arm(self) -> None:
        """Have the next one who comes to the failpoint stand still there."""
        self.world.trigger.touch()

    async def stands_still(self) -> None:
        """Wait until it does."""
        await eventually(lambda: bool(self.world.trigger.read_text()))

    def go_on(self) -> None:
        """Wake it up."""
        self.world.process.go_on()

    def effects(self) -> list[str]:
        """The keys of what happened at the provider."""
        return [effect.key for effect in self.world.read_ledger()]


@asynccontextmanager
async def a_pair(directory: Path, postgres: PostgresServer, failpoint: str) -> AsyncIterator[Pair]:
    """Two replicas on one database, of which the first is to stand still at `failpoint`."""
    with postgres.database() as url:
        async with world_in(directory, url) as world:
            paused = world.process
            paused.lease_s = 2.0
            launcher = str(HERE / "serve_to_be_killed.py")
            paused.launcher = (launcher, failpoint, "1", Action.PAUSE, str(world.trigger))
            (directory / "other").mkdir()
            other = GatewayProcess(directory / "other", paused.providers, database=url, lease_s=2.0)
            try:
                async with await paused.start() as here, await other.start() as there:
                    yield Pair(world, here, there)
            finally:
                await other.stop()


@pytest.mark.req("REL-4", "STATE-2", "PIPE-9", "PIPE-10")
@pytest.mark.parametrize(("failpoint", "effects"), [("after the journal has the intent", 0), ("before dispatch", 1)])
async def test_a_replica_that_wakes_up_after_its_call_was_called_unknown_does_nothing_twice(
    socket_directory: Path, postgres: PostgresServer, failpoint: str, effects: int
) -> None:
    async with a_pair(socket_directory, postgres, failpoint) as pair:
        pair.arm()
        first = asyncio.create_task(pair.here.session("s").call("note", {"key": "k"}, call_id="c"))
        await pair.stands_still()

        taken_over = await pair.there.session("s").call("note", {"key": "k"}, call_id="c")
        pair.go_on()

        assert taken_over.status is CallStatus.OUTCOME_UNKNOWN
        assert (await first).status in (CallStatus.OUTCOME_UNKNOWN, CallStatus.DENIED)
        assert (await pair.there.session("s").call("note", {"key": "k"}, call_id="c")) == taken_over
        assert pair.effects() == ["k"] * effects


@pytest.mark.req("REL-4", "STATE-2", "PREV-13")
async def test_a_replica_that_wakes_up_after_its_claim_was_called_unknown_applies_nothing(
    socket_directory: Path, postgres: PostgresServer
) -> None:
    """Somebody looks, finds that it was not applied, and says so: what is done then is done once."""
    async with a_pair(socket_directory, postgres, "apply claimed") as pair:
        session, elsewhere = pair.here.session("s"), pair.there.session("s")
        await session.call("put", {"key": "k"})
        pair.arm()
        first = asyncio.create_task(session.resolve("apply", "go", call_id="r"))
        await pair.stands_still()

        async def is_unknown() -> bool:
            return "Find out" in (await elsewhere.resolve("apply", "go")).text

        await eventually_so(is_unknown)
        pair.go_on()

        with suppress(RequestError):  # it may not even know whether it may answer
            assert (await first).status in (CallStatus.DENIED, CallStatus.FAILED)
        assert pair.effects() == []
        assert not (await elsewhere.resolve("apply", "looked", {"outcome": "not_applied"})).is_error
        assert (await elsewhere.pending()).actions == ()
        assert pair.effects() == []
