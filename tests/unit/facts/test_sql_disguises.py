"""Disguises that one database sees through: options and names in quotes, carriers, names borrowed from other tables."""

import time

import psycopg
import pytest
from facts_calls import Sql
from interlock_gateway.facts.urls.reading import MAX_URL_CHARS, read
from postgres_server import PostgresServer

pytestmark = pytest.mark.req("PIPE-5")


def tables(found: dict[str, object], part: str) -> set[str]:
    """The tables that any statement reads or writes."""
    statements = found["statements"]
    assert isinstance(statements, list)
    return {table["qualified"] for statement in statements for table in statement[part]}


RUNNING = [
    'EXPLAIN ("analyze") DELETE FROM t',
    'EXPLAIN (U&"\\0061nalyze") DELETE FROM t',
    "COPY (DELETE FROM t RETURNING *) TO STDOUT",
]


@pytest.mark.parametrize("text", RUNNING)
@pytest.mark.parametrize("dialect", ["", "postgres"])
def test_what_is_run_although_it_seems_only_to_be_looked_at_is_no_reading(sql: Sql, text: str, dialect: str) -> None:
    found = sql(text, dialect)
    assert found["read_only"] is False
    assert found["parse_error"] or found["statements"][0]["condition"] == "none"


@pytest.mark.parametrize(
    ("text", "dialect"),
    [
        ("ANALYZE DELETE FROM t", "mariadb"),
        ("ANALYZE FORMAT=JSON UPDATE t SET a = 1", "mariadb"),
        ("CREATE TABLE x (a int) DELETE FROM t", "tsql"),
        ("CREATE TABLE x (a int) EXEC xp_cmdshell 'dir'", "tsql"),
        ("CREATE INDEX i ON t (a) DROP TABLE t", "tsql"),
        ("CREATE TABLE x (a int) ON CONFLICT DROP TABLE t", "tsql"),
    ],
)
def test_a_statement_that_carries_another_is_not_understood(sql: Sql, text: str, dialect: str) -> None:
    for known in (dialect, ""):
        assert sql(text, known)["parse_error"] is True


@pytest.mark.parametrize(
    "text",
    [
        "CREATE TABLE x (a int REFERENCES t ON DELETE SET NULL ON UPDATE CASCADE)",
        "CREATE TABLE x (a int REFERENCES t ON UPDATE SET DEFAULT)",
        "CREATE TABLE x (a int UNIQUE ON CONFLICT REPLACE)",
        "CREATE TEMP TABLE x (a int) ON COMMIT DROP",
        "CREATE TEMP TABLE x (a int) ON COMMIT DELETE ROWS",
        "CREATE TABLE x AS SELECT * FROM t",
        "CREATE VIEW v AS SELECT replace(a, 'x', 'y') FROM t",
        "CREATE UNIQUE INDEX i ON t (a)",
        "ANALYZE t",
        "COPY t FROM STDIN",
    ],
)
def test_what_a_table_will_do_later_is_part_of_making_it(sql: Sql, text: str) -> None:
    assert sql(text, "postgres")["parse_error"] is False


@pytest.mark.parametrize(
    "text",
    [
        "SELECT U&\"pg\\005fread_file\"('/x')",
        "SELECT u&\"pg!005fread_file\" UESCAPE '!' ('/x')",
        'SELECT * FROM U&"pg\\005fshadow"',
    ],
)
def test_names_in_escapes_are_not_understood(sql: Sql, text: str) -> None:
    assert sql(text)["parse_error"] is True
    assert sql('SELECT u & "b" FROM t')["read_only"] is True


@pytest.mark.parametrize(
    "text",
    [
        "SELECT ('/x'::text).pg_read_file",
        'SELECT (a[1]) . "pg_read_file" FROM t',
        "SELECT (array['/x'])[1].pg_read_file",
        "SELECT (a).b.pg_read_file FROM t",
    ],
)
def test_a_function_behind_its_argument_is_a_function(sql: Sql, text: str) -> None:
    assert "pg_read_file" in sql(text, "postgres")["functions"]
    assert "b" not in sql("SELECT a.b, (c) FROM a", "postgres")["functions"]


@pytest.mark.parametrize(
    "text",
    [
        "WITH secret AS (SELECT * FROM secret) SELECT * FROM secret",
        "SELECT * FROM secret WHERE EXISTS (WITH secret AS (SELECT 1) SELECT * FROM secret)",
        "WITH a AS (SELECT * FROM secret), secret AS (SELECT 1) SELECT * FROM a, secret",
        'WITH "SECRET" AS (SELECT 1) SELECT * FROM secret',
    ],
)
def test_a_query_that_borrows_a_table_s_name_does_not_hide_it(sql: Sql, text: str) -> None:
    assert tables(sql(text, "postgres"), "reads") == {"secret"}


def test_a_query_s_own_name_is_no_table_where_it_is_known(sql: Sql) -> None:
    text = "WITH a AS (SELECT 1), b AS (SELECT * FROM a) SELECT * FROM A, b WHERE EXISTS (SELECT * FROM b)"
    assert tables(sql(text, "postgres"), "reads") == set()
    recursive = "WITH RECURSIVE a AS (SELECT 1 UNION SELECT * FROM a) SELECT * FROM a"
    assert tables(sql(recursive, "postgres"), "reads") == set()
    dotted = 'WITH "s.t" AS (SELECT 1) SELECT * FROM s.t'
    assert tables(sql(dotted, "postgres"), "reads") == {"s.t"}


@pytest.mark.parametrize(
    ("text", "dialect", "written"),
    [
        ("DELETE FROM secret WHERE EXISTS (SELECT 1 FROM logs AS secret)", "", "secret"),
        ("UPDATE secret SET a = 1 FROM logs AS secret WHERE b = 1", "sqlite", "secret"),
        ("UPDATE crm.t SET a = 1 FROM logs AS [crm.t] WHERE b = 1", "tsql", "crm.t"),
        ("UPDATE u SET a = 1 FROM users u WHERE u.b = 1", "tsql", "users"),
        ("DELETE u FROM users u JOIN x ON u.a = x.a", "mysql", "users"),
    ],
)
def test_another_table_s_alias_does_not_hide_what_is_changed(sql: Sql, text: str, dialect: str, written: str) -> None:
    assert tables(sql(text, dialect), "writes") == {written}


def test_a_real_postgresql_sees_through_these(sql: Sql, postgres: PostgresServer) -> None:
    with postgres.database() as url, psycopg.connect(url, autocommit=True) as connection:
        connection.execute("CREATE TABLE t (a int)")
        connection.execute("INSERT INTO t VALUES (1)")
        connection.execute(RUNNING[0])
        assert connection.execute("SELECT count(*) FROM t").fetchone() == (0,)
        for text in ("SELECT ('x'::text).upper", "SELECT U&\"up\\0070er\"('x')"):
            assert connection.execute(text.encode()).fetchone() == ("X",)
            found = sql(text, "postgres")
            assert found["parse_error"] or "upper" in found["functions"]


@pytest.mark.parametrize("filler", [",", "'", "|", ",a", ", "])
def test_a_url_full_of_separators_is_read_at_once(filler: str) -> None:
    text = "https://a.example/" + filler * ((MAX_URL_CHARS - 20) // len(filler))
    began = time.thread_time()
    read(text)
    assert time.thread_time() - began < 0.1
    assert "several_urls" in read("https://a.example/ ,\u0020| http://b.example/").hazards
