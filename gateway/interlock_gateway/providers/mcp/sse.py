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
    """Takes bytes of a stream, gives its events. `most` is the most bytes of one of them."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._rest = b""
        self._data: list[bytes] = []
        self._size = 0
        self._id: str | None = None
        self._retry: int | None = None

    def feed(self, chunk: bytes) -> Iterator[Event]:
        """The events that `chunk` completes. Raises `EventTooLargeError`."""
        text = self._rest + chunk
        if b"\r" in text:
            # A carriage return at the very end may be half of a line's end.
            held = b"\r" if text.endswith(b"\r") else b""
            text = text[: len(text) - len(held)].replace(b"\r\n", b"\n").replace(b"\r", b"\n") + held
        *lines, self._rest = text.split(b"\n")
        for line in lines:
            if line:
                self._field(line)
            elif (event := self._ended()) is not None:
                yield event
        if self._size + len(self._rest) > self._most:
            raise EventTooLargeError

    def _field(self, line: bytes) -> None:
        name, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if name == b"data":
            self._data.append(value)
            self._size += len(value)
            if self._size > self._most:
                raise EventTooLargeError
        elif name == b"id" and b"\0" not in value:
            self._id = value.decode("utf-8", "replace")
        elif name == b"retry" and value.isdigit() and len(value) < 10:  # noqa: PLR2004 - days, in milliseconds
            self._retry = int(value)

    def _ended(self) -> Event | None:
        data, event_id, retry = b"\n".join(self._data), self._id, self._retry
        self._data, self._size, self._id, self._retry = [], 0, None, None
        return Event(data, event_id, retry) if data or event_id is not None or retry is not None else None
