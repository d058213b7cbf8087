"""The conditions of a rule as they are written, each with its line and the names that it binds and uses."""

import itertools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from interlock_gateway.policy.checks.syntax import RegoFile, nodes

# What the engine's spans leave out at the beginning of a condition.
_OPENING = '"`'
_WILDCARD = "_"


@dataclass(frozen=True, slots=True)
class Condition:
    """One statement of a body: its text, its line in the file, and its syntax tree.

    `names` are all names in it but those of functions: variables, rules, imports, `input` and `data`.
    """

    text: str
    line: int
    node: Any
    names: frozenset[str]

    @property
    def is_negated(self) -> bool:
        """Whether it says `not`."""
        return "NotExpr" in self.node["literal"]

    @property
    def every(self) -> Any:
        """The syntax tree of `every ... in ... {...}`, or `None`."""
        return self.node["literal"].get("Every")

    @property
    def expression(self) -> Any:
        """What it says, without `not`; `None` for `some` and `every`."""
        said = self.node["literal"].get("Expr") or self.node["literal"].get("NotExpr")
        return None if said is None or self.node.get("with_mods") else said["expr"]


def conditions(file: RegoFile, query: Any) -> tuple[Condition, ...]:
    """The conditions of a query, `bodies[n]["query"]` or that of an `every`, in order."""
    statements = query["stmts"]
    texts = _texts(file.source.encode(), query, [(one["span"]["start"], one["span"]["end"]) for one in statements])
    return tuple(
        Condition(text=text, line=node["span"]["line"], node=node, names=frozenset(_names(node)))
        for node, text in zip(statements, texts, strict=True)
    )


def _texts(source: bytes, query: Any, spans: Sequence[tuple[int, int]]) -> list[str]:
    """The text of each statement. Spans lack a quote or a bracket at their ends; what is between them tells whose."""
    if not spans:
        return []
    starts = [spans[0][0] - (1 if source[spans[0][0] - 1 : spans[0][0]].decode("utf-8", "replace") in _OPENING else 0)]
    ends: list[int] = []
    for (_, end), (start, _) in itertools.pairwise(spans):
        between = source[end:start].decode("utf-8", "replace")
        first = re.search(r"[\n;#]", between)
        closing = between[: first.start()] if first else between
        ends.append(end + len(closing.rstrip().encode()))
        starts.append(start - (1 if between and between[-1] in _OPENING and first else 0))
    ends.append(_end_of_last(source, spans[-1][1], query["span"]["end"]))
    return [source[start:end].decode("utf-8", "replace") for start, end in zip(starts, ends, strict=True)]


def _end_of_last(source: bytes, end: int, limit: int) -> int:
    rest = source[end : limit + 1].decode("utf-8", "replace")
    first = re.search(r"[\n;#]", rest)
    tail = rest[: first.start()] if first else rest
    closing = re.match(r"[\"`\])]*", tail)
    return end + (len(closing[0]) if closing else 0)


def _names(node: Any) -> Iterator[str]:
    called = {one["fcn"]["Var"]["value"] for one in nodes(node, "Call") if "Var" in one["fcn"]}
    for found in nodes(node, "Var"):
        if found["value"] != _WILDCARD and found["value"] not in called:
            yield found["value"]


def one_line(text: str) -> str:
    """A condition on one line, without the comments in it."""
    return " ".join(word for line in text.split("\n") if not line.lstrip().startswith("#") for word in line.split())
