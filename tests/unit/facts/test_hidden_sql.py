"""Ways to hide a statement: in what one database takes for a comment or a quote, and another for code."""

import pytest
from facts_calls import Sql, effects

pytestmark = pytest.mark.req("PIPE-5")

HIDDEN = [
    "SELECT 1 DROP TABLE t",
    "SELECT 1 DELETE FROM t",
    "SELECT * FROM t WHERE a = 1 EXEC xp_cmdshell 'x'",
    "SELECT 1 --x\n; DROP TABLE t",
    "SELECT 1--1; DROP TABLE t",
    "SELECT 1 # x\n; DROP TABLE t",
    "SELECT 1 # ; DROP TABLE t",
    "SELECT 1 /*! ; DROP TABLE t */",
    "SELECT 1 /*!50000 ; DROP TABLE t */",
    "SELECT 1 /*M! ; DROP TABLE t */",
    "SELECT 1 /*!99999 */ /*! + 1; DROP TABLE t */",
    "SELECT '\\'; DROP TABLE t; -- '",
    "SELECT '\\' ; DROP TABLE t; SELECT '",
    'SELECT "\\"; DROP TABLE t; -- "',
    "SELECT E'\\'; DROP TABLE t; -- '",
    "SELECT /* /* */ 1; DROP TABLE t; -- */",
    "SELECT /* /* */ */ 1; DROP TABLE t",
    "SELECT $a$ ' $a$; DROP TABLE t; -- '",
    "SELECT $a$; DROP TABLE t; SELECT $a$",
    "SELECT [a]; DROP TABLE t; -- ]",
    "SELECT 1eDROP TABLE t",
    "SELECT 1; ; ;DROP TABLE t",
    "SELECT 1;\u00a0DROP TABLE t",
    "SELECT 1\u2028DROP TABLE t",
    "SELECT 1 -- x\rDROP TABLE t",
    "SELECT 1\0; DROP TABLE t",
    "SELECT 1 GO DROP TABLE t",
    "xp_cmdshell 'dir'",
    "sp_configure 'x', 1",
    "\\! rm x",
    "SELECT 1 \\gexec",
    ".shell rm x",
    "DELIMITER //\nDROP TABLE t//",
    "EXPLAIN t DROP TABLE t",
    "TABLE t; DROP TABLE t",
    "VALUES (1) DELETE FROM t",
    "INSERT INTO t VALUES (1) DROP TABLE t",
    "UPDATE t SET a = 1 WHERE b = 1 UPDATE t SET a = 2",
    "SET x = 1 DROP TABLE t",
    "BEGIN DROP TABLE t",
    "SELECT * FROM t INTO OUTFILE '/x'",
    "SELECT 1 INTO DUMPFILE '/x'",
    "SELECT * FROM t WHERE a = (DELETE FROM t RETURNING a)",
    "SELECT 1 REVERT",
    "SELECT a FROM t REVERT",
    "SELECT f(a) FROM t UNION SELECT b FROM u CHECKPOINT",
    "SELECT [a] CHECKPOINT",
    "SELECT a FROM t FETCH c",
    "WITH rows AS (SELECT 1 a) SELECT a FROM rows REVERT",
    "WITH limit AS (SELECT 1 a) SELECT a FROM limit CHECKPOINT",
    "SELECT a FROM dbo.filter REVERT",
    "SELECT a FROM t x, dbo.interval REVERT",
    "SELECT a FROM dbo.returning REVERT",
    "WITH q AS (SELECT 1 recursive) SELECT recursive REVERT FROM q",
    "SELECT @to REVERT",
    "SELECT a FROM t ORDER BY a ASC REVERT",
    "SELECT a FROM t ORDER BY a OFFSET 3 ROWS FETCH NEXT 3 ROWS ONLY REVERT",
]


@pytest.mark.parametrize("text", HIDDEN)
@pytest.mark.parametrize("dialect", ["", "postgres", "mysql", "sqlite", "tsql"])
def test_what_some_database_would_run_is_not_overlooked(sql: Sql, text: str, dialect: str) -> None:
    found = sql(text, dialect)
    if not dialect:
        assert found["read_only"] is False
        destroyed = ("drop", "schema") in effects(found)
        assert destroyed or found["parse_error"] or found["dynamic"] or "unknown" in found["effects"]


@pytest.mark.parametrize(
    ("text", "dialect", "reading"),
    [
        ("SELECT 1 # ; DROP TABLE t", "mysql", True),
        ("SELECT '\\'; DROP TABLE t; -- '", "mysql", False),
        ("SELECT '\\'; -- '", "sqlite", True),
        ("SELECT 1 /*! ; DROP TABLE t */", "postgres", True),
        ("SELECT 1 /*! ; DROP TABLE t */", "mysql", False),
        ("SELECT $$; DROP TABLE t; $$", "postgres", True),
        ("SELECT $$; DROP TABLE t; $$", "sqlite", False),
        ("SELECT 1 --1; DROP TABLE t", "postgres", True),
        ("SELECT 1 --1; DROP TABLE t", "mysql", False),
        ("SELECT /* /* */ 1; DROP TABLE t; -- */", "postgres", True),
        ("SELECT /* /* */ 1; DROP TABLE t; -- */", "sqlite", False),
        ("SELECT `update` FROM t", "mysql", True),
        ("SELECT `update` FROM t", "postgres", False),
        ("SELECT 'a\\'", "postgresql", True),
        ("SELECT 'a\\'", "tsql", True),
    ],
)
def test_a_declared_dialect_is_read_as_itself(sql: Sql, text: str, dialect: str, *, reading: bool) -> None:
    assert sql(text, dialect)["read_only"] is reading


@pytest.mark.parametrize(
    "text",
    [
        "SELECT checkpoint, revert FROM t WHERE checkpoint = 3 AND x > revert GROUP BY checkpoint ORDER BY revert",
        "SELECT 3*checkpoint, -revert, max(checkpoint) FROM checkpoint",
        "SELECT t.revert FROM jobs AS checkpoint JOIN checkpoint ON 1 = checkpoint.a",
        "SELECT a FROM t ORDER BY a OFFSET 3 ROWS FETCH NEXT 3 ROWS ONLY",
        "WITH RECURSIVE checkpoint AS (SELECT 1 AS a) SELECT DISTINCT a FROM checkpoint",
    ],
)
@pytest.mark.parametrize("dialect", ["", "postgres"])
def test_words_that_only_one_database_reserves_are_names_where_names_stand(sql: Sql, text: str, dialect: str) -> None:
    assert sql(text, dialect)["read_only"] is True


@pytest.mark.parametrize("dialect", ["", "tsql"])
@pytest.mark.parametrize(
    ("text", "verb"),
    [
        ("WITH c AS (SELECT * FROM orders WHERE paid = 1) DELETE FROM c", "delete"),
        ("WITH a AS (SELECT * FROM orders), c AS (SELECT * FROM a) UPDATE c SET paid = 1", "update"),
        ("WITH c AS (SELECT * FROM orders) DELETE x FROM c AS x", "delete"),
        ('WITH "C" AS (SELECT * FROM orders) DELETE FROM c', "delete"),
        ("WITH c AS (SELECT * FROM orders) DELETE FROM [C]", "delete"),
        ("UPDATE x SET paid = 1 FROM (SELECT * FROM orders) AS x", "update"),
    ],
)
def test_who_changes_rows_through_a_named_query_changes_the_table_in_it(
    sql: Sql, text: str, verb: str, dialect: str
) -> None:
    found = sql(text, dialect)
    assert found["read_only"] is False
    assert (verb, "write") in effects(found)
    assert "orders" in {table["name"] for one in found["statements"] for table in one["writes"]}


@pytest.mark.parametrize("dialect", ["", "tsql"])
def test_two_names_in_quotes_without_a_space_between_them_are_two(sql: Sql, dialect: str) -> None:
    found = sql("SELECT * FROM [sys].[sql_logins][x]", dialect)
    assert "sys.sql_logins" in {table["qualified"] for one in found["statements"] for table in one["reads"]}


@pytest.mark.parametrize(
    "text",
    [
        "SHOW CREATE TABLE t (a int)",
        "SHOW CREATE TABLE t AS SELECT 1",
        "SHOW CREATE TABLE",
        "SHOW CREATE TABLE a b",
        "SHOW CREATE TABLE a.b.",
        "SHOW CREATE TABLE t GO DROP TABLE u",
        "SHOW CREATE TABLE t EXEC p",
        "SHOW CREATE VIEW v AS SELECT 1",
        "SHOW CREATE DATABASE d",
        "SHOW CREATE USER u",
        "SHOW CREATE LOGIN x",
    ],
)
def test_only_how_something_was_made_is_shown(sql: Sql, text: str) -> None:
    assert sql(text)["read_only"] is False
