"""Whether a condition restricts the rows that are changed, as far as its form tells.

What always holds can be written in endless ways. These are seen: constants, something compared with itself, also after
arithmetic that changes nothing; of two conditions joined by OR, one that holds wherever the other does not; and a look
into all of the table itself.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from types import ModuleType
from typing import TYPE_CHECKING, TypeGuard

if TYPE_CHECKING:
    from sqlglot import exp

_MOST_LEVELS = 64
_RESTRICTING = ("where", "joins", "limit", "offset", "having", "qualify", "group")
_NOTHING_ADDED = ({"Add": "0", "Sub": "0", "Mul": "1", "Div": "1", "DPipe": ""}, {"Add": "0", "Mul": "1", "DPipe": ""})
"""By operator, what changes nothing on its right side and on its left."""
_NOT = {"NEQ": "EQ", "GTE": "LT", "GT": "LTE", "NullSafeNEQ": "NullSafeEQ"}
_MIRRORED = {"EQ": "EQ", "LT": "GT", "LTE": "GTE", "NEQ": "NEQ", "GT": "LT", "GTE": "LTE"}
_ALIKE = frozenset(
    {("EQ", True), ("LTE", True), ("LT", False), ("NullSafeEQ", True), ("Is", True), ("Like", True), ("ILike", True)}
)
"""Comparisons that hold for what is compared with itself, by what they are and whether they are to hold."""


@dataclass(frozen=True, slots=True)
class _Leaf:
    """One comparison in its usual form. `holds` says whether it is to hold or not to."""

    kind: str
    node: "exp.Expr"
    holds: bool
    sides: tuple["exp.Expr", ...]


def trivial(condition: "exp.Expr", table: str | None = None, names: frozenset[str] = frozenset()) -> bool:
    """Whether a condition does not depend on the row, or holds for every one of them.

    `table` is the one whose rows are changed, when there is only one, and `names` are those that it goes by.
    """
    return _Reader(table, names).trivial(condition, holds=True, depth=0)


def whole(source: "exp.Expr | None") -> str | None:
    """The table of which a source has every row, with its schema, in lower case; None when it may have fewer."""
    from sqlglot import exp  # noqa: PLC0415 - seventeen megabytes, for those who have a tool for SQL

    if isinstance(source, exp.Table) and isinstance(source.this, exp.Identifier):
        return None if source.args.get("joins") else ".".join(part.name.lower() for part in source.parts)
    if isinstance(source, exp.Subquery | exp.Select):
        restricting = any(
            source.args.get(part) for part in ("where", "joins", "limit", "offset", "having", "qualify", "group")
        )
        inner = source.this if isinstance(source, exp.Subquery) else (source.args.get("from_") or source).this
        return None if restricting or inner is source else whole(inner)
    return None


class _Reader:
    def __init__(self, table: str | None, names: frozenset[str]) -> None:
        self._table = table
        self._names = names

    def trivial(self, condition: "exp.Expr", *, holds: bool, depth: int) -> bool:
        """Whether it restricts nothing that a condition holds, or that it does not."""
        from sqlglot import exp  # noqa: PLC0415 - as above

        condition, holds = _inside(condition, holds=holds)
        if not isinstance(condition, exp.And | exp.Or):
            # Whatever looks at no column is the same for every row.
            return condition.find(exp.Column) is None or self._always(self._leaf(condition, holds=holds))
        if depth > _MOST_LEVELS:
            return False
        either = isinstance(condition, exp.Or) is holds
        parts = list(_parts(condition, holds=holds, either=either))
        found = (self.trivial(part, holds=wanted, depth=depth + 1) for part, wanted in parts)
        if not either:
            return all(found)
        return any(found) or self._leave_nothing(parts)

    def _leave_nothing(self, parts: "list[tuple[exp.Expr, bool]]") -> bool:
        """Whether of what is joined by OR, one part holds wherever another does not."""
        from sqlglot import exp  # noqa: PLC0415 - as above

        together = _Together()
        return any(
            together.add(self._leaf(part, holds=wanted))
            for part, wanted in parts
            if not isinstance(part, exp.And | exp.Or)
        )

    def _leaf(self, node: "exp.Expr", *, holds: bool) -> _Leaf:
        bare = self._bare(node)
        kind = type(bare).__name__
        sides = tuple(filter(_is_node, (bare.args.get("this"), bare.args.get("expression"))))
        if kind in _NOT:
            kind, holds = _NOT[kind], not holds
        if kind == "Is" and bare.args.get("negate"):
            holds = not holds
        if kind in _MIRRORED and len(sides) == len("ab") and _constant(sides[0]) and not _constant(sides[1]):
            kind, sides = _MIRRORED[kind], sides[::-1]
            if kind in _NOT:
                kind, holds = _NOT[kind], not holds
        return _Leaf(kind, bare, holds, sides)

    def _bare(self, node: "exp.Expr") -> "exp.Expr":
        """A copy without what changes nothing."""
        return node.copy().transform(self._without_nothing, copy=False)

    def _without_nothing(self, node: "exp.Expr") -> "exp.Expr":
        from sqlglot import exp  # noqa: PLC0415 - as above

        while True:
            kind = type(node).__name__
            if kind in {"Add", "Sub", "Mul", "Div", "DPipe"}:
                inner = _unchanged(node, kind)
                if inner is None:
                    return node
                node = inner
            elif isinstance(node, exp.Paren) or (isinstance(node, exp.Coalesce) and not node.expressions):
                node = node.this
            elif isinstance(node, exp.Neg) and isinstance(node.this.unnest(), exp.Neg):
                node = node.this.unnest().this
            elif isinstance(node, exp.Column) and node.table.lower() in self._names and node.table:
                return exp.column(node.this.copy())
            else:
                return node

    def _always(self, leaf: _Leaf) -> bool:
        """Whether a comparison of a column holds for every row."""
        from sqlglot import exp  # noqa: PLC0415 - as above

        sides = leaf.sides
        alike = len(sides) == len("ab") and sides[0] == sides[1] and (leaf.kind, leaf.holds) in _ALIKE
        return alike or (leaf.holds and self._holds(leaf.node, exp))

    def _holds(self, node: "exp.Expr", exp: ModuleType) -> bool:
        match node:
            case exp.In():
                return node.this in node.expressions or self._of_itself(node.this, node.args.get("query"))
            case exp.Exists():
                return self._table is not None and whole(_without_partner(node.this)) == self._table
            case exp.Between():
                return bool(node.args["low"] == node.this == node.args["high"])
            case exp.Like() | exp.ILike():
                return bool(node.expression.is_string) and set(node.expression.name) == {"%"}
            case exp.EQ() if isinstance(node.expression, exp.Any):
                return self._of_itself(node.this, node.expression.this)
        return False

    def _of_itself(self, column: "exp.Expr", query: "exp.Expr | None") -> bool:
        """Whether a query gives the same column of all rows of the table."""
        from sqlglot import exp  # noqa: PLC0415 - as above

        while isinstance(query, exp.Subquery | exp.Paren):
            query = query.this
        if self._table is None or not isinstance(query, exp.Select) or whole(query) != self._table:
            return False
        if not isinstance(column, exp.Column) or len(query.expressions) != 1:
            return False
        given = query.expressions[0].unalias()
        return isinstance(given, exp.Column | exp.Star) and (given.is_star or given.name.lower() == column.name.lower())


def _without_partner(query: "exp.Expr") -> "exp.Expr":
    """A query without the condition that a column is that of the row outside."""
    from sqlglot import exp  # noqa: PLC0415 - as above

    where = query.args.get("where")
    compared = where.this if where is not None else None
    sides = [compared.this, compared.expression] if isinstance(compared, exp.EQ) else []
    if not sides or not all(isinstance(side, exp.Column) for side in sides) or sides[0].name != sides[1].name:
        return query
    alone = query.copy()
    alone.set("where", None)
    return alone


def _is_node(value: object) -> "TypeGuard[exp.Expr]":
    from sqlglot import exp  # noqa: PLC0415 - as above

    return isinstance(value, exp.Expr)


def _constant(node: "exp.Expr") -> bool:
    from sqlglot import exp  # noqa: PLC0415 - as above

    return node.find(exp.Column) is None


def _inside(condition: "exp.Expr", *, holds: bool) -> "tuple[exp.Expr, bool]":
    """A condition without parentheses and NOT around it, and whether it is to hold."""
    from sqlglot import exp  # noqa: PLC0415 - as above

    while isinstance(condition, exp.Paren | exp.Not):
        holds = holds is not isinstance(condition, exp.Not)
        condition = condition.this
    return condition, holds


def _parts(condition: "exp.Expr", *, holds: bool, either: bool) -> "Iterator[tuple[exp.Expr, bool]]":
    """The parts of what amounts to one chain of OR, or of AND, in order."""
    from sqlglot import exp  # noqa: PLC0415 - as above

    waiting = [(condition, holds)]
    while waiting:
        node, wanted = waiting.pop()
        node, wanted = _inside(node, holds=wanted)
        if isinstance(node, exp.And | exp.Or) and (isinstance(node, exp.Or) is wanted) is either:
            waiting += [(node.expression, wanted), (node.this, wanted)]
        else:
            yield node, wanted


def _unchanged(node: "exp.Expr", kind: str) -> "exp.Expr | None":
    """The side of an operation that is all there is to it."""
    right, left = _NOTHING_ADDED
    for side, other, neutral in ((node.this, node.expression, right), (node.expression, node.this, left)):
        if kind in neutral and _is_literal(other, neutral[kind]):
            kept: exp.Expr = side
            return kept
    return None


def _is_literal(node: "exp.Expr", value: str) -> bool:
    from sqlglot import exp  # noqa: PLC0415 - as above

    if not value:
        return isinstance(node, exp.Literal) and node.is_string and not node.name
    number = _number(node)
    return number is not None and number == float(value)


class _Together:
    """What several comparisons leave, any of which may hold."""

    def __init__(self) -> None:
        self._seen: set[tuple[str, tuple[str, ...], bool]] = set()
        self._other_than: dict[str, float] = {}
        self._above: dict[str, tuple[float, bool]] = {}
        self._below: dict[str, tuple[float, bool]] = {}

    def add(self, leaf: _Leaf) -> bool:
        """Whether with this one they leave nothing, but for what is not known."""
        paired = len(leaf.sides) == len("ab")
        key = tuple(side.sql() for side in leaf.sides) if paired else (leaf.node.sql(),)
        if (leaf.kind, key, not leaf.holds) in self._seen:
            return True
        self._seen.add((leaf.kind, key, leaf.holds))
        number = _number(leaf.sides[1]) if paired else None
        return number is not None and self._all_numbers(leaf, key[0], number)

    def _all_numbers(self, leaf: _Leaf, of: str, number: float) -> bool:
        """Whether ranges meet: `a <> 1 OR a <> 2`, `a > 0 OR a < 5`."""
        if leaf.kind == "EQ" and not leaf.holds:
            return self._other_than.setdefault(of, number) != number
        if leaf.kind not in {"LT", "LTE"}:
            return False
        # With itself: `a <= 5` when it holds, `a >= 5` when `a < 5` does not.
        included = (leaf.kind == "LTE") is leaf.holds
        if leaf.holds:
            self._below[of] = max(self._below.get(of, (number, included)), (number, included))
        else:
            known = self._above.get(of, (number, not included))
            self._above[of] = min(known, (number, not included))
        if of not in self._below or of not in self._above:
            return False
        (low, left_out), (high, taken) = self._above[of], self._below[of]
        return low < high or (low == high and (taken or not left_out))


def _number(node: "exp.Expr") -> float | None:
    from sqlglot import exp  # noqa: PLC0415 - as above

    sign = 1.0
    while isinstance(node, exp.Neg | exp.Paren):
        sign = -sign if isinstance(node, exp.Neg) else sign
        node = node.this
    if not isinstance(node, exp.Literal) or node.is_string:
        return None
    try:
        return sign * float(node.name)
    except ValueError:
        return None
