"""What the tests of the facts share: calls, names, and a real bash to ask."""

import os
import re
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol


class Facts(Protocol):
    """The facts of one call, checked against their schema."""

    def __call__(
        self,
        permission_class: str,
        given: Mapping[str, object],
        *,
        schema: Mapping[str, object] | None = None,
        names: Mapping[str, tuple[str, ...]] | None = None,
        workdir: str = "",
        roots: tuple[str, ...] = (),
        within: tuple[str, ...] | None = None,
    ) -> dict[str, Any]: ...


class Bash(Protocol):
    """The `bash` part of the facts about a script."""

    def __call__(self, script: str, *, workdir: str = "", roots: tuple[str, ...] = ()) -> dict[str, Any]: ...


class Sql(Protocol):
    """The `sql` part of the facts about a text."""

    def __call__(self, text: str, dialect: str = "") -> dict[str, Any]: ...


def effects(found: Mapping[str, Any]) -> set[tuple[str, str]]:
    """The kind and the effect of every statement."""
    return {(statement["kind"], statement["effect"]) for statement in found["statements"]}


def names_of(document: Mapping[str, Any]) -> str:
    """The names of all commands in order, white space shown as `_`, and `?` for one known only at run time."""
    names = [command["name"] for command in document["commands"]]
    return " ".join("?" if name is None else re.sub(r"\s", "_", name) or "''" for name in names)


def command(document: Mapping[str, Any], name: str | None) -> dict[str, Any]:
    """The first command of that name."""
    found: dict[str, Any] = next(item for item in document["commands"] if item["name"] == name)
    return found


class RealBash:
    """Runs scripts in a bash that finds no programs, so that nothing is run but what bash has built in."""

    def __init__(self, program: Path, directory: Path) -> None:
        self._program = program
        self._directory = directory

    def names(self, script: str) -> set[str]:
        """The names bash looked for, as it looked for them; a line end in one is given as `_`."""
        reading, writing = os.pipe()
        report = f"() {{ builtin printf '%s\\0' \"${{1//$'\\n'/_}}\" >&{writing}; return 0; }}"
        environment = {
            "PATH": "/nonexistent",
            "LC_ALL": "C.UTF-8",
            "FUNCNEST": "20",  # a function that calls itself in a pipeline would multiply for ever
            "BASH_FUNC_command_not_found_handle%%": report,
        }
        try:
            subprocess.run(
                [self._program, "-c", script],
                env=environment,
                cwd=self._directory,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                pass_fds=(writing,),
                timeout=20,
                check=False,
            )
        finally:
            os.close(writing)
        with os.fdopen(reading, "rb") as pipe:
            return {name.decode("utf-8", "replace") for name in pipe.read().split(b"\0")[:-1]}

    def prints(self, script: str) -> list[bytes]:
        """What a script prints, cut at NUL characters."""
        done = subprocess.run(
            [self._program, "-c", script], env={"LC_ALL": "C.UTF-8"}, capture_output=True, timeout=20, check=True
        )
        return done.stdout.split(b"\0")[:-1]
