"""A process of its own that looks for a regular expression, because matching can take for ever and can only be killed.

Run as a script, without the rest of the package. Standard input: frames of four bytes of length and that many bytes;
the first is JSON `[pattern, most lines per file]`, each of the others a file's content. Standard output: for each file
a frame with JSON `[[line number, text], ...]`.
"""

import json
import re
import signal
import sys
from collections.abc import Iterator
from typing import BinaryIO

LENGTH = 4
# Processor time for one file. A search ends sooner, by being killed; this is for when the toolbox was killed first.
LAST_RESORT_S = 60.0
MAX_LINE_CHARACTERS = 2000


def read_frame(source: BinaryIO) -> bytes | None:
    """The next frame, or None at the end."""
    head = source.read(LENGTH)
    return source.read(int.from_bytes(head, "big")) if len(head) == LENGTH else None


def write_frame(target: BinaryIO, content: bytes) -> None:
    """Write one frame."""
    target.write(len(content).to_bytes(LENGTH, "big") + content)
    target.flush()


def shown_line(line: bytes) -> str:
    """A line as it is reported: without its end, what is no UTF-8 replaced, cut when it is very long."""
    return line.rstrip(b"\n").removesuffix(b"\r").decode(errors="replace")[:MAX_LINE_CHARACTERS]


def matching_lines(content: bytes, pattern: re.Pattern[str], most: int) -> Iterator[tuple[int, str]]:
    """The numbers, from 1, and texts of the lines that the pattern matches in."""
    text = content.decode(errors="surrogateescape")
    number, counted, position = 1, 0, 0
    end = len(text) - text.endswith("\n")
    while most > 0 and text and (found := pattern.search(text, position)) and found.start() <= end:
        start = text.rfind("\n", 0, found.start()) + 1
        stop = text.find("\n", found.start())
        stop = len(text) if stop < 0 else stop
        if start == len(text):
            return
        number += text.count("\n", counted, start)
        counted = start
        yield number, shown_line(text[start:stop].encode(errors="surrogateescape"))
        most -= 1
        position = stop + 1
        if position > len(text):
            return


def main() -> None:
    """Serve until the input ends."""
    asked = read_frame(sys.stdin.buffer)
    if asked is None:
        return
    source, most = json.loads(asked)
    pattern = re.compile(source, re.ASCII | re.MULTILINE)
    while (content := read_frame(sys.stdin.buffer)) is not None:
        # The kernel ends the process then, without the interpreter's help: matching does not let it act.
        signal.setitimer(signal.ITIMER_PROF, LAST_RESORT_S)
        write_frame(sys.stdout.buffer, json.dumps(list(matching_lines(content, pattern, most))).encode())


if __name__ == "__main__":
    main()
