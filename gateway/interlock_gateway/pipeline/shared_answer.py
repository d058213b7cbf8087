"""One call id, one outcome: the answer of a call for everybody who asks for the same call again (PIPE-10)."""

import asyncio
from collections.abc import Coroutine
from typing import Any

from interlock_gateway.core.call import CallResult, CallStatus
from interlock_gateway.errors import RequestError, RequestFault
from interlock_gateway.pipeline.asking import Asking
from interlock_gateway.pipeline.parts import Parts
from interlock_gateway.pipeline.run import CallRun
from interlock_gateway.sessions.arrivals import Arrival
from interlock_gateway.sessions.live import RememberedCall, RunningCall


def answer_to_come(run: CallRun) -> "asyncio.Future[CallResult]":
    """The answer to come of a call that is under way now, for whoever asks for the same call meanwhile."""
    answer: asyncio.Future[CallResult] = asyncio.get_running_loop().create_future()
    run.live.running[run.call_id] = RunningCall(lambda: run.request_digest, answer, resumed=run.resuming is not None)
    return answer


class SharedAnswers:
    """Finds the answer of the same call, made before or under way."""

    def __init__(self, parts: Parts, asking: Asking) -> None:
        self._parts = parts
        self._asking = asking

    async def earlier(self, run: CallRun, arrival: Arrival) -> CallResult | None:
        """The answer to the call of this id, which is waited for; nothing when there is none. Raises `RequestError`."""
        live, call_id = run.live, run.call_id
        known = live.running.get(call_id) or live.remembered.get(call_id)
        if known is None and not run.read_only:  # nor when its tool has gone: what it did, it did
            record = await self._parts.store.calls.find_call(run.session_id, call_id)
            if record is not None:
                arrival.leave()
                return await self._asking.known(run, await self._parts.store.calls.outcome_of(record))
            known = live.running.get(call_id) or live.remembered.get(call_id)
        if known is None or (
            isinstance(known, RememberedCall) and known.result.status is CallStatus.REFLECTION_REQUIRED
        ):
            return None
        if known.request_digest != run.request_digest:
            raise RequestError(
                RequestFault.CALL_ID_REUSED, f"call id {call_id} was used for another call", field="call_id"
            )
        arrival.leave()
        return await asyncio.shield(known.answer) if isinstance(known, RunningCall) else known.result

    async def elsewhere(self, run: CallRun) -> CallResult | None:
        """What another replica answered to the call of this id while this one waited for its turn. Raises `StateError`.

        For what acts on whatever is on top of the stack, which is another action by then.
        """
        if self._parts.store.crossing is None or not run.request.call_id or run.resuming is not None:
            return None
        record = await self._parts.store.calls.find_call(run.session_id, run.call_id)
        if record is None:
            return None
        return await self._asking.known(run, await self._parts.store.calls.outcome_of(record))

    def joined(self, run: CallRun, arrival: Arrival) -> "Coroutine[Any, Any, CallResult] | None":
        """The answer of the same call, if it runs by a person's leave and `run` is of a client that knows no ids."""
        if not run.request.rejoins or not run.live.running:
            return None
        alike = (one for one in run.live.running.values() if one.resumed and one.request_digest == run.request_digest)
        known = next(alike, None)
        return self._of(known, run, arrival) if known is not None else None

    async def _of(self, known: RunningCall, run: CallRun, arrival: Arrival) -> CallResult:
        arrival.leave()
        result = await asyncio.shield(known.answer)
        self._parts.tracer.ended(run, result)
        await self._parts.sessions.taint(run.live, tuple(run.live.facts.taints))
        return result


def hand_on(answer: "asyncio.Future[CallResult]", error: BaseException) -> None:
    """Tell whoever waits for `answer` that there will be none."""
    if isinstance(error, RequestError):
        answer.set_exception(error)
    else:
        answer.set_exception(
            RequestError(RequestFault.CANCELLED, "the first call with this id ended without an answer")
        )
    answer.exception()  # whoever waits for it sees it; nobody waiting is no fault
