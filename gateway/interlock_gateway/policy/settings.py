"""Settings: the values that rules read, `<concern>.<name>`, and how profiles and overlays change them (POL-1)."""

import difflib
import json
import math
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, Protocol

import yaml

from interlock_gateway.core.jsonvalue import JsonObject, JsonValue

try:  # it takes a tenth of the time, which is a good part of the gateway's start; deep nesting would end the process
    from yaml import CSafeLoader as FastLoader
except ImportError:  # PyYAML was built without its C library
    from yaml import SafeLoader as FastLoader  # type: ignore[assignment]  # the same for whoever loads with it


class PolicySourceError(Exception):
    """Policies or their settings are not acceptable; `place` is `file:line` or a file, `problem` says what is wrong.

    `others` are what else is wrong, in the order in which it is told.
    """

    def __init__(self, place: str, problem: str, *, others: Sequence["PolicySourceError"] = ()) -> None:
        super().__init__("\n".join((f"{place}: {problem}", *map(str, others))))
        self.place = place
        self.problem = problem
        self.others = tuple(others)

    @property
    def each(self) -> tuple["PolicySourceError", ...]:
        """Itself and the others."""
        return (self, *self.others)

    @property
    def file_and_line(self) -> tuple[str, int]:
        """The place in two; 0 is no line."""
        file, colon, line = self.place.rpartition(":")
        return (file, int(line)) if colon and line.isdecimal() else (self.place, 0)


def refuse(problems: Sequence[PolicySourceError]) -> None:
    """Raise all problems as one `PolicySourceError`; nothing when there is none."""
    if problems:
        first, *others = problems
        if not others:
            raise first
        raise PolicySourceError(first.place, first.problem, others=others)


def by_line(problem: PolicySourceError) -> tuple[str, int]:
    """Sorts problems as their files are read."""
    return problem.file_and_line


class Places(Protocol):
    """Tells where the parts of a file stand."""

    def at(self, *path: str | int) -> str:
        """The place of what `path` leads to."""


class OnePlace:
    """For what has one place only."""

    def __init__(self, place: str) -> None:
        self._place = place

    def at(self, *_path: str | int) -> str:
        """That place, for every path."""
        return self._place


def read_yaml(path: Path, place: str, *, shipped: bool = False) -> JsonObject:
    """The mapping in a YAML file, empty for an empty file. Raises `PolicySourceError` for anything else.

    Only what is `shipped` with the gateway is read by a parser that trusts what it reads.
    """
    try:
        text = path.read_text(encoding="utf-8")
        return dict(json.loads(_as_json(text, place, shipped)))
    except RecursionError:
        raise PolicySourceError(place, "is nested too deeply") from None
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise PolicySourceError(f"{place}:{line}", f"is not valid YAML: {error.problem}") from error
    except (OSError, UnicodeDecodeError) as error:
        raise PolicySourceError(place, f"cannot be read: {error}") from error


@lru_cache(maxsize=128)
def _as_json(text: str, place: str, fast: bool) -> str:  # noqa: FBT001 - the cache has no use for names
    """What a file holds as JSON, which is read again in a hundredth of the time."""
    return json.dumps(_mapping(yaml.load(text, Loader=FastLoader) if fast else yaml.safe_load(text), place))


def _mapping(value: object, place: str) -> JsonObject:
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise PolicySourceError(place, "must be a mapping")
    return _json_object(value, place)


def override(settings: JsonObject, changes: JsonValue, place: str) -> JsonObject:
    """`settings` with `changes` in place; lists and single values replace, mappings merge by key, null removes a key.

    Raises `PolicySourceError` for a concern or a name that `settings` does not have, or a value of another type.
    """
    problems: list[PolicySourceError] = []
    changed = overridden(settings, changes, OnePlace(place), problems)
    refuse(problems)
    return changed


def overridden(
    settings: JsonObject, changes: JsonValue, places: Places, problems: list[PolicySourceError]
) -> JsonObject:
    """The same, with what cannot be taken left out, and noted in `problems` with its place."""
    if not isinstance(changes, dict):
        problems.append(PolicySourceError(places.at(), "settings must be a mapping of concerns"))
        return settings
    changed = dict(settings)
    for concern, values in changes.items():
        known = settings.get(concern)
        if not isinstance(known, dict):
            unknown = f"unknown setting {concern}{_nearest(concern, settings)}"
            problems.append(PolicySourceError(places.at(concern), unknown))
        elif not isinstance(values, dict):
            problems.append(PolicySourceError(places.at(concern), f"settings of {concern} must be a mapping"))
        else:
            changed[concern] = _override_concern(concern, known, values, places, problems)
    return changed


def _override_concern(
    concern: str, known: JsonObject, values: JsonObject, places: Places, problems: list[PolicySourceError]
) -> JsonObject:
    changed = dict(known)
    for name, value in values.items():
        before = known.get(name)
        if name not in known:
            problem = f"unknown setting {concern}.{name}{_nearest(name, known)}"
        elif _kind(value) != _kind(before):
            problem = f"{concern}.{name} must be a {_kind(before)}, not a {_kind(value)}"
        else:
            changed[name] = merged(before, value)
            continue
        problems.append(PolicySourceError(places.at(concern, name), problem))
    return changed


def merged(before: JsonValue, value: JsonValue) -> JsonValue:
    """What a setting becomes when an overlay says `value` of it."""
    if not isinstance(before, dict) or not isinstance(value, dict):
        return value
    return _merged(before, value)


def _merged(before: JsonObject, value: JsonObject) -> JsonObject:
    merged = {**before, **value}
    return {key: item for key, item in merged.items() if item is not None}


def _kind(value: JsonValue) -> str:
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int | float):
        return "number"
    if isinstance(value, dict):
        return "mapping"
    if isinstance(value, list):
        return "list"
    return "null" if value is None else "string"


def _nearest(name: str, known: Mapping[str, object]) -> str:
    near = difflib.get_close_matches(name, known, n=1)
    return f"; did you mean {near[0]}?" if near else ""


def _json_object(value: dict[Any, Any], place: str) -> JsonObject:
    return {_key(key, place): _json_value(item, place) for key, item in value.items()}


def _key(key: object, place: str) -> str:
    # YAML reads `on`, `no` and `1` as something else than the words they look like.
    if not isinstance(key, str):
        raise PolicySourceError(place, f"the key {key!r} is not a string; put it in quotes")
    return key


def _json_value(value: object, place: str) -> JsonValue:
    if isinstance(value, dict):
        return _json_object(value, place)
    if isinstance(value, list):
        return [_json_value(item, place) for item in value]
    if value is None or isinstance(value, bool | int | str) or (isinstance(value, float) and math.isfinite(value)):
        return value
    raise PolicySourceError(place, f"{value} is not a JSON value; put it in quotes")
