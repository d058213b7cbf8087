"""What a docstring says: the description of a tool, and of its arguments under `Args:`."""

import inspect
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

_SECTION = re.compile(r"^(Args|Arguments|Parameters|Returns|Raises|Yields|Examples?|Notes?):\s*$")
_ARGUMENT = re.compile(r"^\s+(\w+)\s*(?:\([^)]*\))?:\s*(.*)$")


@dataclass(frozen=True, slots=True)
class Docstring:
    """The description without its sections, and the arguments that it describes."""

    description: str = ""
    arguments: Mapping[str, str] = field(default_factory=dict)


def read_docstring(text: str | None) -> Docstring:
    r"""Read a docstring in the plain or the Google style; doctests are left out of the description.

    >>> read_docstring("Add.\n\nArgs:\n    a: the first\n        number\n    b: the second")
    Docstring(description='Add.', arguments={'a': 'the first number', 'b': 'the second'})
    """
    if not text:
        return Docstring()
    description: list[str] = []
    arguments: dict[str, str] = {}
    section = name = ""
    indent = 0
    for line in inspect.cleandoc(text).splitlines():
        header = _SECTION.match(line)
        if header:
            section, name = header[1], ""
        elif line.startswith(">>>") and not section:
            section = "Examples"
        elif not section:
            description.append(line)
        elif section in ("Args", "Arguments", "Parameters") and line.strip():
            found = _ARGUMENT.match(line)
            if found and (not name or _indent(line) <= indent):
                name, indent = found[1], _indent(line)
                arguments[name] = found[2]
            elif name:
                arguments[name] = f"{arguments[name]} {line.strip()}".strip()
    return Docstring("\n".join(description).strip(), arguments)


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())
