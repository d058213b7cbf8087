"""Going on with a call after people have decided: policy is asked again, and must allow (CHK-3, CHK-5, CHK-7)."""

from collections.abc import Awaitable, Callable

from interlock_gateway.core.call import CallResult, CallStatus
from interlock_gateway.core.checkpoint import Checkpoint, CheckpointState
from interlock_gateway.pipeline.approval import VOID, only_policy_changed, satisfies, why_void
from interlock_gateway.pipeline.asking import Asking
from interlock_gateway.pipeline.bind import call_digest
from interlock_gateway.pipeline.enforce import Path
from interlock_gateway.pipeline.reflection import Reflection
from interlock_gateway.pipeline.run import CallRun
from interlock_gateway.pipeline.steps import Steps

MORE_PEOPLE = f"{VOID}: policy asks for other people, or more of them, than approved."
NOT_ALLOWED = f"{VOID}: policy does not let this call through, though it was approved."

Enforce = Callable[[CallRun], Awaitable[CallResult]]


class Redeeming:
    """Enforces the second decision about a call that waited. Whatever is not exactly as it was approved is denied."""

    def __init__(self, steps: Steps, asking: Asking, reflection: Reflection) -> None:
        self._steps = steps
        self._asking = asking
        self._reflection = reflection

    async def enforced(self, run: CallRun, checkpoint: Checkpoint, enforce: Enforce) -> CallResult:
        """Run the call with `enforce`, which uses the approval up; ask anew; or deny."""
        path = self._steps.path(run)
        if path is Path.DENY:
            return run.answer(CallStatus.DENIED, run.decided.message, is_error=True)
        if checkpoint.state is not CheckpointState.APPROVED:
            return await self._edited(run, checkpoint, path)
        void = why_void(run, checkpoint)
        if void is not None:
            return await self._voided(run, checkpoint, path, void)
        return await self._hindered(run, checkpoint, path) or await enforce(run)

    async def _hindered(self, run: CallRun, checkpoint: Checkpoint, path: Path) -> CallResult | None:
        """Why an approved call does not run now; `None` when it does."""
        if path is Path.REFLECT:
            # The approval is not used by that: the same call with a deliverable goes on under it (REV-4).
            return self._reflection.required(run)
        enough = satisfies(checkpoint, run.obligations)
        if path is not Path.DISPATCH or not enough:
            return self._void(run, NOT_ALLOWED if enough else MORE_PEOPLE)
        return await self._steps.ready_to_send(run)

    async def _edited(self, run: CallRun, checkpoint: Checkpoint, path: Path) -> CallResult:
        """The input that an approver wrote: approved by them, if they may, and by as many others as policy wants."""
        if path is Path.REFLECT:
            return self._steps.refuse(run, "reflection_required", run.decided.message)
        if (refusal := await self._steps.ready_to_send(run)) is not None:
            return refusal
        return await self._asking.ask(run, editor=checkpoint.ending)

    async def _voided(self, run: CallRun, checkpoint: Checkpoint, path: Path, why: str) -> CallResult:
        old_digest = call_digest(run, run.document, checkpoint.policy_revision)
        if path is not Path.CHECKPOINT or not only_policy_changed(run, checkpoint, old_digest):
            return self._void(run, why)
        if (refusal := await self._steps.ready_to_send(run)) is not None:
            return refusal
        return await self._asking.ask(run, instead_of=checkpoint.checkpoint_id)

    def _void(self, run: CallRun, why: str) -> CallResult:
        return self._steps.refuse(run, "approval_void", why)
