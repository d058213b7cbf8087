"""The Dockerfile as its steps, read strictly: an instruction that is not known here is an error."""

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
KNOWN = {
    "ARG", "CMD", "COPY", "ENTRYPOINT", "ENV", "EXPOSE", "FROM", "HEALTHCHECK", "LABEL", "RUN", "USER", "WORKDIR",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Instruction:
    """One instruction: its word, and the rest of its line with continued lines joined."""

    word: str
    rest: str

    @property
    def words(self) -> list[str]:
        """The rest, split as a shell does."""
        return shlex.split(self.rest)


@dataclass(frozen=True, slots=True)
class Stage:
    """One stage: what it begins from, its name, and its instructions after that."""

    base: str
    name: str
    instructions: tuple[Instruction, ...]

    def all(self, word: str) -> list[Instruction]:
        """The instructions with one word."""
        return [one for one in self.instructions if one.word == word]

    @property
    def environment(self) -> dict[str, str]:
        """What its ENV instructions set."""
        return dict(pair.split("=", 1) for one in self.all("ENV") for pair in one.words)


@dataclass(frozen=True, slots=True)
class Dockerfile:
    """The stages in order, and the defaults of the arguments before the first."""

    arguments: dict[str, str]
    stages: tuple[Stage, ...]

    def stage(self, name: str) -> Stage:
        """The stage with this name."""
        return next(stage for stage in self.stages if stage.name == name)


def read_dockerfile(text: str) -> Dockerfile:
    """The stages. Raises `ValueError` for an instruction that is not known here."""
    arguments: dict[str, str] = {}
    stages: list[tuple[str, str, list[Instruction]]] = []
    for instruction in _instructions(text):
        if instruction.word == "FROM":
            base, _as, name = instruction.rest.split()
            stages.append((base, name, []))
        elif stages:
            stages[-1][2].append(instruction)
        else:
            name, _, value = instruction.rest.partition("=")
            arguments[name] = value
    return Dockerfile(arguments, tuple(Stage(base, name, tuple(found)) for base, name, found in stages))


def _instructions(text: str) -> Iterator[Instruction]:
    lines = "\n".join(line for line in text.splitlines() if not line.startswith("#"))
    for line in re.sub(r"\\\n\s*", "", lines).splitlines():
        if line.strip():
            word, _, rest = line.partition(" ")
            if word not in KNOWN:
                raise ValueError(f"{word} is not an instruction that can be played")
            yield Instruction(word, rest.strip())
