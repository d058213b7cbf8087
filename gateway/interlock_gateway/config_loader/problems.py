"""What is wrong with a configuration, and where."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeAlias

from interlock_gateway.errors import ConfigError

SettingPath: TypeAlias = tuple[str | int, ...]
"""Where a setting is in the tree: `("providers", 0, "address")`."""


@dataclass(frozen=True, slots=True)
class Problem:
    """One sentence about one place: `FILE:LINE`, an environment variable, or empty for a default."""

    place: str
    message: str

    def __str__(self) -> str:
        return f"{self.place}: {self.message}" if self.place else self.message


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a value was written, and its text there when it is a single value.

    `relative_to_file` says that a relative path in it starts at the file's directory.
    """

    place: str
    text: str | None = None
    relative_to_file: bool = False


class InvalidConfigError(ConfigError):
    """The configuration cannot be used; `problems` are all of them, line by line, then those of the environment."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = tuple(sorted(problems, key=_reading_order))
        super().__init__("\n".join(str(problem) for problem in self.problems))


def dotted(path: SettingPath) -> str:
    """A setting's name as people write it.

    >>> dotted(("providers", 0, "address"))
    'providers[0].address'
    """
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else part
    return text


def _reading_order(problem: Problem) -> tuple[bool, int]:
    line = problem.place.rpartition(":")[2]
    return (False, int(line)) if line.isdecimal() else (True, 0)
