"""Server-sent events, read as they come (https://html.spec.whatwg.org/multipage/server-sent-events.html)."""

from collections.abc import Iterator
from dataclasses import dataclass


class EventTooLargeError(Exception):
    """An event is larger than it may be."""


@dataclass(frozen=True, slots=True)
class Event:
    """One event: its data, and its id and the wait before reconnecting, in milliseconds, where it gives them."""

    data: bytes
    event_id: str | None = None
    retry_ms: int | None = None


class EventReader:
    """Takes bytes of a stream, gives its events. `most` is the most bytes of one of them, with the names of its fields.

    `strays` counts the lines that belong to no event, such as comments: a stream may consist of nothing else.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._line = bytearray()
        self._after_return = False
        self._data: list[bytes] = []
        self._size = 0
        self._id: str | None = None
        self._retry: int | None = None
        self.strays = 0

    def feed(self, chunk: bytes) -> Iterator[Event]:
        """The events that `chunk` completes. Raises `EventTooLargeError`."""
        if self._after_return and chunk:
            # It may be the other half of a line's end.
            self._after_return, chunk = False, chunk.removeprefix(b"\n")
        if b"\r" in chunk:
            self._after_return = chunk.endswith(b"\r")
            chunk = chunk.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        *ends, rest = chunk.split(b"\n")
        for end in ends:
            line = end
            if self._line:
                line = bytes(self._line) + end
                self._line.clear()
            if line:
                self._field(line)
            elif (event := self._ended()) is not None:
                yield event
        self._line += rest
        if self._size + len(self._line) > self._most:
            raise EventTooLargeError

    def _field(self, line: bytes) -> None:
        name, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        # A field counts even when it is empty: there could be any number of them.
        self._size += len(line)
        if self._size > self._most:
            raise EventTooLargeError
        if name == b"data":
            self._data.append(value)
        elif name == b"id" and b"\0" not in value:
            self._id = value.decode("utf-8", "replace")
        elif name == b"retry" and value.isdigit() and len(value) < 10:  # noqa: PLR2004 - days, in milliseconds
            self._retry = int(value)
        elif name != b"event":
            self._size -= len(line)  # nothing of it is kept
            self.strays += 1

    def _ended(self) -> Event | None:
        data, event_id, retry = b"\n".join(self._data), self._id, self._retry
        self._data, self._size, self._id, self._retry = [], 0, None, None
        if data or event_id is not None or retry is not None:
            return Event(data, event_id, retry)
        self.strays += 1
        return None
