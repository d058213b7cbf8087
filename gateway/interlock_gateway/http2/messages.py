"""Messages as gRPC frames them over HTTP/2 (Length-Prefixed-Message): a byte of flags, four of length, the bytes."""

import struct
from io import BytesIO

_PREFIX = struct.Struct(">BI")
PREFIX_BYTES = _PREFIX.size
LARGE_BYTES = 64 * 1024


class MessageError(ValueError):
    """What arrived is not a sequence of plain messages."""


class CompressedMessageError(MessageError):
    """A message has the flag that says that it is compressed; no compression was agreed on."""


class LargeMessageError(MessageError):
    """A message is larger than this side accepts. It is found out from the length, before the bytes are there."""

    def __init__(self, size: int, most: int) -> None:
        super().__init__(f"a message has {size} bytes; at most {most} are accepted")
        self.size = size


def framed(message: bytes) -> bytes:
    """`message` with its prefix, uncompressed."""
    return _PREFIX.pack(0, len(message)) + message


class Assembler:
    """Puts messages together from the pieces in which they arrive; holds less than one message and one piece."""

    __slots__ = ("_large", "_most", "_unread", "_wanted")

    def __init__(self, most: int) -> None:
        self._most = most
        # Not a list of the pieces: each would cost many times its size when they are a few bytes long.
        self._unread = bytearray()
        self._large: BytesIO | None = None
        self._wanted = PREFIX_BYTES

    @property
    def held(self) -> int:
        """How many bytes of an unfinished message are held."""
        return len(self._unread) if self._large is None else PREFIX_BYTES + self._large.tell()

    def feed(self, data: bytes) -> list[bytes]:
        """The messages that are complete with `data`. Raises `MessageError`."""
        if self._large is not None:
            return self._more(self._large, data)
        if not self._unread and len(data) >= PREFIX_BYTES and self._size(data) == len(data):
            return [data[PREFIX_BYTES:]]
        self._unread += data
        return self._complete() if len(self._unread) >= self._wanted else []

    def _complete(self) -> list[bytes]:
        unread, messages, start = self._unread, [], 0
        while len(unread) - start >= PREFIX_BYTES:
            self._wanted = self._size(unread, start)
            if len(unread) - start < self._wanted:
                break
            with memoryview(unread) as view:
                messages.append(bytes(view[start + PREFIX_BYTES : start + self._wanted]))
            start += self._wanted
        else:
            self._wanted = PREFIX_BYTES
        del unread[:start]
        if self._wanted > LARGE_BYTES:
            self._large = BytesIO()
            self._large.write(unread[PREFIX_BYTES:])
            unread.clear()
        return messages

    def _more(self, large: BytesIO, data: bytes) -> list[bytes]:
        """More of a large message. It is written where it stays, so that nothing is copied when it is complete."""
        missing = self._wanted - self.held
        if len(data) < missing:
            large.write(data)
            return []
        with memoryview(data) as view:
            large.write(view[:missing])
            rest = bytes(view[missing:])
        self._large, self._wanted = None, PREFIX_BYTES
        return [large.getvalue(), *(self.feed(rest) if rest else ())]

    def _size(self, data: bytes | bytearray, start: int = 0) -> int:
        flags, size = _PREFIX.unpack_from(data, start)
        if flags:
            raise CompressedMessageError(
                "a message is compressed" if flags == 1 else f"a message has the flags {flags}"
            )
        if size > self._most:
            raise LargeMessageError(size, self._most)
        return PREFIX_BYTES + int(size)
