"""Load for a gateway that is about to be killed: agents of several kinds, and a person who approves what they ask."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import count

from crash_judge import Answer, Told
from interlock import CallResult, Gateway, Session
from interlock.admin import Approvals
from interlock.errors import InterlockError, RequestError
from interlock.journal import OperationEffect, OperationState, RollbackLine, RollbackOutcome

WAITING_S = 30.0
_ROLLBACKS = 20


def answer_of(result: CallResult) -> Answer:
    """What is compared of an answer."""
    pending = result.pending.pending_id if result.pending is not None else ""
    return Answer(result.status.value, result.is_error, result.text, pending)


@dataclass
class Agent:
    """One session, and every call in it."""

    session_id: str
    kind: str
    told: list[Told] = field(default_factory=list)
    undone: set[str] = field(default_factory=set)
    artifacts: list[str] = field(default_factory=list)

    async def work(self, gateway: Gateway) -> None:
        """Go on until the gateway is gone."""
        session = gateway.session(self.session_id)
        kinds: dict[str, Callable[[Session, str], Awaitable[None]]] = {
            "changes": self._change,
            "previews": self._preview,
            "takes back": self._take_back,
            "asks": self._ask,
            "reads": self._read,
        }
        with suppress(RequestError):
            for number in count():
                await kinds[self.kind](session, f"{self.session_id}-{number}")

    async def repeat(self, gateway: Gateway, ledger: Callable[[str], bool]) -> None:
        """Ask for every call again, and take to its end what was being taken back."""
        session = gateway.session(self.session_id)
        for told in self.told:
            try:
                told.again = answer_of(await self._asked(session, told))
            except InterlockError as error:
                told.problem = f"{type(error).__name__}: {error}"
        if self.kind == "takes back":
            await self._all_taken_back(session, ledger)

    # -- kinds of work --

    async def _change(self, session: Session, key: str) -> None:
        await self._called(session, "scribe" if key.endswith(("3", "7")) else "note", key)

    async def _preview(self, session: Session, key: str) -> None:
        previewed = await self._called(session, "put", key)
        if previewed.pending is not None:
            await self._called(session, "resolve", key)

    async def _take_back(self, session: Session, key: str) -> None:
        for part in ("a", "b"):
            await self._called(session, "note", f"{key}{part}")
        async for line in session.rollback(count=2, reason="not so", timeout=WAITING_S):
            self._noted(line)

    async def _ask(self, session: Session, key: str) -> None:
        await self._called(session, "wreck", key)

    async def _read(self, session: Session, key: str) -> None:
        await self._called(session, "browse" if key.endswith("5") else "look", key)

    async def _called(self, session: Session, tool: str, key: str) -> CallResult:
        told = Told(self.session_id, f"{tool}-{key}", tool, key)
        self.told.append(told)
        result = await self._asked(session, told)
        told.first = answer_of(result)
        if result.artifact is not None:
            self.artifacts.append(result.artifact.uri)
        return result

    async def _asked(self, session: Session, told: Told) -> CallResult:
        if told.tool == "resolve":
            return await session.resolve("apply", "go", call_id=told.call_id, timeout=WAITING_S)
        return await session.call(told.tool, {"key": told.key}, call_id=told.call_id, timeout=WAITING_S)

    # -- taking back --

    def _noted(self, line: RollbackLine) -> None:
        if line.outcome is RollbackOutcome.UNDONE:
            self.undone.add(line.operation.operation_id)

    async def _all_taken_back(self, session: Session, ledger: Callable[[str], bool]) -> None:
        """As a person would: where it is not known what happened, look, say so, and go on."""
        keys = {told.call_id: told.key for told in self.told}
        for _ in range(_ROLLBACKS):
            last = None
            async for line in session.rollback(count=1000, reason="all of it", skip_irreversible=True):
                last = line
                self._noted(line)
            if last is None or last.outcome is not RollbackOutcome.OUTCOME_UNKNOWN:
                return
            key = keys[last.operation.call_id]
            happened = ledger(f"unnote {key}" if last.operation.state is OperationState.UNDO_UNKNOWN else f"note {key}")
            effect = OperationEffect.TOOK_EFFECT if happened else OperationEffect.NONE
            await session.settle_operation(last.operation.operation_id, effect, "looked")


@dataclass
class Person:
    """Approves whatever is asked, and remembers what of that was acknowledged."""

    approved: set[str] = field(default_factory=set)

    async def watch(self, address: str, watching: asyncio.Event) -> None:
        """Until cancelled, or the gateway is gone. `watching` is set once calls may count on it."""
        with suppress(RequestError):
            async with Gateway(address) as gateway:
                async for event in Approvals(gateway).watch():
                    watching.set()
                    if event.HasField("checkpoint") and event.checkpoint.checkpoint_id not in self.approved:
                        await self._approve(gateway, event.checkpoint.checkpoint_id)

    async def _approve(self, gateway: Gateway, checkpoint_id: str) -> None:
        # It was answered before the crash, though nobody could be told; or its call has ended.
        with suppress(InterlockError):
            await Approvals(gateway).approve(checkpoint_id, "go")
            self.approved.add(checkpoint_id)
