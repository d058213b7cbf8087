"""What an overlay's `data.yaml` says, with the line of each part; all that is wrong with its form is told at once."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from interlock_gateway.core.jsonvalue import JsonObject, JsonValue
from interlock_gateway.policy.settings import PolicySourceError
from interlock_gateway.policy.yaml_lines import YamlLines, yaml_lines


@dataclass(frozen=True, slots=True)
class Written:
    """A mapping as it was read from a file, where its parts stand, and what is wrong with those that are left out."""

    value: JsonObject
    places: YamlLines
    problems: tuple[PolicySourceError, ...] = ()


def read_written(path: Path, place: str) -> Written:
    """The mapping in a YAML file, empty for an empty file; raises `PolicySourceError` for one that holds none.

    Keys that are there twice, keys that are no words, and values that are not JSON are its `problems`.
    """
    try:
        text = path.read_text(encoding="utf-8")
        value: Any = yaml.safe_load(text)
        places = yaml_lines(text, place)
    except RecursionError:
        raise PolicySourceError(place, "is nested too deeply") from None
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise PolicySourceError(f"{place}:{line}", f"is not valid YAML: {error.problem}") from error
    except yaml.YAMLError as error:
        raise PolicySourceError(place, f"is not valid YAML: {error}") from error
    except (OSError, UnicodeDecodeError) as error:
        raise PolicySourceError(place, f"cannot be read: {error}") from error
    if value is None:
        return Written({}, places)
    if not isinstance(value, dict):
        raise PolicySourceError(f"{place}:1", "must be a mapping")
    problems = list(_keys(places))
    cleaned = _cleaned(value, (), places, problems)
    assert isinstance(cleaned, dict)
    return Written(cleaned, places, tuple(problems))


def _keys(places: YamlLines) -> Iterator[PolicySourceError]:
    for path, line in places.twice:
        twice = f"the key {path[-1]} is there twice, and only the last would count"
        yield PolicySourceError(f"{places.file}:{line}", twice)
    for path, line, read in places.odd:
        # YAML reads `on`, `no` and `1` as something else than the words they look like.
        odd = f"the key {path[-1]} is read as {read!r}, which is not a string; put it in quotes"
        yield PolicySourceError(f"{places.file}:{line}", odd)


def _cleaned(
    value: Any, path: tuple[str | int, ...], places: YamlLines, problems: list[PolicySourceError]
) -> JsonValue:
    """The value without what is not JSON, which is noted in `problems` where the keys have not told it."""
    if isinstance(value, dict):
        if not places.odd and (odd := [key for key in value if not isinstance(key, str)]):
            problems.append(
                PolicySourceError(places.at(*path), f"the key {odd[0]!r} is not a string; put it in quotes")
            )
        known = {key: item for key, item in value.items() if isinstance(key, str)}
        return {key: _cleaned(item, (*path, key), places, problems) for key, item in known.items()}
    if isinstance(value, list):
        return [_cleaned(item, (*path, number), places, problems) for number, item in enumerate(value)]
    if value is None or isinstance(value, bool | int | str) or (isinstance(value, float) and math.isfinite(value)):
        return value
    problems.append(PolicySourceError(places.at(*path), f"{value} is not a JSON value; put it in quotes"))
    return str(value)
