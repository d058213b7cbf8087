"""What became of a call."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any, Self

from interlock import errors
from interlock.decisions import Decision

__all__ = [
    "Artifact",
    "CallResult",
    "CallStatus",
    "CheckpointRef",
    "Content",
    "ContentKind",
    "PendingRef",
    "Preview",
    "ReflectionForm",
    "UndoInfo",
]


class CallStatus(StrEnum):
    """What became of a call. Only `COMPLETED` means that it ran; `UNKNOWN` is a status this SDK does not know."""

    UNKNOWN = "unknown"
    COMPLETED = "completed"
    DENIED = "denied"
    PREVIEW = "preview"
    AWAITING_CHECKPOINT = "awaiting_checkpoint"
    REFLECTION_REQUIRED = "reflection_required"
    FAILED = "failed"
    OUTCOME_UNKNOWN = "outcome_unknown"


class ContentKind(StrEnum):
    """What kind of part a content is."""

    TEXT = "text"
    IMAGE = "image"
    AUDIO = "audio"
    RESOURCE = "resource"


@dataclass(frozen=True, slots=True, kw_only=True)
class Content:
    """One part of a result. A resource without text and data is a link; `extra` is what MCP said besides."""

    kind: ContentKind
    text: str = ""
    data: bytes = field(default=b"", repr=False)
    media_type: str = ""
    uri: str = ""
    name: str = ""
    title: str = ""
    description: str = ""
    size_bytes: int | None = None
    annotations: Mapping[str, Any] = field(default_factory=dict)
    meta: Mapping[str, Any] = field(default_factory=dict)
    extra: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Artifact:
    """The full content of a result that was too large to return; `lines` is 0 when it is not text."""

    uri: str
    total_bytes: int = 0
    lines: int = 0
    media_type: str = ""
    sha256: str = ""
    created_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class UndoInfo:
    """How to take a call back: the tool to call and its input, or a guide for a person."""

    tool: str = ""
    input: Mapping[str, Any] = field(default_factory=dict)
    description: str = ""
    irreversible: bool = False
    manual_guide: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingRef:
    """The pending action that a call left; `session.resolve` applies or discards it."""

    pending_id: str
    label: str = ""
    source_tool: str = ""
    expires_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointRef:
    """The checkpoint that holds or held a call; `session.wait_call` waits for its outcome."""

    checkpoint_id: str
    expires_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Preview:
    """What a call would do, as its tool's dry run said. Nothing has been changed."""

    would_affect: tuple[str, ...] = ()
    preview: str = ""
    estimated_impact: Any = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReflectionForm:
    """What to fill in before a call goes on: repeat it with a `Deliverable`."""

    instructions: str = ""
    schema: Mapping[str, Any] = field(default_factory=dict)
    call_digest: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class CallResult:
    """What became of one call.

    `content` is what the model reads, `steering` are the gateway's own words for it, `data` is the tool's structured
    result, and `details` are for programs and people. `is_error` says that the content is an error the model has to
    know of. `truncated` and `artifact` are set together.
    """

    call_id: str = ""
    status: CallStatus = CallStatus.UNKNOWN
    decision: Decision = field(default_factory=Decision)
    content: tuple[Content, ...] = ()
    is_error: bool = False
    data: Any = None
    truncated: bool = False
    artifact: Artifact | None = None
    undo: UndoInfo | None = None
    pending: PendingRef | None = None
    checkpoint: CheckpointRef | None = None
    steering: tuple[str, ...] = ()
    details: Mapping[str, Any] = field(default_factory=dict)
    preview: Preview | None = None
    reflection: ReflectionForm | None = None
    redactions: int = 0

    @property
    def completed(self) -> bool:
        """Whether the tool ran and answered. Anything else, known or not, counts as not run."""
        return self.status is CallStatus.COMPLETED

    @property
    def ok(self) -> bool:
        """Whether the tool ran, and what it answered is no error."""
        return self.completed and not self.is_error

    @property
    def text(self) -> str:
        """The text of the content, its parts joined with line breaks."""
        return "\n".join(part.text for part in self.content if part.text)

    @property
    def for_model(self) -> str:
        """Everything the model should read: the text, then the gateway's own words, such as the reminder to resolve."""
        return "\n".join(words for words in (self.text, *self.steering) if words)

    def raise_for_status(self) -> Self:
        """Give this result back if the call completed, so that calls can be chained.

        Raises a CallNotRunError, CallFailedError or OutcomeUnknownError that holds this result.
        """
        if not self.completed:
            raise errors.error_for(self)
        return self
