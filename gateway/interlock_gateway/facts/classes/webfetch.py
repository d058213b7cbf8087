"""Facts of the permission class `webfetch`: where each URL leads, and whether the request sends something."""

import json
from collections.abc import Mapping

from interlock_gateway.core.jsonvalue import JsonObject, JsonValue
from interlock_gateway.facts.arguments import Argument, find
from interlock_gateway.facts.registry import Extractor, Section
from interlock_gateway.facts.request import FactRequest
from interlock_gateway.facts.urls.addresses import REACHES
from interlock_gateway.facts.urls.reading import HAZARDS, Reading, read

MAX_URLS = 64
MAX_SHOWN = 2048
_METHOD_NAMES = ("method", "http_method", "httpMethod", "verb", "request_method")
_BODY_NAMES = ("body", "data", "json", "payload", "form", "form_data", "files", "content", "postData", "post_data")
_CARRIED_NAMES = (
    *("params", "query", "query_params", "queryParams", "search_params", "searchParams", "qs"),
    *("headers", "header", "cookies", "cookie"),
)
"""What goes out with the URL although it is not written in it."""
_SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
_ABSENT: tuple[object, ...] = (None, "", [], {}, ())


def _extract(request: FactRequest) -> Section:
    arguments = find(request, "url")
    named = [pair for argument in arguments.given for pair in _flattened(argument)]
    carried = _carried_chars(request.input)
    entries = [_entry(pointer, value, carried) for pointer, value in named[:MAX_URLS]]
    error: str | None = None
    if arguments.missing:
        error = f"a required URL is missing: {', '.join(arguments.missing)}"
    elif arguments.truncated or len(named) > MAX_URLS:
        error = f"more than {MAX_URLS} URLs"
    elif not entries:
        error = "no argument that holds a URL was found"
    error = error or next((f"{entry['argument']}: {entry['error']}" for entry in entries if entry["error"]), None)
    method = _method(request.input)
    facts: JsonObject = {
        "urls": [*entries],
        "hosts": [*sorted({entry["host"] for entry in entries if isinstance(entry["host"], str)})],
        "method": method,
        "sends": method not in _SAFE_METHODS or any(request.input.get(name) not in _ABSENT for name in _BODY_NAMES),
    }
    return Section(facts, error)


def _flattened(argument: Argument) -> list[tuple[str, object]]:
    """The argument, or the items of one that is a list, each with its JSON pointer."""
    value = argument.value
    if isinstance(value, list | tuple):
        return [(f"{argument.pointer}/{index}", item) for index, item in enumerate(value)]
    return [(argument.pointer, value)]


def _method(given: Mapping[str, object]) -> str:
    """The HTTP method that the call names, in upper case; GET when it names none, empty when what it names is none."""
    named = [given[name] for name in _METHOD_NAMES if given.get(name) not in _ABSENT]
    if not named:
        return "GET"
    texts = {value.strip().upper() for value in named if isinstance(value, str)}
    method = texts.pop() if len(texts) == 1 and all(isinstance(value, str) for value in named) else ""
    return method if method.isascii() and method.isalpha() else ""


def _carried_chars(given: Mapping[str, object]) -> int:
    """How many characters the call has beside its URLs for their queries and headers."""
    carried = (value for name in _CARRIED_NAMES if (value := given.get(name)) not in _ABSENT)
    return sum(len(value if isinstance(value, str) else json.dumps(value, default=str)) for value in carried)


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
