"""The functions that statements call, as facts tell them: with their schemas, and without tables."""

import pytest
from interlock_gateway.facts.sql.reading import read_sql

CALLS = {
    "SELECT purge(), Count(*) FROM t": ("count", "purge"),
    "SELECT app.purge(1), dbo . a . b(2)": ("app.purge", "dbo.a.b"),
    "SELECT purge /* nothing */ ()": ("purge",),
    "SELECT * FROM wipe()": ("wipe",),
    "SELECT * FROM a, wipe(x) AS (a int)": ("wipe",),
    "SELECT * FROM a, wipe(x) AS (values int)": ("wipe",),
    "SELECT * FROM wipe(x) AS t(a)": ("wipe",),
    "SELECT * FROM 'wipe'('x')": ("'wipe'",),
    "SELECT (t).purge FROM t": ("purge",),
    "SELECT (a) OPERATOR(app.+) b": ("operator",),
    "SELECT app.filter(1), app.values(2)": ("app.filter", "app.values"),
    "EXPLAIN SELECT purge()": ("purge",),
    "INSERT INTO t (a, b) SELECT purge(), 1": ("purge",),
    "INSERT INTO app.t (a) VALUES (1) ON CONFLICT (a) DO NOTHING": (),
    "WITH RECURSIVE t(n) AS (VALUES (1)), u(a, b) AS NOT MATERIALIZED (SELECT 1, 2) SELECT * FROM t, u": (),
    "SELECT * FROM (SELECT 1, 2) l(a, b)": (),
    "SELECT 1 FROM t WHERE a IN (1) AND (b) OR NOT (c) LIMIT (3)": (),
}


@pytest.mark.req("POL-4", "PIPE-5")
@pytest.mark.parametrize("text", CALLS)
def test_what_is_called_is_told_with_its_schema(text: str) -> None:
    reading = read_sql(text, "sqlite" if "'wipe'" in text else "postgres")
    assert reading.problems == ()
    assert [statement.calls for statement, _ in reading.statements] == [CALLS[text]]


NAMED_LIKE_WORDS = {
    "SELECT DISTINCT ON (a) wipe(b) FROM t": ("wipe",),
    "SELECT DISTINCT ON (a) over(b) FROM t": ("over",),
    "SELECT DISTINCT ON (a) option(b) FROM t": ("option",),
    "SELECT top(10) FROM t": ("top",),
    "SELECT index('users'), key(1), range(2)": ("index", "key", "range"),
    "SELECT within(1), by(2)": ("by", "within"),
    "SELECT conflict(1), NOT materialized(2)": ("conflict", "materialized"),
    "SELECT force(1), system(2), next(3), value(4)": ("force", "next", "system", "value"),
    "SELECT * FROM partition(1)": ("partition",),
    "SELECT cube(a) FROM t ORDER BY range(a) LIMIT key(1)": ("cube", "key", "range"),
    "SELECT * FROM t CROSS JOIN LATERAL index(a)": ("index",),
    "INSERT INTO t SELECT * FROM a JOIN b ON conflict(x)": ("conflict",),
    "SELECT string(1), number(a) FROM t": ("number", "string"),
    "SELECT CASE WHEN a THEN key(a) ELSE option(b) END, c || index(d) FROM t": ("index", "key", "option"),
}
WHERE_THEY_BELONG = {
    "SELECT DISTINCT ON (a) a, b FROM t": (),
    "SELECT sum(x) FILTER (WHERE a) OVER (PARTITION BY (a) ORDER BY (b)) FROM t": ("sum",),
    "SELECT max(x) WITHIN GROUP (ORDER BY a) FILTER (WHERE b) FROM t": ("max",),
    "WITH a AS MATERIALIZED (SELECT 1), b(x) AS NOT MATERIALIZED (SELECT 2) SELECT * FROM a, b": (),
    "SELECT * FROM ((SELECT 1) a(x) CROSS JOIN LATERAL (SELECT 2) b(y)), (VALUES (1, 2)) v(a, b)": (),
    "SELECT * FROM a JOIN document USING (b) ORDER BY c NULLS FIRST LIMIT (1)": (),
    "DELETE FROM t USING (SELECT 1) s(a) WHERE t.a = s.a RETURNING (a)": (),
    "SELECT * FROM document JOIN (SELECT 1) b(c) ON (true)": (),
    "SELECT * FROM unnest(a) WITH ORDINALITY t(a, n)": ("unnest",),
    "SELECT * FROM a JOIN b USING (c) WHERE (a) LIKE ('x') AND b NOT LIKE ('y') LIMIT (3) OFFSET (2)": (),
    "SELECT a::numeric(10, 2), b::vector(3), c::app.kind(3) FROM t": (),
    "SELECT a FROM t GROUP BY c, CUBE (a, b), GROUPING SETS ((a), ROLLUP (a, b))": (),
    "SELECT * FROM t TABLESAMPLE SYSTEM (10) REPEATABLE (1) FETCH FIRST (10) ROWS ONLY": (),
    "INSERT INTO t (a) VALUES (1) ON CONFLICT (a) WHERE b DO UPDATE SET (a, b) = (1, 2)": (),
    "CREATE TABLE IF NOT EXISTS app.x (a) AS SELECT lower(a) FROM t": ("lower",),
}
IN_SQL_SERVER = {
    "SELECT TOP (10) wipe(b) FROM t": ("wipe",),
    "SELECT TOP (10) a FROM t WITH (INDEX(i)) CROSS APPLY (SELECT 1 AS a) x OPTION (RECOMPILE)": (),
}


@pytest.mark.req("POL-4", "PIPE-5")
@pytest.mark.parametrize("text", NAMED_LIKE_WORDS)
def test_a_function_named_like_a_word_of_the_language_is_a_call(text: str) -> None:
    statements = [statement for statement, _ in read_sql(text, "postgres").statements]
    assert [statement.calls for statement in statements] == [NAMED_LIKE_WORDS[text]]


@pytest.mark.req("POL-4", "PIPE-5")
@pytest.mark.parametrize("text", WHERE_THEY_BELONG)
def test_words_of_the_language_where_they_belong_are_no_calls(text: str) -> None:
    reading = read_sql(text, "postgres")
    assert reading.problems == ()
    assert [statement.calls for statement, _ in reading.statements] == [WHERE_THEY_BELONG[text]]


@pytest.mark.req("POL-4", "PIPE-5")
@pytest.mark.parametrize("text", IN_SQL_SERVER)
def test_words_of_sql_server_are_no_calls_there(text: str) -> None:
    reading = read_sql(text, "tsql")
    assert reading.problems == ()
    assert [statement.calls for statement, _ in reading.statements] == [IN_SQL_SERVER[text]]


@pytest.mark.req("POL-4")
def test_what_moves_a_sequence_on_does_not_only_read() -> None:
    for text, dialect in {"SELECT NEXT VALUE FOR s": "tsql", "SELECT s.nextval": "mysql"}.items():
        assert [statement.effect for statement, _ in read_sql(text, dialect).statements] == ["write"]
    assert [statement.effect for statement, _ in read_sql("SELECT value FROM next", "tsql").statements] == ["read"]


@pytest.mark.req("POL-4")
def test_a_name_in_quotes_is_another_than_one_without() -> None:
    reading = read_sql('SELECT "Count"(1), "a.b"(2), "lower"(c) FROM t', "postgres")
    assert [statement.calls for statement, _ in reading.statements] == [('"a.b"', "Count", "lower")]


@pytest.mark.req("POL-4")
def test_letters_that_only_look_alike_in_capitals_stay_other_letters() -> None:
    reading = read_sql("SELECT m\u0131d(1)", "postgres")
    assert [statement.calls for statement, _ in reading.statements] == [("m\u0131d",)]


@pytest.mark.req("POL-4")
def test_a_pragma_calls_nothing() -> None:
    reading = read_sql("PRAGMA table_info(t)", "sqlite")
    assert [statement.calls for statement, _ in reading.statements] == [()]
