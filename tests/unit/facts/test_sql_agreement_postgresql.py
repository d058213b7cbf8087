"""A real PostgreSQL is asked about random texts in read-only transactions: what is said to read is not refused."""

import random
from collections.abc import Iterator

import psycopg
import pytest
from facts_calls import Sql
from postgres_server import PostgresServer
from psycopg import pq

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
        "EXPLAIN (ANALYZE) SELECT 1",
        "SHOW search_path",
        "TABLE t",
        "SELECT $$x$$",
        "SELECT E'x'",
    ),
    *(
        "SELECT /* x */ 1",
        "SELECT 1 -- x\n",
        "SELECT U&'x'",
        "SELECT 1 # 2",
        "SELECT array[1, 2]",
        "SELECT a::text FROM t",
    ),
]
NOISE = [
    *(
        "--",
        "-- ",
        "#",
        "/*",
        "*/",
        "/*!",
        "/* /* ",
        "*/ */",
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
        "(",
        ")",
    ),
    *("$$", "$a$", "$b$", "E'", "E'\\", "U&'", 'U&"', "B'", "x'", "0x", "1e", "_1", "@@", "%", "&", "?", "::text", "x"),
    *(
        "; DROP TABLE t",
        "; DELETE FROM t",
        "; INSERT INTO t VALUES (1)",
        "; UPDATE t SET a = 2",
        "; CREATE TABLE u (a int)",
    ),
    *(
        "; TRUNCATE t",
        "; LOCK t",
        "; NOTIFY x",
        "; GRANT ALL ON t TO public",
        "; COMMIT",
        "; BEGIN",
        "INTO u",
        "ANALYZE ",
    ),
    *("WITH d AS (DELETE FROM t RETURNING *) ", " FOR UPDATE", "AS x", ", 1", "DELETE FROM t", "EXPLAIN "),
]


@pytest.fixture
def connection(postgres: PostgresServer) -> Iterator[psycopg.Connection]:
    with postgres.database() as url, psycopg.connect(url, autocommit=True) as opened:
        opened.execute("CREATE TABLE t (a int)")
        opened.execute("SET SESSION CHARACTERISTICS AS TRANSACTION READ ONLY")
        yield opened


@pytest.mark.parametrize(("dialect", "seed"), [("postgres", 1), ("", 2)])
def test_what_is_said_to_only_read_is_nothing_else_to_postgresql(
    sql: Sql, connection: psycopg.Connection, dialect: str, seed: int
) -> None:
    chooser = random.Random(seed)
    reading = 0
    for _ in range(500):
        text = chooser.choice(LEADS)
        for _ in range(chooser.randint(0, 4)):
            at = chooser.choice((len(text), chooser.randrange(len(text) + 1)))
            text = text[:at] + chooser.choice(NOISE) + text[at:]
        if not sql(text, dialect)["read_only"]:
            continue
        reading += 1
        result = connection.pgconn.exec_(text.encode())
        assert result.error_field(pq.DiagnosticField.SQLSTATE) != b"25006", text
        assert connection.pgconn.transaction_status == pq.TransactionStatus.IDLE, text
    assert reading >= 50
