"""Where plug-ins look at a call: after policy allowed it, before anything is sent or journaled (PIPE-13).

They may stop it, or add texts behind its result. There is no way from here to a looser verdict or another input.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace

from interlock_gateway.core.call import CallResult, CallStatus
from interlock_gateway.core.content import Text
from interlock_gateway.core.decision import Reason
from interlock_gateway.pipeline.conclusion import Conclusion
from interlock_gateway.pipeline.enforce import Path, path_for
from interlock_gateway.pipeline.parts import Parts
from interlock_gateway.pipeline.plugin_port import Intercepted, Interceptors
from interlock_gateway.pipeline.run import CallRun
from interlock_gateway.pipeline.tracing_port import Step

Enforce = Callable[[CallRun], Awaitable[CallResult]]


class Interception:
    """Stands between the decision and what enforces it."""

    def __init__(self, interceptors: Interceptors, parts: Parts, conclusion: Conclusion) -> None:
        self._interceptors = interceptors
        self._parts = parts
        self._conclusion = conclusion

    def before(self, enforce: Enforce) -> Enforce:
        """`enforce`, for the calls that no interceptor stops."""

        async def asked_first(run: CallRun) -> CallResult:
            if path_for(run.decided) is Path.PREVIEW:
                return await enforce(run)  # nothing is sent but the question; they are asked when it is applied
            said = await self._ask(run)
            if said.denied is not None:
                return self._denied(run, said.denied)
            if said.messages:
                self._add(run, said.messages)
            return await enforce(run)

        return asked_first

    async def _ask(self, run: CallRun) -> Intercepted:
        try:
            with run.trace.step(Step.INTERCEPT):
                return await self._interceptors.ask(run)
        except asyncio.CancelledError:
            if run.read_only and run.resuming is None:  # others end in their own task, whoever hangs up
                self._conclusion.noted(run, run.answer(CallStatus.FAILED, "the call was cancelled", is_error=True))
            raise

    def _denied(self, run: CallRun, reason: Reason) -> CallResult:
        reason = replace(reason, message=self._parts.results.redact(reason.message))
        was = run.decided
        refused = run.refused(reason.code, reason.message, revision=was.policy_revision, profile=was.profile)
        run.decision = replace(run.decided, reasons=(reason,), call_digest=was.call_digest)
        return replace(refused, decision=run.decision)

    def _add(self, run: CallRun, messages: tuple[str, ...]) -> None:
        texts = tuple(Text(self._parts.results.redact(message)) for message in messages)
        wrapped = run.wrap

        def wrap(result: CallResult) -> CallResult:
            made = wrapped(result) if wrapped is not None else result
            return replace(made, content=(*made.content, *texts))

        run.wrap = wrap


def interception(parts: Parts, conclusion: Conclusion) -> Interception | None:
    """`None` without interceptors: nothing stands in the way of a call then."""
    return Interception(parts.interceptors, parts, conclusion) if parts.interceptors is not None else None
