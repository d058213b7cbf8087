"""A file of another host, as a file that can be read here: pieces come when they are asked for."""

import io
import os
from typing import BinaryIO, Protocol, cast

from interlock.toolbox.remote.frames import PIECE


class Pieces(Protocol):
    """Pieces of a file."""

    def read(self, offset: int, count: int) -> bytes:
        """A piece, no longer than asked for; empty at the end. Raises OperationError."""
        ...

    def close(self) -> None:
        """Let go of the file, without waiting."""
        ...


def remote_file(pieces: Pieces, size: int, first: bytes, *, whole: bool) -> BinaryIO:
    """The file, open for reading. Its reads raise what the pieces raise."""
    if whole:
        return io.BytesIO(first)
    return cast("BinaryIO", io.BufferedReader(_RemoteFile(pieces, size, first), PIECE))


class _RemoteFile(io.RawIOBase):
    def __init__(self, pieces: Pieces, size: int, first: bytes) -> None:
        self._pieces, self._size, self._first = pieces, size, first
        self._at = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        start = {os.SEEK_SET: 0, os.SEEK_CUR: self._at, os.SEEK_END: self._size}[whence]
        if start + offset < 0:
            raise ValueError("before the beginning of the file")
        self._at = start + offset
        return self._at

    def readall(self) -> bytes:
        # What is inherited asks for 8 KiB at a time, each a way there and back.
        return b"".join(iter(lambda: self._next(PIECE), b""))

    def readinto(self, target: bytearray) -> int:  # type: ignore[override]  # any buffer, which has no name in 3.11
        piece = self._next(min(len(target), PIECE))
        target[: len(piece)] = piece
        return len(piece)

    def _next(self, count: int) -> bytes:
        if self._at < len(self._first):
            piece = self._first[self._at : self._at + count]
        else:
            piece = self._pieces.read(self._at, count)
        self._at += len(piece)
        return piece

    def close(self) -> None:
        if not self.closed:
            self._pieces.close()
        super().close()
