"""Search for lines in files: by ripgrep where it is installed, else in Python, with the same results.

Which files are searched is not ripgrep's business: it gets files that are open already, so its own ignore rules,
encodings and ways through the file system play no part (BOX-12). Both read what `interlock.toolbox.expressions` writes,
both take a file with a NUL byte in its first 8 KiB for binary and leave it out.
"""

import base64
import json
import os
import pkgutil
import selectors
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, BinaryIO, TypeAlias

from interlock.toolbox.errors import LOST, OperationError
from interlock.toolbox.expressions import Expression
from interlock.toolbox.line_worker import LENGTH, shown_line
from interlock.toolbox.operations import Files, LineMatch, Place, SearchBudget

MAX_FILE_BYTES = 16 * 1024 * 1024
BATCH = 200
_LOOK = 0.2
_SNIFFED = 8192

Lines: TypeAlias = tuple[LineMatch, ...]


class SearchTimeoutError(OperationError):
    """The search took longer than it may."""

    def __init__(self) -> None:
        super().__init__("the search took too long; narrow it to fewer files, or write a simpler pattern")


class SearchStoppedError(OperationError):
    """Nobody wants to know any more."""

    def __init__(self) -> None:
        super().__init__("the search was cancelled")


def line_search(files: Files, path: str | None = None) -> "RipgrepSearch | PythonSearch":
    """The search for files on this machine: ripgrep when it is on the path (the process's own when None)."""
    found = shutil.which("rg", path=path)
    python = PythonSearch(files)
    if found is None or not _FD_DIRECTORY.is_dir():
        return python
    return RipgrepSearch(files, found, python)


# Where a process can open again what it has open already, without any other path.
_FD_DIRECTORY = Path("/proc/self/fd")


class PythonSearch:
    """Search with Python's expressions in a worker process, which is killed when it takes too long."""

    def __init__(self, files: Files) -> None:
        self._files = files

    def lines(self, places: Sequence[Place], wanted: Expression, budget: SearchBudget) -> list[Lines | None]:
        """The matching lines of each file; None for one that is binary, too large or cannot be read."""
        with _worker() as process:
            _send(process, json.dumps([wanted.python, budget.most_per_file]).encode())
            return [self._search(process, place, budget) for place in places]

    def _search(self, process: "subprocess.Popen[bytes]", place: Place, budget: SearchBudget) -> Lines | None:
        with ExitStack() as stack:
            file = _open_text(self._files, place, stack)
            content = None if file is None else file.read(MAX_FILE_BYTES + 1)
        if content is None or len(content) > MAX_FILE_BYTES:
            return None
        _send(process, content)
        found = json.loads(_receive(process, budget))
        return tuple(LineMatch(number, text) for number, text in found)


class RipgrepSearch:
    """Search with ripgrep; what it cannot do, such as an expression too large for it, is done in Python."""

    def __init__(self, files: Files, program: str, otherwise: PythonSearch) -> None:
        self._files = files
        self._program = program
        self._otherwise = otherwise

    def lines(self, places: Sequence[Place], wanted: Expression, budget: SearchBudget) -> list[Lines | None]:
        """The matching lines of each file; None for one that is binary, too large or cannot be read."""
        with ExitStack() as stack:
            opened = [_open_text(self._files, place, stack) for place in places]
            numbers = [file.fileno() for file in opened if file is not None]
            found = self._run(numbers, wanted, budget) if numbers else {}
            if found is None:
                return self._otherwise.lines(places, wanted, budget)
            return [None if file is None else tuple(found.get(file.fileno(), ())) for file in opened]

    def _run(
        self, descriptors: Sequence[int], wanted: Expression, budget: SearchBudget
    ) -> dict[int, list[LineMatch]] | None:
        paths = [str(_FD_DIRECTORY / str(descriptor)) for descriptor in descriptors]
        arguments = [
            *("--no-config", "--json", "--text", "--encoding", "none", "--no-mmap"),
            *("--max-count", str(budget.most_per_file), "--regexp", wanted.ripgrep, "--"),
        ]
        process = subprocess.Popen(  # noqa: S603 -- the program was found by the operator's own path; no shell reads this
            [self._program, *arguments, *paths],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            pass_fds=descriptors,
        )
        output = _communicate(process, budget)
        if process.returncode not in (0, 1):
            return None
        return _matches(output)


def _matches(output: bytes) -> dict[int, list[LineMatch]]:
    found: dict[int, list[LineMatch]] = {}
    for line in output.splitlines():
        event = json.loads(line)
        if event["type"] == "match":
            data = event["data"]
            descriptor = int(data["path"]["text"].rpartition("/")[2])
            found.setdefault(descriptor, []).append(LineMatch(data["line_number"], shown_line(_raw(data["lines"]))))
    return found


def _raw(value: dict[str, Any]) -> bytes:
    text: str | None = value.get("text")
    return base64.b64decode(value["bytes"]) if text is None else text.encode()


def _open_text(files: Files, place: Place, stack: ExitStack) -> BinaryIO | None:
    """The file, open until the stack ends, or None when it is not to be searched."""
    try:
        file = stack.enter_context(files.open(place))
        head = file.read(_SNIFFED)
        size = file.seek(0, os.SEEK_END)
        file.seek(0)
    except LOST:
        raise
    except (OperationError, OSError):
        return None
    return None if b"\0" in head or size > MAX_FILE_BYTES else file


def _communicate(process: "subprocess.Popen[bytes]", budget: SearchBudget) -> bytes:
    try:
        while True:
            _check(budget)
            try:
                return process.communicate(timeout=_LOOK)[0]
            except subprocess.TimeoutExpired:
                continue
    finally:
        if process.returncode is None:
            process.kill()
            process.communicate()


def _check(budget: SearchBudget) -> None:
    if time.monotonic() > budget.until:
        raise SearchTimeoutError
    if budget.stop():
        raise SearchStoppedError


@contextmanager
def _worker() -> Iterator["subprocess.Popen[bytes]"]:
    # The script itself, because this package need not be made of files.
    script = pkgutil.get_data("interlock.toolbox", "line_worker.py")
    assert script is not None
    process = subprocess.Popen(  # noqa: S603 -- this interpreter with a module of this package
        [sys.executable, "-I", "-S", "-c", script.decode()],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        bufsize=0,
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def _send(process: "subprocess.Popen[bytes]", content: bytes) -> None:
    assert process.stdin is not None
    rest = memoryview(len(content).to_bytes(LENGTH, "big") + content)
    try:
        while rest:
            rest = rest[process.stdin.write(rest) or 0 :]
    except BrokenPipeError as error:
        raise OperationError("the search ended unexpectedly") from error


def _receive(process: "subprocess.Popen[bytes]", budget: SearchBudget) -> bytes:
    assert process.stdout is not None
    with selectors.DefaultSelector() as selector:
        selector.register(process.stdout, selectors.EVENT_READ)

        def take(count: int) -> bytes:
            got = bytearray()
            while len(got) < count:
                _check(budget)
                if selector.select(_LOOK):
                    block = os.read(process.stdout.fileno(), count - len(got))  # type: ignore[union-attr]  # asserted above
                    if not block:
                        raise OperationError("the search ended unexpectedly")
                    got += block
            return bytes(got)

        return take(int.from_bytes(take(LENGTH), "big"))
