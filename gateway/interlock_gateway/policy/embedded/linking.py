"""One module per package: what the embedded engine is given in place of one per file.

The engine looks through all modules at every reference to another package, so that forty small files cost a third of
the time of a decision. Files of one package mean the same when they are put behind one another, as long as no import
name stands for two things; files where it would stay by themselves.
"""

import re

_PACKAGE = re.compile(r"^package[ \t]+(\S+)[ \t]*$", re.MULTILINE)
_IMPORT = re.compile(r"^import[ \t]+(\S+)(?:[ \t]+as[ \t]+(\S+))?[ \t]*$", re.MULTILINE)


def link(modules: tuple[tuple[str, str], ...]) -> tuple[tuple[str, str], ...]:
    """The same modules, files of one package joined where that changes nothing."""
    joined: dict[str, _Joined] = {}
    apart: list[tuple[str, str]] = []
    for path, source in modules:
        header = _PACKAGE.search(source)
        if header is None or "`" in source:
            # A raw string may hold a line that only looks like a header.
            apart.append((path, source))
            continue
        package = joined.setdefault(header[1], _Joined(header[1]))
        if not package.add(source):
            apart.append((path, source))
    return (*(package.module() for package in joined.values()), *apart)


class _Joined:
    """The files of one package, joined."""

    def __init__(self, package: str) -> None:
        self._package = package
        self._imports: dict[str, str] = {}
        self._bodies: list[str] = []

    def add(self, source: str) -> bool:
        """Join a file; false, and nothing is changed, when one of its imports is already another's name."""
        imports = {alias or path.rsplit(".", 1)[-1]: path for path, alias in _IMPORT.findall(source)}
        if any(self._imports.get(name, path) != path for name, path in imports.items()):
            return False
        self._imports.update(imports)
        self._bodies.append(_IMPORT.sub("", _PACKAGE.sub("", source, count=1)))
        return True

    def module(self) -> tuple[str, str]:
        """The package as one module, named by the package."""
        imports = [f"import {path} as {name}" for name, path in sorted(self._imports.items())]
        header = [f"package {self._package}", *imports]
        return (self._package, "\n".join([*header, *self._bodies]))
