"""What a prompt with references becomes: the user's message, a message for each reference, and warnings. Pure.

| | what the model reads | where it is cut |
|---|---|---|
| file | `[File: <path>]`, a line break, the body | `[...truncated, <total> bytes total — use read_file for the rest]` |
| artifact | `[Artifact: <uri>]`, a line break, the body | the same, with `read_artifact("<uri>")` |

What is not resolved leaves `[unresolved file ref: <path>]` (`artifact ref: <uri>`) in the user's message. In these
lines a path's control characters are written out, so that no name of a file can pass for lines of the prompt.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

from interlock_gateway.core.visible import visible_line

BODY_BYTES = 16 * 1024
"""The most of one body that is given, in UTF-8 (REF-2)."""

_CONTINUATION_MASK, _CONTINUATION = 0xC0, 0x80


class Problem(StrEnum):
    """Why a reference has no content (REF-3)."""

    OUT_OF_SCOPE = "out_of_scope"
    NOT_FOUND = "not_found"
    NOT_UTF8 = "not_utf8"
    IO = "io"


class UnresolvedError(Exception):
    """A reference has no content; the message is for people and names nothing of the host but what was asked for."""

    def __init__(self, problem: Problem, message: str) -> None:
        super().__init__(message)
        self.problem = problem
        self.message = message


@dataclass(frozen=True, slots=True)
class TextSegment:
    """Words as they were written."""

    text: str


@dataclass(frozen=True, slots=True)
class FileSegment:
    """A reference to a file. `source_text` is how it was written; empty means the path."""

    path: str
    source_text: str = ""

    @property
    def written(self) -> str:
        """The reference as the user wrote it."""
        return self.source_text or self.path

    @property
    def reference(self) -> str:
        """What is referred to."""
        return self.path

    @property
    def kind(self) -> str:
        """What is referred to, in a word."""
        return "file"

    @property
    def rest(self) -> str:
        """What to use for the rest of a body that was cut."""
        return "read_file"


@dataclass(frozen=True, slots=True)
class ArtifactSegment:
    """A reference to a stored result. `source_text` is how it was written; empty means the URI."""

    uri: str
    source_text: str = ""

    @property
    def written(self) -> str:
        """The reference as the user wrote it."""
        return self.source_text or self.uri

    @property
    def reference(self) -> str:
        """What is referred to."""
        return self.uri

    @property
    def kind(self) -> str:
        """What is referred to, in a word."""
        return "artifact"

    @property
    def rest(self) -> str:
        """What to use for the rest of a body that was cut."""
        return f'read_artifact("{self.uri}")'


Reference: TypeAlias = FileSegment | ArtifactSegment
Segment: TypeAlias = TextSegment | Reference
Outcome: TypeAlias = str | UnresolvedError
"""What became of a reference: the message with its content, or why there is none."""


@dataclass(frozen=True, slots=True)
class Alert:
    """A warning about one reference; `index` is which segment it was, from 0."""

    index: int
    reference: str
    problem: Problem
    message: str


@dataclass(frozen=True, slots=True)
class Prompt:
    """The user's message, then a system message for each resolved reference, in order; and the warnings, in order."""

    user: str
    system: tuple[str, ...]
    alerts: tuple[Alert, ...]


def assembled(segments: Sequence[Segment], outcomes: Mapping[int, Outcome]) -> Prompt:
    """The prompt, given what became of each reference by its index (REF-1, REF-3)."""
    user: list[str] = []
    system: list[str] = []
    alerts: list[Alert] = []
    for index, segment in enumerate(segments):
        if isinstance(segment, TextSegment):
            user.append(segment.text)
            continue
        outcome = outcomes[index]
        if isinstance(outcome, str):
            user.append(segment.written)
            system.append(outcome)
        else:
            user.append(f"[unresolved {segment.kind} ref: {visible_line(segment.reference)}]")
            alerts.append(Alert(index, segment.reference, outcome.problem, outcome.message))
    return Prompt("".join(user), tuple(system), tuple(alerts))


def message_of(reference: Reference, body: str, total_bytes: int, *, more: bool) -> str:
    """The system message of a resolved reference. `more` says that there is more of it than `body` (REF-2)."""
    header = f"[{reference.kind.capitalize()}: {visible_line(reference.reference)}]\n"
    encoded = body.encode()
    if len(encoded) <= BODY_BYTES and not more:
        return f"{header}{body}"
    kept = encoded[: _character_start(encoded, BODY_BYTES)].decode()
    line = "" if not kept or kept.endswith("\n") else "\n"
    return f"{header}{kept}{line}[...truncated, {total_bytes} bytes total — use {reference.rest} for the rest]"


def _character_start(encoded: bytes, at: int) -> int:
    """The last place at or before `at` that does not cut a character."""
    while 0 < at < len(encoded) and encoded[at] & _CONTINUATION_MASK == _CONTINUATION:
        at -= 1
    return at
