"""Somebody says what became of an operation, or of its undo, that the gateway could not know; they are believed."""

from interlock_gateway.core.call import CallRequest, CallStatus
from interlock_gateway.core.decision import Decision, Reason, Verdict
from interlock_gateway.core.machine import UnknownTransitionError
from interlock_gateway.core.operation import UNKNOWN_STATES, Operation, OperationState
from interlock_gateway.core.session import Principal
from interlock_gateway.errors import RequestError, RequestFault
from interlock_gateway.ids import Ids
from interlock_gateway.pipeline.parts import Parts
from interlock_gateway.pipeline.rollback_plan import operation_of_session
from interlock_gateway.pipeline.run import CallRun
from interlock_gateway.pipeline.shown_operation import shown_operation
from interlock_gateway.sessions.live import LiveSession


class Settlement:
    """Takes people's word for what is unknown, and has it in the audit first."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._ids = Ids()

    async def settle(
        self, principal: Principal, session_id: str, operation_id: str, reason: str, *, took_effect: bool
    ) -> Operation:
        """The operation as it stands then.

        Raises `RequestError`: it is not the principal's, nothing about it is unknown, or receipts cannot be written.
        """
        live = await self._parts.sessions.owned(principal, session_id)
        operation = await operation_of_session(self._parts.store, session_id, operation_id, "operation_id")
        if operation.state not in UNKNOWN_STATES:
            raise _not_unknown(operation)
        run = self._run(principal, live, operation)
        run.decision = self._decision(run, operation, reason, took_effect=took_effect)
        # That it was said is a fact whatever becomes of the write after it.
        await self._parts.recorder.settle(run, run.answer(CallStatus.COMPLETED))
        try:
            settled = await self._parts.store.journal.settle_operation(
                operation_id, self._parts.clock.now(), took_effect=took_effect
            )
        except UnknownTransitionError:
            raise _not_unknown(operation) from None
        return await shown_operation(self._parts.results, settled)

    def _run(self, principal: Principal, live: LiveSession, operation: Operation) -> CallRun:
        call_id = operation.undo_call_id or operation.call_id
        now = self._parts.clock.monotonic()
        return CallRun(
            principal=principal,
            live=live,
            request=CallRequest(operation.session_id, call_id, operation.tool, b"{}"),
            call_id=call_id,
            tool=self._parts.registry.find(operation.tool, live.session.owner),
            received_at=self._parts.clock.now(),
            started=now,
            deadline_at=now,
            decision_id=self._ids.next(),
            clock=self._parts.clock,
        )

    def _decision(self, run: CallRun, operation: Operation, reason: str, *, took_effect: bool) -> Decision:
        what = "its undo" if operation.state is OperationState.UNDO_UNKNOWN else "it"
        effect = "took effect" if took_effect else "had no effect"
        engine = self._parts.engine
        return Decision(
            decision_id=run.decision_id,
            verdict=Verdict.ALLOW,
            reasons=(Reason("settled", f"operation {operation.operation_id}: {what} {effect}. {reason}", "gateway"),),
            policy_revision=engine.revision,
            profile=engine.profile,
            decided_at=run.clock.now(),
        )


def _not_unknown(operation: Operation) -> RequestError:
    words = f"nothing about this operation is unknown; when it was last looked at it was {operation.state.value}"
    return RequestError(RequestFault.STALE_CONFIRMATION, words, field="operation_id")
