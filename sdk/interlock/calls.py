"""Calls: how they are asked for, what happens on their way, and how the gateway remembers them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any, Literal, TypeAlias, TypedDict

from interlock.errors import RequestError
from interlock.results import CallResult

__all__ = [
    "BatchOutcome",
    "Call",
    "CallEvent",
    "CallOptions",
    "CallRecord",
    "CallState",
    "CheckpointMode",
    "Deliverable",
    "Json",
    "OutputChunk",
    "Progress",
    "Waiting",
]

Json: TypeAlias = Mapping[str, Any] | str | bytes
"""A JSON object; `str` and `bytes` are sent as they are, such as the arguments a model wrote."""


class CheckpointMode(StrEnum):
    """What a call does while a person decides: hold it open, or answer at once and be picked up with `wait_call`."""

    WAIT = "wait"
    DETACH = "detach"


@dataclass(frozen=True, slots=True, kw_only=True)
class Deliverable:
    """An agent's written challenge of its own call (REV-1); both lists hold at least one entry, none blank."""

    hidden_assumptions: Sequence[str]
    failure_scenarios: Sequence[str]
    verdict: Literal["proceed", "revise", "abort"]
    verdict_reason: str


class CallOptions(TypedDict, total=False):
    """What may be said with a call.

    `call_id` makes it idempotent in its session and is generated unless given. `workdir` is for tools that know
    directories. `deliverable` answers a `ReflectionForm`. `intent` says in the agent's words what the call is for.
    `labels` are passed to policy and to the provider.
    """

    call_id: str
    workdir: str
    deliverable: Deliverable | Mapping[str, Any] | None
    checkpoint_mode: CheckpointMode | Literal["wait", "detach"]
    intent: str
    labels: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One call of a batch; the fields are those of `CallOptions` besides the tool and its input."""

    tool: str
    input: Json = field(default_factory=dict)
    call_id: str = ""
    workdir: str = ""
    deliverable: Deliverable | Mapping[str, Any] | None = None
    checkpoint_mode: CheckpointMode | Literal["wait", "detach"] = CheckpointMode.WAIT
    intent: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a running tool is: `done` of `total` in the tool's own unit; None when the total is unknown."""

    done: float
    total: float | None = None
    message: str = ""


@dataclass(frozen=True, slots=True)
class OutputChunk:
    """A piece of a running tool's output; the result holds the whole again."""

    text: str
    stream: Literal["", "stdout", "stderr"] = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """The call is held: by other calls (`lock`) or for a person (`checkpoint`)."""

    reason: Literal["unknown", "lock", "checkpoint"]
    since: datetime | None = None
    calls_ahead: int = 0
    checkpoint_id: str = ""


CallEvent: TypeAlias = Progress | OutputChunk | Waiting | CallResult
BatchOutcome: TypeAlias = CallResult | RequestError


class CallState(StrEnum):
    """Where a call stands on its way through the gateway."""

    UNKNOWN = "unknown"
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


@dataclass(frozen=True, slots=True, kw_only=True)
class CallRecord:
    """A call as the gateway remembers it. `settled` says that the state will not change by itself any more."""

    session_id: str
    call_id: str
    tool: str = ""
    kind: Literal["unknown", "call", "apply", "undo", "edit"] = "unknown"
    state: CallState = CallState.UNKNOWN
    settled: bool = False
    result: CallResult | None = None
    received_at: datetime | None = None
    finished_at: datetime | None = None
