"""A module's outline: its package and functions, without what they do.

OPA compiles everything with each module that it is given or told to forget, and refuses when one calls a function that
is not there. Packages may call each other in a circle; no order is right for them then. Outlines call nothing: once all
are there, the modules can take their places in any order, and leave them.
"""

import re
from collections.abc import Iterator

_TOKEN = re.compile(
    r"""(?P<skip>"(?:\\.|[^"\\\n])*"|`[^`]*`|\#[^\n]*|[ \t\r]+)|(?P<line>\n)|[A-Za-z_][A-Za-z0-9_]*|.""",
    re.DOTALL,
)
_OPEN, _CLOSE = frozenset("([{"), frozenset(")]}")


def outline(source: str) -> str:
    """The outline of a module: each function gives its first argument back, which may be anything."""
    package, functions = "", dict[str, int]()
    for statement in _statements(source):
        if statement[0] == "default":
            del statement[0]
        if statement[0] == "package":
            package = "".join(statement[1:])
        elif (arity := _arity(statement)) > 0:
            functions.setdefault(statement[0], arity)
    lines = [f"package {package}", ""]
    for name, arity in functions.items():
        arguments = ", ".join(f"a{number}" for number in range(arity))
        lines.append(f"{name}({arguments}) := a0\n")
    return "\n".join(lines)


def _statements(source: str) -> Iterator[list[str]]:
    """The tokens of each line that begins outside of brackets, as far as brackets reach."""
    found: list[str] = []
    depth = 0
    for token in _TOKEN.finditer(source):
        text = token[0]
        if token["line"]:
            if depth == 0 and found:
                yield found
                found = []
            continue
        if token["skip"]:
            # What stands for an argument counts as one.
            if text[0] in '"`':
                found.append('""')
            continue
        depth += (text in _OPEN) - (text in _CLOSE)
        found.append(text)
    if found:
        yield found


def _arity(statement: list[str]) -> int:
    """How many arguments the function has whose head begins the statement; 0 when it is no such head."""
    if len(statement) < 3 or not statement[0].isidentifier() or statement[1] != "(":  # noqa: PLR2004 - name(a
        return 0
    depth, commas = 0, 0
    for number, text in enumerate(statement[1:]):
        depth += (text in _OPEN) - (text in _CLOSE)
        if depth == 0:
            return commas + 1 if number > 1 else 0
        commas += depth == 1 and text == ","
    return 0
