"""How databases tell code from comments and quotes. Where they differ, text is hidden from one and run by another."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Tongue:
    """One database's way to read text. `dialect` is sqlglot's name for it.

    `backslash` escapes in strings, `double` says whether "..." is a string, `backtick` and `brackets` whether they
    quote names, `hash_comment` that `#` starts a comment, `dash_blank` that `--` does so only before a blank, `nested`
    that block comments nest, `dollar` that $tag$ quotes. `conditional` says what `/*! ... */` holds, if it is special.
    `open_comment` says that a comment may be left open at the end. `sigils` and `inside` are what else a word may start
    with and hold, as parts of a regular expression.
    """

    name: str
    dialect: str
    backslash: bool = False
    double: bool = False
    backtick: bool = False
    brackets: bool = False
    hash_comment: bool = False
    dash_blank: bool = False
    nested: bool = False
    dollar: bool = False
    escape_strings: bool = False
    conditional: bool = False
    open_comment: bool = False
    subscripts: bool = False
    sigils: str = "@{0,2}"
    inside: str = "$"


POSTGRES = Tongue("postgres", "postgres", nested=True, dollar=True, escape_strings=True, subscripts=True, sigils="")
SQLITE = Tongue("sqlite", "sqlite", backtick=True, brackets=True, open_comment=True)
TSQL = Tongue("tsql", "tsql", brackets=True, nested=True, sigils=r"(?:@{1,2}|\#{1,2})?", inside=r"$@\#")
MYSQL = Tongue(
    "mysql", "mysql", backslash=True, double=True, backtick=True, hash_comment=True, dash_blank=True, conditional=True
)
MYSQL_WITHOUT_CONDITIONS = Tongue(
    "mysql", "mysql", backslash=True, double=True, backtick=True, hash_comment=True, dash_blank=True
)
MYSQL_WITHOUT_BACKSLASH = Tongue(
    "mysql", "mysql", double=True, backtick=True, hash_comment=True, dash_blank=True, conditional=True
)

_MYSQL = (MYSQL, MYSQL_WITHOUT_CONDITIONS, MYSQL_WITHOUT_BACKSLASH)
_BY_NAME: Mapping[str, tuple[Tongue, ...]] = {
    **dict.fromkeys(("postgres", "postgresql", "pg", "cockroachdb"), (POSTGRES,)),
    **dict.fromkeys(("mysql", "mariadb"), _MYSQL),
    **dict.fromkeys(("sqlite", "sqlite3"), (SQLITE,)),
    **dict.fromkeys(("tsql", "mssql", "sqlserver"), (TSQL,)),
}
DIALECTS = tuple(_BY_NAME)
"""What a dialect may be called where one is declared."""


def tongues(dialect: str, text: str) -> tuple[Tongue, ...]:
    """How `text` may be read: as `dialect` is, or in every way that is known when it is none of them."""
    known = _BY_NAME.get(dialect.lower(), (POSTGRES, *_MYSQL, SQLITE, TSQL))
    conditions, backslashes = "/*!" in text or "/*M!" in text, "\\" in text
    return tuple(
        tongue
        for tongue in known
        if (tongue is not MYSQL_WITHOUT_CONDITIONS or conditions)
        and (tongue is not MYSQL_WITHOUT_BACKSLASH or backslashes)
    )
