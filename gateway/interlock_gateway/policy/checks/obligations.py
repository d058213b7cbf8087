"""What a rule's finding asks of the gateway, as far as it is written out: anything else denies the call when it comes.

The gateway reads a decision strictly (`pipeline/policy_result.py`); here its author is told before.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from interlock_gateway.policy.checks.suggestions import meant
from interlock_gateway.policy.checks.syntax import literal

_LONGEST_S = 30 * 86_400
_WRITTEN_OUT = frozenset({"String", "RawString", "Number", "Bool", "Null", "Array", "Set", "Object"})


def complaints(obligations: Any) -> Iterator[str]:
    """What is wrong with the object that a finding has under `obligations`; `obligations` is its syntax."""
    ((kind, inner),) = obligations.items()
    if kind in _WRITTEN_OUT and kind != "Object":
        yield "the obligations are not an object"
    for _, key, value in inner["fields"] if kind == "Object" else ():
        name = literal(key)
        if not isinstance(name, str):
            continue
        if name not in _READ:
            yield f"there is no obligation {name}{meant(name, _READ)}"
        elif next(iter(value)) in _WRITTEN_OUT and (problem := _READ[name](value)):
            yield f"the obligation {name} is not {problem}"


def _words(value: Any) -> str:
    listed = value.get("Array") or value.get("Set")
    said = listed is not None and all(_may_be_text(item) for item in listed["items"])
    return "" if said else "a list of texts"


def _may_be_text(item: Any) -> bool:
    return next(iter(item)) not in _WRITTEN_OUT or isinstance(literal(item), str)


def _whole(value: Any) -> str:
    number = literal(value)
    right = isinstance(number, int) and not isinstance(number, bool) and number >= 1
    return "" if right else "a whole number of at least 1"


def _seconds(value: Any) -> str:
    number = literal(value)
    right = isinstance(number, int | float) and not isinstance(number, bool) and 0 < number <= _LONGEST_S
    return "" if right else f"a number of seconds above 0 and up to {_LONGEST_S}"


def _fields(value: Any) -> str:
    return "" if "Object" in value else "an object of fields and values"


_READ: Mapping[str, Callable[[Any], str]] = {
    **dict.fromkeys(("strip", "redact", "taint", "approvers", "escalate_to"), _words),
    **dict.fromkeys(("max_result_bytes", "quorum"), _whole),
    **dict.fromkeys(("timeout_s", "expires_s", "escalate_after_s"), _seconds),
    "set": _fields,
}
