"""Tables that are none of the database: files and addresses that some read from as from one, those of other servers."""

import re
from collections.abc import Sequence

from interlock_gateway.facts.sql.lexing import Kind, Token

_ENDS_TABLES = frozenset(
    {
        *("WHERE", "GROUP", "ORDER", "HAVING", "LIMIT", "UNION", "EXCEPT", "INTERSECT", "WINDOW", "SELECT", "VALUES"),
        *("SET", "RETURNING", "QUALIFY", "OFFSET", "FETCH", "FOR"),
    }
)
_TAKES_FROM = frozenset({"BTRIM", "EXTRACT", "LTRIM", "OVERLAY", "POSITION", "RTRIM", "SUBSTR", "SUBSTRING", "TRIM"})
_LIKE_A_FILE = re.compile(r"[/\\*:.]")
_SURELY_A_FILE = re.compile(
    r"[/\\]|\.(?:arrow|avro|csv|db|duckdb|feather|gz|json|jsonl|log|ndjson|orc|parquet|sqlite|tsv|txt|xlsx|zst)\Z",
    re.IGNORECASE,
)


def reads_file(statement: Sequence[Token]) -> bool:
    """Whether what looks like a file or an address stands where a table is read from."""
    # For each open parenthesis: whether tables are listed, None in that of a function; whether one comes next.
    around: list[tuple[bool | None, bool]] = []
    listing: bool | None = False
    wanted = False
    last = ""
    for token in statement:
        plain = token.text if token.kind in {Kind.WORD, Kind.SIGN} else ""
        if wanted and _names_file(token):
            return True
        if plain == "(":
            around.append((listing, False))
            listing, wanted = (None, False) if last in _TAKES_FROM else (False, wanted)
        elif plain == ")":
            listing, wanted = around.pop() if around else (False, False)
        elif plain in {"FROM", "JOIN"}:
            wanted = listing is not None and last != "DISTINCT"
            listing = listing or wanted if listing is not None else None
        elif plain in _ENDS_TABLES:
            listing, wanted = False, False
        else:
            wanted = plain == "," and listing is True
        last = plain
    return False


def names_server(texts: Sequence[str]) -> bool:
    """Whether names are left out between those of a server and a table: `server...t`, `server.database..t`."""
    ends = (at for at in range(2, len(texts)) if texts[at] == texts[at - 1] == ".")
    return any(texts[at - 2] == "." or texts[max(at - 3, 0)] == "." for at in ends)


def _names_file(token: Token) -> bool:
    if token.kind is Kind.STRING:
        return bool(_LIKE_A_FILE.search(token.text))
    return token.kind is Kind.QUOTED and bool(_SURELY_A_FILE.search(token.text))
