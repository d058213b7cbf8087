"""Where a call stands, for whoever asks later (CHK-4)."""

import asyncio
from dataclasses import dataclass

from interlock_gateway.core.call import CallKind, CallResult, CallState, CallStatus
from interlock_gateway.core.session import Principal
from interlock_gateway.core.trace import TraceContext
from interlock_gateway.errors import RequestError, RequestFault
from interlock_gateway.pipeline.asking import checkpoint_ref
from interlock_gateway.pipeline.conclusion import STATE_OF
from interlock_gateway.pipeline.core import CallPipeline
from interlock_gateway.pipeline.dispatch import AWAITING
from interlock_gateway.pipeline.held import MARGIN_S
from interlock_gateway.pipeline.parts import Parts
from interlock_gateway.pipeline.ports import CallRecord, StateError, unavailable
from interlock_gateway.pipeline.resumptions import Caller
from interlock_gateway.providers.port import EventSink, ignore_events
from interlock_gateway.sessions.live import LiveSession

_UNSETTLED = frozenset({CallState.RECEIVED, CallState.AWAITING_CHECKPOINT, CallState.DISPATCHING, CallState.REFLECTING})


@dataclass(frozen=True, slots=True)
class KnownCall:
    """A call as the gateway remembers it. Times are Unix seconds, `None` where they are not known.

    `tool` is empty for a call that was refused or previewed before the last start. `settled` says that the state will
    not change by itself any more.
    """

    session_id: str
    call_id: str
    state: CallState
    tool: str = ""
    kind: CallKind = CallKind.CALL
    result: CallResult | None = None
    received_at: float | None = None
    finished_at: float | None = None

    @property
    def settled(self) -> bool:
        """Whether it has ended."""
        return self.state not in _UNSETTLED


class CallRecords:
    """Looks calls up, and waits for them."""

    def __init__(self, parts: Parts, pipeline: CallPipeline) -> None:
        self._parts = parts
        self._pipeline = pipeline

    async def get(self, principal: Principal, session_id: str, call_id: str) -> KnownCall:
        """Where the call stands now. Raises `RequestError`."""
        live = await self._parts.sessions.owned(principal, session_id)
        try:
            return await self._known(Caller(principal, session_id, call_id), live)
        except StateError as error:
            raise unavailable(error) from None

    async def wait(
        self,
        principal: Principal,
        session_id: str,
        call_id: str,
        timeout_s: float | None,
        *,
        on_event: EventSink = ignore_events,
        trace: TraceContext | None = None,
    ) -> KnownCall:
        """Where the call stands once it is settled, or after `timeout_s` seconds; without, as long as it takes.

        Whoever waits goes on with a call that people have decided about, and is told what happens on the way. Raises
        `RequestError`.
        """
        clock = self._parts.clock
        until = None if timeout_s is None else clock.monotonic() + timeout_s
        live = await self._parts.sessions.owned(principal, session_id)
        caller = Caller(principal, session_id, call_id, until, on_event, trace=trace)
        try:
            known = await self._known(caller, live)
            while not known.settled and (until is None or clock.monotonic() < until - MARGIN_S):
                settled = await self._news(caller, live)
                known = await self._known(caller, live)
                if settled:
                    break  # by itself it goes no further
        except StateError as error:
            raise unavailable(error) from None
        return known

    async def _news(self, caller: Caller, live: LiveSession) -> bool:
        """Wait until there may be news; whether there is an answer."""
        running = live.running.get(caller.call_id)
        if running is None:
            return await self._pipeline.held.wait(caller)
        left = None if caller.until is None else caller.until - MARGIN_S - self._parts.clock.monotonic()
        # What it raises is for those who made the call.
        await asyncio.wait((running.answer,), timeout=left)
        return False

    async def _known(self, caller: Caller, live: LiveSession) -> KnownCall:
        store = self._parts.store
        record = await store.calls.find_call(*caller.key)
        if record is not None and record.state is CallState.AWAITING_CHECKPOINT:
            await self._pipeline.held.end_if_decided(caller)
            record = await store.calls.find_call(*caller.key)
        if record is not None:
            return await self._of_record(record)
        if caller.call_id in live.running:
            return KnownCall(caller.session_id, caller.call_id, CallState.RECEIVED)
        remembered = live.remembered.get(caller.call_id)
        if remembered is None:
            words = f"there is no call {caller.call_id} in this session"
            raise RequestError(RequestFault.CALL_NOT_FOUND, words, field="call_id")
        result = remembered.result
        return KnownCall(caller.session_id, caller.call_id, STATE_OF[result.status], result=result)

    async def _of_record(self, record: CallRecord) -> KnownCall:
        store = self._parts.store
        checkpoint = await store.checkpoints.checkpoint_of_call(record.session_id, record.call_id)
        operation = await store.journal.operation_of_call(record.session_id, record.call_id)
        result = store.calls.decode_result(record.result) if record.result is not None else None
        tool, kind, received_at = "", CallKind.CALL, None
        if operation is not None:
            tool, received_at = operation.tool, operation.intended_at
            kind = CallKind.UNDO if operation.undoes else kind
        if checkpoint is not None:
            tool, kind, received_at = checkpoint.tool, checkpoint.kind, checkpoint.created_at
            if record.state is CallState.AWAITING_CHECKPOINT:
                result = CallResult(
                    record.call_id,
                    CallStatus.AWAITING_CHECKPOINT,
                    decision=checkpoint.decision,
                    checkpoint=checkpoint_ref(checkpoint),
                ).steered(AWAITING)
        finished_at = None if record.state in _UNSETTLED else record.updated_at
        return KnownCall(record.session_id, record.call_id, record.state, tool, kind, result, received_at, finished_at)
