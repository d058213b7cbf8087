"""What a model is shown of a call, whichever framework shows it."""

import json
from collections.abc import Iterator
from dataclasses import dataclass

from interlock.errors import (
    InvalidRequestError,
    LimitExceededError,
    NotAuthorizedError,
    NotFoundError,
    RequestError,
)
from interlock.results import CallResult, CallStatus, Content, ContentKind

AWAITING = "Make the same call again, with the same input, to wait for the decision and have its outcome."
# Over MCP it has the same name.
DELIVERABLE = "_interlock_deliverable"
CHALLENGED = f"Give the deliverable as one more argument named `{DELIVERABLE}`. It is an object of this schema: "
IN_DOUBT = (
    "It is not known whether this call took effect. Do not repeat it: find out first what happened, or ask a person."
)
DENIED = "The gateway denied this call; nothing was run."
UNKNOWN = "The gateway did not answer, and it is not known whether the call ran. Do not repeat it before you know."

_NO_ERRORS = frozenset(
    {CallStatus.COMPLETED, CallStatus.PREVIEW, CallStatus.AWAITING_CHECKPOINT, CallStatus.REFLECTION_REQUIRED}
)
_NOT_BEGUN = (InvalidRequestError, LimitExceededError, NotAuthorizedError, NotFoundError)
# A status that is not known is one that was added later: of that less is known still.
_IN_DOUBT = frozenset({CallStatus.OUTCOME_UNKNOWN, CallStatus.UNKNOWN})


@dataclass(frozen=True, slots=True)
class Answer:
    """What a model is shown: parts that are text, image, audio, or a resource with `data`.

    `is_error` says that the call did not do what was asked. `result` is None when the gateway gave none.
    """

    parts: tuple[Content, ...]
    is_error: bool = False
    result: CallResult | None = None

    @property
    def is_text(self) -> bool:
        """Whether every part is text."""
        return all(part.kind is ContentKind.TEXT for part in self.parts)

    @property
    def text(self) -> str:
        """Everything as text; what is none is named in its place."""
        return "\n".join(map(named, self.parts))


def answer_to(result: CallResult) -> Answer:
    """What a model is shown of a result: its content, and the gateway's own words after it."""
    parts = tuple(map(_shown, result.content))
    if not parts and result.data is not None:
        parts = (_text(json.dumps(result.data, ensure_ascii=False)),)
    is_error = result.is_error or result.status not in _NO_ERRORS
    return Answer((*parts, *map(_text, _words(result))), is_error, result)


def answer_to_error(error: RequestError) -> Answer:
    """What a model is shown when there is no result: whether the call may have run. Words of the network stay here."""
    if error.reason and isinstance(error, _NOT_BEGUN):
        return Answer((_text(f"The gateway refused the request, and nothing ran: {error.message}"),), is_error=True)
    return Answer((_text(UNKNOWN),), is_error=True)


def _words(result: CallResult) -> Iterator[str]:
    yield from result.steering
    if result.status is CallStatus.AWAITING_CHECKPOINT:
        yield AWAITING
    if result.status is CallStatus.REFLECTION_REQUIRED and result.reflection is not None:
        yield CHALLENGED + json.dumps(dict(result.reflection.schema), ensure_ascii=False)
    if result.status in _IN_DOUBT:
        yield IN_DOUBT
    elif result.status is CallStatus.DENIED:
        # Some APIs have no mark for errors, and a policy's own words need not say that they refuse.
        yield DENIED
    elif not result.completed and not result.content and not result.steering:
        yield f"The call did not complete: {result.status}. Take it as not run."


def _shown(part: Content) -> Content:
    """A part as one of four kinds: text and links are text, a resource's bytes are what their media type says."""
    if part.kind is not ContentKind.RESOURCE:
        return part
    if not part.data:
        return _text(part.text or " ".join(word for word in (part.title or part.name, part.uri) if word))
    family = part.media_type.partition("/")[0]
    kinds = {"image": ContentKind.IMAGE, "audio": ContentKind.AUDIO}
    return Content(
        kind=kinds.get(family, ContentKind.RESOURCE),
        data=part.data,
        media_type=part.media_type or "application/octet-stream",
        uri=part.uri,
        name=part.name,
    )


def named(part: Content) -> str:
    """A part as text: the text, or what is not shown, for APIs that take no such thing."""
    if part.kind is ContentKind.TEXT:
        return part.text
    words = (part.media_type or part.kind.value, part.name or part.uri, f"{len(part.data)} bytes, not shown")
    return f"[{', '.join(word for word in words if word)}]"


def _text(words: str) -> Content:
    return Content(kind=ContentKind.TEXT, text=words)
