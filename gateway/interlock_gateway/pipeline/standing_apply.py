"""A standing handler answers `resolve` in the place of a pending action (PREV-12)."""

from dataclasses import replace

from interlock_gateway.core.call import CallResult, CallStatus
from interlock_gateway.core.jsonvalue import JsonObject
from interlock_gateway.core.outcome import Resolution, StandingHandler
from interlock_gateway.pipeline.dispatch import Dispatcher
from interlock_gateway.pipeline.enforce import Path, path_for
from interlock_gateway.pipeline.parts import Parts
from interlock_gateway.pipeline.resolution import with_details
from interlock_gateway.pipeline.run import CallRun

NO_PREVIEW = "policy asks for a preview of what a standing handler would do, and there is none; nothing was applied"


class StandingApply:
    """Lets a standing handler answer, after policy allowed the `resolve` call itself (PREV-12)."""

    def __init__(self, parts: Parts, handler: StandingHandler, resolution: Resolution) -> None:
        self._parts = parts
        self._handler = handler
        self._resolution = resolution

    async def enforced(self, run: CallRun) -> CallResult:
        """Ask the handler; what would come of that cannot be previewed, so policy that asks for it is not passed by."""
        decided = run.decided
        if path_for(decided) is Path.PREVIEW:
            revision, profile = decided.policy_revision, decided.profile
            return run.refused("preview_at_apply", NO_PREVIEW, revision=revision, profile=profile)
        provider = self._parts.providers.get(self._handler.provider)
        if provider is None:
            text = f"provider {self._handler.provider} is not registered any more"
            return run.answer(CallStatus.FAILED, text, is_error=True)
        run.sender = lambda deadline_s: provider.apply_pending(replace(self._resolution, deadline_s=deadline_s))
        run.speaks_for = self._handler.provider
        run.wrap = lambda result: with_source(run, result)
        return await Dispatcher(self._parts).change(run)


def with_source(run: CallRun, result: CallResult) -> CallResult:
    """`result` with the details of a `resolve` answer; the provider's own are among them if it had any (PREV-9)."""
    has_own = run.outcome is not None and run.outcome.details is not None
    own: JsonObject = {"sourceResultDetails": dict(result.details)} if has_own else {}
    return with_details(replace(result, details=own), run.resolution)
