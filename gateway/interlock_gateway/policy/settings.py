"""Settings: the values that rules read, `<concern>.<name>`, and how profiles and overlays change them (POL-1)."""

import difflib
import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

from interlock_gateway.core.jsonvalue import JsonObject, JsonValue

try:  # it takes a tenth of the time, which is a good part of the gateway's start; deep nesting would end the process
    from yaml import CSafeLoader as FastLoader
except ImportError:  # PyYAML was built without its C library
    from yaml import SafeLoader as FastLoader  # type: ignore[assignment]  # the same for whoever loads with it


class PolicySourceError(Exception):
    """Policies or their settings are not acceptable; `place` is `file:line` or a file, `problem` says what is wrong."""

    def __init__(self, place: str, problem: str) -> None:
        super().__init__(f"{place}: {problem}")
        self.place = place
        self.problem = problem


def read_yaml(path: Path, place: str, *, shipped: bool = False) -> JsonObject:
    """The mapping in a YAML file, empty for an empty file. Raises `PolicySourceError` for anything else.

    Only what is `shipped` with the gateway is read by a parser that trusts what it reads.
    """
    try:
        text = path.read_text(encoding="utf-8")
        value: Any = yaml.load(text, Loader=FastLoader) if shipped else yaml.safe_load(text)
    except RecursionError:
        raise PolicySourceError(place, "is nested too deeply") from None
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise PolicySourceError(f"{place}:{line}", f"is not valid YAML: {error.problem}") from error
    except (OSError, UnicodeDecodeError) as error:
        raise PolicySourceError(place, f"cannot be read: {error}") from error
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise PolicySourceError(place, "must be a mapping")
    return _json_object(value, place)


def override(settings: JsonObject, changes: JsonValue, place: str) -> JsonObject:
    """`settings` with `changes` in place; lists and single values replace, mappings merge by key, null removes a key.

    Raises `PolicySourceError` for a concern or a name that `settings` does not have, or a value of another type.
    """
    if not isinstance(changes, dict):
        raise PolicySourceError(place, "settings must be a mapping of concerns")
    if unknown := list(_unknown(settings, changes)):
        raise PolicySourceError(place, f"unknown setting{'s' if len(unknown) > 1 else ''} {', '.join(unknown)}")
    changed = dict(settings)
    for concern, values in changes.items():
        known = settings[concern]
        assert isinstance(known, dict)
        if not isinstance(values, dict):
            raise PolicySourceError(place, f"settings of {concern} must be a mapping")
        changed[concern] = _override_concern(concern, known, values, place)
    return changed


def _override_concern(concern: str, known: JsonObject, values: JsonObject, place: str) -> JsonObject:
    changed = dict(known)
    for name, value in values.items():
        before = known[name]
        if _kind(value) != _kind(before):
            raise PolicySourceError(place, f"{concern}.{name} must be a {_kind(before)}, not a {_kind(value)}")
        changed[name] = _merged(before, value) if isinstance(before, dict) and isinstance(value, dict) else value
    return changed


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


def _unknown(settings: JsonObject, changes: JsonObject) -> Iterator[str]:
    """All concerns and names that there are not, each with what may have been meant."""
    for concern, values in changes.items():
        known = settings.get(concern)
        if not isinstance(known, dict):
            yield f"{concern}{_nearest(concern, settings)}"
        elif isinstance(values, dict):
            yield from (f"{concern}.{name}{_nearest(name, known)}" for name in values if name not in known)


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
