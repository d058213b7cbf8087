"""Packages under names of one part, for the engines that decide.

The embedded engine writes out the path of every rule that it evaluates or looks up, part by part: a tenth of the time
of a decision goes to `data.interlock.rules.bash` being long. Rules mean the same under shorter names, as long as every
reference to a package is written down. Where one is not, or could be something else, all names stay as they are.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from interlock_gateway.core.jsonvalue import JsonValue
from interlock_gateway.policy.embedded.linking import LinkedModule

Path = tuple[str, ...]

_NAME = r"[A-Za-z_][A-Za-z0-9_]*"
_PACKAGE = re.compile(rf"{_NAME}(?:\.{_NAME})*")
_TOKEN = re.compile(rf"""\$?"(?:\\.|[^"\\\n])*"|\$?`[^`]*`|\#[^\n]*|\.?{_NAME}(?:\.{_NAME})*""")


class _UncertainError(Exception):
    """Names cannot be changed without changing what is decided, or it cannot be told."""


def shortened(modules: Sequence[LinkedModule], data_json: str) -> tuple[LinkedModule, ...]:
    """The same modules with shorter names of packages in their sources, line for line; or as they were.

    What a module is called (`LinkedModule.package`) stays, and so do packages of one part, such as that of the
    decision.
    """
    try:
        names = _names([module.package for module in modules], json.loads(data_json))
        return tuple(replace(module, source=_renamed(module.source, names)) for module in modules)
    except _UncertainError:
        return tuple(modules)


def _names(packages: Sequence[str], data: JsonValue) -> Mapping[Path, str]:
    """A name for each package of several parts, which nothing else has."""
    if not all(map(_PACKAGE.fullmatch, packages)):
        raise _UncertainError
    paths = [tuple(package.split(".")) for package in packages]
    names = {path: "_".join(path) for path in paths if len(path) > 1}
    taken = {path[0] for path in paths} | (data.keys() if isinstance(data, dict) else set())
    if len(set(names.values())) < len(names) or taken & set(names.values()):
        raise _UncertainError
    if any(_is_there(data, path) for path in names):
        raise _UncertainError
    return names


def _is_there(data: JsonValue, path: Path) -> bool:
    """Whether the data have something in the place of a package."""
    for part in path:
        if not isinstance(data, dict):
            return True
        if part not in data:
            return False
        data = data[part]
    return True


def _renamed(source: str, names: Mapping[Path, str]) -> str:
    header, _, body = source.partition("\n")
    path = tuple(header.removeprefix("package ").split("."))
    package = f"package {names[path]}" if path in names else header
    return f"{package}\n{_TOKEN.sub(lambda token: _reference(token[0], names), body)}"


def _reference(text: str, names: Mapping[Path, str]) -> str:
    if text.startswith("$"):
        # A template has references inside.
        raise _UncertainError
    base, *parts = text.split(".")
    if base != "data" or text[0] in '"`#':
        return text
    # What lies above a package is read as a whole, or by an index that is not known before.
    if any(len(parts) < len(path) and path[: len(parts)] == tuple(parts) for path in names):
        raise _UncertainError
    found = max((path for path in names if tuple(parts[: len(path)]) == path), key=len, default=None)
    return text if found is None else ".".join(("data", names[found], *parts[len(found) :]))
