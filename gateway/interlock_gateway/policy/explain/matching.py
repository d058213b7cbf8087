"""Which entry of a long setting made a rule fire, found by evaluating the rule with less and less of it."""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from interlock_gateway.policy.explain.looking import SETTINGS
from interlock_gateway.policy.explain.prober import Prober
from interlock_gateway.policy.explain.rulebook import Name

# Up to so many entries a setting is shown as it is.
SHORT = 3
LONGEST = 100_000


def matched_entry(prober: Prober, data: Mapping[str, Any], setting: Name, fires: Callable[[], bool]) -> str | None:
    """The entry of a mapping or list that is enough, alone, for what `fires` says; `None` when there is no such one.

    Leaves the prober with the data as they are.
    """
    whole = _at(data, setting)
    if not isinstance(whole, Mapping | list) or not SHORT < len(whole) <= LONGEST:
        return None

    def fires_with(entries: Sequence[Any]) -> bool:
        part = {key: whole[key] for key in entries} if isinstance(whole, Mapping) else list(entries)
        prober.replace_data(_replaced(data, (*SETTINGS, *setting), part))
        return fires()

    try:
        return _narrowed(list(whole), fires_with)
    finally:
        prober.replace_data(data)


def _narrowed(entries: list[Any], fires_with: Callable[[Sequence[Any]], bool]) -> str | None:
    if fires_with([]):
        return None  # it is not for any of them
    while len(entries) > 1:
        half = len(entries) // 2
        if fires_with(entries[:half]):
            entries = entries[:half]
        elif fires_with(entries[half:]):
            entries = entries[half:]
        else:
            return None
    return entries[0] if isinstance(entries[0], str) else json.dumps(entries[0])


def _at(data: Mapping[str, Any], setting: Name) -> Any:
    node: Any = data
    for part in (*SETTINGS, *setting):
        node = node.get(part) if isinstance(node, Mapping) else None
    return node


def _replaced(data: Mapping[str, Any], path: Name, value: Any) -> dict[str, Any]:
    first, *rest = path
    return {**data, first: _replaced(data[first], tuple(rest), value) if rest else value}
