"""What a provider answers: a result, a dry run, a pending action it pushes (contract.md, ToolProviderService)."""

from dataclasses import dataclass, field

from interlock_gateway.core.content import Content
from interlock_gateway.core.jsonvalue import FrozenJsonObject, JsonValue
from interlock_gateway.core.operation import UndoInfo
from interlock_gateway.core.trace import TraceContext


@dataclass(frozen=True, slots=True)
class PushedPending:
    """A pending action that the provider pushed itself (PREV-11). `token` is its own handle for it."""

    label: str
    token: str = ""
    details: FrozenJsonObject | None = None
    has_reject: bool = False
    source_tool: str = "custom_tool"


@dataclass(frozen=True, slots=True)
class StandingHandler:
    """A provider's standing answer to `resolve` in one session, until it is cleared (PREV-12)."""

    provider: str
    token: str
    label: str
    source_tool: str = "custom_tool"
    has_reject: bool = False
    details: FrozenJsonObject | None = None


@dataclass(frozen=True, slots=True)
class StandingChange:
    """Register a standing handler, or clear the one with a token."""

    register: StandingHandler | None = None
    clear_token: str = ""


@dataclass(frozen=True, slots=True)
class ToolOutcome:
    """One tool's result as the provider gave it.

    `tool_error` says that an error is the tool's own words for the model; otherwise it is a failure. `has_data`
    tells a structured result of `null` from none. `details` is `None` when the provider gave none.
    """

    content: tuple[Content, ...] = ()
    is_error: bool = False
    tool_error: bool = False
    data: JsonValue = None
    has_data: bool = False
    undo: UndoInfo | None = None
    pending: PushedPending | None = None
    standing: StandingChange | None = None
    details: FrozenJsonObject | None = None
    state_changed: bool = False
    taint: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Preview:
    """What a call would do, as its provider says: resources touched, text to read, structured impact."""

    would_affect: tuple[str, ...] = ()
    preview: str = ""
    estimated_impact: JsonValue = None


@dataclass(frozen=True, slots=True)
class DryRun:
    """A dry run's answer. `state_token` identifies the state that was previewed (PREV-5)."""

    preview: Preview = Preview()
    state_token: str = ""
    label: str = ""
    details: FrozenJsonObject | None = None
    is_error: bool = False
    tool_error: bool = False
    error_message: str = ""


@dataclass(frozen=True, slots=True)
class Rendering:
    """What a person should read, in the provider's words: one line, and a longer form that may be empty."""

    summary: str
    expanded: str = ""


@dataclass(frozen=True, slots=True)
class Invocation:
    """What is sent to a provider, in `trace`. `input` is the exact bytes; `deadline_s` the seconds it may take.

    From `pending_id` on it is about a pending action that is applied; `reason` and `extra` were given with `resolve`.
    """

    session_id: str
    call_id: str
    tool: str
    input: bytes
    deadline_s: float
    workdir: str = ""
    labels: FrozenJsonObject = field(default_factory=dict)
    pending_id: str = ""
    state_token: str = ""
    reason: str = ""
    extra: FrozenJsonObject | None = None
    trace: TraceContext | None = None


@dataclass(frozen=True, slots=True)
class Resolution:
    """How a pending action that a provider pushed is resolved (PREV-3, PREV-8, PREV-12)."""

    session_id: str
    call_id: str
    token: str
    source_tool: str
    reason: str
    deadline_s: float
    pending_id: str = ""
    standing: bool = False
    extra: FrozenJsonObject | None = None
    trace: TraceContext | None = None


@dataclass(frozen=True, slots=True)
class ProgressEvent:
    """How far a tool has come. `total` is `None` when it is not known."""

    progress: float
    message: str = ""
    total: float | None = None


@dataclass(frozen=True, slots=True)
class OutputEvent:
    """Output while a tool runs."""

    text: str
    stderr: bool = False


@dataclass(frozen=True, slots=True)
class WaitingEvent:
    """The call waits: for its turn in its session, where `calls_ahead` were there before it (PIPE-8), or for a person.

    With a `checkpoint_id` it is a person it waits for, and it holds no turn: whoever calls side by side may go on; told
    again and again, with when the wait began and when the checkpoint expires, in Unix seconds.
    """

    calls_ahead: int = 0
    checkpoint_id: str = ""
    expires_at: float = 0.0
    since: float = 0.0


ToolEvent = ProgressEvent | OutputEvent | WaitingEvent
