"""Finds the arguments of a call that hold a path, a pattern of paths, a command, a URL or SQL (PIPE-5)."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias, TypeVar

from interlock_gateway.facts.request import FactRequest

_Of = TypeVar("_Of")
FactKind: TypeAlias = Literal["path", "glob", "command", "url", "sql"]

ANNOTATION = "x-interlock-fact"
MAX_ARGUMENTS = 256
MAX_DEPTH = 12
MAX_SCHEMAS = 32 * 1024
"""How many schemas are looked at for the arguments of one call. A provider chose them, and what is left out is said."""

FALLBACK_NAMES: dict[FactKind, frozenset[str]] = {
    "path": frozenset(
        {
            *("path", "paths", "file", "files", "file_path", "file_paths", "filepath", "filename", "filenames"),
            *("directory", "directories", "dir", "folder", "cwd", "workdir", "working_directory"),
            *("source", "src", "destination", "dest", "dst", "target", "target_path", "source_path"),
            *("old_path", "new_path", "destination_path", "notebook_path", "absolute_path", "relative_path"),
            *("filePath", "filePaths", "dirPath", "absolutePath", "relativePath", "sourcePath", "targetPath"),
            *("oldPath", "newPath", "destinationPath", "fileName", "workingDirectory", "target_file", "targetFile"),
        }
    ),
    "glob": frozenset({"glob", "globs", "file_pattern", "filePattern", "include", "includes"}),
    "command": frozenset({"command", "commands", "cmd", "script", "scripts", "shell", "bash", "code"}),
    "url": frozenset(
        {
            *("url", "urls", "uri", "uris", "href", "link", "links", "endpoint", "address", "website", "web_page"),
            *("target_url", "base_url", "page_url", "image_url", "download_url", "webhook", "webhook_url"),
            *("targetUrl", "baseUrl", "pageUrl", "imageUrl", "downloadUrl", "webhookUrl", "callback_url"),
            *("callbackUrl", "proxy", "proxy_url", "proxyUrl"),
        }
    ),
    "sql": frozenset({"sql", "query", "queries", "statement", "statements", "sql_query", "sqlQuery", "raw_sql"}),
}
"""Names that hold a kind of thing when neither the operator nor the tool's schema says which arguments do."""


@dataclass(frozen=True, slots=True)
class Argument:
    """One argument: where it stands in the input, as a JSON pointer, the name it goes by, and what was given."""

    pointer: str
    name: str
    value: object


@dataclass(frozen=True, slots=True)
class Arguments:
    """The arguments of one kind. `missing` are pointers of required ones that were not given.

    `declared` says that the configuration or the schema names arguments of this kind at all; `truncated` that there are
    more than are looked at.
    """

    given: tuple[Argument, ...]
    missing: tuple[str, ...]
    declared: bool
    truncated: bool = False


def find(request: FactRequest, kind: FactKind) -> Arguments:
    """The arguments that hold a `kind`: those the operator names, else those annotated, else those so called."""
    search = _Search()
    configured = request.argument_names.get(kind)
    if configured:
        search.by_name(request.input, frozenset(configured), "", 0)
        if not search.given:
            search.missing += [_pointer("", name) for name in configured[:1]]
        return search.result(declared=True)
    search.by_annotation(request.input_schema, request.input, kind, request.input_schema)
    if search.declared:
        return search.result(declared=True)
    names = FALLBACK_NAMES[kind]
    search.by_name(request.input, names, "", 0)
    properties = _mapping(request.input_schema.get("properties"))
    required = request.input_schema.get("required")
    wanted = [name for name in required if isinstance(name, str)] if isinstance(required, list | tuple) else []
    search.missing += [_pointer("", name) for name in wanted if name in names and request.input.get(name) is None]
    return search.result(declared=any(name in names for name in properties))


class _Search:
    def __init__(self) -> None:
        self.given: list[Argument] = []
        self.missing: list[str] = []
        self.declared = False
        self.truncated = False
        self._steps = 16 * MAX_ARGUMENTS
        self._looked_at = 0

    def result(self, *, declared: bool) -> Arguments:
        unique = {argument.pointer: argument for argument in self.given}
        return Arguments(tuple(unique.values()), tuple(dict.fromkeys(self.missing)), declared, self.truncated)

    def add(self, pointer: str, name: str, value: object) -> None:
        if len(self.given) >= MAX_ARGUMENTS:
            self.truncated = True
            return
        self.given.append(Argument(pointer, name, value))

    def by_name(self, value: object, names: frozenset[str], pointer: str, depth: int) -> None:
        for key, inner, below in self._children(value, pointer, depth):
            before = len(self.given)
            self.by_name(inner, names, below, depth + 1)
            # An object under such a name may hold the path further in; if it does not, it stands for itself.
            if key in names and inner is not None and len(self.given) == before:
                self.add(below, key, inner)
            elif key in names and isinstance(inner, list | tuple):
                for index, item in enumerate(inner):
                    if not isinstance(item, Mapping | list | tuple):
                        self.add(_pointer(below, str(index)), key, item)

    def _children(self, value: object, pointer: str, depth: int) -> Iterator[tuple[str, object, str]]:
        pairs: Iterator[tuple[str, object]] = iter(())
        if isinstance(value, Mapping):
            pairs = ((str(key), inner) for key, inner in value.items())
        elif isinstance(value, list | tuple):
            pairs = (
                (str(index), inner) for index, inner in enumerate(value) if isinstance(inner, Mapping | list | tuple)
            )
        for key, inner in pairs:
            self._steps -= 1
            if self._steps < 0 or depth > MAX_DEPTH:
                self.truncated = True
                return
            yield key if isinstance(value, Mapping) else "", inner, _pointer(pointer, key)

    def by_annotation(
        self,
        schema: object,
        value: object,
        kind: str,
        whole: Mapping[str, object],
        *,
        pointer: str = "",
        depth: int = 0,
    ) -> None:
        """Walk schema and input together. `value` is `_ABSENT` below what was not given."""
        self._steps -= 1
        if self._steps < 0 or depth > MAX_DEPTH:
            self.truncated = True
            return
        for branch in self._branches(schema, whole):
            required = branch.get("required")
            for name, inner in self._until_ended(_mapping(branch.get("properties")).items()):
                below = _pointer(pointer, name)
                given = value.get(name, _ABSENT) if isinstance(value, Mapping) else _ABSENT
                must = isinstance(required, list | tuple) and name in required
                if self._annotated(inner, kind, whole):
                    self.declared = True
                    if given is not _ABSENT and given is not None:
                        self.add(below, name, given)
                    elif must:
                        self.missing.append(below)
                else:
                    self.by_annotation(inner, given, kind, whole, pointer=below, depth=depth + 1)
            items = branch.get("items")
            if isinstance(items, Mapping):
                elements = list(value) if isinstance(value, list | tuple) else [_ABSENT]
                for index, element in self._until_ended(enumerate(elements)):
                    below = _pointer(pointer, str(index))
                    self.by_annotation(items, element, kind, whole, pointer=below, depth=depth + 1)

    def _annotated(self, schema: object, kind: str, whole: Mapping[str, object]) -> bool:
        for branch in self._branches(schema, whole):
            items = _mapping(branch.get("items"))
            if kind in (branch.get(ANNOTATION), items.get(ANNOTATION)):
                return True
        return False

    def _branches(self, schema: object, whole: Mapping[str, object]) -> list[Mapping[str, object]]:
        """A schema and all that its references and combinations bring in, as far as there is time for it."""
        if self._looked_at > MAX_SCHEMAS:
            self.truncated = True
            return []
        found, whether_all = _branches(_mapping(schema), whole)
        self._looked_at += len(found)
        self.truncated = self.truncated or not whether_all
        return found

    def _until_ended(self, some: Iterable[_Of]) -> Iterator[_Of]:
        """As many as there is time for."""
        for one in some:
            if self._steps < 0 or self._looked_at > MAX_SCHEMAS:
                return
            yield one


_ABSENT = object()
_MAX_BRANCHES = 256
_BRINGS_IN = frozenset({"$ref", "allOf", "anyOf", "oneOf", "if", "then", "else"})


def _branches(schema: Mapping[str, object], whole: Mapping[str, object]) -> tuple[list[Mapping[str, object]], bool]:
    """A schema and what its references and combinations bring in, and whether that is all of it."""
    if not _BRINGS_IN & schema.keys():
        return [schema], True
    waiting: list[Mapping[str, object]] = [schema]
    found: dict[int, Mapping[str, object]] = {}
    while waiting and len(found) < _MAX_BRANCHES:
        current = waiting.pop()
        if id(current) in found:
            continue
        found[id(current)] = current
        reference = current.get("$ref")
        if isinstance(reference, str) and (reference == "#" or reference.startswith("#/")):
            waiting.append(_referred(reference, whole))
        for combination in ("allOf", "anyOf", "oneOf"):
            branches = current.get(combination)
            # One more than are looked at: then there are some left in the end.
            some = branches[: _MAX_BRANCHES + 1] if isinstance(branches, list | tuple) else ()
            waiting += [_mapping(branch) for branch in some]
        waiting += [_mapping(current[key]) for key in ("if", "then", "else") if key in current]
    return list(found.values()), all(id(one) in found for one in waiting)


def _referred(reference: str, whole: Mapping[str, object]) -> Mapping[str, object]:
    target: object = whole
    for part in reference.split("/")[1:]:
        target = _mapping(target).get(part.replace("~1", "/").replace("~0", "~"))
    return _mapping(target)


def _mapping(value: object) -> Mapping[str, object]:
    return value if isinstance(value, Mapping) else {}


def _pointer(parent: str, name: str) -> str:
    return f"{parent}/{name.replace('~', '~0').replace('/', '~1')}"
