"""
Drains, held to the judge of crashes (REL-9): a real gateway under load is ended with SIGTERM and started again.

Agents call, stream, send batches, preview, take back and ask people until nobody serves them any more. Whatever the
provider did before the gateway ended has been answered, and nothing is left unknown. What was not let in did not run.
"""

import asyncio
import random
import shutil
import signal
import time
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

from crash_agents import WAITING_S, Agent, answer_of
from crash_harness import Cycle, Progress, Tally, World, silent, world_in
from crash_judge import Told
from gateway_process import PATIENCE_S
from interlock import Call, CallResult, Gateway, Session
from interlock.errors import RequestError
from interlock_gateway.audit.verify import LogEnd, verify
from waiting import eventually

KINDS = ("changes", "streams", "streams", "batches", "batches", "previews", "takes back", "asks", "reads", "changes")
_DRAINS_OF_A_WORLD = 25
_A_BATCH = 4


@dataclass
class DrainingAgent(Agent):
    """An agent that streams and sends batches, too."""

    async def work(self, gateway: Gateway) -> None:
        """Go on until the gateway is gone."""
        kinds = {"streams": self._stream, "batches": self._batch}
        if self.kind not in kinds:
            await super().work(gateway)
            return
        session = gateway.session(self.session_id)
        with suppress(RequestError):
            for number in count():
                await kinds[self.kind](session, f"{self.session_id}-{number}")

    async def _stream(self, session: Session, key: str) -> None:
        told = self._telling("note", key)
        async for event in session.stream("note", {"key": key}, call_id=told.call_id, timeout=WAITING_S):
            if isinstance(event, CallResult):
                told.first = answer_of(event)

    async def _batch(self, session: Session, key: str) -> None:
        telling = [self._telling("note", f"{key}-{part}") for part in range(_A_BATCH)]
        calls = [Call(tool="note", input={"key": told.key}, call_id=told.call_id) for told in telling]
        refused = None
        async for index, outcome in session.stream_batch(calls, timeout=WAITING_S):
            if isinstance(outcome, CallResult):
                telling[index].first = answer_of(outcome)
            else:
                refused = outcome
        if refused is not None:
            raise refused

    def _telling(self, tool: str, key: str) -> Told:
        told = Told(self.session_id, f"{tool}-{key}", tool, key)
        self.told.append(told)
        return told


@dataclass
class DrainTally(Tally):
    """What was done and found; `took_s` is from the signal to the end, and `under_way` what was in flight then."""

    drains: int = 0
    took_s: list[float] = field(default_factory=list)
    under_way: list[int] = field(default_factory=list)


class Drain(Cycle):
    """One life of the gateway, ended with SIGTERM under load."""

    def __init__(self, world: World, tally: DrainTally, name: str) -> None:
        super().__init__(world, tally, "", name)
        self._drains = tally

    async def end_under_load(self, gateway: Gateway, after: int) -> None:
        """Work; after so many answers send SIGTERM, wait for the end, and look at what the agents were told."""
        world, tally = self._world, self._drains
        self._agents = [DrainingAgent(f"c{self._name}-{number}", kind) for number, kind in enumerate(KINDS)]
        self._approved_before = set(world.person.approved)
        working = [asyncio.create_task(agent.work(gateway)) for agent in self._agents]
        try:
            await eventually(lambda: self._answered() >= after, PATIENCE_S)
            began, answered = time.monotonic(), self._answered()
            world.process.send(signal.SIGTERM)
            code = await world.process.ended()
            tally.took_s.append(time.monotonic() - began)
            ended = await asyncio.wait_for(asyncio.gather(*working, return_exceptions=True), PATIENCE_S)
        finally:
            for task in working:
                task.cancel()
        tally.drains += 1
        tally.under_way.append(self._answered() - answered)
        for one in ended:
            if one is not None:
                self._fault(f"an agent failed: {one!r}")
        if code != 0:
            self._fault(f"the gateway ended with {code}")
        self._look()

    def _fault(self, what: str) -> None:
        self._drains.faults.append(f"drain {self._name}: {what}")
        self._drains.tell(self._drains.faults[-1])

    def _answered(self) -> int:
        return sum(told.first is not None for agent in self._agents for told in agent.told)

    def _look(self) -> None:
        """Whatever happened was answered, and all that is on disk is known."""
        world = self._world
        told = {told.call: told for agent in self._agents for told in agent.told}
        for effect in world.read_ledger():
            one = told.get(effect.call)
            if one is not None and one.first is None:
                self._fault(f"nobody was told of {effect.tool} {effect.key}")
        stored = world.database.stored(f"c{self._name}-%")
        for call, state in stored.calls.items():
            if state in {"intended", "outcome_unknown", "undoing", "undo_unknown"}:
                self._fault(f"{call} is {state}")
        left = world.directory / "state"
        report = verify(left / "audit", (left / "audit-key.pem.pub").read_bytes())
        if report.problem or report.end is not LogEnd.CLOSED:
            self._fault(f"the receipts end {report.end.value}: {report.problem}")


async def drains_hold(directory: Path, *, drains: int, seed: int, progress: Progress = silent) -> DrainTally:
    """End the gateway so many times, each under load, and judge each end. Findings are in the tally."""
    tally, rng = DrainTally(progress), random.Random(seed)
    for first in range(0, drains, _DRAINS_OF_A_WORLD):
        place = directory / f"d{first}"
        place.mkdir()
        async with world_in(place) as world:
            before: Drain | None = None
            some = min(_DRAINS_OF_A_WORLD, drains - first)
            for number in range(first, first + some + 1):
                drain = Drain(world, tally, str(number))
                async with drain.started(rng) as gateway:
                    if before is not None:
                        await before.judge(gateway, drain.serving_after_s)
                    if number < first + some:
                        await drain.end_under_load(gateway, rng.randint(10, 60))
                before = drain
        shutil.rmtree(place)
        if not progress(f"{tally.drains} drains, {len(tally.faults)} faults"):
            break
    return tally
