"""The extractors, one for each permission class, and the one way to call them (PIPE-5)."""

import importlib
import pkgutil
from collections.abc import Callable
from dataclasses import dataclass

from interlock_gateway.core.jsonvalue import JsonObject, JsonValue
from interlock_gateway.facts import classes
from interlock_gateway.facts.request import FactRequest


@dataclass(frozen=True, slots=True)
class Section:
    """What an extractor found: the section named after its class, and why nothing can be relied on, if so."""

    facts: JsonObject | None
    error: str | None = None


@dataclass(frozen=True, slots=True)
class Extractor:
    """A module in `classes` defines one as `EXTRACTOR`. `schema` is the JSON Schema of its section.

    `extract` is pure but for looking at the file system, bounded, and never raises. What it needs of large libraries it
    loads when it is first called, in a thread of its own: those who have no tool of the class do not pay for them.
    """

    permission_class: str
    schema: dict[str, object]
    extract: Callable[[FactRequest], Section]


def _discover() -> dict[str, Extractor]:
    found: dict[str, Extractor] = {}
    for module in pkgutil.iter_modules(classes.__path__, f"{classes.__name__}."):
        extractor: Extractor = importlib.import_module(module.name).EXTRACTOR
        assert extractor.permission_class not in found, f"two extractors for {extractor.permission_class}"
        found[extractor.permission_class] = extractor
    return found


EXTRACTORS = _discover()


def extract(request: FactRequest) -> dict[str, JsonValue]:
    """The facts document of a call: `{"class", "extracted", "error"?, "<class>"?}`; shape in `FACTS_SCHEMA`.

    `extracted` is false when the facts do not say all that the call does; policy then takes it as dangerous.
    """
    extractor = EXTRACTORS.get(request.permission_class)
    document: dict[str, JsonValue] = {"class": request.permission_class, "extracted": False}
    if extractor is None:
        document["error"] = "no extractor for this class"
        return document
    section = extractor.extract(request)
    document["extracted"] = section.error is None and section.facts is not None
    if section.error is not None:
        document["error"] = section.error
    if section.facts is not None:
        document[request.permission_class] = section.facts
    return document


FACTS_SCHEMA: dict[str, object] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "title": "Facts about a call, by permission class",
    "type": "object",
    "properties": {
        "class": {"type": "string"},
        "extracted": {"type": "boolean"},
        "error": {"type": "string"},
        **{name: extractor.schema for name, extractor in EXTRACTORS.items()},
    },
    "required": ["class", "extracted"],
    "additionalProperties": False,
}
"""The JSON Schema (draft 2020-12) of what `extract` gives."""
