"""Where a call stands in a distributed trace: W3C Trace Context, read strictly and written bounded (OBS-2).

https://www.w3.org/TR/trace-context/ says what is valid; what is not is treated as if it had not been sent.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

MAX_STATE = 512
"""The most of a `tracestate` that is passed on, in characters: what the specification asks for at least."""
MAX_MEMBERS = 32
LARGE_MEMBER = 128
"""Members longer than this go first when a `tracestate` has to be shortened."""
SAMPLED = 0x01
_KNOWN_FLAGS = 0x03
"""Sampled, and (in the specification's second level) that the trace id is random; any other flag is set to zero."""
_PARENT = re.compile(r"([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?", re.ASCII)
_MOST_PARENT = 512
_NO_VERSION = "ff"
_KEY = r"[a-z][a-z0-9_\-*/]{0,255}|[a-z0-9][a-z0-9_\-*/]{0,240}@[a-z][a-z0-9_\-*/]{0,13}"
_VALUE = r"[\x20-\x2b\x2d-\x3c\x3e-\x7e]{0,255}[\x21-\x2b\x2d-\x3c\x3e-\x7e]"
_MEMBER = re.compile(rf"({_KEY})=({_VALUE})")
_SPACE = " \t"


@dataclass(frozen=True, slots=True)
class TraceContext:
    """One span of one trace, as it goes from process to process. `flags` has the known bits only.

    `trace_id` is 32 and `span_id` 16 lower-case hexadecimal digits, neither all zeros; `state` a valid `tracestate` of
    at most 512 characters, often empty.
    """

    trace_id: str
    span_id: str
    flags: int = 0
    state: str = ""

    @property
    def sampled(self) -> bool:
        """Whether whoever sent this records its part of the trace."""
        return bool(self.flags & SAMPLED)

    @property
    def traceparent(self) -> str:
        """It as a `traceparent` of version 00."""
        return f"00-{self.trace_id}-{self.span_id}-{self.flags:02x}"


def read_trace(parents: Sequence[str], states: Sequence[str] = ()) -> TraceContext | None:
    """The context in the values of `traceparent` and `tracestate`, in the order they came; `None` without a valid one.

    Several `traceparent` are none. A `tracestate` that is not valid is left out, and the rest stands.
    """
    if len(parents) != 1 or len(parents[0]) > _MOST_PARENT:
        return None
    found = _PARENT.fullmatch(parents[0].strip(_SPACE))
    if found is None:
        return None
    version, trace_id, span_id, flags, more = found.groups()
    if version == _NO_VERSION or (version == "00" and more is not None):
        return None
    if not trace_id.strip("0") or not span_id.strip("0"):
        return None
    return TraceContext(trace_id, span_id, int(flags, 16) & _KNOWN_FLAGS, read_state(states))


def read_state(states: Sequence[str]) -> str:
    """The `tracestate` in these values, within its bounds; empty when any part of it is not valid."""
    members: dict[str, str] = {}
    for part in ",".join(states).split(","):
        member = part.strip(_SPACE)
        if not member:
            continue  # an empty member is allowed, and says nothing
        found = _MEMBER.fullmatch(member)
        if found is None or found[1] in members or len(members) == MAX_MEMBERS:
            return ""
        members[found[1]] = member
    return _shortened(list(members.values()))


def _shortened(members: list[str]) -> str:
    """As many of the members as have room: the large ones go first, then the last ones."""
    while len(text := ",".join(members)) > MAX_STATE:
        large = [index for index, member in enumerate(members) if len(member) > LARGE_MEMBER]
        del members[large[-1] if large else -1]
    return text
