"""
Undo, held to a model (REL-6): random work through a real gateway is taken back exactly, whatever happens meanwhile.

Each round does random things with the toolbox and a shelf that fails, then rolls back while undos fail, somebody else
changes files, two clients race, or the gateway is killed in the middle of a compensation. After each line the world has
to be as it was before that operation; at the end as it was at first, with every undo taken effect at most once.
"""

import asyncio
import hashlib
import os
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

from gateway_process import PATIENCE_S, GatewayProcess
from interlock import CallStatus, Gateway, Session
from interlock.errors import RequestError
from interlock.journal import Operation, OperationState, RollbackLine, RollbackOutcome
from interlock.provider import ToolServer
from undo_providers import Ledger, Moment, Shelf, WatchedToolbox

PATHS = ("a", "b", "d/a", "d/e/f", "new/deep/x", "link")
CONTENTS = ("", "one\n", "one two\n", "ü" * 10)
CHAOS = ("nothing", "trouble", "interference", "race")
MOMENTS = (Moment.BEFORE, Moment.INSTEAD, Moment.AFTER, "between two operations")
FINAL = (RollbackOutcome.UNDONE, RollbackOutcome.ALREADY_UNDONE)

State: TypeAlias = tuple[dict[str, tuple[str, int, str]], dict[str, str]]


@dataclass(frozen=True, slots=True)
class Sizes:
    """How much: `kills` more rounds in which the gateway is killed, each with up to `steps` calls."""

    rounds: int
    steps: int
    kills: int
    seed: int = 1


@dataclass
class Tally:
    """What was done."""

    operations: int = 0
    undone: int = 0
    irreversible: int = 0
    failed: int = 0
    settled: int = 0
    kills: int = 0


@dataclass
class World:
    """Everything that tools change, and the gateway in front of it."""

    root: Path
    shelf: Shelf
    ledger: Ledger
    process: GatewayProcess
    client: Gateway
    tally: Tally = field(default_factory=Tally)

    def state(self) -> State:
        """What an undo has to bring back: every file, mode and link, and what is on the shelf."""
        found: dict[str, tuple[str, int, str]] = {}
        for directory, directories, files in os.walk(self.root):
            for name in (*directories, *files):
                path = Path(directory, name)
                found[str(path.relative_to(self.root))] = _entry(path)
        return found, dict(self.shelf.values)

    async def restarted(self) -> None:
        """The gateway again, after it was killed, with its providers."""
        await self.process.gone()
        await self.client.close()
        self.client = await self.process.start()
        await providers_are_there(self.client)


def _entry(path: Path) -> tuple[str, int, str]:
    mode = path.lstat().st_mode
    if path.is_symlink():
        return "link", 0, str(path.readlink())
    return ("directory", mode, "") if path.is_dir() else ("file", mode, hashlib.sha256(path.read_bytes()).hexdigest())


async def providers_are_there(client: Gateway) -> None:
    """Return once the gateway has the tools of both providers."""
    async with asyncio.timeout(PATIENCE_S):
        names: set[str] = set()
        while not {"restore", "take_back"} <= names:
            names = {one.name for one in (await client.session("looking").tools()).tools}


@asynccontextmanager
async def world_in(directory: Path) -> AsyncIterator[World]:
    """A world to work in; the directory's path has to be short enough for sockets."""
    root, ledger = directory / "root", Ledger()
    (root / "d/e").mkdir(parents=True)
    for path, content, mode in (("a", b"one\r\n\xc3\xbc", 0o600), ("d/a", b"one two", 0o755), ("d/e/f", b"\0b", 0o644)):
        (root / path).write_bytes(content)
        (root / path).chmod(mode)
    (root / "link").symlink_to("d/a")
    shelf = Shelf(ledger, {"x": "first"})
    toolbox = WatchedToolbox(root, directory / "toolbox", ledger)
    sockets = {name: f"unix:{directory}/{name}.sock" for name in ("toolbox", "shelf")}
    process = GatewayProcess(directory, sockets)
    async with ToolServer(toolbox, sockets["toolbox"]), ToolServer(shelf.tools(), sockets["shelf"], name="shelf"):
        client = await process.start()
        await providers_are_there(client)
        world = World(root, shelf, ledger, process, client)
        ledger.happens = process.kill
        try:
            yield world
        finally:
            await world.client.close()
            await process.stop()


async def undo_holds(directory: Path, sizes: Sizes) -> Tally:
    """Run the model; raises AssertionError, naming seed and round, where it does not hold."""
    rounds = [CHAOS[number % len(CHAOS)] for number in range(sizes.rounds)]
    rounds += [MOMENTS[number % len(MOMENTS)] for number in range(sizes.kills)]
    async with world_in(directory) as world:
        for number, chaos in enumerate(rounds):
            try:
                await Round(world, random.Random(f"{sizes.seed}/{number}"), f"round-{number}", chaos).run(sizes.steps)
            except AssertionError as error:
                raise AssertionError(f"seed {sizes.seed}, round {number} ({chaos}): {error}") from error
        world.tally.kills = world.process.kills
    return world.tally


class Round:
    """One session's work, and taking it back."""

    def __init__(self, world: World, rng: random.Random, session_id: str, chaos: str) -> None:
        self._world = world
        self._rng = rng
        self._session_id = session_id
        self._chaos = chaos
        self._before: dict[str, State] = {}
        self._meddled: tuple[Path, bytes] | None = None
        self._lines_until_kill = rng.randint(1, 3) if chaos == MOMENTS[-1] else 0

    @property
    def _session(self) -> Session:
        return self._world.client.session(self._session_id)

    async def run(self, steps: int) -> None:
        """Work, take it back, look."""
        first = self._world.state()
        await self._world.client.open_session(session_id=self._session_id)
        for _ in range(steps):
            await self._step()
        operations = await self._operations()
        self._world.tally.operations += len(operations)
        for target in (self._some(operations), {"count": len(operations) + 1}):
            if operations:
                await self._taken_back(target)
        assert self._world.state() == first, "the world is not as it was"
        await self._look_at_the_journal()

    # -- work --

    async def _step(self) -> None:
        before = self._world.state()
        known = {one.operation_id for one in await self._operations()}
        tool, given = self._call()
        result = await self._session.call(tool, given)
        if result.status is CallStatus.PREVIEW:
            result = await self._session.resolve("apply", "as meant")
        assert result.status in (CallStatus.COMPLETED, CallStatus.FAILED), result.text
        new = [one for one in await self._operations() if one.operation_id not in known]
        if result.is_error:
            assert self._world.state() == before, "a call that failed has changed something"
        for one in new:
            self._before[one.operation_id] = before

    def _call(self) -> tuple[str, dict[str, Any]]:
        rng = self._rng
        path = rng.choice(PATHS)
        match rng.choice(("write", "write", "edit", "delete", "put", "put", "engrave")):
            case "write":
                return "write", {"path": path, "content": rng.choice(CONTENTS)}
            case "edit":
                return "edit", {"path": path, "old_string": "one", "new_string": "two", "replace_all": True}
            case "delete":
                return "delete", {"path": path, "_flyto_confidence": 99}
            case "put":
                return "put", {"key": rng.choice("xyz"), "value": str(rng.random())}
        return "engrave", {"text": str(rng.random())}

    async def _operations(self) -> list[Operation]:
        """What was done, newest first, without what undid it."""
        found = await self._session.operations()
        return [one for one in found if not one.undoes_operation_id and one.state is not OperationState.FAILED]

    def _some(self, operations: list[Operation]) -> dict[str, Any]:
        if not operations:
            return {}
        one = self._rng.choice(operations)
        return self._rng.choice(({"since_call_id": one.call_id}, {"last_operation_id": one.operation_id}, {"count": 2}))

    # -- taking it back --

    async def _taken_back(self, target: dict[str, Any]) -> None:
        """Roll back until all of the target is undone, mending what stops it as a person would."""
        self._disturb()
        for _ in range(100):
            if self._chaos == "race":
                await self._raced(target)
            last, killed = await self._rolled_back(target)
            if killed:
                await self._world.restarted()
            elif last is None or last.outcome is RollbackOutcome.SKIPPED_IRREVERSIBLE or last.outcome in FINAL:
                assert last is None or last.remaining == 0
                self._unmeddle()
                return
            else:
                await self._mended(last)
            if "count" in target:
                target = {"count": 1000}  # what is left of it is not known: all of it is
        raise AssertionError("it does not come to an end")

    async def _rolled_back(self, target: dict[str, Any]) -> tuple[RollbackLine | None, bool]:
        """The last line, and whether the gateway was killed meanwhile."""
        last, kills = None, self._world.process.kills
        try:
            async for line in self._session.rollback(**target, skip_irreversible=True, reason="start over"):
                last = line
                self._check(line)
        except RequestError as error:
            if self._world.process.kills == kills:
                raise AssertionError(f"the rollback ended: {error}") from error
        return last, self._world.process.kills > kills

    async def _raced(self, target: dict[str, Any]) -> None:
        """Two clients at once: one of them is told that the other is at it, or finds everything undone."""
        again = self._world.client.session(self._session_id).rollback(**target, skip_irreversible=True, reason="me too")
        asked = [self._rolled_back_by(again), self._rolled_back_by(self._session.rollback(**target, reason="me"))]
        lines = [line for one in await asyncio.gather(*asked) for line in one]
        undone = [line.operation.operation_id for line in lines if line.outcome is RollbackOutcome.UNDONE]
        assert len(undone) == len(set(undone)), "two rollbacks undid one operation"
        self._world.tally.undone += len(undone)

    async def _rolled_back_by(self, lines: AsyncIterator[RollbackLine]) -> list[RollbackLine]:
        try:
            return [line async for line in lines]
        except RequestError as error:
            if error.reason != "ROLLBACK_IN_PROGRESS":
                raise AssertionError(f"the rollback ended: {error}") from error
            return []

    def _check(self, line: RollbackLine) -> None:
        tally = self._world.tally
        if line.outcome is RollbackOutcome.UNDONE:
            tally.undone += 1
            before = self._before[line.operation.operation_id]
            assert self._world.state() == self._meddled_with(before), f"{line.operation.tool} is not undone"
        if line.outcome is RollbackOutcome.SKIPPED_IRREVERSIBLE:
            assert line.manual_guide
        if self._lines_until_kill:
            self._lines_until_kill -= 1
            if not self._lines_until_kill:
                self._world.process.kill()

    async def _mended(self, line: RollbackLine) -> None:
        """What a person does when a rollback stops: look, and put right or say what is in its way."""
        operation, tally = line.operation, self._world.tally
        if line.outcome is RollbackOutcome.FAILED:
            tally.failed += 1
            self._unmeddle()
            return
        assert line.outcome is RollbackOutcome.OUTCOME_UNKNOWN, f"{line.outcome}: {line.message}"
        assert operation.state is OperationState.UNDO_UNKNOWN, operation.state
        undone = self._world.state() == self._before[operation.operation_id]
        settled = await self._session.settle_operation(
            operation.operation_id, "took_effect" if undone else "none", "I looked"
        )
        assert settled.state is (OperationState.UNDONE if undone else OperationState.UNDO_FAILED)
        tally.settled += 1

    def _disturb(self) -> None:
        match self._chaos:
            case "trouble":
                self._world.shelf.trouble = {key: self._rng.choice(("words", "crash")) for key in "xyz"}
            case "interference":
                files = [path for path in self._world.root.rglob("*") if path.is_file() and not path.is_symlink()]
                if files:
                    path = self._rng.choice(files)
                    self._meddled = path, path.read_bytes()
                    path.write_bytes(path.read_bytes() + b"by somebody else")
            case Moment() as moment:
                self._world.ledger.at = moment

    def _unmeddle(self) -> None:
        if self._meddled is not None:
            path, content = self._meddled
            path.write_bytes(content)
            self._meddled = None

    def _meddled_with(self, state: State) -> State:
        """`state` with what somebody else has changed, which no undo may touch."""
        files, values = state
        if self._meddled is None:
            return state
        path = self._meddled[0]
        return {**files, str(path.relative_to(self._world.root)): _entry(path)}, values

    # -- looking --

    async def _look_at_the_journal(self) -> None:
        assert all(count == 1 for count in self._world.ledger.effects.values()), "an undo took effect twice"
        self._world.ledger.at = None
        assert self._meddled is None
        for one in await self._operations():
            irreversible = one.undo is None or one.undo.irreversible
            self._world.tally.irreversible += irreversible
            assert one.state is (OperationState.DONE if irreversible else OperationState.UNDONE), one
