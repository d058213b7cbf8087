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
