"""Facts of the permission class `webfetch`: where each URL leads, and whether the request sends something."""

from interlock_gateway.core.jsonvalue import JsonObject, JsonValue
from interlock_gateway.facts.arguments import Argument, find
from interlock_gateway.facts.registry import Extractor, Section
from interlock_gateway.facts.request import FactRequest
from interlock_gateway.facts.urls.addresses import REACHES
from interlock_gateway.facts.urls.reading import HAZARDS, Reading, read
from interlock_gateway.facts.urls.sending import sending

MAX_URLS = 64
MAX_SHOWN = 2048


def _extract(request: FactRequest) -> Section:
    arguments = find(request, "url")
    named = [pair for argument in arguments.given for pair in _flattened(argument)]
    sent = sending(request.input, (argument.pointer for argument in arguments.given))
    entries = [_entry(pointer, value, sent.carried) for pointer, value in named[:MAX_URLS]]
    error: str | None = None
    if arguments.missing:
        error = f"a required URL is missing: {', '.join(arguments.missing)}"
    elif arguments.truncated or len(named) > MAX_URLS:
        error = f"more than {MAX_URLS} URLs"
    elif not entries:
        error = "no argument that holds a URL was found"
    error = error or next((f"{entry['argument']}: {entry['error']}" for entry in entries if entry["error"]), None)
    facts: JsonObject = {
        "urls": [*entries],
        "hosts": [*sorted({entry["host"] for entry in entries if isinstance(entry["host"], str)})],
        "method": sent.method,
        "sends": sent.sends,
    }
    return Section(facts, error)


def _flattened(argument: Argument) -> list[tuple[str, object]]:
    """The argument, or the items of one that is a list, each with its JSON pointer."""
    value = argument.value
    if isinstance(value, list | tuple):
        return [(f"{argument.pointer}/{index}", item) for index, item in enumerate(value[: MAX_URLS + 1])]
    return [(argument.pointer, value)]


def _entry(pointer: str, given: object, carried: int) -> JsonObject:
    text = given if isinstance(given, str) else ""
    found = read(text) if isinstance(given, str) else Reading(problem="not a string")
    domains: list[JsonValue] = list(found.domains)
    hazards: list[JsonValue] = list(found.hazards)
    return {
        "argument": pointer,
        "given": text.encode("utf-8", "replace").decode("utf-8")[:MAX_SHOWN] if isinstance(given, str) else None,
        "scheme": found.scheme,
        "host": found.host,
        "domains": domains,
        "port": found.port,
        "default_port": found.default_port,
        "userinfo": found.userinfo,
        "path": found.path[:MAX_SHOWN],
        "query": found.query_chars > 0,
        "query_chars": found.query_chars + carried,
        "fragment": found.fragment,
        "address": found.address,
        "reach": found.reach,
        "hazards": hazards,
        "error": found.problem,
    }


_STRING: dict[str, object] = {"type": "string"}
_BOOLEAN: dict[str, object] = {"type": "boolean"}
_MAYBE_STRING: dict[str, object] = {"type": ["string", "null"]}
_STRINGS: dict[str, object] = {"type": "array", "items": _STRING}
_ENTRY: dict[str, object] = {
    "argument": _STRING,
    "given": _MAYBE_STRING,
    "scheme": _MAYBE_STRING,
    "host": _MAYBE_STRING,
    "domains": _STRINGS,
    "port": {"type": ["integer", "null"], "minimum": 0, "maximum": 65535},
    "default_port": _BOOLEAN,
    "userinfo": _BOOLEAN,
    "path": _STRING,
    "query": _BOOLEAN,
    "query_chars": {"type": "integer", "minimum": 0},
    "fragment": _BOOLEAN,
    "address": _BOOLEAN,
    "reach": {"enum": list(REACHES)},
    "hazards": {"type": "array", "items": {"enum": list(HAZARDS)}},
    "error": _MAYBE_STRING,
}
_PROPERTIES: dict[str, object] = {
    "urls": {
        "type": "array",
        "items": {
            "type": "object",
            "properties": _ENTRY,
            "required": list(_ENTRY),
            "additionalProperties": False,
        },
    },
    "hosts": _STRINGS,
    "method": _STRING,
    "sends": _BOOLEAN,
}
_SCHEMA: dict[str, object] = {
    "type": "object",
    "properties": _PROPERTIES,
    "required": list(_PROPERTIES),
    "additionalProperties": False,
}

EXTRACTOR = Extractor("webfetch", _SCHEMA, _extract)
