"""Facts of the permission class `file`: where each path argument leads."""

import re
from urllib.parse import unquote

from interlock_gateway.core.jsonvalue import JsonObject, JsonValue
from interlock_gateway.facts.arguments import Argument, find
from interlock_gateway.facts.patterns import EXPRESSIONS, alternatives, expressions, name_pattern, names_of
from interlock_gateway.facts.places import Place, Workspace
from interlock_gateway.facts.registry import Extractor, Section
from interlock_gateway.facts.request import FactRequest

MAX_PATHS = 256
MAX_SHOWN = 4096
_SPECIAL = re.compile(r"[*?\[{]")
_ELSEWHERE = re.compile(r"\A[/~]|(?:\A|[/\\])\.\.(?:[/\\]|\Z)|\\")
_FILE_URL = re.compile(r"\Afile://(?:localhost)?(/[^?#]*)\Z", re.IGNORECASE)
_MISREAD = re.compile(r"(?P<backslash>\\)|(?P<variable>\A(?:\$[A-Z_]+(?:/|\Z)|\$\{|%[A-Za-z_]+%))")
_MISREADINGS = {
    "backslash": "contains a backslash, which a tool may take for a slash",
    "variable": "starts with a variable, which a tool may expand",
}


def _extract(request: FactRequest) -> Section:
    arguments = find(request, "path")
    workspace = Workspace(request.workdir, request.roots, request.within)
    named = [pair for argument in arguments.given for pair in _flattened(argument)]
    entries = [_entry(pointer, value, workspace) for pointer, value in named[:MAX_PATHS]]
    error: str | None = None
    if arguments.missing:
        error = f"a required path is missing: {', '.join(arguments.missing)}"
    elif arguments.truncated or len(named) > MAX_PATHS:
        error = "more path arguments than are looked at"
    elif not entries and arguments.declared:
        entries = [_entry("", request.workdir or next(iter(request.roots), ""), workspace, implied=True)]
    elif not entries:
        error = "no argument that holds a path was found"
    patterns, problem = _patterns(request, named[:MAX_PATHS])
    entries += _led_elsewhere(patterns, entries, workspace)
    error = error or next((f"{entry['argument']}: {entry['error']}" for entry in entries if entry["error"]), None)
    listed: list[JsonValue] = list(entries)
    facts: JsonObject = {
        "arguments": listed,
        "patterns": [*patterns],
        "inside": bool(entries) and all(entry["inside"] for entry in entries),
    }
    error = error or problem
    return Section(facts, error)


def _led_elsewhere(patterns: list[JsonObject], entries: list[JsonObject], workspace: Workspace) -> list[JsonObject]:
    """Patterns that may choose files elsewhere than below the paths that are given, each as a path of its own.

    They may be meant from where the call starts, or from any of those paths.
    """
    bases = [workspace.base, *(path for entry in entries if isinstance(path := entry["normalised"], str))]
    pointers = {entry["argument"] for entry in entries}
    return [
        _entry(str(pattern["argument"]), text, workspace, base=base)
        for pattern in patterns
        if pattern["argument"] not in pointers and _ELSEWHERE.search(text := str(pattern["given"]))
        for base in ([None] if text.startswith("/") else dict.fromkeys(bases))
    ][:MAX_PATHS]


def _patterns(request: FactRequest, named: list[tuple[str, object]]) -> tuple[list[JsonObject], str | None]:
    """What the arguments that choose files by patterns of their paths stand for, and what is amiss with them.

    `named` are the arguments that hold paths.
    """
    arguments = find(request, "glob")
    given = [(pointer, value) for one in arguments.given for pointer, value in _flattened(one) if value != ""]
    made: list[JsonObject] = []
    for pointer, value in given:
        texts = alternatives(value) if isinstance(value, str) else []
        if texts is None or len(made) + len(texts) > MAX_PATHS or len(str(value)) > MAX_SHOWN:
            return made, f"{pointer}: a pattern with too many alternatives, or with braces in one another"
        made += [_pattern(pointer, text) for text in texts]
    for pointer, value in named:
        # A tool may take a path for a pattern; whether it does is not known.
        texts = alternatives(value) if isinstance(value, str) and _SPECIAL.search(value) else None
        made += [_pattern(pointer, text) for text in (texts or ())[: MAX_PATHS - len(made)]]
    return made, "more patterns than are looked at" if arguments.truncated else None


def _pattern(pointer: str, text: str) -> JsonObject:
    names = names_of(text, hidden=True)
    last = names[-1] if names else name_pattern("*", hidden=True)
    shown = text.encode("utf-8", "replace").decode("utf-8")
    return {"argument": pointer, "given": shown, "broad": last.broad, **expressions(names)}


def _flattened(argument: Argument) -> list[tuple[str, object]]:
    """The argument, or the items of one that is a list, each with its JSON pointer."""
    value = argument.value
    if isinstance(value, list | tuple):
        return [(f"{argument.pointer}/{index}", item) for index, item in enumerate(value[: MAX_PATHS + 1])]
    return [(argument.pointer, value)]


def _entry(
    pointer: str, given: object, workspace: Workspace, *, implied: bool = False, base: str | None = None
) -> JsonObject:
    text = given if isinstance(given, str) else ""
    shown = text.encode("utf-8", "replace").decode("utf-8")
    place = _located(text, workspace, base) if isinstance(given, str) else Place(problem="not a string")
    below = workspace.below_bound(place)
    path = place.normalised if below is None else below
    segments = [part for part in (path or "").split("/") if part]
    in_root = [part for part in (workspace.below_root(place) or "").split("/") if part]
    name = (place.normalised or "").rpartition("/")[2]
    known = "" if place.problem else _below(text, place)
    as_given = [part for part in known.split("/") if part not in {"", ".", ".."}]
    return {
        "argument": pointer,
        "given": shown[:MAX_SHOWN] if isinstance(given, str) else None,
        "implied": implied,
        "normalised": place.normalised,
        "root": place.root,
        "inside": place.inside,
        "relative": bool(text) and not text.startswith("/"),
        "symlink": place.symlink,
        "exists": place.exists,
        "hidden": any(part.startswith(".") for part in (*in_root, *as_given)),
        "tilde": text.startswith("~"),
        "glob": any(char in text for char in "*?[{"),
        "segments": list(segments),
        "name": name,
        "given_name": shown.rstrip("/").rpartition("/")[2][:MAX_SHOWN],
        "extension": name.rpartition(".")[2] if "." in name.lstrip(".") else "",
        "resolved_on": "gateway",
        "error": place.problem,
    }


def _located(text: str, workspace: Workspace, base: str | None) -> Place:
    """Where a path leads, written as one or as the URL of a file; what tools may read otherwise leads nowhere known."""
    misread = _MISREAD.search(text)
    if misread:
        return Place(problem=_MISREADINGS[misread.lastgroup or ""])
    url = _FILE_URL.match(text)
    return workspace.locate(unquote(url[1], errors="surrogateescape") if url else text, base)


def _below(text: str, place: Place) -> str:
    """A path as given, without the root it starts with."""
    prefix = f"{place.root.rstrip('/')}/" if place.root else ""
    return text[len(prefix) :] if f"{text}/".startswith(prefix) else text


_STRING: dict[str, object] = {"type": "string"}
_BOOLEAN: dict[str, object] = {"type": "boolean"}
_MAYBE_STRING: dict[str, object] = {"type": ["string", "null"]}
_ENTRY: dict[str, object] = {
    "argument": _STRING,
    "given": _MAYBE_STRING,
    "implied": _BOOLEAN,
    "normalised": _MAYBE_STRING,
    "root": _MAYBE_STRING,
    "inside": _BOOLEAN,
    "relative": _BOOLEAN,
    "symlink": _BOOLEAN,
    "exists": _BOOLEAN,
    "hidden": _BOOLEAN,
    "tilde": _BOOLEAN,
    "glob": _BOOLEAN,
    "segments": {"type": "array", "items": _STRING},
    "name": _STRING,
    "given_name": _STRING,
    "extension": _STRING,
    "resolved_on": {"const": "gateway"},
    "error": _MAYBE_STRING,
}
_PATTERN: dict[str, object] = {
    "argument": _STRING,
    "given": _STRING,
    "broad": _BOOLEAN,
    **EXPRESSIONS,
}
_SCHEMA: dict[str, object] = {
    "type": "object",
    "properties": {
        "arguments": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": _ENTRY,
                "required": list(_ENTRY),
                "additionalProperties": False,
            },
        },
        "patterns": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": _PATTERN,
                "required": list(_PATTERN),
                "additionalProperties": False,
            },
        },
        "inside": _BOOLEAN,
    },
    "required": ["arguments", "patterns", "inside"],
    "additionalProperties": False,
}

EXTRACTOR = Extractor("file", _SCHEMA, _extract)
