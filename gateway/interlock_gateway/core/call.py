"""Calls: what is asked, what is answered, and the states between (pipeline.md, State machines)."""

from dataclasses import dataclass, field, replace
from enum import StrEnum

from interlock_gateway.core.content import Artifact, Content
from interlock_gateway.core.decision import Decision
from interlock_gateway.core.jsonvalue import FrozenJsonObject, JsonValue
from interlock_gateway.core.machine import StateMachine
from interlock_gateway.core.operation import UndoInfo
from interlock_gateway.core.outcome import Preview
from interlock_gateway.core.tool import Classification
from interlock_gateway.core.trace import TraceContext


class CallKind(StrEnum):
    """Why a call runs: asked by an agent, applying a preview, undoing an operation, or edited by an approver."""

    CALL = "call"
    APPLY = "apply"
    UNDO = "undo"
    EDIT = "edit"


class CallState(StrEnum):
    """Where a call is on its way through the pipeline."""

    RECEIVED = "received"
    DECIDED = "decided"
    DENIED = "denied"
    PREVIEWED = "previewed"
    AWAITING_CHECKPOINT = "awaiting_checkpoint"
    REFLECTING = "reflecting"
    DISPATCHING = "dispatching"
    COMPLETED = "completed"
    FAILED = "failed"
    OUTCOME_UNKNOWN = "outcome_unknown"


CALL_MACHINE: StateMachine[CallState] = StateMachine(
    "call",
    {
        CallState.RECEIVED: frozenset({CallState.DECIDED}),
        CallState.DECIDED: frozenset(
            {
                CallState.DENIED,
                CallState.PREVIEWED,
                CallState.AWAITING_CHECKPOINT,
                CallState.REFLECTING,
                CallState.DISPATCHING,
            }
        ),
        # An approver's own words complete a call; it fails when what is to go on cannot (CHK-7).
        CallState.AWAITING_CHECKPOINT: frozenset(
            {CallState.DECIDED, CallState.DENIED, CallState.PREVIEWED, CallState.COMPLETED, CallState.FAILED}
        ),
        CallState.DISPATCHING: frozenset({CallState.COMPLETED, CallState.FAILED, CallState.OUTCOME_UNKNOWN}),
    },
)


class CallStatus(StrEnum):
    """What the answer says happened; the wire's `CallStatus`."""

    COMPLETED = "completed"
    DENIED = "denied"
    PREVIEW = "preview"
    AWAITING_CHECKPOINT = "awaiting_checkpoint"
    REFLECTION_REQUIRED = "reflection_required"
    FAILED = "failed"
    OUTCOME_UNKNOWN = "outcome_unknown"


class CheckpointMode(StrEnum):
    """Whether a call that needs a person is held open or answered at once (CHK-4)."""

    WAIT = "wait"
    DETACH = "detach"


@dataclass(frozen=True, slots=True)
class CallRequest:
    """One tool call as a surface hands it to the core. `input` is the raw JSON text as sent (PIPE-3).

    `deadline_s` is the seconds left to the client, `None` when it set no deadline; `trace` what it sent of its trace.
    `mcp_revision` is the revision of MCP that it came in by, empty for a call that came otherwise; `mcp_method` the
    request that it was, empty for `tools/call`.
    With `rejoins`, a call that people are asked about is the same as the one of the same digest that waits for them
    already, or runs by their leave, whatever its id: for surfaces whose clients know no call ids.
    """

    session_id: str
    call_id: str
    tool: str
    input: bytes
    workdir: str = ""
    intent: str = ""
    labels: FrozenJsonObject = field(default_factory=dict)
    deliverable: FrozenJsonObject | None = None
    checkpoint_mode: CheckpointMode = CheckpointMode.WAIT
    deadline_s: float | None = None
    trace: TraceContext | None = None
    mcp_revision: str = ""
    mcp_method: str = ""
    rejoins: bool = False


@dataclass(frozen=True, slots=True)
class PendingRef:
    """What an answer says about the pending action it left behind. Times are Unix seconds."""

    pending_id: str
    label: str
    source_tool: str
    expires_at: float


@dataclass(frozen=True, slots=True)
class CheckpointRef:
    """What an answer says about the checkpoint that holds, or held, its call. `expires_at` is Unix seconds."""

    checkpoint_id: str
    expires_at: float


@dataclass(frozen=True, slots=True)
class ReflectionForm:
    """What an agent fills in before its call goes on (REV-1): `schema` is JSON Schema, `call_digest` hexadecimal."""

    instructions: str
    schema: FrozenJsonObject
    call_digest: str


@dataclass(frozen=True, slots=True)
class CallResult:
    """The answer to one call: contract.md's `CallToolResponse` in our own types."""

    call_id: str
    status: CallStatus
    decision: Decision | None = None
    classification: Classification | None = None
    content: tuple[Content, ...] = ()
    is_error: bool = False
    data: JsonValue = None
    has_data: bool = False
    truncated: bool = False
    artifact: Artifact | None = None
    undo: UndoInfo | None = None
    pending: PendingRef | None = None
    preview: Preview | None = None
    checkpoint: CheckpointRef | None = None
    reflection: ReflectionForm | None = None
    redactions: int = 0
    steering: tuple[str, ...] = ()
    details: FrozenJsonObject = field(default_factory=dict)

    def of_call(
        self,
        call_id: str,
        status: CallStatus,
        decision: Decision | None,
        classification: Classification,
        *,
        is_error: bool,
    ) -> "CallResult":
        """What became of a tool's result as the answer to a call: the first five fields are the call's."""
        # Not `dataclasses.replace`, which takes twice as long, for every call.
        return CallResult(
            call_id,
            status,
            decision,
            classification,
            self.content,
            is_error,
            self.data,
            self.has_data,
            self.truncated,
            self.artifact,
            self.undo,
            self.pending,
            self.preview,
            self.checkpoint,
            self.reflection,
            self.redactions,
            self.steering,
            self.details,
        )

    def steered(self, *lines: str) -> "CallResult":
        """The same result with `lines` added to its steering."""
        return replace(self, steering=(*self.steering, *lines))
