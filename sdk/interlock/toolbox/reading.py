"""Pieces of text files by lines, however large the file is (BOX-2)."""

from dataclasses import dataclass
from typing import BinaryIO

from interlock.toolbox.textfiles import BOM

MAX_LINES = 2000
MAX_BYTES = 256 * 1024


@dataclass(frozen=True, slots=True)
class Piece:
    """Lines of a file: the first and last by number from 1, their bytes, and what is left.

    `more` says that lines follow. `cut_bytes` is the length of the last line when it was too long to be given whole,
    else 0. `lines_seen` is how many lines the file has, if its end was reached.
    """

    content: bytes
    first: int
    last: int
    more: bool
    cut_bytes: int = 0
    lines_seen: int = 0


def lines_of(file: BinaryIO, offset: int, limit: int) -> Piece:
    """Lines from number `offset` on: at most `limit` of them, and no more than fit in `MAX_BYTES`.

    The first line is given as far as it fits, so that a file of one long line can be looked at too. With nothing at the
    offset, `last` is less than `first`.
    """
    number = 0
    taken: list[bytes] = []
    size = cut = 0
    while True:
        line = file.readline(MAX_BYTES + 1)
        if not line:
            return Piece(b"".join(taken), offset, offset + len(taken) - 1, more=False, lines_seen=number, cut_bytes=cut)
        whole = len(line) if line.endswith(b"\n") else len(line) + _rest_of_line(file)
        number += 1
        if number == 1:
            line = line.removeprefix(BOM)
        if number < offset:
            continue
        if len(taken) == limit or cut or (taken and size + whole > MAX_BYTES):
            return Piece(b"".join(taken), offset, number - 1, more=True, cut_bytes=cut)
        if whole > MAX_BYTES:
            cut = whole
        taken.append(line[:MAX_BYTES])
        size += whole


def _rest_of_line(file: BinaryIO) -> int:
    """Go to the end of a line that is too long to be kept; the bytes passed over."""
    passed = 0
    while block := file.readline(MAX_BYTES):
        passed += len(block)
        if block.endswith(b"\n"):
            break
    return passed
