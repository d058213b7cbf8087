"""Reads `directions.yaml`, which lies beside the settings of each concern and says which change of each is stricter.

| written | a change is stricter when |
|---|---|
| `more`, `{more: INNER}` | nothing is taken off the list or mapping, and what stays is at least as strict by `INNER` |
| `{more: INNER, closed_while: {name: value}}` | the same, and nothing is put on it while other settings say this |
| `fewer`, `{fewer: INNER, keep: [...]}` | nothing is put on it, what stays is no looser; `keep` says what stays |
| `greater`, `less` | the number is not less, or not greater |
| `true`, `false` | it is changed to that; as `INNER`: an entry with the other value counts as not being there |
| `{words: [...]}` | the word comes later in the list, which begins with the weakest |
| `{any_of: {name: INNER}}` | of conditions of which one is enough none is taken away; none at all means always |
| `{all_of: {name: INNER}, widened_by: ...}` | none of the conditions is taken away, and none that widens them added |
| `{free: REASON}` | always: it neither loosens nor tightens |
| `{fixed: REASON, fields: {name: INNER}}` | never: no overlay changes it; of new ones the `fields` are looked at |
"""

from collections.abc import Mapping
from pathlib import Path

from interlock_gateway.core.jsonvalue import JsonObject, JsonValue
from interlock_gateway.policy.directions import (
    Conditions,
    Direction,
    Directions,
    Entries,
    Fixed,
    Free,
    Numbers,
    Truth,
    Words,
    shown,
)
from interlock_gateway.policy.settings import PolicySourceError, read_yaml

FILE = "directions.yaml"


def read_directions(root: Path) -> Directions:
    """The directions of the settings under `root`. Raises `PolicySourceError` for one that cannot be read."""
    found: dict[str, Mapping[str, Direction]] = {}
    for path in sorted((root / "settings").glob(f"*/{FILE}")):
        place = path.relative_to(root).as_posix()
        written = read_yaml(path, place)
        found[path.parent.name] = {name: _direction(value, f"{place}, {name}") for name, value in written.items()}
    return found


def _direction(written: JsonValue, place: str) -> Direction:
    if isinstance(written, bool):
        return Truth(written)
    if isinstance(written, str) and written in _PLAIN:
        return _PLAIN[written]
    if isinstance(written, dict) and (made := _composed(written, place)) is not None:
        return made
    raise PolicySourceError(place, f"{shown(written)} is no direction")


_PLAIN: Mapping[str, Direction] = {
    "more": Entries(more=True),
    "fewer": Entries(more=False),
    "greater": Numbers(greater=True),
    "less": Numbers(greater=False),
    "true": Truth(stricter=True),
    "false": Truth(stricter=False),
}


def _composed(written: JsonObject, place: str) -> Direction | None:
    """The direction that a mapping with one kind, and what else that kind takes, stands for."""
    kind = next(iter(written), "")
    inner, besides = written.get(kind), set(written) - {kind}
    if besides - _BESIDES.get(kind, set()):
        return None
    if kind in {"more", "fewer"}:
        keep, closed = _words(written.get("keep", []), place), written.get("closed_while", {})
        if not isinstance(closed, dict):
            return None
        return Entries(kind == "more", _direction(inner, place), keep, closed)
    if kind in {"any_of", "all_of"}:
        return Conditions(_fields(inner, place), kind == "any_of", _fields(written.get("widened_by", {}), place))
    if kind in {"free", "fixed"} and isinstance(inner, str) and inner.strip():
        return Free(inner) if kind == "free" else Fixed(inner, _fields(written.get("fields", {}), place))
    return Words(_words(inner, place)) if kind == "words" else None


_BESIDES = {"more": {"keep", "closed_while"}, "fewer": {"keep"}, "all_of": {"widened_by"}, "fixed": {"fields"}}


def _fields(written: JsonValue, place: str) -> Mapping[str, Direction]:
    if not isinstance(written, dict):
        raise PolicySourceError(place, f"{shown(written)} is not a mapping of directions")
    return {name: _direction(value, place) for name, value in written.items()}


def _words(value: JsonValue, place: str) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise PolicySourceError(place, f"{shown(value)} is not a list of words")
    return tuple(map(str, value))
