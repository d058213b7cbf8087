"""The approvers' desk: who can be asked, what waits, and what is said about it (CHK-2, CHK-6, CHK-7)."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass

from interlock_gateway.approvals.answers import Said, check
from interlock_gateway.approvals.editing import Edit, Editor
from interlock_gateway.approvals.handlers import Handler, Reached, may_approve, may_see
from interlock_gateway.approvals.lasting import while_known
from interlock_gateway.approvals.records import WatchStore
from interlock_gateway.approvals.watches import Watches, WatchEvent
from interlock_gateway.core.checkpoint import (
    AnswerRefusedError,
    ApproverDecision,
    Checkpoint,
    CheckpointAnswer,
    CheckpointState,
)
from interlock_gateway.core.clock import Clock
from interlock_gateway.core.session import Principal
from interlock_gateway.errors import RequestError, RequestFault
from interlock_gateway.pipeline.ports import CheckpointStore, UnknownRecordError

_SCAN = 200
_FAULTS = {
    "own_call": RequestFault.OWN_CALL,
    "not_an_approver": RequestFault.APPROVER_GROUP_MISSING,
}


@dataclass(frozen=True, slots=True)
class Page:
    """Checkpoints by expiry, and from behind which to go on; `None` when these are the last."""

    checkpoints: tuple[Checkpoint, ...]
    next: tuple[float, str] | None


class ApprovalDesk:
    """Where every channel brings its answers, and the pipeline asks whether anybody is there (`Approvers`)."""

    def __init__(
        self,
        store: CheckpointStore,
        clock: Clock,
        watches: Watches,
        editor: Editor,
        *,
        channels: tuple[Reached, ...] = (),
        register: WatchStore | None = None,
    ) -> None:
        """`register` says who watches at other replicas; without it there are none."""
        self._store = store
        self._clock = clock
        self._watches = watches
        self._editor = editor
        self._channels = channels
        self._register = register

    async def can_ask(self, requester: str, groups: tuple[str, ...], escalate_to: tuple[str, ...]) -> bool:
        """Whether somebody who may answer watches, or is reached by a channel (CHK-2)."""
        here = (*self._watches.handlers(), *(one for channel in self._channels for one in channel.handlers()))
        if any(handler.can_be_asked(requester, groups, escalate_to) for handler in here):
            return True
        if self._register is None:
            return False
        elsewhere = [Handler(*watch) for watch in await self._register.watches_elsewhere()]
        return any(handler.can_be_asked(requester, groups, escalate_to) for handler in elsewhere)

    async def ways(self) -> int:
        """How many watches and channels somebody can be asked by now, the watches at other replicas among them."""
        elsewhere = () if self._register is None else await self._register.watches_elsewhere()
        return len(self._watches) + len(elsewhere) + sum(channel.ways() for channel in self._channels)

    def watch(self, approver: Principal, groups: tuple[str, ...]) -> AsyncIterator[WatchEvent]:
        """What `Watches.watch` tells `approver`, who counts as somebody to ask meanwhile, while their credentials last.

        Raises `RequestError`.
        """
        _admit(approver)
        return while_known(self._watches.watch(approver, groups), approver, self._clock)

    async def page(
        self,
        approver: Principal,
        states: tuple[CheckpointState, ...],
        size: int,
        *,
        session_id: str = "",
        after: tuple[float, str] | None = None,
    ) -> Page:
        """At most `size` checkpoints that `approver` may see, those that expire first in front."""
        _admit(approver)
        found: list[Checkpoint] = []
        while True:
            batch = await self._store.list_checkpoints(states, _SCAN, session_id=session_id, after=after)
            for one in batch:
                if len(found) == size:
                    return Page(tuple(found), after)
                after = one.expires_at, one.checkpoint_id
                if may_see(approver, one):
                    found.append(one)
            if len(batch) < _SCAN:
                return Page(tuple(found), None)

    async def look(self, approver: Principal, checkpoint_id: str) -> Checkpoint:
        """One checkpoint. Raises `RequestError`."""
        _admit(approver)
        checkpoint = await self._store.get_checkpoint(checkpoint_id)
        if checkpoint is None:
            raise _unknown(checkpoint_id)
        if not may_see(approver, checkpoint):
            wanted = ", ".join(checkpoint.groups)
            raise RequestError(
                RequestFault.APPROVER_GROUP_MISSING,
                f"this checkpoint is for members of: {wanted}",
                metadata={"checkpoint_id": checkpoint_id, "required_groups": wanted},
            )
        return checkpoint

    async def decide(self, approver: Principal, said: Said) -> Checkpoint:
        """Let `approver` have their say; the checkpoint as it is then.

        Raises `RequestError` when it does not count: they are no approver, it is their own call, in none of the groups,
        the checkpoint is not open or for another call than they saw, or what is said is not whole.
        """
        check(said)
        checkpoint = await self.look(approver, said.checkpoint_id)
        if said.call_digest and said.call_digest != checkpoint.digest:
            raise RequestError(
                RequestFault.STALE_CONFIRMATION,
                "this is not the call that you were shown; look again",
                field="call_digest",
                metadata={"checkpoint_id": said.checkpoint_id},
            )
        edit = await self._edit(checkpoint, said)
        now = self._clock.now()
        answer = CheckpointAnswer(
            approver=approver.id,
            approver_kind=approver.kind,
            groups=approver.groups,
            decision=said.decision,
            reason=said.reason.strip(),
            channel=said.channel,
            answered_at=now,
            edited_input=edit.input,
            edit_difference=edit.difference,
            response=said.response,
        )
        try:
            return await self._store.answer_checkpoint(said.checkpoint_id, answer, now)
        except AnswerRefusedError as error:
            raise _refused(error, checkpoint) from None
        except UnknownRecordError:
            raise _unknown(said.checkpoint_id) from None

    async def _edit(self, checkpoint: Checkpoint, said: Said) -> Edit:
        if said.decision is not ApproverDecision.EDIT:
            return Edit(b"", "")
        return await asyncio.to_thread(self._editor.edit, checkpoint, said.edited_input)


def _admit(approver: Principal) -> None:
    if not may_approve(approver):
        raise RequestError(RequestFault.ROLE_MISSING, "this is for approvers, and an agent is never one")


def _unknown(checkpoint_id: str) -> RequestError:
    return RequestError(
        RequestFault.CHECKPOINT_NOT_FOUND,
        "there is no such checkpoint",
        field="checkpoint_id",
        metadata={"checkpoint_id": checkpoint_id},
    )


def _refused(error: AnswerRefusedError, checkpoint: Checkpoint) -> RequestError:
    fault = _FAULTS.get(error.code, RequestFault.CHECKPOINT_NOT_OPEN)
    metadata = {"checkpoint_id": checkpoint.checkpoint_id}
    if fault is RequestFault.APPROVER_GROUP_MISSING:
        metadata["required_groups"] = ", ".join(checkpoint.groups)
    return RequestError(fault, error.message, metadata=metadata)
