"""Whatever text stands where SQL or a URL should, facts come back, match their schema, and cost bounded work."""

import random

import pytest
from facts_calls import Facts
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from interlock_gateway.facts.sql import structure
from interlock_gateway.facts.sql.lexing import MAX_CHARS, MAX_NESTING, MAX_TOKENS, UnreadableError, plainly, tokens
from interlock_gateway.facts.sql.reading import MAX_STATEMENTS, read_sql
from interlock_gateway.facts.sql.tongues import tongues

pytestmark = pytest.mark.req("PIPE-5")

WORDS = [
    *("SELECT ", "* FROM t", " WHERE ", "a = 1", "DELETE FROM ", "UPDATE t SET a = 1", "INSERT INTO t ", "VALUES (1)"),
    *(
        "WITH a AS (",
        "DROP TABLE ",
        "EXPLAIN ",
        "ANALYZE ",
        "MERGE INTO t USING s ON a ",
        "WHEN MATCHED THEN ",
        "CASE ",
    ),
    *("CAST(a AS int)", "ARRAY[", "NOT ", "EXISTS (", " JOIN b ON ", " UNION ", "END", "INTERVAL ", "COPY t ", "TO "),
    *(
        "PRAGMA ",
        "CALL p",
        "DO ",
        "BEGIN",
        "COMMIT",
        "GRANT ",
        " INTO ",
        "OUTFILE ",
        "f(",
        ")",
        "(",
        "]",
        "[",
        ",",
        ";",
    ),
    *(
        "'",
        '"',
        "`",
        "\\",
        "--",
        "-- ",
        "#",
        "/*",
        "*/",
        "/*!",
        "/*!50000 ",
        "$$",
        "$a$",
        "E'",
        "N'",
        "@x",
        "##t",
        ":a",
    ),
    *(
        "\n",
        "\t",
        "\r",
        "\0",
        " ",
        "\u00a0",
        "\u202e",
        "\u00e9",
        "\ud800",
        "?",
        "1",
        "1e",
        "0x",
        ".5",
        "::",
        "->>",
        "||",
    ),
]
PIECES = [
    *("http", "https", ":", "//", "/", "\\", "@", "#", "?", "[", "]", "::1", "127.1", "0x7f", "a.b", "localhost", "."),
    *("%", "%2e", "%00", "\t", "\n", " ", "\0", "\u3002", "\u00ad", "\u202e", "\u00fc", "\ud800", "xn--", "data:", "-"),
    *("65536", ":80", ":", "169.254.169.254", "user:pw@", "file:", "\u2460", "\uff0e", "a" * 70, ".." * 3, "'", '"'),
]
QUERIES = st.one_of(st.text(max_size=60), st.lists(st.sampled_from(WORDS), max_size=25).map("".join))
URLS = st.one_of(st.text(max_size=60), st.lists(st.sampled_from(PIECES), max_size=12).map("".join))
DIALECTS = st.sampled_from(["", "postgres", "mysql", "sqlite", "tsql", "other"])
BOUNDED = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@given(QUERIES, DIALECTS)
@BOUNDED
def test_any_text_gives_facts_as_sql(facts: Facts, text: str, dialect: str) -> None:
    found = facts("sql", {"sql": text}, schema={"x-interlock-dialect": dialect})["sql"]
    assert found["parse_error"] is bool(found["errors"])
    assert not (found["read_only"] and (found["parse_error"] or found["effects"] != ["read"]))


@given(URLS)
@BOUNDED
def test_any_text_gives_facts_as_a_url(facts: Facts, text: str) -> None:
    document = facts("webfetch", {"url": text})
    [found] = document["webfetch"]["urls"]
    assert document["extracted"] is (found["error"] is None)
    assert (found["host"] is None) is (found["reach"] == "none")


@given(st.dictionaries(st.sampled_from(["url", "urls", "sql", "method", "body"]), st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), st.text(max_size=10)),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.sampled_from(["url", "sql"]), inner)),
    max_leaves=8,
), max_size=4))  # fmt: skip
@BOUNDED
def test_any_input_gives_facts(facts: Facts, call: dict[str, object]) -> None:
    for permission_class in ("webfetch", "sql"):
        facts(permission_class, call)


@given(QUERIES, DIALECTS)
@BOUNDED
def test_what_is_written_down_again_is_cut_up_the_same_by_every_reader(text: str, dialect: str) -> None:
    for tongue in tongues(dialect, text):
        try:
            found = tokens(text, tongue)
        except UnreadableError:
            continue
        again = plainly(found, tongue)
        assert [token.kind for token in tokens(again, tongue)] == [token.kind for token in found]


def filled(piece: str, before: str = "", after: str = "") -> str:
    return before + piece * ((MAX_CHARS - len(before) - len(after)) // len(piece)) + after


HEAVY = [
    *(filled(piece, "SELECT ") for piece in ("a ", "a,", "(", "1+", "NOT ", "- ", "a.", "'a' ", "f(", "a[1]", "CASE ")),
    *(
        filled(piece)
        for piece in ("SELECT 1;", ";", "/*", "*/", "/*!", "--\n", "$a$", "$a$ $b$ ", "'", "`", '"', "[", "@")
    ),
    *(filled(piece, "SELECT '") for piece in ("''", "\\'", "\\", "a")),
    filled(" AND a = 1", "DELETE FROM t WHERE a = 1"),
    filled(" OR (a = 1", "DELETE FROM t WHERE a = 1"),
    filled(",(1)", "INSERT INTO t VALUES (1)"),
    filled(" JOIN t ON a = b", "SELECT * FROM t"),
    filled(" UNION SELECT 1", "SELECT 1"),
    *(
        "SELECT " + piece * MAX_NESTING
        for piece in ("ARRAY[", "(", "(SELECT ", "f(", "CAST(", "EXISTS(", "[", "a[", "{")
    ),
    *(
        "SELECT " + piece * (MAX_NESTING // 2)
        for piece in ("ARRAY[(", "(a,(", "CASE WHEN (", "(VALUES (", "x IN (SELECT ")
    ),
    "WITH a AS (" * MAX_NESTING,
    "SELECT CAST(1 AS " + "ARRAY<" * 500 + "INT" + ">" * 500 + ")",
    "SELECT * FROM " + "(t JOIN " * MAX_NESTING,
]


@pytest.mark.parametrize("text", HEAVY, ids=lambda text: ascii(text[:28]))
def test_work_is_bounded_whatever_the_sql(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    steps = 0
    count = structure.STEPS_AT_LEAST

    class Counting(int):
        def __sub__(self, other: int) -> "Counting":
            nonlocal steps
            steps += other
            return Counting(int(self) - other)

        def __add__(self, other: int) -> "Counting":
            return Counting(int(self) + other)

    monkeypatch.setattr(structure, "STEPS_AT_LEAST", Counting(count))
    reading = read_sql(text, "")
    readings = 6
    assert steps <= readings * (MAX_STATEMENTS * (count + 1) + structure.STEPS_PER_TOKEN * MAX_TOKENS)
    assert all(len(statement.text) <= 240 for statement, _ in reading.statements)


def test_damaged_sql_gives_facts(facts: Facts) -> None:
    chooser = random.Random(7)
    for _ in range(300):
        text = "".join(chooser.choices(WORDS, k=chooser.randint(1, 30)))
        at = chooser.randrange(len(text) + 1)
        facts("sql", {"sql": text[:at] + chooser.choice(WORDS) + text[at + chooser.randrange(3) :]})
