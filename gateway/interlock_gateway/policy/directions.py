"""Which way a change of a setting makes decisions stricter, and whether a change does (POL-2)."""

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import chain

from interlock_gateway.core.jsonvalue import JsonObject, JsonValue
from interlock_gateway.policy.settings import OnePlace, Places, PolicySourceError, by_line, merged, refuse

STRICTER = "an overlay may only make settings stricter"
INSTEAD = (
    f"{STRICTER}. What is to be let through all the same is named under `exemptions:`, "
    "such as {id: a-name, rule: CONCERN/RULE, scope: {tools: [TOOL]}, reason: WHY, owner: WHO, "
    "expires: '2027-01-31T00:00:00Z'}"
)
_SHOWN = 3


class Direction(ABC):
    """How the values of one setting, or of a part of it, compare."""

    @abstractmethod
    def odd(self, value: JsonValue, /) -> str | None:
        """Why `value` is none that can be compared, in a few words, or None."""

    @abstractmethod
    def looser(self, before: JsonValue, after: JsonValue, /) -> str | None:
        """How `after` is looser than `before`, in a few words, or None; `after` is not `odd`."""


@dataclass(frozen=True, slots=True)
class Free(Direction):
    """Neither loosens nor tightens, for the `reason`."""

    reason: str

    def odd(self, _value: JsonValue, /) -> str | None:
        """Nothing is."""
        return None

    def looser(self, _before: JsonValue, _after: JsonValue, /) -> str | None:
        """Nothing is."""
        return None


@dataclass(frozen=True, slots=True)
class Fixed(Direction):
    """Is not changed, for the `reason`; where it can be new, its `fields` have directions of their own."""

    reason: str
    fields: Mapping[str, Direction] = field(default_factory=dict)

    def odd(self, value: JsonValue, /) -> str | None:
        """What has an odd field."""
        if not isinstance(value, dict):
            return f"{shown(value)} is not a mapping" if self.fields else None
        there = (name for name in self.fields if name in value)
        return next((f"{name}: {words}" for name in there if (words := self.fields[name].odd(value[name]))), None)

    def looser(self, before: JsonValue, after: JsonValue, /) -> str | None:
        """Any change is."""
        return None if before == after else f"no overlay changes it: {self.reason}"


@dataclass(frozen=True, slots=True)
class Numbers(Direction):
    """A number that is stricter when it is greater, or when it is less."""

    greater: bool

    def odd(self, value: JsonValue, /) -> str | None:
        """Anything else, and what is not finite."""
        return None if _number(value) is not None else f"{shown(value)} is not a number"

    def looser(self, before: JsonValue, after: JsonValue, /) -> str | None:
        """A number on the other side."""
        was, now = _number(before), _number(after)
        if was is not None and now is not None and (now >= was if self.greater else now <= was):
            return None
        return f"changes {shown(before)} to {shown(after)}"


@dataclass(frozen=True, slots=True)
class Truth(Direction):
    """A truth value of which `stricter` is the stricter."""

    stricter: bool

    def odd(self, value: JsonValue, /) -> str | None:
        """Anything else."""
        return None if isinstance(value, bool) else f"{shown(value)} is neither true nor false"

    def looser(self, before: JsonValue, after: JsonValue, /) -> str | None:
        """The other value where this one was."""
        return None if after in (before, self.stricter) else f"changes {shown(before)} to {shown(after)}"


@dataclass(frozen=True, slots=True)
class Words(Direction):
    """One of the words of `order`, the weakest first."""

    order: tuple[str, ...]

    def odd(self, value: JsonValue, /) -> str | None:
        """Any other word."""
        return None if value in self.order else f"{shown(value)} is none of {', '.join(self.order)}"

    def looser(self, before: JsonValue, after: JsonValue, /) -> str | None:
        """An earlier word."""
        if before in self.order and self.order.index(str(before)) <= self.order.index(str(after)):
            return None
        return f"changes {shown(before)} to {shown(after)}"


@dataclass(frozen=True, slots=True)
class Entries(Direction):
    """A list of words or a mapping, stricter with more or with fewer entries; `inner` is how their values compare.

    None is added `closed_while` other settings of the concern say this: they are stricter than an entry would be.
    """

    more: bool
    inner: Direction | None = None
    keep: tuple[str, ...] = ()
    closed_while: Mapping[str, JsonValue] = field(default_factory=dict)
    closed: bool = False

    def among(self, concern: JsonObject) -> "Entries":
        """The same, as it is beside these settings of its concern."""
        said = self.closed_while.items()
        return replace(self, closed=bool(said) and all(concern.get(name) == value for name, value in said))

    def odd(self, value: JsonValue, /) -> str | None:
        """Lists of anything but words, lists where values compare, and entries with odd values."""
        if self.inner is None and isinstance(value, list) and all(isinstance(item, str) for item in value):
            return None
        if not isinstance(value, dict):
            return f"{shown(value)} is not a {'list of words' if self.inner is None else 'mapping'}"
        odd = (f"{name}: {words}" for name, item in value.items() if self.inner and (words := self.inner.odd(item)))
        return next(odd, None)

    def looser(self, before: JsonValue, after: JsonValue, /) -> str | None:
        """An entry less or more, or one that is looser itself."""
        had, has = self._entries(before), self._entries(after)
        gone = sorted(had.keys() - has.keys())
        if gone := gone if self.more else [name for name in gone if name in self.keep]:
            return f"takes {_listed(gone)} away"
        if (self.closed or not self.more) and (new := sorted(has.keys() - had.keys())):
            stricter = " and ".join(f"{name}: {shown(value)}" for name, value in self.closed_while.items())
            return f"adds {_listed(new)}" + (f", about which {stricter} is stricter" if self.closed else "")
        both = (name for name in sorted(has) if name in had)
        return next((f"{name}: {words}" for name in both if (words := self._changed(had[name], has[name]))), None)

    def _entries(self, value: JsonValue) -> Mapping[str, JsonValue]:
        if isinstance(value, list):
            return {str(item): None for item in value}
        if not isinstance(value, dict):
            return {}
        if isinstance(self.inner, Truth):
            return {name: item for name, item in value.items() if item is self.inner.stricter}
        return value

    def _changed(self, before: JsonValue, after: JsonValue) -> str | None:
        if self.inner is None:
            return None if before == after else "is changed"
        return self.inner.looser(before, after)


@dataclass(frozen=True, slots=True)
class Conditions(Direction):
    """Conditions by name: `any_of` them is enough, and none at all means always; or all that are given must hold.

    With `widened_by` the others hold more often; none of these means that they do not.
    """

    fields: Mapping[str, Direction]
    any_of: bool
    widened_by: Mapping[str, Direction] = field(default_factory=dict)

    def odd(self, value: JsonValue, /) -> str | None:
        """What is no mapping, other conditions, and odd ones."""
        known = {**self.fields, **self.widened_by}
        if not isinstance(value, dict) or value.keys() - known.keys():
            return f"{shown(value)} is not made of {', '.join(known)}"
        odd = (f"{name}: {words}" for name, item in value.items() if (words := known[name].odd(item)))
        return next(odd, None)

    def looser(self, before: JsonValue, after: JsonValue, /) -> str | None:
        """A condition less, or a looser one; with `any_of` also one where there was none; and one more that widens."""
        had = before if isinstance(before, dict) else {}
        has = after if isinstance(after, dict) else {}
        if self.any_of and not has:
            return None
        if self.any_of and not had:
            return "held always, and would on conditions only"
        return next(chain(self._weakened(had, has), self._widened(had, has)), None)

    def _weakened(self, had: Mapping[str, JsonValue], has: Mapping[str, JsonValue]) -> Iterator[str]:
        for name in (name for name in had if name in self.fields):
            if name not in has:
                yield f"takes {name} away"
            elif words := self.fields[name].looser(had[name], has[name]):
                yield f"{name}: {words}"

    def _widened(self, had: Mapping[str, JsonValue], has: Mapping[str, JsonValue]) -> Iterator[str]:
        for name in (name for name in has if name in self.widened_by):
            if name not in had:
                yield f"adds {name}"
            elif words := self.widened_by[name].looser(had[name], has[name]):
                yield f"{name}: {words}"


Directions = Mapping[str, Mapping[str, Direction]]
"""By concern and name."""


def refuse_looser(before: JsonObject, after: JsonObject, directions: Directions, place: str) -> None:
    """Raise `PolicySourceError`, naming the settings, when some of `after` are looser than in `before`.

    Both hold the same concerns, and those the same settings. A setting without a direction is not changed at all.
    """
    refuse(looser_settings(before, after, directions, None, OnePlace(place)))


def looser_settings(
    before: JsonObject, after: JsonObject, directions: Directions, written: JsonValue, places: Places
) -> list[PolicySourceError]:
    """All that is looser in `after`, each with its place: of a mapping, each entry that `written` says of it."""
    found: list[PolicySourceError] = []
    for concern, values in after.items():
        old = before[concern]
        if not isinstance(values, dict) or not isinstance(old, dict):
            continue
        said = written.get(concern) if isinstance(written, dict) else None
        for name, value in values.items():
            if value == old[name]:
                continue
            direction = directions.get(concern, {}).get(name)
            direction = direction.among(old) if isinstance(direction, Entries) else direction
            given = said.get(name) if isinstance(said, dict) else None
            for entry, problem in _problems(direction, old[name], value, given):
                found.append(PolicySourceError(places.at(concern, name, *entry), f"{concern}.{name}: {problem}"))
    found.sort(key=by_line)
    # What to do instead is said once.
    shorter = [PolicySourceError(one.place, one.problem.replace(INSTEAD, STRICTER)) for one in found[1:]]
    return [*found[:1], *shorter]


def _problems(
    direction: Direction | None, before: JsonValue, after: JsonValue, given: JsonValue
) -> Iterator[tuple[tuple[str, ...], str]]:
    """What is looser about a setting; of a mapping that is joined by key, each entry by itself where that tells it."""
    whole = _problem(direction, before, after)
    if whole is None:
        return
    entries = given if isinstance(before, dict) and isinstance(given, dict) else {}
    single = [((name,), _problem(direction, before, merged(before, {name: entry}))) for name, entry in entries.items()]
    told = [(path, problem) for path, problem in single if problem is not None]
    if told:
        yield from told
    else:
        yield (), whole


def _problem(direction: Direction | None, before: JsonValue, after: JsonValue) -> str | None:
    if before == after:
        return None
    if direction is None:
        return "nobody has said which way it gets stricter, so no overlay changes it"
    if odd := direction.odd(after):
        return odd
    looser = direction.looser(before, after)
    return looser if looser is None or isinstance(direction, Fixed) else f"{looser}; {INSTEAD}"


def _number(value: JsonValue) -> float | None:
    return value if isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value) else None


def shown(value: JsonValue) -> str:
    """A value as it would be written in YAML, more or less."""
    return "nothing" if value is None else str(value).lower() if isinstance(value, bool) else str(value)


def _listed(names: list[str]) -> str:
    shown = ", ".join(names[:_SHOWN])
    return shown if len(names) <= _SHOWN else f"{shown} and {len(names) - _SHOWN} more"
