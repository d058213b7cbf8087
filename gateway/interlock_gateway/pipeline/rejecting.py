"""Telling a provider that what it left pending was discarded (PREV-8), with its intent on record before (PIPE-12)."""

from dataclasses import dataclass

from interlock_gateway.core.outcome import Resolution, ToolOutcome
from interlock_gateway.core.pending import PendingAction, ResolutionNote
from interlock_gateway.errors import AuditUnavailableError, ProviderError
from interlock_gateway.pipeline.parts import Parts
from interlock_gateway.pipeline.run import CallRun
from interlock_gateway.pipeline.tracing_port import Step


@dataclass(frozen=True, slots=True)
class Rejected:
    """What came of it: what the provider returned, `None` when nothing; or why it may not have heard of it."""

    outcome: ToolOutcome | None = None
    error: ProviderError | None = None


class Rejecting:
    """The one way to a provider's reject."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts

    async def intended(self, run: CallRun) -> bool:
        """Whether it is on disk that the provider is about to be told; nobody may be without it."""
        try:
            with run.trace.step(Step.AUDIT):
                await self._parts.recorder.intend(run)
        except AuditUnavailableError:
            return False
        return True

    async def told(self, run: CallRun, provider_name: str, resolution: Resolution) -> Rejected | None:
        """Tell the provider, once; `None` when there is no such provider any more."""
        provider = self._parts.providers.get(provider_name)
        if provider is None:
            return None
        began = self._parts.clock.monotonic()
        try:
            with run.trace.step(Step.DISPATCH):
                return Rejected(await run.to_provider(provider.reject_pending(resolution)))
        except ProviderError as error:
            return Rejected(error=error)
        finally:
            run.dispatch_s = self._parts.clock.monotonic() - began


def resolution_of(run: CallRun, action: PendingAction, said: ResolutionNote, deadline_s: float) -> Resolution:
    """What a provider is sent about an action that it pushed."""
    return Resolution(
        session_id=run.session_id,
        call_id=run.call_id,
        token=action.token,
        source_tool=action.source_tool,
        reason=said.reason,
        deadline_s=deadline_s,
        pending_id=action.pending_id,
        extra=said.extra,
        trace=run.trace.context,
    )
