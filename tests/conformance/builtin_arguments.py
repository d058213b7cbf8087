"""Makes up arguments for built-in functions, by the types that OPA declares for them."""

import json
import random
from collections.abc import Callable, Mapping
from typing import Any

_LISTED = """a A ab aab b ä häuser a.b a,b a/b 1 -2 2.5 1e3 0x1f true aGVsbG8= aGVsbG8_ 616a %20 a=1&b=2 10.0.0.0/8
10.1.2.3 ::1 fe80::/10 1.2.3 1.10.0-rc1 2026-01-01T00:00:00Z 2026-02-29 1h30m Europe/Berlin UTC 2006-01-02 ^a+ [a-c]
(a)(b)? [ \\d+ *.example.com b.example.com urn:{.*} { } 😀"""
_TEXTS = ("", " a ", "\n", "a\tb", *_LISTED.split())
_NUMBERS = (0, 1, 2, 3, -1, -3, 10, 16, 255, 2.5, -2.5, 0.5, 1767225600000000000)
# What would take forever with great numbers is asked with small ones; expanding a network is not asked at all.
_SMALL_NUMBERS = (0, 1, 2, 3, -1, -3, 10, 2.5)
_COUNTING = ("numbers.", "bits.", "array.", "format_int", "time.add_date")
NOT_ASKED = frozenset({"net.cidr_expand", "sprintf", "walk"})
_ANYTHING: tuple[Any, ...] = (
    None,
    True,
    False,
    0,
    2.5,
    "",
    "a",
    [],
    [1, "a"],
    {},
    {"a": 1},
    [[1], [2]],
    {"a": {"b": [1]}},
)
_FEWEST_WRONG = 0.05


def arguments_for(name: str, declaration: Mapping[str, Any], chance: random.Random) -> list[Any]:
    """One list of arguments; a set is written as {"set": [...]}. Rarely one is of another type."""
    made = []
    for argument in declaration["decl"].get("args", ()):
        if chance.random() < _FEWEST_WRONG:
            made.append(chance.choice(_ANYTHING))
        else:
            made.append(_value(argument, chance, _SMALL_NUMBERS if name.startswith(_COUNTING) else _NUMBERS))
    return made


def call_of(name: str, arguments: list[Any]) -> str:
    """The call, with its arguments written out in Rego."""
    return f"{name}({', '.join(map(_written, arguments))})"


def _value(kind: Mapping[str, Any], chance: random.Random, numbers: tuple[float, ...] = _NUMBERS) -> Any:
    shape = kind["type"]
    if shape == "any" and kind.get("of"):
        return _value(chance.choice(kind["of"]), chance, numbers)
    few = range(chance.randint(0, 3))
    anything = {"type": "any"}
    made: Mapping[str, Callable[[], Any]] = {
        "string": lambda: chance.choice(_TEXTS),
        "number": lambda: chance.choice(numbers),
        "boolean": lambda: chance.choice([True, False]),
        "array": lambda: [_value(part, chance, numbers) for part in _elements(kind, len(few))],
        "set": lambda: {"set": [_value(kind.get("of", anything), chance) for _ in few]},
        "object": lambda: {
            chance.choice(_TEXTS): _value(kind.get("dynamic", {}).get("value", anything), chance) for _ in few
        },
    }
    return made[shape]() if shape in made else chance.choice(_ANYTHING)


def _elements(kind: Mapping[str, Any], count: int) -> list[Mapping[str, Any]]:
    """The types of an array's elements."""
    return list(kind.get("static") or [kind.get("dynamic", {"type": "any"})] * count)


def _written(value: Any) -> str:
    if isinstance(value, dict) and value.keys() == {"set"}:
        return f"{{{', '.join(map(_written, value['set']))}}}" if value["set"] else "set()"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{json.dumps(key)}: {_written(part)}' for key, part in value.items())}}}"
    if isinstance(value, list):
        return f"[{', '.join(map(_written, value))}]"
    return json.dumps(value, ensure_ascii=False)
