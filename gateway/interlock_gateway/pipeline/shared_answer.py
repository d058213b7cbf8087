"""The answer of a call that is under way, for everybody who asks for the same call meanwhile (PIPE-10)."""

import asyncio
from collections.abc import Coroutine
from typing import Any

from interlock_gateway.core.call import CallResult
from interlock_gateway.errors import RequestError, RequestFault
from interlock_gateway.pipeline.parts import Parts
from interlock_gateway.pipeline.run import CallRun
from interlock_gateway.sessions.live import RunningCall


def answer_to_come(run: CallRun) -> "asyncio.Future[CallResult]":
    """The answer to come of a call that is under way now, for whoever asks for the same call meanwhile."""
    answer: asyncio.Future[CallResult] = asyncio.get_running_loop().create_future()
    run.live.running[run.call_id] = RunningCall(lambda: run.request_digest, answer, resumed=run.resuming is not None)
    return answer


def joined(run: CallRun, parts: Parts) -> "Coroutine[Any, Any, CallResult] | None":
    """The answer of the same call, if it runs by a person's leave and `run` is of a client that knows no call ids."""
    if not run.request.rejoins or not run.live.running:
        return None
    alike = (one for one in run.live.running.values() if one.resumed and one.request_digest == run.request_digest)
    known = next(alike, None)
    return _of(known, run, parts) if known is not None else None


async def _of(known: RunningCall, run: CallRun, parts: Parts) -> CallResult:
    result = await asyncio.shield(known.answer)
    parts.tracer.ended(run, result)
    await parts.sessions.taint(run.live, tuple(run.live.facts.taints))
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
