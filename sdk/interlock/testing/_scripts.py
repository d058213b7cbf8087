"""What a fake gateway is told to answer."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

import grpc

from interlock.calls import Deliverable, OutputChunk, Progress
from interlock.results import CallResult


@dataclass(frozen=True, slots=True)
class Allow:
    """The call runs. `result` is what a tool would return, or a function of the input that returns it.

    That is text, data, or a `provider.ToolResult`; a function may raise a `provider.ToolError`. `events` are what
    `session.stream` sees before the result.
    """

    result: Any = ""
    events: Sequence[Progress | OutputChunk] = ()


@dataclass(frozen=True, slots=True)
class Deny:
    """The call is refused with these words for the model."""

    message: str = "denied by policy"
    code: str = "denied"


@dataclass(frozen=True, slots=True)
class Preview:
    """The call is previewed; when it is resolved with apply, `applies` is the answer.

    With another `Preview` as `applies` the state has changed in the meantime, and that is the fresh preview.
    """

    preview: str
    applies: "Answer" = field(default_factory=Allow)
    would_affect: Sequence[str] = ()
    estimated_impact: Any = None
    label: str = ""


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A person decides, as said here, or with `wait` when the test calls `decide`; approved, `then` is the answer."""

    decision: Literal["approve", "deny", "wait"] = "approve"
    then: "Answer" = field(default_factory=Allow)
    reason: str = "denied by the approver"


@dataclass(frozen=True, slots=True)
class Reflect:
    """The call needs a deliverable that says proceed; with one, `then` is the answer."""

    then: "Answer" = field(default_factory=Allow)
    instructions: str = "Repeat the call with a deliverable that challenges it."


@dataclass(frozen=True, slots=True)
class Fail:
    """The tool cannot be run, or breaks."""

    message: str = "the provider cannot be reached"


@dataclass(frozen=True, slots=True)
class OutcomeUnknown:
    """It is not certain whether the tool ran."""

    message: str = "the outcome of this call is not known"


@dataclass(frozen=True, slots=True)
class RpcFailure:
    """The request ends with a gRPC error, as it does when the gateway is down, overloaded or refuses it."""

    code: grpc.StatusCode = grpc.StatusCode.UNAVAILABLE
    reason: str = ""
    message: str = "scripted"
    metadata: Mapping[str, str] = field(default_factory=dict)
    retry_after: float | None = None


Answer: TypeAlias = Allow | Deny | Preview | Checkpoint | Reflect | Fail | OutcomeUnknown | RpcFailure
ToolFunction: TypeAlias = Callable[[dict[str, Any]], Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedCall:
    """A call as the fake gateway saw it, with what it answered. One with an id seen before is not recorded again."""

    session_id: str
    call_id: str
    tool: str
    input: Mapping[str, Any]
    result: CallResult
    workdir: str = ""
    intent: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)
    deliverable: Deliverable | None = None
