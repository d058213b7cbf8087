"""References in a prompt, and what became of them."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

__all__ = ["ArtifactReference", "FileReference", "Prompt", "PromptMessage", "ReferenceAlert", "ReferenceProblem"]


@dataclass(frozen=True, slots=True)
class FileReference:
    """A file of the workspace, and the reference as the user wrote it, such as `@src/app.py`; empty means the path."""

    path: str
    source_text: str = ""


@dataclass(frozen=True, slots=True)
class ArtifactReference:
    """A stored result, and the reference as the user wrote it; empty means the URI."""

    uri: str
    source_text: str = ""


@dataclass(frozen=True, slots=True)
class PromptMessage:
    """A message for the model."""

    role: Literal["user", "system", "unknown"]
    text: str


class ReferenceProblem(StrEnum):
    """Why a reference could not be turned into content."""

    UNKNOWN = "unknown"
    OUT_OF_SCOPE = "out_of_scope"
    NOT_FOUND = "not_found"
    NOT_UTF8 = "not_utf8"
    IO = "io"


@dataclass(frozen=True, slots=True)
class ReferenceAlert:
    """A warning that a reference could not be turned into content; people should see it."""

    segment_index: int
    reference: str
    problem: ReferenceProblem
    message: str


@dataclass(frozen=True, slots=True)
class Prompt:
    """The user's message as written, then one system message for each reference; and the warnings."""

    messages: tuple[PromptMessage, ...]
    alerts: tuple[ReferenceAlert, ...] = ()
