"""Where in a text that is no strict document the first fault is: looked for once the text is refused (PIPE-3)."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from types import NoneType

from interlock_gateway.core.jsonvalue import JsonObject, JsonValue
from interlock_gateway.core.visible import visible_line

LONGEST_POINTER = 200
"""Characters of a place; what is beyond them is left out."""
SURROGATE = re.compile("[\ud800-\udfff]")
LONE_SURROGATE = "input has a lone surrogate (\\ud800-\\udfff), which is not a character"
_BRACKET = re.compile(r'"(?:[^"\\]++|\\.)*+"?|[\[{\]}]', re.DOTALL)
_PLAIN = frozenset({int, float, bool, NoneType})
_Step = str | int


@dataclass(frozen=True, slots=True)
class Fault:
    """Stands in a read value for what may not be there.

    `message` says what is wrong with it, and not where; `inside` is the key of the member that is, in an object.
    """

    message: str
    inside: tuple[str, ...] = ()


def too_deep(max_depth: int) -> str:
    """What is wrong with a text that nests further than that."""
    return f"input nests deeper than {max_depth} levels"


def first_fault(value: "JsonValue | Fault", max_depth: int) -> str | None:
    """What is wrong first in a value in which `Fault`s stand, with the JSON pointer to it (RFC 6901).

    What is wrong with an object or an array comes in front of what is wrong inside. `None` when nothing is.
    """
    path: list[_Step] = []
    open_: list[Iterator[tuple[_Step, JsonValue | Fault]]] = [iter([("", value)])]
    while open_:
        for step, item in open_[-1]:
            if type(item) in _PLAIN:  # first, because most of a large text is that
                continue
            if (found := _wrong(item)) is not None:
                return f"{found.message}{_at([*path, step, *found.inside][1:])}"
            if isinstance(item, dict | list):
                path.append(step)
                if len(path) > max_depth:
                    return f"{too_deep(max_depth)}{_at(path[1:])}"
                open_.append(_members(item))
                break
        else:
            open_.pop()
            del path[-1:]
    return None


def first_too_deep(text: str, max_depth: int) -> str:
    """The same of a text that nests too deeply to be read: with the byte of the first bracket that is too many."""
    depth = 0
    for found in _BRACKET.finditer(text):
        bracket = found[0]
        depth += (bracket in "[{") - (bracket in "]}")
        if depth > max_depth:
            return f"{too_deep(max_depth)} (byte {byte_at(text, found.start())})"
    return too_deep(max_depth)


def byte_at(text: str, position: int) -> int:
    """Which byte of the text in UTF-8 its character at `position` begins at."""
    return len(text[:position].encode("utf-8", "surrogatepass"))


def _wrong(item: "JsonValue | Fault") -> Fault | None:
    if isinstance(item, Fault):
        return item
    if isinstance(item, str):
        return Fault(LONE_SURROGATE) if SURROGATE.search(item) else None
    if isinstance(item, dict) and SURROGATE.search("".join(item)):
        return Fault(LONE_SURROGATE, tuple(key for key in item if SURROGATE.search(key))[:1])
    return None


def _members(value: "JsonObject | list[JsonValue]") -> Iterator[tuple[_Step, "JsonValue | Fault"]]:
    return iter(value.items()) if isinstance(value, dict) else enumerate(value)


def _at(path: Sequence[_Step]) -> str:
    if not path:
        return " (at the outermost value)"
    # Names that are longer than any place may be are not gone through to their end.
    steps = (str(step)[: LONGEST_POINTER + 1].replace("~", "~0").replace("/", "~1") for step in path)
    pointer = visible_line("".join(chain.from_iterable(("/", step) for step in steps)))
    return f" (at {pointer})" if len(pointer) <= LONGEST_POINTER else f" (at {pointer[:LONGEST_POINTER]}...)"
