"""OPA as a program on this machine: runs tests and decides about inputs, without a server (LIFE-1, ENG-2).

Commands ask it beside the embedded engine, so that whoever writes policies for the engine `opa` sees them run there.
"""

import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from interlock_gateway.errors import InterlockError
from interlock_gateway.policy.bundle import DECISION_RULE, PolicyBundle

HERE = Path(".tools/bin/opa")
"""Where a checkout of Interlock has it."""
TEST_S = 300.0
DECIDE_S = 120.0
_MANY = f'{{sprintf("%d", [i]): d | some i, call in input.calls; d := {DECISION_RULE} with input as call}}'


class OpaProgramError(InterlockError):
    """There is no OPA here, or it did not do what it was asked."""


class _UndecidedError(OpaProgramError):
    """OPA works, and there is no single decision."""


@dataclass(frozen=True, slots=True)
class OpaProgram:
    """An OPA that is there. Every method blocks, and raises `OpaProgramError`."""

    path: Path
    version: str

    def test(self, bundle: PolicyBundle) -> Mapping[tuple[str, str], str]:
        """By file and name of each of the bundle's tests why it failed; empty when it passed."""
        with _written(bundle, bundle.tests) as directory:
            found = self._answer(("test", str(directory), "--format", "json", "--timeout", f"{TEST_S:.0f}s"), TEST_S)
            return {_place(one, directory): _failure(one) for one in found or ()}

    def decide(self, bundle: PolicyBundle, documents: Sequence[bytes]) -> list[Any]:
        """The decision about each policy input; `None` where there is none."""
        with _written(bundle) as directory:
            try:
                return self._decided(directory, documents)
            except _UndecidedError:
                pass
            # One that fails fails all that are asked about with it.
            return [self._decided_or_none(directory, one) for one in documents]

    def _decided_or_none(self, directory: Path, document: bytes) -> Any:
        try:
            return self._decided(directory, [document])[0]
        except _UndecidedError:
            return None

    def _decided(self, directory: Path, documents: Sequence[bytes]) -> list[Any]:
        options = ("--data", str(directory), "--stdin-input", "--strict-builtin-errors", "--format", "json")
        answer = self._answer(("eval", *options, _MANY), DECIDE_S, b'{"calls":[%b]}' % b",".join(documents))
        found = answer["result"][0]["expressions"][0]["value"] if answer and "result" in answer else {}
        return [found.get(str(number)) for number in range(len(documents))]

    def _answer(self, arguments: Sequence[str], timeout_s: float, given: bytes = b"") -> Any:
        try:
            ended = subprocess.run(  # noqa: S603 - a program that the operator put there, and no shell
                [str(self.path), *arguments], input=given, capture_output=True, timeout=timeout_s, check=False
            )
            answer = json.loads(ended.stdout or b"null")
        except subprocess.TimeoutExpired:
            raise OpaProgramError(f"{self.path} took more than {timeout_s:.0f} s") from None
        except (OSError, ValueError) as error:
            raise OpaProgramError(f"{self.path} could not be asked: {error}") from None
        # Tests that failed are an answer, too, and the exit code is 2.
        if ended.returncode not in (0, 2) or (isinstance(answer, dict) and answer.get("errors")):
            said = ended.stderr.decode("utf-8", "replace").strip() or json.dumps(answer)
            fault = _UndecidedError if '"eval_' in said else OpaProgramError
            raise fault(f"{self.path} ended with status {ended.returncode}: {said[:2000]}")
        return answer


def find_opa() -> OpaProgram:
    """The OPA on `PATH`, else the one in `.tools/bin`. Raises `OpaProgramError` when there is none that runs."""
    found = shutil.which("opa") or (str(HERE) if os.access(HERE, os.X_OK) else None)
    if found is None:
        words = "the program opa is neither on PATH nor at .tools/bin/opa; get it from https://www.openpolicyagent.org"
        raise OpaProgramError(words)
    path = Path(found).absolute()
    try:
        said = subprocess.run([path, "version"], capture_output=True, timeout=DECIDE_S, check=True, text=True)  # noqa: S603 - as above
    except (OSError, subprocess.SubprocessError) as error:
        raise OpaProgramError(f"{path} does not run: {error}") from None
    return OpaProgram(path, said.stdout.partition("\n")[0].removeprefix("Version:").strip())


@contextmanager
def _written(bundle: PolicyBundle, tests: tuple[tuple[str, str], ...] = ()) -> Iterator[Path]:
    """A directory with the bundle as OPA reads it, while the block lasts."""
    with tempfile.TemporaryDirectory(prefix="interlock-opa-") as made:
        directory = Path(made)
        for path, source in (*bundle.modules, *tests):
            file = directory / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(source, encoding="utf-8")
        (directory / "data.json").write_text(bundle.data_json, encoding="utf-8")
        yield directory


def _place(found: Mapping[str, Any], directory: Path) -> tuple[str, str]:
    file = os.path.relpath(found["location"]["file"], directory)
    return Path(file).as_posix(), str(found["name"])


def _failure(found: Mapping[str, Any]) -> str:
    if found.get("error"):
        return str(found["error"].get("message", "failed"))
    return "is not true" if found.get("fail") else ""
