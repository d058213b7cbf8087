"""YAML, read strictly, with the line of everything in it."""

import datetime as dt
from dataclasses import dataclass, field

import yaml

from interlock_gateway.config_loader.problems import Origin, Problem, SettingPath
from interlock_gateway.core.jsonvalue import JsonObject, JsonValue

MAX_DEPTH = 32
_COLLECTIONS = frozenset({"tag:yaml.org,2002:map", "tag:yaml.org,2002:seq"})
_MERGE = "tag:yaml.org,2002:merge"


@dataclass(slots=True)
class Source:
    """What was read: a value, where each part of it was written, and what is wrong with it."""

    value: JsonValue = None
    origins: dict[SettingPath, Origin] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)


def read_yaml(text: str, name: str, *, is_file: bool = True) -> Source:
    """Read one YAML document. Never raises for what is in `text`: that is a problem, with its line.

    Keys are taken as written (`on` is the word, not a boolean); a duplicate key is a problem that names both lines.
    """
    source = Source()
    try:
        loader = yaml.SafeLoader(text)
    except yaml.YAMLError as error:
        source.problems.append(Problem(name, f"is not text that YAML allows: {_reason(error)}"))
        return source
    try:
        node = loader.get_single_node()
        if node is not None:
            source.value = _Reader(loader, source, name, is_file=is_file).value(node, ())
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        place = f"{name}:{mark.line + 1}" if mark and is_file else name
        source.problems.append(Problem(place, f"is not valid YAML: {_reason(error)}"))
    finally:
        loader.dispose()
    return source


def _reason(error: yaml.YAMLError) -> str:
    problem = getattr(error, "problem", None) or getattr(error, "reason", None)
    return str(problem or "it cannot be read")


class _Reader:
    """Turns the nodes of one document into values."""

    def __init__(self, loader: yaml.SafeLoader, source: Source, name: str, *, is_file: bool) -> None:
        self._loader = loader
        self._source = source
        self._name = name
        self._is_file = is_file

    def value(self, node: yaml.Node, path: SettingPath) -> JsonValue:
        """The value of `node`, which stands at `path`."""
        if len(path) > MAX_DEPTH:
            self._problem(node, f"nests deeper than {MAX_DEPTH} levels")
            return None
        text = node.value if isinstance(node, yaml.ScalarNode) else None
        # A key's own line says more than that of the value, which may begin on the next one.
        self._source.origins.setdefault(path, Origin(self._place(node), text, self._is_file))
        if isinstance(node, yaml.CollectionNode) and node.tag not in _COLLECTIONS:
            self._problem(node, f"{node.tag} is not a kind of value that a configuration holds")
            return None
        if isinstance(node, yaml.MappingNode):
            return self._mapping(node, path)
        if isinstance(node, yaml.SequenceNode):
            return [self.value(item, (*path, index)) for index, item in enumerate(node.value)]
        return self._single(node)

    def _mapping(self, node: yaml.MappingNode, path: SettingPath) -> JsonObject:
        found: JsonObject = {}
        lines: dict[str, int] = {}
        for key_node, value_node in node.value:
            key = self._key(key_node)
            if key is None:
                continue
            if key in found:
                self._problem(key_node, f"{key} is written twice; the first is in line {lines[key]}")
                continue
            lines[key] = key_node.start_mark.line + 1
            text = value_node.value if isinstance(value_node, yaml.ScalarNode) else None
            self._source.origins[*path, key] = Origin(self._place(key_node), text, self._is_file)
            found[key] = self.value(value_node, (*path, key))
        return found

    def _key(self, node: yaml.Node) -> str | None:
        if not isinstance(node, yaml.ScalarNode):
            self._problem(node, "a key must be a word")
            return None
        if node.tag == _MERGE:
            self._problem(node, "merging with << is not supported; write the keys out")
            return None
        return str(node.value)

    def _single(self, node: yaml.Node) -> JsonValue:
        try:
            value = self._loader.construct_object(node)
        except (yaml.YAMLError, ValueError) as error:
            reason = _reason(error) if isinstance(error, yaml.YAMLError) else str(error)
            self._problem(node, f"cannot be read: {reason}")
            return None
        if value is None or isinstance(value, bool | int | float | str):
            return value
        if isinstance(value, dt.date):
            return str(node.value)
        self._problem(node, f"{node.tag} is not a kind of value that a configuration holds")
        return None

    def _place(self, node: yaml.Node) -> str:
        return f"{self._name}:{node.start_mark.line + 1}" if self._is_file else self._name

    def _problem(self, node: yaml.Node, message: str) -> None:
        self._source.problems.append(Problem(self._place(node), message))
