"""Ignore files: which paths a listing or search leaves out, by git's rules (gitignore(5))."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from interlock.toolbox.globs import ANY_DEPTH, PathPattern, path_pattern

NAMES = (".gitignore", ".ignore")
MAX_BYTES = 1024 * 1024
MAX_RULES = 10_000
# Git's own files, and what lies beside a file while this toolbox replaces it.
ALWAYS = (".git",)
ALWAYS_PREFIX = ".interlock-"


@dataclass(frozen=True, slots=True)
class Rule:
    """One line of an ignore file. Paths it is asked about are relative to the directory of the file."""

    pattern: PathPattern
    negated: bool
    directories_only: bool

    def matches(self, parts: Sequence[str], *, directory: bool) -> bool:
        """Whether the line is about this path."""
        return (directory or not self.directories_only) and self.pattern.matches(parts)


@dataclass(frozen=True, slots=True)
class Ignores:
    """The rules in force in a directory: of each ignore file from the root down, with the depth of its directory."""

    layers: tuple[tuple[int, tuple[Rule, ...]], ...] = ()

    def below(self, depth: int, contents: Iterable[bytes]) -> "Ignores":
        """The rules with those of the ignore files of a directory at this depth added, in order."""
        added = tuple((depth, rules(content)) for content in contents)
        return Ignores(self.layers + added) if added else self

    def ignored(self, parts: Sequence[str], *, directory: bool) -> bool:
        """Whether a path from the root is left out. The last rule about it decides; its parents are not looked at."""
        if parts[-1] in ALWAYS or parts[-1].startswith(ALWAYS_PREFIX):
            return True
        for depth, layer in reversed(self.layers):
            for rule in reversed(layer):
                if rule.matches(parts[depth:], directory=directory):
                    return not rule.negated
        return False


NOTHING_IGNORED = Ignores()


def rules(content: bytes) -> tuple[Rule, ...]:
    """The rules of an ignore file's content, no more than `MAX_RULES`."""
    text = content.decode(errors="surrogateescape").removeprefix("\ufeff")
    made = (_rule(line) for line in text.split("\n")[:MAX_RULES])
    return tuple(rule for rule in made if rule is not None)


def _rule(line: str) -> Rule | None:
    line = _without_trailing_blanks(line.removesuffix("\r"))
    negated = line.startswith("!")
    text = line[negated:]
    if not text or (text.startswith("#") and not negated):
        return None
    directories_only = text.endswith("/")
    text = text.removesuffix("/")
    anchored = "/" in text
    text = text.removeprefix("/")
    if not all(text.split("/")):
        return None  # no path has a name that is empty
    return Rule(path_pattern(text if anchored else f"{ANY_DEPTH}/{text}"), negated, directories_only)


def _without_trailing_blanks(line: str) -> str:
    kept = line.rstrip(" ")
    backslashes = len(kept) - len(kept.rstrip("\\"))
    return kept + " " if backslashes % 2 and len(kept) < len(line) else kept
