"""The functions that a statement calls, by what stands before parentheses: what they do is not written in it."""

from collections.abc import Sequence
from itertools import pairwise

from interlock_gateway.facts.sql.calling import Places, in_tables, is_type, of_language, places
from interlock_gateway.facts.sql.lexing import Kind, Token
from interlock_gateway.facts.sql.tongues import TSQL, Tongue

NO_FUNCTIONS = frozenset(
    {
        *("AND", "OR", "NOT", "IN", "EXISTS", "VALUES", "FROM", "JOIN", "ON", "USING", "WHERE", "HAVING", "SELECT"),
        *("AS", "OVER", "BY", "THEN", "ELSE", "WHEN", "CASE", "UNION", "ALL", "ANY", "SOME", "EXCEPT", "INTERSECT"),
        *("WITH", "DISTINCT", "LIMIT", "OFFSET", "BETWEEN", "LIKE", "IS", "SET", "INTO", "KEY", "INDEX", "TABLE"),
        *("FILTER", "WITHIN", "GROUP", "ROWS", "RANGE", "RETURNING", "RECURSIVE", "LATERAL", "INTERVAL", "TOP"),
    }
)
"""Words before parentheses that are seldom names of functions; `calling` says where."""

_NAMES = frozenset({Kind.WORD, Kind.QUOTED})
_FILLING = frozenset({"INTO", "INSERT", "IGNORE", "REPLACE"})
_QUERIES = frozenset({"SELECT", "WITH"})
_MADE = frozenset({"TABLE", "VIEW", "EXISTS"})
_WORDS_OF_CREATE = 12
_DEFINING = frozenset({"AS", "SELECT", ""})


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


def called(statement: Sequence[Token], tongue: Tongue) -> tuple[str, ...]:
    """What may be called, each name with the schema that stands before it: `count`, `app.purge`.

    Tables with their columns behind them are left out where nothing can be called. A name in quotes is kept as it is
    written, since `"Count"` is another function than `count`; one with a dot in it keeps its quotes.
    """
    placed = places(statement)
    names = {_qualified(statement, at) for at in range(len(statement) - 1) if _is_call(placed, at, tongue)}
    return tuple(sorted(names | behind_values(statement)))


def with_others(calls: Sequence[str], others: Sequence[str]) -> tuple[str, ...]:
    """`calls`, and those of `others`, names in lower case, that are none of them under any schema."""
    # In capitals, since that is how they were read: letters that only look alike there are the same.
    known = {
        part.upper() for name in calls for part in (name.rpartition(".")[2], *name.split('"')[-2:-1], name.strip("'"))
    }
    return tuple(sorted({*calls, *(name for name in others if name.upper() not in known)}))


def _is_call(placed: Places, at: int, tongue: Tongue) -> bool:
    statement = placed.tokens
    token, before = statement[at], statement[at - 1] if at else None
    if not _sign(statement[at + 1], "("):
        return False
    if token.kind not in _NAMES:
        # SQLite takes a string for the name of a function that gives a table.
        return token.kind is Kind.STRING
    if token.kind is Kind.WORD and of_language(placed, at, top=tongue is TSQL):
        return False
    return not (
        is_type(statement, _start(statement, at), methods=tongue is TSQL)
        or _makes(statement, at)
        or _fills_columns(statement, at)
        or _names_columns(placed, at, before)
        or _names_query(statement, at, before)
    )


def _fills_columns(statement: Sequence[Token], at: int) -> bool:
    """Whether it is a table that rows are added to, with its columns: `INSERT INTO t (a, b)`."""
    start = _start(statement, at)
    before = statement[start - 1] if start else None
    return before is not None and before.kind is Kind.WORD and before.text in _FILLING


def _makes(statement: Sequence[Token], at: int) -> bool:
    """Whether it is what a CREATE makes, with its columns: `CREATE TABLE t (a) AS SELECT ...`."""
    start = _start(statement, at)
    before = [token.text if token.kind is Kind.WORD else "" for token in statement[: min(start, _WORDS_OF_CREATE)]]
    if start > _WORDS_OF_CREATE:
        return False
    return before[:1] == ["CREATE"] and before[-1] in _MADE and not _DEFINING & {*before}


def _names_columns(placed: Places, at: int, before: Token | None) -> bool:
    """Whether columns of a table are named: `... AS t (a, b)`, and `(...) t (a, b)`."""
    if before is None or placed.tokens[at].text == "OPERATOR":
        return False
    if before.kind is Kind.WORD and before.text == "AS":
        return True
    complete = _sign(before, ")") or (before.kind is Kind.WORD and before.text == "ORDINALITY")
    return complete and _end_of_names(placed.tokens, at + 1) is not None and in_tables(placed, at)


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
