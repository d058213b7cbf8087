"""Replicas that are killed, cut off and replaced under load, held to a judge (STATE-2).

Agents and people reach three gateways through a balancer, and go on whatever happens. The provider keeps a ledger. At
the end every call is repeated under its id, and `crash_judge` compares what clients were told, what is on disk and what
happened, over all replicas.
"""

import asyncio
import random
import shutil
import signal
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from cluster import APPROVER_TOKEN, DOORS, NAMES, PATIENCE_S, Cluster, running_cluster
from cluster_agents import KINDS, ClusterAgent, People, Seen
from crash_judge import Evidence, Fault, judged
from crash_records import CallKey, Receipts
from postgres_server import PostgresServer
from s3_server import S3Server
from waiting import eventually
from wires import Damage

KILL, ROLLING = "kill", "rolling update"
NO_DATABASE, NO_CLIENTS, NEITHER = "cut from database", "cut from clients", "cut from both"
SABOTAGE = (KILL, NO_DATABASE, NO_CLIENTS, NEITHER, ROLLING)
_PEOPLE = 2
_ROUNDS_OF_A_CLUSTER = 2
_ASKING = ("asks", "asks later")

Progress = Callable[[str], bool]
"""Is told how far it is, and says whether there is time for more."""


@dataclass
class ClusterTally:
    """What was done and found."""

    done: Counter[str] = field(default_factory=Counter)
    calls: int = 0
    effects: int = 0
    unknown: int = 0
    carried: int = 0
    artifacts: int = 0
    without_receipt: int = 0
    """Calls whose replica died after their outcome was written and before its receipt was; their intent is signed."""
    seen: Seen = field(default_factory=Seen)
    away_s: list[float] = field(default_factory=list)
    """After a kill or a cut: how long until the first answer to a call that changes something came."""
    faults: list[str] = field(default_factory=list)


@dataclass
class Scene:
    """A cluster under load."""

    cluster: Cluster
    tally: ClusterTally
    agents: list[ClusterAgent]
    people: People
    cut_short: set[CallKey] = field(default_factory=set)
    """Calls that had no answer when a replica was killed: it may have died between their outcome and its receipt."""

    def answered(self) -> int:
        """How many calls have their answer."""
        return sum(told.first is not None for agent in self.agents for told in agent.told)

    async def worked(self, calls: int) -> None:
        """Wait until so many more calls have their answer."""
        wanted = self.answered() + calls
        await eventually(lambda: self.answered() >= wanted, PATIENCE_S)

    async def held_by_people(self) -> list[ClusterAgent]:
        """Have people not answer; the agents that wait for them."""
        self.people.going.clear()
        asking = [agent for agent in self.agents if agent.kind in _ASKING]
        await eventually(lambda: all(agent.waiting for agent in asking), PATIENCE_S)
        return asking


async def cluster_holds(
    directory: Path,
    *,
    rounds: int,
    seed: int,
    server: PostgresServer,
    s3: S3Server,
    sabotage: tuple[str, ...] = SABOTAGE,
    progress: Progress = lambda _what: True,
) -> ClusterTally:
    """Do all of `sabotage` under load, in a random order each round; what was found is in the tally."""
    rng, tally, known = random.Random(seed), ClusterTally(), 0
    for first in range(0, rounds, _ROUNDS_OF_A_CLUSTER):
        some = min(_ROUNDS_OF_A_CLUSTER, rounds - first)
        acts = [what for _ in range(some) for what in rng.sample(sabotage, len(sabotage))]
        place = directory / f"c{first}"
        place.mkdir()
        with server.database() as url:
            async with running_cluster(place, url, server, s3) as cluster, _loaded(cluster, tally) as scene:
                for what in acts:
                    await _done(scene, what, rng)
        shutil.rmtree(place)
        for fault in tally.faults[known:]:
            progress(fault)
        known = len(tally.faults)
        if not progress(f"{sum(tally.done.values())} outages, {tally.calls:,} calls, {len(tally.faults)} faults"):
            break
    return tally


async def _done(scene: Scene, what: str, rng: random.Random) -> None:
    await _ACTS[what](scene, rng.choice(NAMES), rng)
    await scene.cluster.all_serve()
    await scene.worked(len(scene.agents))
    scene.tally.done[what] += 1


@asynccontextmanager
async def _loaded(cluster: Cluster, tally: ClusterTally) -> AsyncIterator[Scene]:
    """Agents and people at work, inside the block; at its end everything is judged."""
    stopping, people = asyncio.Event(), People()
    people.going.set()
    clients = [cluster.client(door) for door in range(DOORS)]
    persons = [cluster.client(door, APPROVER_TOKEN) for door in range(_PEOPLE)]
    watching = [asyncio.Event() for _ in persons]
    watches = [asyncio.create_task(people.watch(*one)) for one in zip(persons, watching, strict=True)]
    await asyncio.wait_for(asyncio.gather(*(one.wait() for one in watching)), PATIENCE_S)
    agents = [ClusterAgent(f"k{n}", KINDS[n % len(KINDS)], tally.seen, stopping) for n in range(len(KINDS))]
    working = [asyncio.create_task(agent.work(clients[n % DOORS])) for n, agent in enumerate(agents)]
    scene = Scene(cluster, tally, agents, people)
    try:
        await scene.worked(len(agents))
        yield scene
        stopping.set()
        ended, hanging = await asyncio.wait(working, timeout=PATIENCE_S)
        tally.faults += [f"an agent could not go on: {one.exception()!r}" for one in ended if one.exception()]
        lasts = [agent.told[-1] for agent, task in zip(agents, working, strict=True) if task in hanging]
        tally.faults += [f"an agent got no answer: {one}" for one in lasts]
        await _judge(scene)
    finally:
        for task in (*working, *watches):
            task.cancel()
        await asyncio.gather(*working, *watches, return_exceptions=True)
        for client in (*clients, *persons):
            await client.close()


# -- sabotage --


async def _kill(scene: Scene, name: str, _rng: random.Random) -> None:
    """SIGKILL while calls wait for people; those go on at another replica."""
    waiting = await scene.held_by_people()
    scene.cut_short |= {told.call for agent in scene.agents for told in agent.told if told.first is None}
    await scene.cluster.nodes[name].end(signal.SIGKILL)
    await _others_serve(scene)
    scene.people.going.set()
    await _carried(scene, waiting)
    await scene.cluster.start(name)


async def _no_database(scene: Scene, name: str, rng: random.Random) -> None:
    await _cut(scene, name, lambda damage: scene.cluster.cut_from_database(name, damage), rng)


async def _no_clients(scene: Scene, name: str, rng: random.Random) -> None:
    await _cut(scene, name, lambda damage: scene.cluster.cut_from_clients(name, damage), rng)


async def _neither(scene: Scene, name: str, rng: random.Random) -> None:
    def cut(damage: Damage) -> None:
        scene.cluster.cut_from_database(name, damage)
        scene.cluster.cut_from_clients(name, damage)

    await _cut(scene, name, cut, rng)


async def _cut(scene: Scene, name: str, cut: Callable[[Damage], None], rng: random.Random) -> None:
    waiting = await scene.held_by_people()
    cut(rng.choice((Damage.CUT, Damage.STALLED)))
    await scene.cluster.gone_from_balance(name)
    await _others_serve(scene)
    scene.people.going.set()
    await _carried(scene, waiting)
    scene.cluster.mend(name)


async def _rolling(scene: Scene, _name: str, _rng: random.Random) -> None:
    """Replace one after the other, as an update does: SIGTERM, wait until it has gone, start it anew."""
    for name in NAMES:
        code = await scene.cluster.nodes[name].end(signal.SIGTERM)
        if code:
            scene.tally.faults.append(f"a replica that was told to go ended with {code}")
        await scene.cluster.start(name)
        await scene.cluster.all_serve()
        await scene.worked(len(scene.agents))


_ACTS: Mapping[str, Callable[[Scene, str, random.Random], Awaitable[None]]] = {
    KILL: _kill,
    NO_DATABASE: _no_database,
    NO_CLIENTS: _no_clients,
    NEITHER: _neither,
    ROLLING: _rolling,
}


async def _others_serve(scene: Scene) -> None:
    """Wait until calls that change something are answered again, in a session that was there before."""
    began = time.monotonic()
    changing = [agent for agent in scene.agents if agent.kind == "changes"]
    before = [len(agent.told) for agent in changing]
    await eventually(lambda: all(len(a.told) > n for a, n in zip(changing, before, strict=True)), PATIENCE_S)
    scene.tally.away_s.append(time.monotonic() - began)


async def _carried(scene: Scene, waiting: list[ClusterAgent]) -> None:
    """Wait until every call that waited for a person has its answer."""
    told = [agent.told[-1] for agent in waiting]
    try:
        await eventually(lambda: all(one.first is not None for one in told), PATIENCE_S)
    except AssertionError:
        stored = scene.cluster.database.stored("k%")
        open_ones = [one for one, state in stored.checkpoints.items() if state == "open"]
        states = {one.call: stored.calls.get(one.call) for one in told if one.first is None}
        raise AssertionError(f"nobody went on with {states}; open are {open_ones}; met {scene.tally.seen}") from None
    scene.tally.carried += sum(one.first is not None and one.first.status == "completed" for one in told)


# -- judging --


async def _judge(scene: Scene) -> None:
    """Look at what there is, ask for everything again, look again; what is wrong goes into the tally."""
    cluster, tally, agents = scene.cluster, scene.tally, scene.agents
    before = list(cluster.effects())
    evidence = Evidence(before=len(before), approved=set(scene.people.approved))
    evidence.found = cluster.database.stored("k%")
    evidence.undone = {one for agent in agents for one in agent.undone}
    clients = [cluster.client(number) for number in range(len(agents))]
    pairs = zip(agents, clients, strict=True)
    repeated = [asyncio.create_task(agent.repeat(client, cluster.happened)) for agent, client in pairs]
    _, hanging = await asyncio.wait(repeated, timeout=PATIENCE_S)
    for task in hanging:
        task.cancel()
    await asyncio.gather(*repeated, return_exceptions=True)
    for agent, task in zip(agents, repeated, strict=True):
        if task.cancelled() or task.exception() is not None:
            tally.faults.append(_not_repeated(agent, task, in_time=task not in hanging))
    for client in clients:
        await client.close()
    evidence.told = [told for agent in agents for told in agent.told]
    evidence.effects = list(cluster.effects())
    evidence.left = cluster.database.stored("k%")
    evidence.receipts = _all_receipts(cluster)
    _excuse(scene, evidence.receipts)
    tally.faults += [f"{one.fault.value}: {one.what}" for one in judged(evidence) if one.fault is not Fault.SLOW]
    tally.faults += [f"an error that the SDK did not get over: {one}" for one in tally.seen.errors]
    tally.seen.errors.clear()
    await _artifacts_are_there(scene)
    for name, said in zip(NAMES, await asyncio.gather(*(cluster.nodes[n].verified() for n in NAMES)), strict=True):
        if said:
            tally.faults.append(f"interlock audit verify at {name}: {said}")
    tally.calls += len(evidence.told)
    tally.effects += len(evidence.effects)
    tally.unknown += sum(state == "outcome_unknown" for state in evidence.found.calls.values())


def _not_repeated(agent: ClusterAgent, task: "asyncio.Task[None]", *, in_time: bool) -> str:
    """Where an agent stood when it asked for everything again, and what it had met by then."""
    asked = sum(told.again is not None for told in agent.told)
    place = f"{agent.session_id} ({agent.kind}) after {asked} of {len(agent.told)} calls"
    why = "it was cancelled" if task.cancelled() else repr(task.exception())
    met = f"denied were {dict(agent.seen.gateway_denials)}"
    return f"an agent could not ask again: {place}: {why if in_time else 'it got no answer'}; {met}"


def _excuse(scene: Scene, receipts: Receipts) -> None:
    """Take for told what a killed replica had no time left to sign; its intent has to be there all the same."""
    for agent in scene.agents:
        for told in agent.told:
            if told.call not in scene.cut_short or told.first is None or told.call not in receipts.intents:
                continue
            if told.first.status == "completed" and "completed" not in receipts.statuses.get(told.call, ()):
                receipts.statuses.setdefault(told.call, []).append("completed")
                scene.tally.without_receipt += 1


def _all_receipts(cluster: Cluster) -> Receipts:
    together = Receipts(Path())
    for node in cluster.nodes.values():
        own = Receipts(node.audit).read()
        together.intents |= own.intents
        for call, statuses in own.statuses.items():
            together.statuses.setdefault(call, []).extend(statuses)
    return together


async def _artifacts_are_there(scene: Scene) -> None:
    """Every artifact is read whole, at each of the replicas in turn, whichever stored it."""
    clients = [scene.cluster.client_of(name) for name in NAMES]
    wrong = await asyncio.gather(
        *(agent.read_again(clients[number % len(clients)]) for number, agent in enumerate(scene.agents))
    )
    scene.tally.artifacts += sum(len(agent.artifacts) for agent in scene.agents)
    scene.tally.faults += [f"an artifact is lost: {one}" for some in wrong for one in some]
    for client in clients:
        await client.close()
