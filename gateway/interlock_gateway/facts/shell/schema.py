"""The shape of the `bash` part of a facts document, as JSON Schema (draft 2020-12)."""

from interlock_gateway.facts.patterns import EXPRESSIONS

_STRING: dict[str, object] = {"type": "string"}
_BOOLEAN: dict[str, object] = {"type": "boolean"}
_MAYBE_STRING: dict[str, object] = {"type": ["string", "null"]}
_MAYBE_INDEX: dict[str, object] = {"type": ["integer", "null"], "minimum": 0}
_STRINGS: dict[str, object] = {"type": "array", "items": _STRING}
_MAYBE_STRINGS: dict[str, object] = {"type": "array", "items": _MAYBE_STRING}
_LOCATION: dict[str, object] = {"enum": ["inside", "outside", "unknown", "stream", "network", "none"]}

HAZARDS = (
    *("alias", "cdpath", "dialect", "dynamic_script", "ifs", "indirect", "invisible_characters", "loader"),
    *("nested_evaluation", "path", "prompt_expansion"),
)
"""What makes a script mean something else than its words say."""


def _object(properties: dict[str, object], *, nullable: bool = False) -> dict[str, object]:
    return {
        "type": ["object", "null"] if nullable else "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _list(items: dict[str, object]) -> dict[str, object]:
    return {"type": "array", "items": items}


_SPOT: dict[str, object] = {"location": _LOCATION, "normalised": _MAYBE_STRING, "inside": _BOOLEAN}
_ASSIGNMENT = _object({"name": _STRING, "value": _MAYBE_STRING})
_VARIABLE = _object({"name": _STRING, "value": _MAYBE_STRING, "loop": _BOOLEAN})
_REDIRECTION = _object(
    {
        "operator": {"enum": ["<", ">", ">>", ">|", "<>", "<&", ">&", "&>", "&>>", "<<", "<<-", "<<<"]},
        "descriptor": _MAYBE_STRING,
        "target": _MAYBE_STRING,
        "dynamic": _BOOLEAN,
        "location": _LOCATION,
        "inside": _BOOLEAN,
    }
)
_COMMAND = _object(
    {
        "name": _MAYBE_STRING,
        "argv": _MAYBE_STRINGS,
        "text": _STRING,
        "dynamic": _BOOLEAN,
        "dynamic_name": _BOOLEAN,
        "dynamic_args": _BOOLEAN,
        "glob": _BOOLEAN,
        "flags": _STRINGS,
        "operands": _MAYBE_STRINGS,
        "subcommand": _MAYBE_STRING,
        "wrappers": _STRINGS,
        "implied": _BOOLEAN,
        "feeds": _BOOLEAN,
        "fed": _BOOLEAN,
        "moved": _BOOLEAN,
        "env": _list(_ASSIGNMENT),
        "redirections": _list(_REDIRECTION),
        "pipeline": _MAYBE_INDEX,
        "stage": _MAYBE_INDEX,
        "stdin": {"enum": ["inherited", "pipe", "redirect", "text"]},
        "stdin_script": _BOOLEAN,
        "interprets": _object(
            {
                "language": _STRING,
                "source": {"enum": ["argument", "file", "stdin", "unknown"]},
                "script": _MAYBE_STRING,
                "code": _MAYBE_STRING,
            },
            nullable=True,
        ),
    }
)
_PATTERN = _object(
    {
        "known": _BOOLEAN,
        "matches": _STRINGS,
        "links": _STRINGS,
        **EXPRESSIONS,
    },
    nullable=True,
)
_PATH = _object(
    {
        "command": _MAYBE_INDEX,
        "role": {"enum": ["argument", "program", "redirection", "script"]},
        "given": _STRING,
        "dynamic": _BOOLEAN,
        "glob": _BOOLEAN,
        "tilde": _BOOLEAN,
        "symlink": _BOOLEAN,
        "pattern": _PATTERN,
        **_SPOT,
    }
)
_SEARCH = _object(
    {
        "command": {"type": "integer", "minimum": 0},
        "given": _STRING,
        "seen": _BOOLEAN,
        "complete": _BOOLEAN,
        "top": _BOOLEAN,
        "hidden": _BOOLEAN,
        "known": _BOOLEAN,
        "names": _STRINGS,
        "endings": _STRINGS,
        "only": _list(_object(EXPRESSIONS)),
    }
)
_WRITE = _object({"command": _MAYBE_INDEX, "operator": _STRING, "given": _STRING, "dynamic": _BOOLEAN, **_SPOT})

BASH_SCHEMA = _object(
    {
        "parse_error": _BOOLEAN,
        "errors": _STRINGS,
        "dynamic": _BOOLEAN,
        "open": _BOOLEAN,
        "dynamic_name": _BOOLEAN,
        "hazards": _list({"enum": list(HAZARDS)}),
        "bash_only": _BOOLEAN,
        "names": _STRINGS,
        "commands": _list(_COMMAND),
        "pipelines": _list(_object({"stages": _list(_MAYBE_STRINGS)})),
        "writes": _list(_WRITE),
        "paths": _list(_PATH),
        "searches": _list(_SEARCH),
        "assignments": _list(_VARIABLE),
        "functions": _STRINGS,
        "aliases": _STRINGS,
        "directory": _object({"changed": _BOOLEAN, **_SPOT}),
    }
)
