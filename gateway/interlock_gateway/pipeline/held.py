"""Calls that people are asked about: waited for, taken up once they have decided, ended when they have not (CHK-4).

Nobody in particular goes on with such a call. Whoever asks for it next does: the one that waits, the same call again,
`WaitCall`; here, after a restart or at another replica. Of several who try, one gets the approval, by one transaction.
"""

import asyncio
import logging
from collections import Counter
from dataclasses import replace
from typing import Protocol

from interlock_gateway.core.call import CallKind, CallRequest, CallResult, CallState, CallStatus, CheckpointMode
from interlock_gateway.core.checkpoint import Checkpoint, CheckpointState
from interlock_gateway.core.outcome import WaitingEvent
from interlock_gateway.errors import RequestError, RequestFault
from interlock_gateway.pipeline.approval import Ending, about, ending_of, goes_on_edited
from interlock_gateway.pipeline.asking import checkpoint_ref
from interlock_gateway.pipeline.bells import RECHECK_S, Bell, Bells
from interlock_gateway.pipeline.conclusion import Conclusion
from interlock_gateway.pipeline.dispatch import AUDIT_UNAVAILABLE
from interlock_gateway.pipeline.holders import Holders
from interlock_gateway.pipeline.parts import Parts
from interlock_gateway.pipeline.ports import CallRecord, StateError
from interlock_gateway.pipeline.resolution import with_details
from interlock_gateway.pipeline.resumptions import Caller, Resumptions, requester
from interlock_gateway.pipeline.run import CallRun
from interlock_gateway.pipeline.under_way import put_down
from interlock_gateway.providers.port import ignore_events
from interlock_gateway.sessions.shares import Shares

KEEPALIVE_S = 15.0
"""How often whoever watches a call is told that it still waits."""
MARGIN_S = 0.2
"""How long before the caller's deadline the answer is given, so that it arrives."""
_log = logging.getLogger(__name__)
_DRAINING = "the gateway is shutting down; ask for the same call again"
_UNSETTLED = frozenset({CallState.AWAITING_CHECKPOINT, CallState.DISPATCHING})


class Core(Protocol):
    """What this needs of the pipeline it is part of."""

    draining: bool

    async def resume(self, run: CallRun) -> CallResult:
        """Take a call up again, in its turn; an answer that it waits means that somebody else has it."""
        ...


class HeldCalls:
    """Every call of this replica that waits for a person, and what becomes of those that anybody asks for."""

    def __init__(self, parts: Parts, core: Core) -> None:
        self._parts = parts
        self._core = core
        self._bells = Bells(parts.store.changes)
        self._holding: Counter[tuple[str, str]] = Counter()
        self._room = Shares(parts.settings.max_waiting_calls)
        self._holders = Holders(parts, self._holding.keys)
        self._resumptions = Resumptions(parts)
        self._conclusion = Conclusion(parts)

    def __len__(self) -> int:
        return self._room.count

    def check_room(self, principal_id: str) -> None:
        """Raise `RequestError` when as many calls are held open as may be, or the principal has its share of them."""
        if self._room.refusal(principal_id) is not None:
            raise RequestError(RequestFault.OVERLOADED, "too many calls wait for people")

    async def _check_room_for(self, caller: Caller, held: CallResult) -> None:
        """Like `check_room`; whoever people were just asked for is let in, or they would be asked for nobody."""
        try:
            self.check_room(caller.principal.id)
        except RequestError:
            checkpoint = await self._parts.store.checkpoints.checkpoint_of_call(*caller.key)
            asked = checkpoint.decision if checkpoint is not None else None
            if asked is None or held.decision is None or asked.decision_id != held.decision.decision_id:
                raise

    def wake(self) -> None:
        """Have everybody who waits look whether to go on waiting."""
        self._bells.ring_all()

    async def answer(self, caller: Caller, request: CallRequest, held: CallResult) -> CallResult:
        """What a call that is held is answered with in its mode: its outcome, or, with `DETACH`, `held` at once.

        With `WAIT`, the checkpoint is withdrawn when the last one who holds the call open goes or is out of time; where
        there are other replicas, when nobody has come again at one of them. It stays when the gateway shuts down and
        the caller knows the call's id: they go on at another replica.
        """
        if request.checkpoint_mode is CheckpointMode.DETACH:
            return await self._settled(caller, for_people=False) or held
        await self._check_room_for(caller, held)
        self._hold(caller)
        try:
            outcome = await self._settled(caller)
        except asyncio.CancelledError:
            self._parts.tasks.start(self._left(caller))
            raise
        except RequestError as error:
            if error.fault is RequestFault.DRAINING and not request.call_id:
                self._parts.tasks.start(self.abandoned(caller))
            raise
        finally:
            self._let_go(caller)
        return outcome or await self.abandoned(caller) or held

    async def wait(self, caller: Caller) -> bool:
        """Whether there was an answer, once there is one or the caller's time is up; the call goes on when they go."""
        self.check_room(caller.principal.id)
        self._hold(caller)
        try:
            return await self._settled(caller) is not None
        finally:
            self._let_go(caller)

    def _hold(self, caller: Caller) -> None:
        self._room.take(caller.principal.id)
        self._holding[caller.key] += 1

    def _let_go(self, caller: Caller) -> None:
        self._room.give_back(caller.principal.id)
        self._holding[caller.key] -= 1
        if not self._holding[caller.key]:
            del self._holding[caller.key]

    async def end_if_decided(self, caller: Caller) -> None:
        """End the call when people have decided that it does not run; one that they approved is not begun."""
        checkpoint = await self._parts.store.checkpoints.checkpoint_of_call(*caller.key)
        if checkpoint is None or goes_on_edited(checkpoint):
            return
        if checkpoint.state in (CheckpointState.DENIED, CheckpointState.EXPIRED, CheckpointState.WITHDRAWN):
            await self._ended(caller, checkpoint, ending_of(checkpoint))

    async def keep_house(self) -> int:
        """End what has expired and ask the second groups; how many checkpoints are open. Called about once a second."""
        store, now = self._parts.store.checkpoints, self._parts.clock.now()
        for expired in await store.expire_checkpoints(now):
            try:
                await self._ended(requester(expired), expired, ending_of(expired))
            except (RequestError, StateError) as error:
                # Whoever asks for the call ends it; the others must not wait for that.
                _log.warning("an expired call could not be ended", extra=_about(expired, error))
            finally:
                put_down()
        await store.escalate_checkpoints(now)
        return await store.count_open_checkpoints(now)

    async def end_session(self, session_id: str) -> None:
        """End the calls of a closed session that wait for people; an undo goes on, as it may in a closed session."""
        states = (CheckpointState.OPEN, CheckpointState.APPROVED)
        ending = Ending(CallStatus.DENIED, "withdrawn", "checkpoint_withdrawn", "The session was closed.")
        for checkpoint in await self._parts.store.checkpoints.list_checkpoints(states, 10_000, session_id=session_id):
            if checkpoint.kind is not CallKind.UNDO:
                await self._ended(requester(checkpoint), checkpoint, ending)

    # -- waiting --

    async def _settled(self, caller: Caller, *, for_people: bool = True) -> CallResult | None:
        """The call's outcome; `None` when the caller's time is up, or it would be people who are waited for."""
        since = self._parts.clock.now()
        with self._bells.hung(*caller.key) as bell:
            while True:
                bell.silence()
                outcome = await self._look(caller, since if for_people else 0.0)
                if outcome is not None or (not for_people and await self._is_for_people(caller)):
                    return outcome
                if self._core.draining:
                    raise RequestError(RequestFault.DRAINING, _DRAINING)
                if not await self._rung(caller, bell, since):
                    return None

    async def _rung(self, caller: Caller, bell: Bell, since: float) -> bool:
        """Wait until there may be news; false when the caller's time is up. Tells who watches that it goes on."""
        clock, watched = self._parts.clock, caller.on_event is not ignore_events
        ref = None
        quiet_until = clock.monotonic() + RECHECK_S
        while True:
            now = clock.monotonic()
            if caller.until is not None and now >= caller.until - MARGIN_S:
                return False
            if now >= quiet_until:
                return True
            limits = [quiet_until - now, KEEPALIVE_S if watched else RECHECK_S]
            if caller.until is not None:
                limits.append(caller.until - MARGIN_S - now)
            if await bell.heard(min(limits)):
                return True
            if watched:
                ref = ref or await self._parts.store.checkpoints.checkpoint_of_call(*caller.key)
                if ref is not None:
                    caller.on_event(WaitingEvent(0, ref.checkpoint_id, ref.expires_at, since))

    async def _look(self, caller: Caller, since: float = 0.0) -> CallResult | None:
        """Look where the call stands and go on with it when people have decided; its outcome once there is one."""
        store = self._parts.store
        # In this order: the checkpoint is never newer than the call's own record.
        checkpoint = await store.checkpoints.checkpoint_of_call(*caller.key)
        record = await store.calls.find_call(*caller.key)
        if record is None:
            raise RequestError(RequestFault.CALL_NOT_FOUND, f"there is no call {caller.call_id}", field="call_id")
        if (live := self._parts.sessions.in_memory(caller.session_id)) is not None:
            # What was not shown because its taint could not be written is not shown before it is.
            await self._parts.sessions.taint(live, tuple(live.facts.taints))
        if record.state not in _UNSETTLED:
            return self._stored(record)
        if record.state is CallState.DISPATCHING or checkpoint is None:
            return self._stored(record) if self._is_lost(record) else None
        if checkpoint.state is CheckpointState.OPEN:
            if since:
                caller.on_event(WaitingEvent(0, checkpoint.checkpoint_id, checkpoint.expires_at, since))
            return None
        return await self._taken_up(caller, checkpoint)

    async def _is_for_people(self, caller: Caller) -> bool:
        """Whether it is people who have to act now."""
        checkpoint = await self._parts.store.checkpoints.checkpoint_of_call(*caller.key)
        return checkpoint is not None and checkpoint.state is CheckpointState.OPEN

    def _is_lost(self, record: CallRecord) -> bool:
        """Whether a call has been under way for longer than any may be: nobody will say any more how it ended."""
        return self._parts.clock.now() - record.updated_at > self._parts.settings.max_timeout_s

    def _stored(self, record: CallRecord) -> CallResult:
        if record.result is None:
            return CallResult(record.call_id, CallStatus.OUTCOME_UNKNOWN, is_error=True)
        return self._parts.store.calls.decode_result(record.result)

    # -- going on --

    async def _taken_up(self, caller: Caller, checkpoint: Checkpoint) -> CallResult | None:
        if checkpoint.state is CheckpointState.CONSUMED:
            return None
        in_time = checkpoint.expires_at > self._parts.clock.now()
        if (checkpoint.state is CheckpointState.APPROVED and in_time) or goes_on_edited(checkpoint):
            if self._core.draining:
                return None
            if not self._parts.recorder.healthy:
                # Begun now it would be denied, and the approval gone.
                raise RequestError(RequestFault.AUDIT_UNAVAILABLE, AUDIT_UNAVAILABLE)
            live = await self._parts.sessions.owned(caller.principal, caller.session_id)
            resumed = await self._resumed(caller, self._resumptions.run(caller, live, checkpoint))
            return None if resumed.status is CallStatus.AWAITING_CHECKPOINT else resumed
        return await self._ended(caller, checkpoint, ending_of(checkpoint))

    async def _resumed(self, caller: Caller, run: CallRun) -> CallResult:
        if caller.lends_deadline:
            return await self._core.resume(run)
        # Who only asks how it ended must not take it down by hanging up.
        return await asyncio.shield(self._parts.tasks.start(self._core.resume(run)))

    async def _ended(self, caller: Caller, checkpoint: Checkpoint, ending: Ending) -> CallResult | None:
        """End a call that nobody approved; `None` when somebody else was faster."""
        parts = self._parts
        if ending.status is CallStatus.COMPLETED and not parts.recorder.healthy:
            raise RequestError(RequestFault.AUDIT_UNAVAILABLE, AUDIT_UNAVAILABLE)
        live = await parts.sessions.owned(caller.principal, caller.session_id)
        if checkpoint.state is CheckpointState.APPROVED:
            checkpoint = checkpoint.moved(CheckpointState.EXPIRED, parts.clock.now())
        elif checkpoint.state is CheckpointState.OPEN:
            checkpoint = checkpoint.moved(CheckpointState.WITHDRAWN, parts.clock.now(), ending.message)
        run = self._resumptions.ending(caller, live, checkpoint)
        run.resolution = await self._resumptions.said(checkpoint)
        result = self._answer(run, checkpoint, ending)
        record = CallRecord(
            session_id=run.session_id,
            call_id=run.call_id,
            request_digest=checkpoint.request_digest,
            state=CallState(ending.status.value),
            updated_at=parts.clock.now(),
            status=ending.status,
            result=parts.store.calls.encode_result(result),
        )
        if await parts.store.checkpoints.settle_waiting(record) is not record:
            return None
        return await self._conclusion.concluded(run, result)

    def _answer(self, run: CallRun, checkpoint: Checkpoint, ending: Ending) -> CallResult:
        asked = checkpoint.decision
        text = self._parts.results.redact(ending.message)
        if ending.status is CallStatus.DENIED:
            revision, profile = checkpoint.policy_revision, asked.profile if asked is not None else ""
            result = run.refused(ending.code, text, revision=revision, profile=profile)
        else:
            run.decision = asked
            result = run.answer(ending.status, text)
        details = {**about(checkpoint), "outcome": ending.outcome}
        result = replace(result, checkpoint=checkpoint_ref(checkpoint), details={"checkpoint": details})
        return with_details(result, run.resolution)

    async def _left(self, caller: Caller) -> None:
        """Whoever held the call open has hung up, or was cut off and asks for it again, perhaps at another replica."""
        try:
            held = await self._holders.hold_elsewhere(caller.key)
        except StateError:
            return  # who cannot ask cannot withdraw
        if not held and not self._core.draining:
            await self.abandoned(caller)

    async def abandoned(self, caller: Caller) -> CallResult | None:
        """Withdraw the checkpoint when nobody holds the call open any more; the answer if that ended the call."""
        store = self._parts.store.checkpoints
        if caller.key in self._holding:
            return None
        try:
            checkpoint = await store.checkpoint_of_call(*caller.key)
            if checkpoint is None or checkpoint.mode is CheckpointMode.DETACH:
                return None
            now = self._parts.clock.now()
            withdrawn = await store.withdraw_checkpoint(checkpoint.checkpoint_id, now, "whoever asked has gone")
            return None if withdrawn is None else await self._ended(caller, withdrawn, ending_of(withdrawn))
        except StateError as error:
            # It stays open until it expires; approved in spite of that, it is used by nobody.
            about = {"session_id": caller.session_id, "call_id": caller.call_id, "problem": str(error)}
            _log.warning("a checkpoint could not be withdrawn", extra=about)
            return None


def _about(checkpoint: Checkpoint, error: Exception) -> dict[str, str]:
    """What a log line says of a call that waited."""
    return {
        "session_id": checkpoint.session_id,
        "call_id": checkpoint.call_id,
        "decision_id": checkpoint.decision.decision_id if checkpoint.decision is not None else "",
        "problem": str(error),
    }
