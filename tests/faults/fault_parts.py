"""The parts of `make faults`: each runs one engine in its full size and says what came of it."""

import shutil
import statistics
import tempfile
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path

from approval_attacks import decide_ones_own, mutate_approvals, race_redeemers, race_resolvers
from approval_rig import Rig, approval_rig
from cluster_faults import SABOTAGE, cluster_holds
from crash_harness import Progress, crashes_hold
from drain_harness import drains_hold
from postgres_server import running_postgres
from preview_interleavings import previews_hold
from preview_rig import preview_rig
from reached_in_time import ends_reach_tools
from s3_server import running_s3
from undo_model import Sizes, undo_holds

RACERS = 20
_MUTATIONS_OF_A_RIG = 5_000
_AT_ONCE = 250


@dataclass(frozen=True, slots=True)
class Came:
    """What came of a part: how much was run of its unit, and how many faults there were."""

    run: int
    faults: int
    notes: str = ""


Run = Callable[[int, int, Progress], Awaitable[Came]]
"""Run so many of the unit from this seed."""


@dataclass(frozen=True, slots=True)
class Part:
    """One line of the table. `size` is the option that sets how many of `unit` are run."""

    name: str
    requirement: str
    what: str
    unit: str
    wanted: int
    size: str
    run: Run


@contextmanager
def _directory() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="il-", dir="/tmp", ignore_cleanup_errors=True) as name:
        yield Path(name)


async def _mutations(count: int, _seed: int, progress: Progress) -> Came:
    ran, reasons = 0, Counter[str]()
    for first in range(0, count, _MUTATIONS_OF_A_RIG):  # each while its approvals have not expired
        with _directory() as directory:
            async with approval_rig(directory) as rig:
                some = min(_MUTATIONS_OF_A_RIG, count - first)
                reasons += await mutate_approvals(rig, attempts=some, at_once=_AT_ONCE)
                ran += len(rig.done.ran)
        if not progress(f"{first + some} of {count}, {ran} ran"):
            break
    return Came(reasons.total(), ran)


async def _own(count: int, _seed: int, _progress: Progress) -> Came:
    with _directory() as directory:
        async with approval_rig(directory) as rig:
            counted = await decide_ones_own(rig, attempts=count)
            return Came(count, counted + len(rig.done.ran))


Race = Callable[..., Awaitable[Counter[str]]]


def _racing(race: Race, tool: str, answer: str, *, replicas: bool) -> Run:
    async def run(count: int, _seed: int, _progress: Progress) -> Came:
        with _directory() as directory, _databases(replicas=replicas) as databases:
            async with approval_rig(directory, databases=databases) as rig:
                answers = await race(rig, approvals=count, racers=RACERS)
                return Came(count, _wrong(rig, tool, count) + _other(answers, answer, count))

    return run


def _wrong(rig: Rig, tool: str, count: int) -> int:
    """How many executions there were too many or too few."""
    expected = Counter((tool, str(number)) for number in range(count))
    ran = Counter(rig.done.ran)
    return (ran - expected).total() + (expected - ran).total()


def _other(answers: Counter[str], answer: str, count: int) -> int:
    """How many racers were not told the outcome."""
    expected = Counter({f"completed: {answer.format(number)}": RACERS for number in range(count)})
    return (expected - answers).total()


@contextmanager
def _databases(*, replicas: bool) -> Iterator[tuple[str, ...]]:
    if not replicas:
        yield ("",)
        return
    with running_postgres() as server, server.database() as url:
        yield (url, url)


def _crashes(*, on_server: bool) -> Run:
    async def run(count: int, seed: int, progress: Progress) -> Came:
        server = running_postgres(fsync="on") if on_server else nullcontext(None)
        with _directory() as directory, server as postgres:

            def database() -> AbstractContextManager[str]:
                return postgres.database() if postgres is not None else nullcontext("")

            tally = await crashes_hold(directory, kills=count, seed=seed, database=database, progress=progress)
        middle = statistics.median(tally.starts_s)
        return Came(
            tally.kills,
            len(tally.faults),
            f"{tally.reached.total()} at their failpoint, {len(tally.reached)} failpoints; {tally.calls:,} calls, "
            f"{tally.answered:,} answered before the kill, {tally.effects:,} effects, {tally.unknown:,} reported "
            f"unknown; serving again after {middle:.1f} s (median), {max(tally.starts_s):.1f} s (longest), "
            f"{tally.slow_starts} times over 5 s",
        )

    return run


async def _previews(count: int, seed: int, progress: Progress) -> Came:
    with _directory() as directory:
        async with preview_rig(directory) as rig:
            tally = await previews_hold(rig, interleavings=count, seed=seed, progress=progress)
    notes = f"{tally.applied:,} applied, {tally.refusals.total():,} stale and refused, {tally.at_once:,} at once, "
    notes += f"{tally.hindered} denied because the machine stalled, and asked again"
    return Came(tally.interleavings, len(tally.faults), notes)


async def _undo(count: int, seed: int, progress: Progress) -> Came:
    kills = count // 3
    with _directory() as directory:
        try:
            tally = await undo_holds(directory, Sizes(rounds=count - kills, steps=8, kills=kills, seed=seed))
        except AssertionError as error:
            progress(str(error))
            return Came(count, 1, str(error)[:200])
    notes = f"{tally.operations:,} operations, {tally.undone:,} undone, {tally.kills} kills, {tally.settled} settled"
    return Came(count, 0, notes)


async def _outages(count: int, seed: int, progress: Progress) -> Came:
    program = shutil.which("versitygw")
    if program is None:
        raise SystemExit("versitygw is missing: run `make tools`")
    with _directory() as directory, running_postgres(fsync="on") as server, running_s3(Path(program)) as s3:
        rounds = max(1, round(count / len(SABOTAGE)))
        tally = await cluster_holds(directory, rounds=rounds, seed=seed, server=server, s3=s3, progress=progress)
    kinds = ", ".join(f"{tally.done[what]} {what}" for what in SABOTAGE)
    notes = (
        f"{kinds}; {tally.calls:,} calls, {tally.effects:,} effects, {tally.unknown:,} reported unknown; "
        f"{tally.carried:,} calls that waited for a person went on at another replica; "
        f"{tally.artifacts:,} artifacts read at another replica; {tally.without_receipt} died between outcome and "
        f"receipt; changes were answered again after {statistics.median(tally.away_s):.1f} s (median), "
        f"{max(tally.away_s):.1f} s (longest); {tally.seen.gateway_denials.total():,} denials by a gateway that could "
        f"not work; errors that the SDK did not get over are among the faults"
    )
    return Came(sum(tally.done.values()), len(tally.faults), notes)


async def _drains(count: int, seed: int, progress: Progress) -> Came:
    with _directory() as directory:
        tally = await drains_hold(directory, drains=count, seed=seed, progress=progress)
    notes = (
        f"{tally.calls:,} calls, {tally.answered:,} answered before the end, {sum(tally.under_way):,} of them after "
        f"the signal; {tally.effects:,} effects; ended after {statistics.median(tally.took_s):.1f} s (median), "
        f"{max(tally.took_s):.1f} s (longest)"
    )
    return Came(tally.drains, len(tally.faults), notes)


async def _reached(count: int, _seed: int, _progress: Progress) -> Came:
    with _directory() as directory:
        lags = await ends_reach_tools(directory, count)
    kinds = {"hung up": lags.hung_up, "deadline": lags.deadline}
    notes = "; ".join(
        f"{name}: {statistics.median(found) * 1e3:.0f} ms (median), {max(found) * 1e3:.0f} ms (longest)"
        for name, found in kinds.items()
    )
    return Came(count, lags.late + lags.lost, notes)


PARTS = (
    Part("rel2-mutations", "REL-2", "approvals for something else", "mutations", 100_000, "mutations", _mutations),
    Part("rel2-own", "REL-2", "agents deciding their own checkpoint", "calls", 1_000, "approvals", _own),
    Part(
        "rel3-redeem-postgresql",
        "REL-3",
        f"{RACERS} redeemers racing for each, two gateways on PostgreSQL",
        "approvals",
        1_000,
        "approvals",
        _racing(race_redeemers, "wreck", "{} is gone", replicas=True),
    ),
    Part(
        "rel3-redeem-sqlite",
        "REL-3",
        f"{RACERS} redeemers racing for each, SQLite",
        "approvals",
        1_000,
        "approvals",
        _racing(race_redeemers, "wreck", "{} is gone", replicas=False),
    ),
    Part(
        "rel3-resolve-postgresql",
        "REL-3",
        f"{RACERS} resolvers racing for each, two gateways on PostgreSQL",
        "previews",
        1_000,
        "approvals",
        _racing(race_resolvers, "replace", "replaced {}", replicas=True),
    ),
    Part(
        "rel3-resolve-sqlite",
        "REL-3",
        f"{RACERS} resolvers racing for each, SQLite",
        "previews",
        1_000,
        "approvals",
        _racing(race_resolvers, "replace", "replaced {}", replicas=False),
    ),
    Part(
        "rel4-postgresql",
        "REL-4",
        "SIGKILL under load, PostgreSQL",
        "kills",
        100,
        "kills",
        _crashes(on_server=True),
    ),
    Part("rel4-sqlite", "REL-4", "SIGKILL under load, SQLite", "kills", 500, "kills", _crashes(on_server=False)),
    Part(
        "rel5-previews",
        "REL-5",
        "changes between preview and resolve",
        "interleavings",
        10_000,
        "interleavings",
        _previews,
    ),
    Part(
        "state2-replicas",
        "STATE-2",
        "three replicas on PostgreSQL and S3 behind a balancer, under load",
        "outages",
        100,
        "outages",
        _outages,
    ),
    Part("rel9-drains", "REL-9", "SIGTERM under load", "drains", 50, "drains", _drains),
    Part("rel9-reached", "REL-9", "hanging up and deadlines, until the tool knows", "calls", 1_000, "calls", _reached),
    Part("rel6-undo", "REL-6", "undo held to a model, a third with kills", "rounds", 300, "rounds", _undo),
)


async def measured(part: Part, count: int, seed: int, progress: Progress) -> tuple[Came, float]:
    """What came of it, and the seconds that it took."""
    began = time.monotonic()
    came = await part.run(count, seed, progress)
    return came, time.monotonic() - began
