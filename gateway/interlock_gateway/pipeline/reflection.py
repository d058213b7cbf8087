"""Reverse thinking: an agent challenges its own call before it goes on (REV-1, REV-2)."""

from dataclasses import replace

from interlock_gateway.core.call import CallResult, CallStatus
from interlock_gateway.pipeline.deliverable import INSTRUCTIONS, form_for
from interlock_gateway.pipeline.run import CallRun
from interlock_gateway.pipeline.steps import Steps

_CHOICES = {
    "revise": ("reflection_revised", "You chose to revise this call, so it was not run"),
    "abort": ("reflection_aborted", "You chose to give this call up, so it was not run"),
}


class Reflection:
    """Asks agents to think, and ends the calls that they gave up when they did."""

    def __init__(self, steps: Steps) -> None:
        self._steps = steps

    def ended(self, run: CallRun) -> CallResult | None:
        """The end of a call that its own agent gives up or wants to change (REV-2)."""
        deliverable = run.request.deliverable
        choice = _CHOICES.get(str(deliverable.get("verdict"))) if deliverable is not None else None
        if deliverable is None or choice is None:
            return None
        code, words = choice
        digest = run.digest
        refused = self._steps.refuse(run, code, f"{words}: {deliverable.get('verdict_reason')}")
        run.decision = replace(run.decided, call_digest=digest)
        return replace(refused, decision=run.decision)

    def required(self, run: CallRun) -> CallResult:
        """The form to fill in (REV-1)."""
        words = "\n".join(text for text in (run.decided.message, INSTRUCTIONS) if text)
        return replace(run.answer(CallStatus.REFLECTION_REQUIRED, words), reflection=form_for(run))
