"""What the pipeline and the approvers need of kept checkpoints (CHK-9)."""

from typing import Protocol

from interlock_gateway.core.change import Change
from interlock_gateway.core.checkpoint import Checkpoint, CheckpointAnswer, CheckpointState
from interlock_gateway.core.operation import Operation
from interlock_gateway.pipeline.state_records import BeginOutcome, CallRecord, OpenedCheckpoint, Waiters


class CheckpointStore(Protocol):
    """Checkpoints (CHK-9): each is decided once, whichever replica is asked. Every change is announced after commit."""

    async def open_checkpoint(
        self, checkpoint: Checkpoint, record: CallRecord, *, instead_of: str = "", room: Waiters | None = None
    ) -> OpenedCheckpoint:
        """Keep the checkpoint and its call's record, which is `awaiting_checkpoint`; both or neither.

        A record that is `awaiting_checkpoint` already gets a further checkpoint only when its last one was ended by the
        edit from which this one comes, or is `instead_of` (a changed policy), which is closed with it; any other record
        with that id is `existing`.

        Raises `TooManyWaitingError` when a call would begin to wait beyond `room`, and `SessionEndedError` when it
        would in a closed session; the undo of an operation may.
        """
        ...

    async def get_checkpoint(self, checkpoint_id: str) -> Checkpoint | None:
        """The checkpoint."""
        ...

    async def checkpoint_of_call(self, session_id: str, call_id: str) -> Checkpoint | None:
        """The call's newest checkpoint."""
        ...

    async def waiting_alike(self, session_id: str, digest: str) -> Checkpoint | None:
        """The newest checkpoint of a call of that digest which waits, was decided and not asked for since, or runs."""
        ...

    async def list_checkpoints(
        self,
        states: tuple[CheckpointState, ...],
        limit: int,
        *,
        session_id: str = "",
        after: tuple[float, str] | None = None,
    ) -> tuple[Checkpoint, ...]:
        """At most `limit` in these states, those that expire first in front, from behind (`expires_at`, id) `after`."""
        ...

    async def count_open_checkpoints(self, now: float) -> int:
        """How many are open."""
        ...

    async def answer_checkpoint(self, checkpoint_id: str, answer: CheckpointAnswer, now: float) -> Checkpoint:
        """Add what an approver said, by the rules of `core.checkpoint.answered`; the checkpoint as it is then.

        Raises `AnswerRefusedError` and `UnknownRecordError`. Of many answers at once each counts or is refused.
        """
        ...

    async def withdraw_checkpoint(self, checkpoint_id: str, now: float, reason: str) -> Checkpoint | None:
        """Open → withdrawn; `None` when it is not open any more."""
        ...

    async def tell(self, change: Change) -> None:
        """Tell the other replicas something that is kept nowhere."""
        ...

    async def begin_approved(
        self,
        checkpoint_id: str,
        digest: str,
        record: CallRecord,
        operation: Operation,
        now: float,
        *,
        applies: str = "",
    ) -> BeginOutcome:
        """Use the approval, take the call from waiting to dispatching and write the intent: all or none (CHK-3).

        Of many redeemers one gets the operation. The others, and every redeemer of a checkpoint that is not approved,
        is past its expiry or was approved for another digest, get the call's record as `existing`. Raises
        `ClaimLostError` as `begin_call` does.
        """
        ...

    async def settle_waiting(self, record: CallRecord) -> CallRecord:
        """End a call that waits, without dispatch: `record` takes the place of the waiting one.

        An approval that was not used is expired with it, a checkpoint that is open is withdrawn. When the call does not
        wait any more, the kept record.
        """
        ...

    async def expire_checkpoints(self, now: float) -> tuple[Checkpoint, ...]:
        """Open or approved checkpoints past their expiry → expired; a bounded number at once."""
        ...

    async def escalate_checkpoints(self, now: float) -> tuple[Checkpoint, ...]:
        """Open checkpoints past `escalate_at` are open to their second groups too; a bounded number at once."""
        ...
