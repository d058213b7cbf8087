"""
Crashes, held to a judge (REL-4): a real gateway under load is killed at each failpoint and started again on its state.

The provider is a process too, and keeps a ledger of what really happened. After each start every call is repeated under
its id, and `crash_judge` compares what clients were told, what is on disk and what happened.
"""

import asyncio
import json
import os
import random
import shutil
import sys
import time
from asyncio.subprocess import PIPE, STDOUT, Process
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractContextManager, AsyncExitStack, asynccontextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from pathlib import Path

from crash_agents import Agent, Person
from crash_judge import Effect, Evidence, Fault, Finding, judged
from crash_records import Database, Receipts
from failpoints import EVERY, FAILPOINTS, Action
from gateway_process import PATIENCE_S, GatewayProcess
from interlock import Gateway
from interlock.errors import InterlockError
from interlock_gateway.audit.verify import verify
from waiting import eventually

HERE = Path(__file__).resolve().parent
KINDS = ("changes", "changes", "previews", "previews", "takes back", "takes back", "asks", "asks", "reads")
UNTIL_REACHED_S = 20.0
_KILLS_OF_A_WORLD = 25
# Reached by few calls; the others are killed at one of the first so many times.
_RARE = ("apply", "undo", "undone", "compensated", "checkpoint", "approval", "artifact", "preview")

Progress = Callable[[str], bool]
"""Is told how far it is, and says whether there is time for more."""


def silent(_what: str) -> bool:
    """Nobody wants to know how far it is."""
    return True


@dataclass
class Tally:
    """What was done and found. `reached` counts the kills at each failpoint; `faults` names cycle and failpoint."""

    tell: Progress = silent
    kills: int = 0
    missed: Counter[str] = field(default_factory=Counter)
    reached: Counter[str] = field(default_factory=Counter)
    calls: int = 0
    answered: int = 0
    effects: int = 0
    unknown: int = 0
    artifacts: int = 0
    starts_s: list[float] = field(default_factory=list)
    slow_starts: int = 0
    faults: list[str] = field(default_factory=list)

    def take(self, cycle: str, findings: list[Finding]) -> None:
        """Keep and tell what was found. How long a start takes is the machine's affair too, so it stands for itself."""
        self.slow_starts += sum(finding.fault is Fault.SLOW for finding in findings)
        serious = [finding for finding in findings if finding.fault is not Fault.SLOW]
        for finding in serious:
            self.faults.append(f"{cycle}: {finding.fault.value}: {finding.what}")
            self.tell(self.faults[-1])


@dataclass
class World:
    """A gateway to be killed, its provider, and what can be seen of both from outside."""

    directory: Path
    process: GatewayProcess
    database: Database
    receipts: Receipts
    person: Person = field(default_factory=Person)
    effects: list[Effect] = field(default_factory=list)
    _ledger_read: int = 0

    @property
    def trigger(self) -> Path:
        """The file that arms the failpoint, and holds its name once it was reached."""
        return self.directory / "trigger"

    def read_ledger(self) -> list[Effect]:
        """Every effect so far."""
        with (self.directory / "ledger").open("rb") as file:
            file.seek(self._ledger_read)
            data = file.read()
        whole = data.rfind(b"\n") + 1
        self._ledger_read += whole
        self.effects += [Effect(**json.loads(line)) for line in data[:whole].splitlines()]
        return self.effects

    def happened(self, what: str) -> bool:
        """Whether the ledger has an effect, given as `tool key`."""
        return any(f"{effect.tool} {effect.key}".replace("scribe", "note") == what for effect in self.read_ledger())

    def receipts_problem(self) -> str:
        """What `interlock audit verify` would say; empty when all is well."""
        state = self.directory / "state"
        report = verify(state / "audit", (state / "audit-key.pem.pub").read_bytes())
        return "" if report.ok else f"{report.place}: {report.problem}"

    async def verified_by_command(self) -> str:
        """What `interlock audit verify` itself says when it finds something; empty when all is well."""
        state = self.directory / "state"
        places = ("--dir", str(state / "audit"), "--public-key", str(state / "audit-key.pem.pub"))
        command = (*GatewayProcess.launcher, "audit", "verify", *places)
        ended = await asyncio.create_subprocess_exec(sys.executable, *command, stdout=PIPE, stderr=STDOUT)
        said, _ = await ended.communicate()
        return said.decode() if ended.returncode else ""


@asynccontextmanager
async def world_in(directory: Path, database: str = "") -> AsyncIterator[World]:
    """A provider that runs, and a gateway that does not yet; the directory's path has to fit a socket's."""
    state = directory / "state"
    socket = f"unix:{directory}/judge.sock"
    place = database or str(state / "state.db")
    (directory / "root").mkdir()
    (directory / "ledger").touch()
    paths = [str(HERE), str(HERE.parent), *filter(None, [os.environ.get("PYTHONPATH")])]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
    async with AsyncExitStack() as stack:
        with (directory / "provider.log").open("wb") as log:
            provider = await asyncio.create_subprocess_exec(
                sys.executable,
                *(str(HERE / "crash_provider.py"), socket, str(directory / "ledger"), str(state / "audit"), place),
                stdin=PIPE,
                stdout=PIPE,
                stderr=log,
                env=env,
            )
        stack.push_async_callback(_ended, provider)
        assert provider.stdout is not None
        assert await asyncio.wait_for(provider.stdout.readline(), PATIENCE_S), (directory / "provider.log").read_text()
        process = GatewayProcess(directory, {"judge": socket}, database=database)
        stack.push_async_callback(process.stop)
        records = Database(place)
        stack.callback(records.close)
        yield World(directory, process, records, Receipts(state / "audit"))


async def crash_cycles(
    world: World,
    failpoints: list[str],
    tally: Tally,
    rng: random.Random,
    progress: Progress = silent,
) -> None:
    """Kill the gateway once at each of `failpoints`, under load, and judge each crash. Findings are in the tally."""
    cycle = Cycle(world, tally, "", "0")
    for number, name in enumerate([*failpoints, ""]):
        following = Cycle(world, tally, name, f"{number + 1}")
        async with following.started(rng) as gateway:
            await cycle.judge(gateway, following.serving_after_s)
            if name:
                await following.load(gateway)
                progress(name)
        cycle = following
    if problem := await world.verified_by_command():
        tally.faults.append(f"interlock audit verify: {problem}")


class Cycle:
    """One start of the gateway: work until it is killed; judged once the next one serves."""

    def __init__(self, world: World, tally: Tally, failpoint: str, name: str, action: Action = Action.KILL) -> None:
        self._world = world
        self._action = action
        self._tally = tally
        self._failpoint = failpoint
        self._name = name
        self._agents: list[Agent] = []
        self._approved_before: set[str] = set(world.person.approved)
        self.serving_after_s = 0.0

    @asynccontextmanager
    async def started(self, rng: random.Random) -> AsyncIterator[Gateway]:
        """The gateway with the failpoint in it, not armed, once it has answered a call; a person watches."""
        world, began = self._world, time.monotonic()
        often = self._action is Action.KILL and not any(word in self._failpoint for word in _RARE)
        count = rng.randint(1, 12 if often else 3) if self._action is Action.KILL else 1
        if self._failpoint:
            launcher = str(HERE / "serve_to_be_killed.py")
            world.process.launcher = (launcher, self._failpoint, str(count), self._action, str(world.trigger))
        else:
            world.process.launcher = GatewayProcess.launcher
        world.trigger.unlink(missing_ok=True)
        async with await world.process.start() as gateway:
            await gateway.session("looking").call("look", {"key": self._name})
            self.serving_after_s = time.monotonic() - began
            watching = asyncio.Event()
            person = asyncio.create_task(world.person.watch(world.process.places["operators"][0], watching))
            try:
                await asyncio.wait_for(watching.wait(), PATIENCE_S)
                yield gateway
            finally:
                person.cancel()
                await asyncio.gather(person, return_exceptions=True)
                await world.process.stop()

    async def load(self, gateway: Gateway) -> None:
        """Arm the failpoint and work until the gateway has ended; one that is not reached is killed all the same."""
        world = self._world
        async with self.working(gateway):
            try:
                await asyncio.wait_for(world.process.gone(), UNTIL_REACHED_S)
            except TimeoutError:
                world.process.kill()
                await world.process.gone()
        self._tally.kills += 1
        reached = world.trigger.read_text().strip()
        (self._tally.reached if reached else self._tally.missed)[self._failpoint] += 1

    @asynccontextmanager
    async def working(self, gateway: Gateway) -> AsyncIterator[None]:
        """Agents at work, with the failpoint armed."""
        self._agents = [Agent(f"c{self._name}-{number}", kind) for number, kind in enumerate(KINDS)]
        self._approved_before = set(self._world.person.approved)
        self._world.trigger.touch()
        working = [asyncio.create_task(agent.work(gateway)) for agent in self._agents]
        try:
            yield
        finally:
            for task in working:
                task.cancel()
            ended = await asyncio.gather(*working, return_exceptions=True)
        assert not [one for one in ended if isinstance(one, Exception)], ended

    async def judge(self, gateway: Gateway, serving_after_s: float) -> None:
        """Look at what the crash left, ask for everything again, look again; what is wrong goes into the tally."""
        world, tally = self._world, self._tally
        if not self._agents:
            return
        mine = f"c{self._name}-%"
        sessions = {agent.session_id for agent in self._agents}
        before = [effect for effect in world.read_ledger() if effect.session_id in sessions]
        evidence = Evidence(before=len(before), serving_after_s=serving_after_s)
        # First what somebody was told, then what there is: people go on approving.
        evidence.approved = world.person.approved - self._approved_before
        evidence.found = world.database.stored(mine)
        evidence.receipts_problem = await asyncio.to_thread(world.receipts_problem)
        evidence.undone = {one for agent in self._agents for one in agent.undone}
        await asyncio.gather(*(agent.repeat(gateway, world.happened) for agent in self._agents))
        evidence.told = [told for agent in self._agents for told in agent.told]
        evidence.effects = [effect for effect in world.read_ledger() if effect.session_id in sessions]
        evidence.left = world.database.stored(mine)
        evidence.receipts = world.receipts.read()
        tally.take(f"kill {self._name} ({self._failpoint})", judged(evidence))
        await self._artifacts_are_there(gateway)
        tally.starts_s.append(serving_after_s)
        tally.calls += len(evidence.told)
        tally.answered += sum(told.first is not None for told in evidence.told)
        tally.effects += len(evidence.effects)
        tally.unknown += sum(state == "outcome_unknown" for state in evidence.found.calls.values())

    async def _artifacts_are_there(self, gateway: Gateway) -> None:
        for agent in self._agents:
            for uri in agent.artifacts:
                try:
                    await gateway.session(agent.session_id).stat_artifact(uri)
                except InterlockError as error:
                    self._tally.faults.append(f"kill {self._name}: artifact {uri} is lost: {error}")
                self._tally.artifacts += 1


async def failpoints_reached(directory: Path, within_s: float) -> set[str]:
    """The failpoints that agents' work comes by within that time; nothing is killed."""
    async with world_in(directory) as world:
        cycle = Cycle(world, Tally(), EVERY, "1", Action.NOTE)

        def reached() -> set[str]:
            return set(world.trigger.read_text().splitlines())

        async with cycle.started(random.Random(0)) as gateway, cycle.working(gateway):
            with suppress(AssertionError):
                await eventually(lambda: len(reached()) == len(FAILPOINTS), within_s)
            return reached()


async def crashes_hold(
    directory: Path,
    *,
    kills: int,
    seed: int,
    database: Callable[[], AbstractContextManager[str]] = lambda: nullcontext(""),
    progress: Progress = silent,
) -> Tally:
    """Kill `kills` times at most, going round the failpoints in a random order; `database` gives each world's URL."""
    tally, rng = Tally(progress), random.Random(seed)
    rounds = (rng.sample(list(FAILPOINTS), len(FAILPOINTS)) for _ in range(kills // len(FAILPOINTS) + 1))
    names = [name for names in rounds for name in names][:kills]
    for number in range(0, kills, _KILLS_OF_A_WORLD):
        place = directory / f"w{number}"
        place.mkdir()
        with database() as url:
            async with world_in(place, url) as world:
                await crash_cycles(world, names[number : number + _KILLS_OF_A_WORLD], tally, rng, progress)
        shutil.rmtree(place)
        if not progress(f"{tally.kills} kills, {len(tally.faults)} faults"):
            break
    return tally


async def _ended(process: Process) -> None:
    with suppress(ProcessLookupError):
        process.kill()
    await process.wait()
