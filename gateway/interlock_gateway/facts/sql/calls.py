"""The functions that a statement calls, by what stands before parentheses: what they do is not written in it."""

from collections.abc import Sequence
from itertools import pairwise

from interlock_gateway.facts.sql.lexing import Kind, Token

NO_FUNCTIONS = frozenset(
    {
        *("AND", "OR", "NOT", "IN", "EXISTS", "VALUES", "FROM", "JOIN", "ON", "USING", "WHERE", "HAVING", "SELECT"),
        *("AS", "OVER", "BY", "THEN", "ELSE", "WHEN", "CASE", "UNION", "ALL", "ANY", "SOME", "EXCEPT", "INTERSECT"),
        *("WITH", "DISTINCT", "LIMIT", "OFFSET", "BETWEEN", "LIKE", "IS", "SET", "INTO", "KEY", "INDEX", "TABLE"),
        *("FILTER", "WITHIN", "GROUP", "ROWS", "RANGE", "RETURNING", "RECURSIVE", "LATERAL", "INTERVAL", "TOP"),
    }
)
"""Words before parentheses that are no names of functions, unless a schema stands before them."""

_NAMES = frozenset({Kind.WORD, Kind.QUOTED})
_OF_TABLES = frozenset({"CONFLICT", "INSERT", "MATERIALIZED"})
"""Words before a list of columns, or a query. `INSERT` is also a function of MySQL, which makes a string of others."""
_FILLING = frozenset({"INTO", "INSERT", "IGNORE", "REPLACE"})
_QUERIES = frozenset({"SELECT", "WITH"})


def named_before_parentheses(statement: Sequence[Token]) -> set[str]:
    """The names before an opening parenthesis, in lower case; also those of tables with columns behind them."""
    return {
        token.text.lower()
        for token, following in pairwise(statement)
        if _sign(following, "(")
        if token.kind is Kind.QUOTED or (token.kind is Kind.WORD and token.text not in NO_FUNCTIONS)
    }


def behind_values(statement: Sequence[Token]) -> set[str]:
    """The names behind dots of which the first stands behind a parenthesis or a bracket, in lower case.

    PostgreSQL calls `(x).name` as it does `name(x)`.
    """
    names: set[str] = set()
    of_value = False
    for before, dot, name in zip(statement, statement[1:], statement[2:], strict=False):
        if not _sign(dot, "."):
            continue
        if before.kind not in _NAMES:
            of_value = before.kind is Kind.SIGN and before.text in {")", "]"}
        elif before.text.lower() not in names:
            of_value = False
        if of_value and name.kind in _NAMES:
            names.add(name.text.lower())
    return names


def called(statement: Sequence[Token]) -> tuple[str, ...]:
    """What may be called, each name with the schema that stands before it: `count`, `app.purge`.

    Tables with their columns behind them are left out where nothing can be called. A name in quotes is kept as it is
    written, since `"Count"` is another function than `count`; one with a dot in it keeps its quotes.
    """
    names = {_qualified(statement, at) for at in range(len(statement) - 1) if _is_call(statement, at)}
    return tuple(sorted(names | behind_values(statement)))


def _is_call(statement: Sequence[Token], at: int) -> bool:
    token, before = statement[at], statement[at - 1] if at else None
    if not _sign(statement[at + 1], "("):
        return False
    if token.kind not in _NAMES:
        # SQLite takes a string for the name of a function that gives a table.
        return token.kind is Kind.STRING
    if token.kind is Kind.WORD and (token.text in NO_FUNCTIONS or token.text in _OF_TABLES):
        return before is not None and _sign(before, ".")
    return not (
        _fills_columns(statement, at) or _names_columns(statement, at, before) or _names_query(statement, at, before)
    )


def _fills_columns(statement: Sequence[Token], at: int) -> bool:
    """Whether it is a table that rows are added to, with its columns: `INSERT INTO t (a, b)`."""
    start = _start(statement, at)
    before = statement[start - 1] if start else None
    return before is not None and before.kind is Kind.WORD and before.text in _FILLING


def _names_columns(statement: Sequence[Token], at: int, before: Token | None) -> bool:
    """Whether columns of a table are named: `... AS t (a, b)`, and `(...) t (a, b)`."""
    if before is None or statement[at].text == "OPERATOR":
        return False
    if before.kind is Kind.WORD and before.text == "AS":
        return True
    return _sign(before, ")") and _end_of_names(statement, at + 1) is not None


def _names_query(statement: Sequence[Token], at: int, before: Token | None) -> bool:
    """Whether a query is named, with its columns: `WITH t (a, b) AS (SELECT ...)`.

    `f(a) AS (b int)` is the call of a function whose rows have these columns.
    """
    if before is None or not (
        _sign(before, ",") or (before.kind is Kind.WORD and before.text in {"WITH", "RECURSIVE"})
    ):
        return False
    end = _end_of_names(statement, at + 1)
    rest = [
        token.text if token.kind in {Kind.WORD, Kind.SIGN} else "" for token in statement[end or 0 : (end or 0) + 6]
    ]
    if end is None or rest[:1] != ["AS"]:
        return False
    while rest[1:2] and rest[1] in {"NOT", "MATERIALIZED"}:
        del rest[1]
    return rest[1:2] == ["("] and ((rest[2:3] != [] and rest[2] in _QUERIES) or rest[2:4] == ["VALUES", "("])


def _end_of_names(statement: Sequence[Token], start: int) -> int | None:
    """Behind a list of plain names in parentheses that begins at `start`; None when it is none."""
    for at in range(start + 1, len(statement)):
        token = statement[at]
        if (at - start) % 2:
            if token.kind not in _NAMES:
                return None
        elif _sign(token, ")"):
            return at + 1
        elif not _sign(token, ","):
            return None
    return None


def _start(statement: Sequence[Token], at: int) -> int:
    """Where a name begins, with the schema before it."""
    while at > 1 and _sign(statement[at - 1], "."):
        at -= 2
    return at


def _qualified(statement: Sequence[Token], at: int) -> str:
    return ".".join(_as_written(token) for token in statement[_start(statement, at) : at + 1 : 2])


def _as_written(token: Token) -> str:
    if token.kind is Kind.QUOTED:
        return f'"{token.text}"' if "." in token.text else token.text
    if token.kind is Kind.STRING:
        return f"'{token.text}'"
    # Letters of which only some databases think that they are the same are left as they are.
    return token.source.lower() if token.source.isascii() else token.source


def _sign(token: Token, text: str) -> bool:
    return token.kind is Kind.SIGN and token.text == text
