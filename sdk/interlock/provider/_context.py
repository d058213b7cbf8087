"""What a handler may know about the call it serves."""

import asyncio
import threading
import time
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from interlock.v1 import progress_pb2, tool_provider_service_pb2

Event: TypeAlias = tool_provider_service_pb2.ExecuteResponse
Send: TypeAlias = Callable[[Event], None]

MAX_CHUNK_CHARACTERS = 16 * 1024  # 64 KiB of UTF-8 at most, as OutputChunk promises
MAX_MESSAGE_CHARACTERS = 256

_STREAMS = {
    "": progress_pb2.OUTPUT_STREAM_UNSPECIFIED,
    "stdout": progress_pb2.OUTPUT_STREAM_STDOUT,
    "stderr": progress_pb2.OUTPUT_STREAM_STDERR,
}


class Sent:
    """Awaiting it lets the message out before the handler goes on; nobody has to."""

    def __await__(self) -> Generator[Any, None, None]:
        yield from asyncio.sleep(0).__await__()


_SENT = Sent()


def discard(_event: Event) -> None:
    """Where progress goes when nobody listens."""


@dataclass(slots=True, kw_only=True)
class ToolContext:
    """The call a handler serves; a parameter with this type gets it.

    `deadline` is a `time.monotonic()` value, or None. `state_token` is what the tool's dry run answered when a preview
    is being applied, and None otherwise; `pending_id` then names the pending action, and `reason` and `extra` are what
    `resolve` was given (`extra` None when nothing was). `traceparent` and `tracestate` say which trace the call is a
    part of, empty when of none. `progress` and `output` may be called from any thread, never block, and may be awaited.
    """

    tool: str = ""
    call_id: str = ""
    session_id: str = ""
    workdir: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)
    deadline: float | None = None
    state_token: str | None = None
    pending_id: str = ""
    reason: str = ""
    extra: Mapping[str, Any] | None = None
    traceparent: str = ""
    tracestate: str = ""
    _send: Send = field(default=discard, repr=False)
    _cancelled: threading.Event = field(default_factory=threading.Event, repr=False)

    @property
    def cancelled(self) -> bool:
        """Whether the caller has gone; a handler in a thread has to look, an async one is cancelled."""
        return self._cancelled.is_set()

    @property
    def time_left(self) -> float | None:
        """Seconds until the deadline, never below 0; None when there is no deadline."""
        return None if self.deadline is None else max(0.0, self.deadline - time.monotonic())

    def progress(self, message: str = "", fraction: float = 0.0, *, total: float | None = 1.0) -> Sent:
        """Say how far the tool is: `fraction` of `total`, which is 1 unless said; None when unknown."""
        event = Event()
        event.progress.progress = fraction
        event.progress.message = message[:MAX_MESSAGE_CHARACTERS]
        if total is not None:
            event.progress.total = total
        self._send(event)
        return _SENT

    def output(self, chunk: str, stream: Literal["", "stdout", "stderr"] = "") -> Sent:
        """Show a piece of the output while the tool runs; the result has to hold the whole again."""
        for start in range(0, len(chunk), MAX_CHUNK_CHARACTERS):
            event = Event()
            event.output.stream = _STREAMS[stream]
            event.output.text = chunk[start : start + MAX_CHUNK_CHARACTERS]
            self._send(event)
        return _SENT
