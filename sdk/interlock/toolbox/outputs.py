"""Output that may be longer than anyone wants to keep."""

from collections import deque
from dataclasses import dataclass, field

MAX_BYTES = 512 * 1024


@dataclass(slots=True)
class HeadAndTail:
    """Keeps the first and the last half of what is put in, within `limit` bytes, and counts the rest (BOX-6)."""

    limit: int = MAX_BYTES
    total: int = 0
    _head: bytearray = field(default_factory=bytearray)
    _tail: deque[bytes] = field(default_factory=deque)
    _tail_bytes: int = 0

    def put(self, block: bytes) -> None:
        """Take the next piece."""
        self.total += len(block)
        room = self.limit // 2 - len(self._head)
        if room > 0:
            self._head += block[:room]
            block = block[room:]
        if block:
            self._tail.append(block)
            self._tail_bytes += len(block)
        half = self.limit - self.limit // 2
        while self._tail and self._tail_bytes - len(self._tail[0]) >= half:
            self._tail_bytes -= len(self._tail.popleft())

    @property
    def truncated(self) -> bool:
        """Whether something had to be left out."""
        return self.total > self.limit

    def text(self) -> str:
        """What was kept, with a marker where something is missing; what is no UTF-8 is replaced."""
        tail = b"".join(self._tail)
        if not self.truncated:
            return (bytes(self._head) + tail).decode(errors="replace")
        tail = tail[-(self.limit - self.limit // 2) :]
        omitted = self.total - len(self._head) - len(tail)
        head = bytes(self._head).decode(errors="ignore")
        return f"{head}\n[... {omitted} bytes omitted ...]\n{_from_character(tail).decode(errors='replace')}"


def _from_character(tail: bytes) -> bytes:
    """The bytes from the first one that begins a UTF-8 character."""
    for index, byte in enumerate(tail[:4]):
        if byte & 0xC0 != 0x80:  # noqa: PLR2004 -- 10xxxxxx goes on with a character
            return tail[index:]
    return tail
