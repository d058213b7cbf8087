"""Every event that the gateway logs, read from its source: what docs/operations.md lists, and what the tests hold.

A message is a constant sentence, and what differs from event to event stands in named fields.
"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from log_meanings import MEANINGS
from repository import module_name, our_python, tree_of

LEVELS = ("debug", "info", "warning", "error", "critical")
GATEWAY = "gateway/interlock_gateway/"


@dataclass(frozen=True)
class LogEvent:
    """One event: its level, the logger's name, its message, the fields it has besides, and what to make of it."""

    level: str
    logger: str
    message: str
    fields: tuple[str, ...]
    meaning: str


class NotConstantError(Exception):
    """A message, or the names of a line's fields, cannot be read from the source."""


def log_events() -> list[LogEvent]:
    """Every event, by logger and message. Raises `NotConstantError` with the place of one that cannot be read."""
    found = {event for path in our_python(GATEWAY) for event in events_of(path)}
    return sorted(found, key=lambda event: (event.logger, event.message, event.level, event.fields))


def events_of(path: str) -> Iterator[LogEvent]:
    """Give the events that a file logs."""
    for call in logging_calls(tree_of(path)):
        assert isinstance(call.func, ast.Attribute)
        try:
            fields = tuple(sorted(fields_of(path, call)))
            messages = messages_of(path, call)
        except NotConstantError as error:
            raise NotConstantError(f"{path}:{call.lineno}: {error}") from None
        level = {"exception": "error", "log": "info or warning"}.get(call.func.attr, call.func.attr)
        for message in messages:
            yield LogEvent(level, module_name(path), message, fields, MEANINGS.get(message, ""))


def logging_calls(tree: ast.Module) -> Iterator[ast.Call]:
    """Give the calls of a module's logger."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            of_logger = ast.unparse(node.func.value) in {"_log", "_LOG", "log", "logger"}
            if of_logger and node.func.attr in {*LEVELS, "exception", "log"}:
                yield node


def messages_of(path: str, call: ast.Call) -> list[str]:
    """Return what a call may say: one constant, or those of a table of the module."""
    assert isinstance(call.func, ast.Attribute)
    arguments = call.args[1:] if call.func.attr == "log" else call.args
    if len(arguments) != 1:
        raise NotConstantError("a message takes no arguments: what differs is a field")
    message = arguments[0]
    if isinstance(message, ast.Constant) and isinstance(message.value, str):
        return [message.value]
    table = assigned(path, message.value) if isinstance(message, ast.Subscript) else None
    if isinstance(table, ast.Dict) and all(isinstance(one, ast.Constant) for one in table.values):
        return [str(one.value) for one in table.values if isinstance(one, ast.Constant)]
    raise NotConstantError("the message is no constant")


def fields_of(path: str, call: ast.Call) -> set[str]:
    """Return the names of the fields that a call adds."""
    assert isinstance(call.func, ast.Attribute)
    given = {keyword.arg: keyword.value for keyword in call.keywords}
    fields = names_in(path, given["extra"]) if "extra" in given else set()
    if call.func.attr == "exception" or "exc_info" in given:
        fields.add("exception")
    return fields


def names_in(path: str, extra: ast.expr) -> set[str]:
    """Return the keys of a dict that is written here, in a name of the file, or returned by a function of it."""
    if isinstance(extra, ast.Dict):
        names: set[str] = set()
        for key, value in zip(extra.keys, extra.values, strict=True):
            if key is None:
                names |= names_in(path, value)
            elif isinstance(key, ast.Constant):
                names.add(str(key.value))
            else:
                raise NotConstantError("the name of a field is no constant")
        return names
    made = assigned(path, extra)
    if made is None:
        raise NotConstantError("the fields are not written in this file")
    return names_in(path, made)


def assigned(path: str, name: ast.expr) -> ast.expr | None:
    """Return what a name of the file is given, or what a function of it returns, when that is a dict."""
    function = name.func if isinstance(name, ast.Call) else None
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Dict):
            if any(ast.unparse(target) == ast.unparse(name) for target in node.targets):
                return node.value
        elif isinstance(node, ast.FunctionDef) and function is not None and node.name == ast.unparse(function):
            returns = [one.value for one in ast.walk(node) if isinstance(one, ast.Return)]
            if len(returns) == 1 and isinstance(returns[0], ast.Dict):
                return returns[0]
    return None
