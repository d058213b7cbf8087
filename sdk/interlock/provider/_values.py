"""What handlers return and raise."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from interlock.v1.content_pb2 import Content

_SIGNATURES: tuple[tuple[bytes, str], ...] = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
)


def sniff_image(data: bytes) -> str:
    """The media type of a png, jpeg, gif or webp by its first bytes; empty when it is none of them.

    >>> sniff_image(b"GIF89a...")
    'image/gif'
    """
    for signature, media_type in _SIGNATURES:
        if data.startswith(signature):
            return media_type
    return "image/webp" if data[:4] == b"RIFF" and data[8:12] == b"WEBP" else ""


@dataclass(frozen=True, slots=True)
class Image:
    """An encoded picture. Its media type is recognised by content when it is not given.

    Raises ValueError for data that is no png, jpeg, gif or webp and has no media type.
    """

    data: bytes = field(repr=False)
    media_type: str = ""

    def __post_init__(self) -> None:
        if not self.media_type:
            found = sniff_image(self.data)
            if not found:
                raise ValueError("the image is not png, jpeg, gif or webp, and has no media_type")
            object.__setattr__(self, "media_type", found)


Part: TypeAlias = str | bytes | Image | Content


@dataclass(frozen=True, slots=True, kw_only=True)
class UndoInfo:
    """How to take a call back: the tool to call and its input, or words for a person (UNDO-1)."""

    tool: str = ""
    input: Mapping[str, Any] = field(default_factory=dict)
    description: str = ""
    irreversible: bool = False
    manual_guide: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingAction:
    """A change that the provider puts on the session's stack itself, or a standing handler (PREV-11, PREV-12).

    `token` comes back to the tool's `apply` or `reject` handler, or else to the provider's `on_apply` or `on_reject`.
    `has_reject` follows from whether there is such a handler, unless it is said. `source_tool` is `custom_tool` when
    empty.
    """

    label: str
    token: str = ""
    details: Mapping[str, Any] | None = None
    has_reject: bool | None = None
    source_tool: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class DryRunResult:
    """What a call would do (PREV-1).

    `state_token` identifies the state looked at; it comes back when the call is applied. `label` is what the pending
    action is called. `estimated_impact` is any JSON value.
    """

    would_affect: Sequence[str] = ()
    preview: str = ""
    estimated_impact: Any = None
    state_token: str = ""
    label: str = ""
    details: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolResult:
    """A result with everything a result can have; a plain `str`, `bytes` (a picture) or `dict` (data) says less.

    `data` is a JSON value; when there is no content, the model reads it as JSON text. `is_error` says that the tool did
    not do what was asked, in the tool's own words. `details` are for programs and people, not for the model.
    `standing_handler` registers one for the session; `clear_standing_handler` clears the one that the same tool
    registered with that token, and so may the result of its `apply`.
    `taint` marks the session, such as `untrusted`.
    """

    content: Part | Sequence[Part] = ()
    data: Any = None
    details: Mapping[str, Any] | None = None
    is_error: bool = False
    undo: UndoInfo | None = None
    pending_action: PendingAction | None = None
    standing_handler: PendingAction | None = None
    clear_standing_handler: str = ""
    state_changed: bool = False
    taint: Sequence[str] = ()

    @property
    def parts(self) -> tuple[Part, ...]:
        """The content as parts, however it was given."""
        if isinstance(self.content, (str, bytes, Image, Content)):
            return (self.content,)
        return tuple(self.content)

    @property
    def text(self) -> str:
        """The text parts, joined with line breaks."""
        texts = (
            one if isinstance(one, str) else one.text.text for one in self.parts if isinstance(one, (str, Content))
        )
        return "\n".join(text for text in texts if text)


class ToolError(Exception):
    """Words for the model: why the tool did not do what was asked. They are passed on as they are."""

    def __init__(self, message: str, *, details: Mapping[str, Any] | None = None) -> None:
        super().__init__(message)
        self.details = details


class StateChangedError(Exception):
    """Raised while applying a preview: the state is not the one previewed, and nothing was changed (PREV-5)."""

    def __init__(self, message: str = "the state has changed since it was previewed") -> None:
        super().__init__(message)
