"""Words of the language before parentheses: what they are where they stand, and where they could name a function.

PostgreSQL lets functions be called `index`, `by` or `like`, and knows by the place which is meant; so does this. Where
no rule of the language puts a word, it is the name of a function.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from interlock_gateway.facts.sql.lexing import Kind, Token

_RESERVED = frozenset(
    {
        *("AND", "OR", "NOT", "IN", "EXISTS", "VALUES", "FROM", "ON", "WHERE", "HAVING", "SELECT", "AS", "THEN"),
        *("ELSE", "WHEN", "CASE", "UNION", "ALL", "ANY", "SOME", "EXCEPT", "INTERSECT", "WITH", "DISTINCT", "BETWEEN"),
        *("INTO", "TABLE", "GROUP", "FOR", "UNIQUE", "INTERVAL"),
    }
)
"""Words that no database takes for the name of a function."""

_BEHIND: Mapping[str, frozenset[str]] = {
    "APPLY": frozenset({"CROSS", "OUTER"}),
    "BERNOULLI": frozenset({"TABLESAMPLE"}),
    "BY": frozenset({"ORDER", "GROUP", "PARTITION", "SUBPARTITION"}),
    "FIRST": frozenset({"FETCH"}),
    "INDEX": frozenset({"USE", "FORCE", "IGNORE"}),
    "INSERT": frozenset({"THEN"}),
    "KEY": frozenset({"PRIMARY", "FOREIGN", "UNIQUE", "USE", "FORCE", "IGNORE"}),
    "NEXT": frozenset({"FETCH"}),
    "OVER": frozenset({"NULLS"}),
    "SETS": frozenset({"GROUPING"}),
    "SYSTEM": frozenset({"TABLESAMPLE"}),
    "VARYING": frozenset({"CHARACTER", "CHAR", "NCHAR", "BIT"}),
    "ZONE": frozenset({"TIME"}),
}
"""Words that are of the language right behind one of these."""
_BEHIND_CALLS = frozenset({"FILTER", "OVER", "REPEATABLE", "AGAINST"})
_BEHIND_VALUES = frozenset(
    {
        *("LIMIT", "OFFSET", "RETURNING", "USING", "SET", "JOIN", "STRAIGHT_JOIN", "MINUS", "QUALIFY", "OPTION"),
        *("LIKE", "ILIKE", "RLIKE", "REGEXP", "IS", "XOR", "ESCAPE", "ROWS", "RANGE", "GROUPS", "PARTITION", "PIVOT"),
        *("UNPIVOT", "TABLESAMPLE", "COLUMNS", "PASSING", "PERCENT", "VALUE"),
        *("BLOB", "CLOB", "DOUBLE", "HALFVEC", "NUMBER", "STRING", "VECTOR"),
    }
)
"""Words that are of the language behind a name or anything else that is complete, where no function is called."""
_BEFORE_VALUES = _RESERVED | frozenset(
    {
        *("LIMIT", "OFFSET", "RETURNING", "USING", "JOIN", "STRAIGHT_JOIN", "APPLY", "LATERAL", "QUALIFY", "BY"),
        *("LIKE", "ILIKE", "RLIKE", "REGEXP", "GLOB", "MATCH", "IS", "XOR", "DIV", "MOD", "ESCAPE", "ROWS", "RANGE"),
        *("GROUPS", "TABLESAMPLE", "PASSING", "VALUE", "KEY", "ZONE", "FIRST", "NEXT", "TO", "DEFAULT", "DO", "CALL"),
        *(
            "RETURN",
            "VARIADIC",
            "BOTH",
            "LEADING",
            "TRAILING",
            "SYMMETRIC",
            "ASYMMETRIC",
            "OVERLAPS",
            "PLACING",
            "ONLY",
        ),
        *("TOP", "PERCENT", "TIES", "PRIOR", "BINARY", "COLLATE", "CONTENT", "DOCUMENT", "VERSION", "REF", "PATH"),
        *(
            "EXECUTE",
            "DISTINCTROW",
            "HIGH_PRIORITY",
            "OPERATOR",
            "MINUS",
            "SET",
            "IF",
            "WHILE",
            "UNTIL",
            "PRINT",
            "NAME",
        ),
    }
)
"""Words behind which a value may begin, or a function in place of a table."""
_NAMES_TOO = frozenset(
    {
        *("VALUE", "KEY", "FIRST", "NEXT", "ZONE", "CONTENT", "DOCUMENT", "VERSION", "REF", "PATH", "NAME", "MATCH"),
        *("RANGE", "ROWS", "GROUPS", "PRIOR", "TIES"),
    }
)
_BEFORE_NAMES = frozenset({"FROM", "JOIN", "UPDATE", "INTO", "AS", "NULLS"})
"""Words behind which those are names of tables: `JOIN document USING (a)`. `NULLS FIRST` is complete as well."""
_QUERIES = frozenset({"SELECT", "WITH", "VALUES", "TABLE"})
_TABLES = frozenset({"FROM", "JOIN", "APPLY", "STRAIGHT_JOIN", "LATERAL"})
_CLAUSES = _TABLES | frozenset(
    {
        *("SELECT", "ON", "USING", "WHERE", "GROUP", "HAVING", "ORDER", "PARTITION", "WINDOW", "LIMIT", "OFFSET"),
        *(
            "SET",
            "FETCH",
            "FOR",
            "VALUES",
            "RETURNING",
            "TOP",
            "DISTINCT",
            "WHEN",
            "THEN",
            "UNION",
            "EXCEPT",
            "INTERSECT",
        ),
        *("INSERT", "UPDATE", "DELETE", "QUALIFY", "OPTION"),
    }
)


@dataclass(frozen=True, slots=True)
class Places:
    """Of each token of a statement: the parenthesis around it, -1 when there is none, for one that closes its own.

    `clauses` are the last words before it, in the same parentheses, that begin a part of a query, or nothing.
    """

    tokens: Sequence[Token]
    around: Sequence[int]
    clauses: Sequence[str]


def places(statement: Sequence[Token]) -> Places:
    """Look through a statement once."""
    around: list[int] = []
    clauses: list[str] = []
    inside, within = [-1], [""]
    for at, token in enumerate(statement):
        around.append(inside[-1])
        clauses.append(within[-1])
        if _is(token, Kind.SIGN, "("):
            inside.append(at)
            within.append("")
        elif _is(token, Kind.SIGN, ")"):
            inside, within = inside[:-1] or [-1], within[:-1] or [""]
        elif token.kind is Kind.WORD and token.text in _CLAUSES:
            within[-1] = token.text
    return Places(statement, around, clauses)


def of_language(placed: Places, at: int, *, top: bool) -> bool:
    """Whether the unquoted word at `at`, before an opening parenthesis, is no name of a function there.

    `top` says that the database has `SELECT TOP (10) a`, which elsewhere calls `top`.
    """
    statement = placed.tokens
    word, before = statement[at].text, statement[at - 1] if at else None
    if _is(before, Kind.SIGN, "."):
        return False
    if word in _RESERVED:
        return True
    text = before.text if before is not None and before.kind is Kind.WORD else ""
    if text in _BEHIND.get(word, ()):
        return True
    if word in _BEHIND_CALLS:
        return _behind_call(placed, at)
    if word in _BEHIND_VALUES:
        return _behind_value(placed, at)
    special = {
        "TOP": top and text in {"SELECT", "DISTINCT", "ALL", "INSERT", "UPDATE", "DELETE", "INTO"},
        "CONFLICT": text == "ON" and _settles(statement, at),
        "MATERIALIZED": text == "AS" or (text == "NOT" and _word(statement, at - 2) == "AS"),
        "ONLY": text in {"FROM", "JOIN", "TABLE", "UPDATE"} and _one_name(statement, at + 1),
        "LATERAL": next((token.text for token in statement[at + 1 :] if token.text != "("), "") in _QUERIES,
        "INDEX": _word(statement, placed.around[at] - 1) == "WITH",
        "CUBE": _grouped(placed, at),
        "ROLLUP": _grouped(placed, at),
    }
    return special.get(word, False)


def _behind_value(placed: Places, at: int) -> bool:
    """Whether a name, a number, or anything else that is complete stands right before `at`."""
    statement = placed.tokens
    if not at:
        return False
    before = statement[at - 1]
    if before.kind is Kind.SIGN:
        if before.text != ")":
            return before.text == "]"
        start = placed.around[at - 1] - 1
        chosen = _word(statement, start) == "ON" and _word(statement, start - 1) == "DISTINCT"
        return not chosen and _word(statement, start) != "TOP"
    if before.kind is not Kind.WORD or (at > 1 and _is(statement[at - 2], Kind.SIGN, ".")):
        return True
    if before.text == "NOT":
        # `a NOT LIKE (b)`, and not `NOT like(b)`.
        return _word(statement, at - 2) != "NOT" and _behind_value(placed, at - 1)
    named = before.text in _NAMES_TOO and _word(statement, at - 2) in _BEFORE_NAMES
    return named or before.text not in _BEFORE_VALUES


def in_tables(placed: Places, at: int) -> bool:
    """Whether `at` is among the tables of a FROM, where a name behind what is complete is another name for it."""
    while at > 0:
        clause = placed.clauses[at]
        if clause:
            return clause in _TABLES or clause == "USING"
        at = placed.around[at]
    return False


def is_type(statement: Sequence[Token], start: int, *, methods: bool) -> bool:
    """Whether what begins at `start` is the type of a cast, `a::vector(3)`. `methods`: `::` is before one of a type."""
    return not methods and start > 1 and all(_is(token, Kind.SIGN, ":") for token in statement[start - 2 : start])


def _grouped(placed: Places, at: int) -> bool:
    around = _word(placed.tokens, placed.around[at] - 1)
    return placed.clauses[at] == "GROUP" or around in {"SETS", "ROLLUP", "CUBE"}


def _behind_call(placed: Places, at: int) -> bool:
    """Whether the parenthesis before `at` closes the arguments of a call, or what may stand behind these."""
    statement = placed.tokens
    if not at or not _is(statement[at - 1], Kind.SIGN, ")"):
        return False
    start = placed.around[at - 1] - 1
    if start < 0:
        return False
    name = statement[start]
    return name.kind is Kind.QUOTED or (
        name.kind is Kind.WORD and (name.text not in _RESERVED or name.text == "GROUP") and name.text != "TOP"
    )


def _settles(statement: Sequence[Token], at: int) -> bool:
    """Whether it says what is done about a conflict: `ON CONFLICT (a) DO NOTHING`; a join calls `conflict(a)`."""
    depth = 0
    for index in range(at + 1, len(statement)):
        token = statement[index]
        if token.kind is Kind.SIGN and token.text in {"(", ")"}:
            depth += 1 if token.text == "(" else -1
        elif not depth and token.kind is Kind.WORD:
            if token.text == "DO":
                return True
            if token.text in {"CONFLICT", "JOIN", "GROUP", "ORDER", "LIMIT", "RETURNING"}:
                return False
    return False


def _one_name(statement: Sequence[Token], start: int) -> bool:
    inside = statement[start + 1 : _closing(statement, start)]
    return bool(inside) and all(
        (token.kind in {Kind.WORD, Kind.QUOTED}) if not index % 2 else _is(token, Kind.SIGN, ".")
        for index, token in enumerate(inside)
    )


def _closing(statement: Sequence[Token], start: int) -> int:
    return next((i for i in range(start, len(statement)) if _is(statement[i], Kind.SIGN, ")")), len(statement))


def _word(statement: Sequence[Token], at: int) -> str:
    return statement[at].text if 0 <= at < len(statement) and statement[at].kind is Kind.WORD else ""


def _is(token: Token | None, kind: Kind, text: str) -> bool:
    return token is not None and token.kind is kind and token.text == text
