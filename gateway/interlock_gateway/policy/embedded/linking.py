"""One module per package: what the embedded engine is given in place of one per file.

Files of one package mean the same when they are put behind one another, as long as each import name stands for one
thing. The engine needs it so: with several modules in one package it can take a rule for undefined while another is
being evaluated, and it looks through all modules at every reference to another package, which for forty small files is
a third of the time of a decision.
"""

import re
from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass, field

from interlock_gateway.policy.settings import PolicySourceError

_PACKAGE = re.compile(r"package[ \t]+(?P<path>[^\s#]+)[ \t]*(?:#.*)?")
_IMPORT = re.compile(r"import[ \t]+(?P<path>[^\s#]+)(?:[ \t]+as[ \t]+(?P<alias>[^\s#]+))?[ \t]*(?:#.*)?")

_PLACE = re.compile(r"(?P<module>[^\s:]+):(?P<line>[0-9]+):(?P<column>[0-9]+)")


@dataclass(frozen=True, slots=True)
class LinkedModule:
    """All the files of one package as one source. `starts` are the 1-based lines at which each of `files` begins."""

    package: str
    source: str
    starts: tuple[int, ...]
    files: tuple[str, ...]

    def place(self, line: int) -> tuple[str, int]:
        """The file and line that a 1-based line of the source came from."""
        index = max(bisect_right(self.starts, line) - 1, 0)
        return self.files[index], line - self.starts[index] + 1


def link(modules: Iterable[tuple[str, str]]) -> tuple[LinkedModule, ...]:
    """One module for each package, files in the order given.

    Raises `PolicySourceError` for a file without a package, an import below the first rule, or a name that two files
    of a package import for different things.
    """
    packages: dict[str, _Package] = {}
    for path, source in modules:
        package, imports, body = _read(path, source)
        packages.setdefault(package, _Package(package)).add(path, imports, body)
    return tuple(package.linked() for package in packages.values())


def relocate(words: str, modules: Iterable[LinkedModule]) -> str:
    """What the engine says about linked modules, with the places in the files they came from."""
    by_name = {module.package: module for module in modules}

    def original(match: re.Match[str]) -> str:
        module = by_name.get(match["module"])
        if module is None:
            return match[0]
        file, line = module.place(int(match["line"]))
        return f"{file}:{line}:{match['column']}"

    return _PLACE.sub(original, words)


@dataclass(slots=True)
class _Package:
    name: str
    imports: dict[str, str] = field(default_factory=dict)
    files: list[str] = field(default_factory=list)
    bodies: list[list[str]] = field(default_factory=list)

    def add(self, path: str, imports: dict[str, tuple[str, int]], body: list[str]) -> None:
        for name, (target, line) in imports.items():
            if self.imports.setdefault(name, target) != target:
                other = self.imports[name]
                problem = f"imports {target} as {name}, which another file of the package imports for {other}"
                raise PolicySourceError(f"{path}:{line}", problem)
        self.files.append(path)
        self.bodies.append(body)

    def linked(self) -> LinkedModule:
        header = [f"package {self.name}"]
        header += [f"import {target} as {name}" for name, target in sorted(self.imports.items())]
        starts: list[int] = []
        lines = header
        for body in self.bodies:
            starts.append(len(lines) + 1)
            lines = [*lines, *body]
        return LinkedModule(self.name, "\n".join(lines) + "\n", tuple(starts), tuple(self.files))


def _read(path: str, source: str) -> tuple[str, dict[str, tuple[str, int]], list[str]]:
    """The package of a file, its imports by name with their lines, and its lines with both blanked."""
    lines = source.split("\n")
    package: str | None = None
    imports: dict[str, tuple[str, int]] = {}
    in_header = True
    for index, line in enumerate(lines):
        text = line.strip()
        if not text or text.startswith("#"):
            continue
        if in_header and package is None and (match := _PACKAGE.fullmatch(text)):
            package = match["path"]
        elif in_header and package is not None and (match := _IMPORT.fullmatch(text)):
            if match["path"] != "rego.v1":
                imports[match["alias"] or match["path"].rpartition(".")[2]] = (match["path"], index + 1)
        elif line.startswith(("import ", "import\t", "package ", "package\t")):
            raise PolicySourceError(
                f"{path}:{index + 1}", "package and imports stand above the first rule, each on a line"
            )
        else:
            in_header = False
            continue
        lines[index] = ""
    if package is None:
        raise PolicySourceError(f"{path}:1", "does not begin with its package")
    return package, imports, lines
