"""Load for replicas that fail one after the other: agents that go on whatever happens, and people who approve."""

import asyncio
import hashlib
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import count
from typing import TypeVar

from crash_agents import answer_of
from crash_judge import Told
from interlock import CallResult, CallStatus, Gateway, Session
from interlock.admin import Approvals
from interlock.calls import Call
from interlock.errors import (
    DeadlineExceededError,
    GatewayUnavailableError,
    InterlockError,
    LimitExceededError,
    NotFoundError,
    RequestError,
)
from interlock.journal import OperationEffect, OperationState, RollbackLine, RollbackOutcome
from waiting import a_moment

T = TypeVar("T")

WAITING_S = 60.0
RETRYABLE = (GatewayUnavailableError, DeadlineExceededError, LimitExceededError)
KINDS = ("changes", "previews", "takes back", "asks", "asks later", "reads", "batches")
_BATCH = ("note", "look", "note", "browse")
_ROLLBACKS = 40
_PACE = 3
_ANSWERING_S = 20.0


@dataclass
class Seen:
    """What agents met besides answers: denials by the gateway itself, and errors, each of which is a fault."""

    gateway_denials: Counter[str] = field(default_factory=Counter)
    errors: list[str] = field(default_factory=list)

    async def surely(self, what: str, ask: Callable[[], Awaitable[T]]) -> T:
        """What the SDK answers; what it did not get over is written down, and asked again to see the rest."""
        while True:
            try:
                return await ask()
            except RequestError as error:
                self.errors.append(f"{what}: {error}")
                if not isinstance(error, RETRYABLE):
                    raise
            await a_moment()


@dataclass
class ClusterAgent:
    """One session, and every call in it. It works until `stopping` is set, and ends what it has begun."""

    session_id: str
    kind: str
    seen: Seen
    stopping: asyncio.Event
    told: list[Told] = field(default_factory=list)
    undone: set[str] = field(default_factory=set)
    artifacts: list[str] = field(default_factory=list)
    waiting: int = 0
    carried: int = 0
    """Calls that waited for a person when something was broken, and were taken to their end after it."""

    async def work(self, gateway: Gateway) -> None:
        """Go on until told to stop."""
        session = gateway.session(self.session_id)
        kinds: dict[str, Callable[[Session, str], Awaitable[None]]] = {
            "changes": self._change,
            "previews": self._preview,
            "takes back": self._take_back,
            "asks": self._ask,
            "asks later": self._ask_later,
            "reads": self._read,
            "batches": self._batch,
        }
        for number in count():
            if self.stopping.is_set():
                return
            await kinds[self.kind](session, f"{self.session_id}-{number}")
            for _ in range(_PACE):  # what is under load is to fail, not the machine
                await a_moment()

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

    async def read_again(self, gateway: Gateway) -> list[str]:
        """Read every artifact, and say which are not what their address says."""
        session = gateway.session(self.session_id)
        wrong = []
        for uri in self.artifacts:
            try:
                part = await session.read_artifact(uri)
            except InterlockError as error:
                wrong.append(f"{uri}: {error}")
                continue
            if hashlib.sha256(part.data).hexdigest() != uri.rpartition("/")[2]:
                wrong.append(f"{uri}: {len(part.data)} bytes, and not those that were stored")
        return wrong

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
        await self.seen.surely(f"rollback {key}", lambda: self._rolled_back(session, f"note-{key}a"))

    async def _ask(self, session: Session, key: str) -> None:
        self.waiting += 1
        try:
            await self._called(session, "wreck", key)
        finally:
            self.waiting -= 1

    async def _ask_later(self, session: Session, key: str) -> None:
        """Detached: ask, wait elsewhere, and come back for the answer."""
        told = Told(self.session_id, f"wreck-{key}", "wreck", key)
        self.told.append(told)
        self.waiting += 1
        try:
            await self._answered(session, told, lambda: self._detached(session, told))
            await self.seen.surely(f"wait {key}", lambda: session.wait_call(told.call_id, timeout=WAITING_S))
            told.first = answer_of(await self._asked(session, told))
        finally:
            self.waiting -= 1

    async def _detached(self, session: Session, told: Told) -> CallResult:
        return await session.call(
            told.tool, {"key": told.key}, call_id=told.call_id, checkpoint_mode="detach", timeout=WAITING_S
        )

    async def _read(self, session: Session, key: str) -> None:
        await self._called(session, "browse" if key.endswith("5") else "look", key)

    async def _batch(self, session: Session, key: str) -> None:
        told = [Told(self.session_id, f"{tool}-{key}{n}", tool, f"{key}{n}") for n, tool in enumerate(_BATCH)]
        self.told += told
        calls = [Call(tool=one.tool, input={"key": one.key}, call_id=one.call_id) for one in told]
        outcomes = await self.seen.surely(f"batch {key}", lambda: session.batch(calls, timeout=WAITING_S))
        for one, outcome in zip(told, outcomes, strict=True):
            if isinstance(outcome, CallResult) and not self._is_denied_by_gateway(outcome):
                self._take(one, outcome)
            else:
                self._take(one, await self._asked(session, one))

    # -- calls --

    async def _called(self, session: Session, tool: str, key: str) -> CallResult:
        told = Told(self.session_id, f"{tool}-{key}", tool, key)
        self.told.append(told)
        result = await self._asked(session, told)
        self._take(told, result)
        return result

    def _take(self, told: Told, result: CallResult) -> None:
        told.first = answer_of(result)
        if result.artifact is not None:
            self.artifacts.append(result.artifact.uri)

    async def _asked(self, session: Session, told: Told) -> CallResult:
        """The call's answer; a denial by a gateway that cannot work at that moment says that nothing ran."""

        async def ask() -> CallResult:
            if told.tool == "resolve":
                return await session.resolve("apply", "go", call_id=told.call_id, timeout=WAITING_S)
            return await session.call(told.tool, {"key": told.key}, call_id=told.call_id, timeout=WAITING_S)

        return await self._answered(session, told, ask)

    async def _answered(self, session: Session, told: Told, ask: Callable[[], Awaitable[CallResult]]) -> CallResult:
        what = f"{told.tool} {told.key}"
        while True:
            result = await self.seen.surely(what, ask)
            if not self._is_denied_by_gateway(result) or await self._is_kept(session, told):
                return result
            await a_moment()

    async def _is_kept(self, session: Session, told: Told) -> bool:
        """Whether the denial is what the call's id is answered with from now on."""

        async def look() -> bool:
            try:
                record = await session.get_call(told.call_id)
            except NotFoundError:
                return False
            return record.result is not None and record.result.status is CallStatus.DENIED

        return await self.seen.surely(f"get {told.key}", look)

    def _is_denied_by_gateway(self, result: CallResult) -> bool:
        codes = [reason.code for reason in result.decision.reasons if reason.code.startswith("gateway_error.")]
        self.seen.gateway_denials.update(codes)
        return bool(codes)

    # -- taking back --

    async def _rolled_back(self, session: Session, first_call_id: str) -> RollbackLine | None:
        last = None
        lines = session.rollback(since_call_id=first_call_id, reason="no", skip_irreversible=True, timeout=WAITING_S)
        async for line in lines:
            last = line
            if line.outcome is RollbackOutcome.UNDONE:
                self.undone.add(line.operation.operation_id)
        return last

    async def _all_taken_back(self, session: Session, ledger: Callable[[str], bool]) -> None:
        """As a person would: where it is not known what happened, look, say so, and go on."""
        keys = {told.call_id: told.key for told in self.told}
        for _ in range(_ROLLBACKS):
            last = await self.seen.surely("rollback", lambda: self._rolled_back(session, self.told[0].call_id))
            if last is None or last.outcome is not RollbackOutcome.OUTCOME_UNKNOWN:
                return
            key = keys[last.operation.call_id]
            happened = ledger(f"unnote {key}" if last.operation.state is OperationState.UNDO_UNKNOWN else f"note {key}")
            effect = OperationEffect.TOOK_EFFECT if happened else OperationEffect.NONE
            await session.settle_operation(last.operation.operation_id, effect, "looked")


@dataclass
class People:
    """Approve whatever is asked, wherever they watch, unless they are held up; what of that was acknowledged."""

    approved: set[str] = field(default_factory=set)
    going: asyncio.Event = field(default_factory=asyncio.Event)

    async def watch(self, gateway: Gateway, watching: asyncio.Event) -> None:
        """Until cancelled. `watching` is set once calls may count on it."""
        while True:
            # Nobody serves at this moment.
            with suppress(GatewayUnavailableError):
                async for event in Approvals(gateway).watch():
                    watching.set()
                    if event.HasField("checkpoint"):
                        await self.going.wait()
                        await self._approve(gateway, event.checkpoint.checkpoint_id)
            await a_moment()

    async def _approve(self, gateway: Gateway, checkpoint_id: str) -> None:
        if checkpoint_id in self.approved:
            return
        while True:
            try:
                await Approvals(gateway, timeout=_ANSWERING_S).approve(checkpoint_id, "go")
                self.approved.add(checkpoint_id)
            except RETRYABLE:
                await a_moment()
                continue
            except InterlockError:
                pass  # somebody else was faster, it was answered though nobody could be told, or its call has ended
            return
