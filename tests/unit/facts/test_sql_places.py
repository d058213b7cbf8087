"""Tables that are none of the database: files, addresses, and those of other servers."""

import pytest
from facts_calls import Sql

pytestmark = pytest.mark.req("PIPE-5")


@pytest.mark.parametrize(
    "text",
    [
        "SELECT * FROM '/etc/passwd'",
        "SELECT * FROM 's3://bucket/x'",
        "SELECT a FROM t, 'x.csv' u",
        "SELECT a FROM t JOIN ('x.csv') u USING (a)",
        'SELECT a FROM (SELECT * FROM "x.parquet") u',
        "SELECT * FROM linked...t",
        "SELECT * FROM linked.db..t",
    ],
)
def test_a_file_or_a_server_in_the_place_of_a_table_is_seen(sql: Sql, text: str) -> None:
    assert [statement["files"] for statement in sql(text)["statements"]] == [True]


@pytest.mark.parametrize(
    "text",
    [
        "SELECT trim('a/b' FROM 'c/d'), extract(year FROM '2024.1'), substring('a.b' FROM '.*') FROM t",
        "SELECT a, 'b.c' FROM t JOIN u ON u.x = 'a/b' WHERE a IS DISTINCT FROM 'a/b' AND b IN ('a.b', 'c.d')",
        "SELECT a FROM t ORDER BY a, 'c/d'",
        'SELECT "a/b" FROM "my.table"',
        "SELECT * FROM db..t",
        "SELECT db..t.a FROM db..t",
    ],
)
def test_texts_elsewhere_are_no_files(sql: Sql, text: str) -> None:
    assert not any(statement["files"] for statement in sql(text)["statements"])


def test_a_table_of_a_linked_server_is_named_in_full(sql: Sql) -> None:
    [statement] = sql("SELECT * FROM linked.db.dbo.t")["statements"]
    assert [table["qualified"] for table in statement["reads"]] == ["linked.db.dbo.t"]
