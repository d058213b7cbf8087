"""Stored results: parts of them, and where something occurs in them."""

from dataclasses import dataclass, field

from interlock.results import Artifact

__all__ = ["ArtifactMatch", "ArtifactPart", "ArtifactSearch"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ArtifactPart:
    """A part of a stored result: where it begins, in bytes, and whether the artifact ends with it."""

    artifact: Artifact
    data: bytes = field(default=b"", repr=False)
    offset: int = 0
    first_line: int = 0
    end: bool = False

    @property
    def text(self) -> str:
        """The part as text; a character cut at either end becomes a replacement character."""
        return self.data.decode("utf-8", "replace")


@dataclass(frozen=True, slots=True, kw_only=True)
class ArtifactMatch:
    """A line that matches, counted from 1, with the lines around it in file order."""

    line: int
    text: str = ""
    offset: int = 0
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ArtifactSearch:
    """The matches, in file order, and how complete the search was."""

    matches: tuple[ArtifactMatch, ...] = ()
    lines_searched: int = 0
    more_matches: bool = False
    timed_out: bool = False
