"""Header fields as gRPC uses them: deadlines, messages of a status, and metadata."""

import base64
import binascii
import re
import urllib.parse
from collections.abc import Iterable, Iterator, Mapping

from interlock_gateway.core.trace import TraceContext, read_trace

Fields = Iterable[tuple[bytes, bytes]]

CONTENT_TYPE = (b"content-type", b"application/grpc")
LONGEST_S = 31_536_000.0
"""A year: who waits longer for an answer has no deadline that matters, and timers have an end."""
_TIMEOUT = re.compile(rb"([0-9]{1,8})([HMSmun])")
_UNITS = {b"H": 3600.0, b"M": 60.0, b"S": 1.0, b"m": 1e-3, b"u": 1e-6, b"n": 1e-9}
_MOST_MILLISECONDS = 99_999_999
_PLAIN = "".join(chr(code) for code in range(0x20, 0x7F) if chr(code) != "%")


def is_grpc(content_type: bytes) -> bool:
    """Whether a content type is `application/grpc`, with or without a subtype or parameters."""
    return content_type == b"application/grpc" or content_type.startswith((b"application/grpc+", b"application/grpc;"))


def seconds_of(timeout: bytes) -> float:
    """The seconds in a `grpc-timeout`, a year at most. Raises `ValueError`."""
    found = _TIMEOUT.fullmatch(timeout)
    if found is None:
        raise ValueError("grpc-timeout is up to eight digits and a unit")
    return min(int(found[1]) * _UNITS[found[2]], LONGEST_S)


def timeout_of(seconds: float) -> bytes:
    """`seconds` as a `grpc-timeout`, to the millisecond."""
    milliseconds = min(max(int(seconds * 1000), 1), _MOST_MILLISECONDS)
    return b"%dm" % milliseconds


def escaped(message: str) -> bytes:
    """A status message as `grpc-message` has it: what is not printable ASCII is percent-encoded."""
    return urllib.parse.quote(message, safe=_PLAIN, errors="replace").encode("ascii")


def unescaped(message: bytes) -> str:
    """The status message in a `grpc-message`, whatever it holds."""
    return urllib.parse.unquote(message.decode("ascii", "replace"), errors="replace")


def binary(value: bytes) -> bytes:
    """The value of a field whose name ends in `-bin`."""
    return base64.b64encode(value).rstrip(b"=")


TRACE_PARENT = b"traceparent"
TRACE_STATE = b"tracestate"


def trace_of(fields: Fields) -> TraceContext | None:
    """The trace that a request is a part of, as its fields say; `None` without a valid one."""
    parents: list[str] = []
    states: list[str] = []
    for name, value in fields:
        if name == TRACE_PARENT:
            parents.append(value.decode("latin-1"))
        elif name == TRACE_STATE:
            states.append(value.decode("latin-1"))
    return read_trace(parents, states)


def trace_fields(trace: TraceContext | None) -> tuple[tuple[bytes, bytes], ...]:
    """The fields that make a request a part of `trace`."""
    if trace is None:
        return ()
    parent = (TRACE_PARENT, trace.traceparent.encode())
    return (parent, (TRACE_STATE, trace.state.encode())) if trace.state else (parent,)


class Metadata:
    """A request's metadata, read only when somebody looks at it: most callers are known by their socket.

    Text as `str`; fields whose name ends in `-bin` as bytes. A value that is neither is left out.
    """

    __slots__ = ("_fields",)

    def __init__(self, fields: Fields) -> None:
        self._fields = fields

    def __iter__(self) -> Iterator[tuple[str, str | bytes]]:
        for name, value in self._fields:
            if name.startswith(b":"):
                continue
            if name.endswith(b"-bin"):
                for part in value.split(b","):
                    yield from _decoded(name.decode("ascii", "replace"), part)
            elif value.isascii():
                yield name.decode("ascii", "replace"), value.decode("ascii")


def _decoded(name: str, value: bytes) -> Iterator[tuple[str, bytes]]:
    try:
        yield name, base64.b64decode(value + b"=" * (-len(value) % 4), validate=True)
    except binascii.Error:
        return


def first_of(fields: Fields) -> Mapping[bytes, bytes]:
    """The fields by name; of fields that came more than once, the first."""
    return dict(reversed(tuple(fields)))
