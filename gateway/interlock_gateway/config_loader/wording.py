"""What pydantic found, in plain sentences."""

import difflib
from collections.abc import Mapping
from typing import Any

from pydantic_core import ErrorDetails

from interlock_gateway.config_loader.problems import Origin, Problem, SettingPath, dotted
from interlock_gateway.config_loader.shape import nearest

# Their values may hold a secret, which has no place in a message.
_SECRET = frozenset({"token", "database", "webhooks"})
_LONGEST = 60

_KINDS = {
    "string_type": "a string",
    "int_type": "a whole number",
    "int_parsing": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "float_parsing": "a number",
    "bool_type": "true or false",
    "bool_parsing": "true or false",
    "tuple_type": "a list",
    "dict_type": "a mapping",
    "model_type": "a section with keys of its own",
    "path_type": "a path",
}
_BOUNDS = {
    "greater_than": ("more than", "gt"),
    "greater_than_equal": ("at least", "ge"),
    "less_than": ("less than", "lt"),
    "less_than_equal": ("at most", "le"),
}
_LENGTHS = {
    "string_too_short": ("at least", "min_length"),
    "string_too_long": ("at most", "max_length"),
}
_CHOICES = frozenset({"literal_error", "enum"})
_SAYING_ENOUGH = frozenset({"missing", *_LENGTHS})
# Words that YAML reads as something else than a string.
_UNQUOTED = (bool, int, float)


def problem_from(error: ErrorDetails, origins: Mapping[SettingPath, Origin]) -> Problem:
    """One of pydantic's errors as a sentence, with the place where the value was written."""
    path: SettingPath = tuple(error["loc"])
    origin = origin_of(path, origins)
    return Problem(origin.place if origin else "", _sentence(error, path, origin))


def origin_of(path: SettingPath, origins: Mapping[SettingPath, Origin]) -> Origin | None:
    """Where `path`, or the nearest thing around it, was written; `None` for a default."""
    for length in range(len(path), 0, -1):
        if path[:length] in origins:
            return origins[path[:length]]
    return None


def _sentence(error: ErrorDetails, path: SettingPath, origin: Origin | None) -> str:
    kind, name = error["type"], dotted(path)
    context: Mapping[str, Any] = error.get("ctx", {})
    if kind == "extra_forbidden":
        return f"{name} is not a setting{nearest(path)}"
    if kind == "value_error":
        said = str(context["error"])
        return f"{name}: {said}" if name else said
    wanted = _wanted(kind, context)
    if wanted is None:
        return f"{name}: {error['msg']}"
    return f"{name} {wanted}{_given(error, path, origin)}{_advice(error, path, origin)}"


def _wanted(kind: str, context: Mapping[str, Any]) -> str | None:
    """What a setting's value has to be, for those of pydantic's errors that a configuration can cause."""
    wanted = None
    if kind == "missing":
        wanted = "is required"
    elif kind in _KINDS:
        wanted = f"must be {_KINDS[kind]}"
    elif kind in _BOUNDS:
        words, key = _BOUNDS[kind]
        wanted = f"must be {words} {_number(context[key])}"
    elif kind in _LENGTHS:
        words, key = _LENGTHS[kind]
        wanted = f"must have {words} {_characters(context[key])}"
    elif kind in _CHOICES:
        wanted = f"must be {context['expected']}"
    elif kind == "string_pattern_mismatch":
        wanted = f"must match {context['pattern']}"
    return wanted


def _given(error: ErrorDetails, path: SettingPath, origin: Origin | None) -> str:
    """What stands there instead, unless it may be a secret or is long."""
    value = error["input"]
    if error["type"] in _SAYING_ENOUGH or _is_secret(path):
        return ""
    if isinstance(value, list):
        return ", not a list"
    if isinstance(value, Mapping):
        return ", not a mapping"
    text = origin.text if origin is not None and origin.text is not None else str(value)
    return f", not {text}" if 0 < len(text) <= _LONGEST else ""


def _advice(error: ErrorDetails, path: SettingPath, origin: Origin | None) -> str:
    if error["type"] in _CHOICES:
        return _meant(error)
    if error["type"] != "string_type" or not isinstance(error["input"], _UNQUOTED):
        return ""
    text = "" if origin is None or origin.text is None or _is_secret(path) else f': "{origin.text}"'
    return f"; put it in quotes{text}"


def _is_secret(path: SettingPath) -> bool:
    return any(part in _SECRET for part in path)


def _meant(error: ErrorDetails) -> str:
    choices = str(error.get("ctx", {})["expected"]).split("'")[1::2]
    close = difflib.get_close_matches(str(error["input"]), choices, n=1)
    return f"; did you mean {close[0]}?" if close else ""


def _number(bound: float) -> str:
    return f"{bound:,}".replace(",", "_") if isinstance(bound, int) else f"{bound:g}"


def _characters(count: int) -> str:
    return f"{count} character" if count == 1 else f"{count} characters"
