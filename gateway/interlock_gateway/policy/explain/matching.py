"""Which setting made a rule say what it says, found by evaluating the rule with other values of it.

A rule reads many settings that make no difference to a call. One that does is one with another value of which the rule
would have said something else; of a mapping or a list the entry is looked for that is enough by itself.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from interlock_gateway.policy.explain.looking import SETTINGS
from interlock_gateway.policy.explain.prober import Prober
from interlock_gateway.policy.explain.rulebook import Name

# Up to so many entries a setting is shown as it is.
SHORT = 3
LONGEST = 100_000
_GREATEST = 2**40
_MOST = 3
_OTHER_WORDS = ("allow", "checkpoint", "deny", "")
Findings = list[Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class Matter:
    """What made a rule say what it says: the value at `path` below the settings, or `item`, an entry of that list.

    `needed` is the nearest number with which the rule would have had less to say, where there is one.
    """

    path: Name
    value: Any = None
    item: str | None = None
    needed: int | None = None


class Matching:
    """Tries other settings for one rule; `said` are its findings with the data that the prober has."""

    def __init__(self, prober: Prober, data: Mapping[str, Any], said: Callable[[], Findings]) -> None:
        self._prober = prober
        self._data = data
        self._said = said
        self._usual = said()

    def of(self, path: Name) -> tuple[Matter, ...]:
        """What of a setting makes the difference; nothing when it makes none. Leaves the prober as it was."""
        try:
            return self._looked_at(path)
        finally:
            self._prober.replace_data(self._data)

    def _looked_at(self, path: Name) -> tuple[Matter, ...]:
        value = self._at(path)
        if isinstance(value, bool):
            return (Matter(path, value),) if self._loses(self._with(path, not value)) else ()
        if isinstance(value, int | float):
            return self._number(path, value)
        if isinstance(value, str):
            others = (word for word in _OTHER_WORDS if word != value)
            return (Matter(path, value),) if any(self._loses(self._with(path, word)) for word in others) else ()
        if isinstance(value, Mapping | list):
            return self._entries(path, value) if 0 < len(value) <= LONGEST else ()
        return ()

    def _entries(self, path: Name, value: Mapping[str, Any] | list[Any]) -> tuple[Matter, ...]:
        rest = self._with(path, type(value)())
        if not self._loses(rest):
            return ()
        one = self._narrowed(path, value, list(value), lambda said: said == self._usual)
        entries = [one] if one is not None else [] if rest else self._several(path, value)
        found = tuple(matter for entry in entries for matter in self._found(path, value, entry))
        if not rest:
            return found or (Matter(path, value),)
        # What is on a list that lets things through changes what a rule says about the others, and is not why it fires.
        return tuple(one for one in found if one.item is None and _is_compared(one.value))

    def _found(self, path: Name, value: Mapping[str, Any] | list[Any], entry: Any) -> tuple[Matter, ...]:
        if isinstance(value, list):
            return (Matter(path, value, item=entry if isinstance(entry, str) else json.dumps(entry)),)
        below = (*path, str(entry))
        return self._looked_at(below) or (Matter(below, value[entry]),)

    def _several(self, path: Name, value: Mapping[str, Any] | list[Any]) -> list[Any]:
        """The first few entries each of which is enough for the rule to fire."""
        found: list[Any] = []
        left = list(value)
        while len(found) < _MOST:
            entry = self._narrowed(path, value, left, bool)
            if entry is None:
                break
            found.append(entry)
            left.remove(entry)
        return found

    def _narrowed(
        self, path: Name, value: Mapping[str, Any] | list[Any], entries: list[Any], enough: Callable[[Findings], bool]
    ) -> Any:
        """The entry that is `enough` alone, `None` when there is no such one."""

        def is_enough(some: Sequence[Any]) -> bool:
            part = {key: value[key] for key in some} if isinstance(value, Mapping) else list(some)
            return enough(self._with(path, part))

        while len(entries) > 1:
            half = len(entries) // 2
            if is_enough(entries[:half]):
                entries = entries[:half]
            elif is_enough(entries[half:]):
                entries = entries[half:]
            else:
                return None
        return entries[0] if entries and is_enough(entries) else None

    def _number(self, path: Name, value: float) -> tuple[Matter, ...]:
        for silent in (_GREATEST, 0):
            if self._is_silenced(path, silent):
                return (Matter(path, value, needed=self._first(path, int(value), silent)),)
        changes = any(self._loses(self._with(path, other)) for other in (0, _GREATEST))
        return (Matter(path, value),) if changes else ()

    def _loses(self, said: Findings) -> bool:
        """Whether something is not said any more; what is said besides tells nothing of why the rule fired."""
        return any(one not in said for one in self._usual)

    def _is_silenced(self, path: Name, value: int) -> bool:
        return len(self._with(path, value)) < len(self._usual)

    def _first(self, path: Name, fires: int, silent: int) -> int | None:
        """The whole number nearest to one with which the rule fires that silences it, as `silent` does."""
        while abs(silent - fires) > 1:
            middle = (fires + silent) // 2
            if self._is_silenced(path, middle):
                silent = middle
            else:
                fires = middle
        return silent

    def _with(self, path: Name, value: Any) -> Findings:
        self._prober.replace_data(_replaced(self._data, (*SETTINGS, *path), value))
        return self._said()

    def _at(self, path: Name) -> Any:
        node: Any = self._data
        for part in (*SETTINGS, *path):
            node = node.get(part) if isinstance(node, Mapping) else None
        return node


def _is_compared(value: Any) -> bool:
    return isinstance(value, str | int | float) and not isinstance(value, bool)


def _replaced(data: Mapping[str, Any], path: Name, value: Any) -> dict[str, Any]:
    first, *rest = path
    return {**data, first: _replaced(data[first], tuple(rest), value) if rest else value}
