"""A real SQLite is asked about random statements: what is said to only read must change nothing there."""

import contextlib
import random
import sqlite3

import pytest
from facts_calls import Sql

pytestmark = pytest.mark.req("PIPE-5")

LEADS = [
    *(
        "SELECT 1",
        "SELECT a FROM t",
        "SELECT * FROM t WHERE a = 1",
        "WITH c AS (SELECT 1) SELECT * FROM c",
        "VALUES (1)",
    ),
    *(
        "EXPLAIN DELETE FROM t",
        "EXPLAIN QUERY PLAN SELECT a FROM t",
        "PRAGMA table_info(t)",
        "SELECT 'x'",
        "SELECT [a]",
    ),
    *("SELECT `a` FROM t", 'SELECT "a" FROM t', "PRAGMA user_version", "SELECT a FROM t LIMIT 1"),
]
NOISE = [
    *(
        "--",
        "-- ",
        "#",
        "/*",
        "*/",
        "/*!",
        "'",
        "''",
        '"',
        "`",
        "[",
        "]",
        "\\",
        "\\'",
        ";",
        "\n",
        " ",
        "$$",
        "$a$",
        "(",
        ")",
    ),
    *(
        "; DROP TABLE t",
        "; DELETE FROM t",
        "; INSERT INTO t VALUES (1)",
        "; UPDATE t SET a = 2",
        "; PRAGMA user_version = 3",
    ),
    *(
        "DELETE FROM t",
        "; CREATE TABLE u (a)",
        "; REPLACE INTO t VALUES (1)",
        "; BEGIN",
        "; VACUUM",
        "AS x",
        ", 1",
        "E'",
        "x",
    ),
]


def changed(text: str) -> bool:
    """Whether running a text changed anything in a database, also when it was refused in the end."""
    connection = sqlite3.connect(":memory:", isolation_level=None)
    connection.executescript("CREATE TABLE t (a); INSERT INTO t VALUES (1)")
    before = state(connection)
    with contextlib.suppress(sqlite3.Error, ValueError):
        connection.executescript(text)
    after = state(connection)
    connection.close()
    return before != after


def state(connection: sqlite3.Connection) -> tuple[object, ...]:
    pragmas = [connection.execute(f"PRAGMA {name}").fetchone() for name in ("user_version", "journal_mode")]
    return (*connection.iterdump(), *pragmas, connection.total_changes, connection.in_transaction)


@pytest.mark.parametrize(("dialect", "seed"), [("sqlite", 1), ("sqlite", 2), ("", 3), ("", 4)])
def test_what_is_said_to_only_read_changes_nothing_in_sqlite(sql: Sql, dialect: str, seed: int) -> None:
    chooser = random.Random(seed)
    reading = changing = 0
    for _ in range(400):
        text = chooser.choice(LEADS)
        for _ in range(chooser.randint(0, 3)):
            at = chooser.choice((len(text), chooser.randrange(len(text) + 1)))
            text = text[:at] + chooser.choice(NOISE) + text[at:]
        found = sql(text, dialect)
        asked = changed(text)
        changing += asked
        if found["read_only"]:
            reading += 1
            assert not asked, text
    assert reading >= 20
    assert changing >= 8
