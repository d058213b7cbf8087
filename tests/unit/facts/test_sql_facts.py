"""What each statement of a call would do, whichever database it is run by."""

import pytest
from facts_calls import Facts, Sql, effects
from interlock_gateway.config import ToolOverride
from interlock_gateway.facts.sql.lexing import MAX_CHARS, MAX_NESTING
from interlock_gateway.registry.effective import fact_arguments

pytestmark = pytest.mark.req("PIPE-5")

READING = [
    "SELECT 1",
    "select a, b from t where a = 'DROP TABLE t; --'",
    'SELECT "update", "delete" FROM t',
    "(SELECT 1) UNION (SELECT 2)",
    "WITH a AS (SELECT 1) SELECT * FROM a",
    "VALUES (1), (2)",
    "SHOW TABLES",
    "SHOW search_path",
    "SHOW CREATE TABLE t",
    "SHOW CREATE TABLE shop.`order`;",
    "SHOW CREATE VIEW [a].v",
    "SHOW CREATE PROCEDURE p",
    "DESCRIBE t",
    "EXPLAIN SELECT * FROM t",
    "EXPLAIN DELETE FROM t",
    "EXPLAIN QUERY PLAN SELECT * FROM t",
    "EXPLAIN (COSTS OFF) SELECT * FROM t",
    "EXPLAIN ANALYZE SELECT * FROM t",
    "PRAGMA table_info(t)",
    "PRAGMA main.user_version",
    "SELECT replace(a, 'x', 'y'), t.comment, a AS load FROM t",
    "SELECT 1; SELECT 2;",
    "SELECT a -- what DROP does\nFROM t",
    "SELECT a /* DROP TABLE t */ FROM t",
    "SELECT `a` FROM `order`",
    "SELECT [a] FROM [order]",
    "SELECT TOP 5 * FROM t WITH (NOLOCK)",
    "SELECT data->>'a', '{}'::jsonb, array[1, 2][1] FROM t",
    "SELECT count(*) FILTER (WHERE a > 1) OVER (PARTITION BY b) FROM t",
    "SELECT open, close FROM prices ORDER BY 1",
    "SELECT * FROM generate_series(1, 10)",
    "SELECT $$ it's $$ || 'x' FROM t",
    "SELECT 'caf\u00e9' AS \u540d\u524d",
]


@pytest.mark.parametrize("text", READING)
def test_what_only_reads_says_so(sql: Sql, text: str) -> None:
    found = sql(text)
    assert (found["read_only"], found["parse_error"], found["dynamic"]) == (True, False, False), found["errors"]


CHANGING = [
    ("INSERT INTO t VALUES (1)", "insert", "write"),
    ("INSERT INTO t (a) SELECT a FROM s", "insert", "write"),
    ("INSERT INTO t VALUES (1) ON CONFLICT (a) DO UPDATE SET b = 1", "insert", "write"),
    ("INSERT INTO t VALUES (1) ON DUPLICATE KEY UPDATE b = 1", "insert", "write"),
    ("REPLACE INTO t VALUES (1)", "replace", "write"),
    ("UPDATE t SET a = 1 WHERE b = 2", "update", "write"),
    ("DELETE FROM t WHERE b = 2", "delete", "write"),
    ("MERGE INTO t USING s ON t.a = s.a WHEN MATCHED THEN DELETE", "merge", "write"),
    ("WITH d AS (DELETE FROM t RETURNING *) SELECT * FROM d", "delete", "write"),
    ("WITH d AS (SELECT 1) INSERT INTO t SELECT * FROM d", "insert", "write"),
    ("WITH d AS (UPDATE t SET a = 1 RETURNING *), e AS (SELECT 1) SELECT * FROM e", "update", "write"),
    ("EXPLAIN ANALYZE DELETE FROM t", "delete", "write"),
    ("EXPLAIN (ANALYZE, BUFFERS) UPDATE t SET a = 1", "update", "write"),
    ("EXPLAIN ANALYZE VERBOSE INSERT INTO t VALUES (1)", "insert", "write"),
    ("DESC ANALYZE DELETE FROM t", "delete", "write"),
    ("SELECT * INTO copy_of_t FROM t", "select into", "write"),
    ("COPY t FROM STDIN", "copy", "write"),
    ("LOAD DATA INFILE '/x' INTO TABLE t", "load", "write"),
    ("CREATE TABLE t (a int)", "create", "schema"),
    ("CREATE TABLE t AS SELECT * FROM s", "create", "schema"),
    ("CREATE EXTENSION plpython3u", "create", "schema"),
    ("DROP TABLE IF EXISTS a, b CASCADE", "drop", "schema"),
    ("ALTER TABLE t DROP COLUMN a", "alter", "schema"),
    ("TRUNCATE t", "truncate", "schema"),
    ("RENAME TABLE a TO b", "rename", "schema"),
    ("GRANT ALL ON t TO u", "grant", "privilege"),
    ("REVOKE ALL ON t FROM u", "revoke", "privilege"),
    ("BEGIN", "begin", "transaction"),
    ("COMMIT", "commit", "transaction"),
    ("ROLLBACK TO x", "rollback", "transaction"),
    ("SET search_path = x", "set", "session"),
    ("USE other", "use", "session"),
    ("PRAGMA writable_schema = 1", "pragma", "session"),
    ("PRAGMA journal_mode(delete)", "pragma", "session"),
    ("PRAGMA wal_checkpoint", "pragma", "session"),
    ("LOCK TABLE t", "lock", "session"),
    ("SELECT * FROM t FOR UPDATE", "select", "session"),
    ("SELECT * FROM t FOR NO KEY UPDATE SKIP LOCKED", "select", "session"),
    ("SELECT * FROM t LOCK IN SHARE MODE", "select", "session"),
    ("ATTACH DATABASE '/x' AS y", "attach", "admin"),
    ("VACUUM", "vacuum", "admin"),
    ("BACKUP DATABASE x TO DISK = 'y'", "backup", "admin"),
    ("SHUTDOWN", "shutdown", "admin"),
    ("KILL 7", "kill", "admin"),
    ("CALL p(1)", "call", "code"),
    ("EXEC p 1", "exec", "code"),
    ("EXECUTE IMMEDIATE 'x'", "execute", "code"),
    ("PREPARE x AS DELETE FROM t", "prepare", "code"),
    ("DO $$ BEGIN DELETE FROM t; END $$", "do", "code"),
    ("DECLARE @x int", "declare", "code"),
    ("IF 1 = 1 DROP TABLE t", "if", "code"),
]


@pytest.mark.parametrize(("text", "kind", "effect"), CHANGING)
def test_what_changes_something_says_what(sql: Sql, text: str, kind: str, effect: str) -> None:
    found = sql(text)
    assert found["read_only"] is False
    assert (kind, effect) in effects(found)
    assert found["dynamic"] is (effect == "code")


CONDITIONS = [
    ("DELETE FROM t", "none"),
    ("UPDATE t SET a = 1", "none"),
    ("DELETE FROM t LIMIT 3", "none"),
    ("UPDATE t SET a = (SELECT b FROM s WHERE c = 1)", "none"),
    ("WITH d AS (DELETE FROM t RETURNING a) SELECT * FROM d WHERE a = 1", "none"),
    ("WITH d AS (DELETE FROM t) DELETE FROM s WHERE a = 1", "none"),
    ("DELETE t FROM t LEFT JOIN s ON t.a = s.a", "none"),
    ("DELETE t FROM t JOIN s ON 1 = 1", "none"),
    *(
        (f"DELETE FROM t WHERE {condition}", "trivial")
        for condition in (
            *("1", "1 = 1", "TRUE", "'a' = 'a'", "NOT FALSE", "2 > 1", "(1 = 1)", "1 = 1 OR a = 2", "a = 2 OR TRUE"),
            *("a = a", "t.a = t.a", "a = a AND 1 = 1", "a LIKE '%'", "a LIKE '%%'", "a IN (1, a)", "1 IN (1)"),
            *(
                "a = a + 0",
                "a = 0 + a",
                "a * 1 = a",
                "a - 0 >= a",
                "a = a || ''",
                "a = -(-a)",
                "a = (a)",
                "a / 1.0 = a",
            ),
            *("a IN (SELECT a FROM t)", "t.a IN (SELECT x.a FROM t x)", "a = ANY (SELECT a FROM t)", "a = t.a"),
            *("a <> -1 OR a = -1", "a = 5 OR b = 2 OR NOT a = 5", "NOT (a IS NULL AND a IS NOT NULL)", "NOT a <> a"),
            *("a IS NULL OR a IS NOT NULL", "a > 0 OR a <= 0", "a > 0 OR a < 5", "a <> 1 OR a <> 2", "5 < a OR 5 >= a"),
            *("a IN (1) OR a NOT IN (1)", "NOT (a > 5 AND a < 5)", "a BETWEEN a AND a", "((((a = 1)))) OR (a != (1))"),
            *("EXISTS (SELECT 1 FROM t x WHERE x.a = t.a)", "NOT NOT (a = a)", "NOT (a = 1 AND a = 2)"),
            *("EXISTS (SELECT 1)", "a IS NULL OR NOT a IS NULL", "random() < 2", "a >= a", "1 BETWEEN 0 AND 2"),
        )
    ),
    *(
        (f"DELETE FROM t WHERE {condition}", "given")
        for condition in ("a = 1", "a = 1 AND 1 = 1", "a LIKE 'x%'", "a IN (1, 2)", "a IS NULL", "a = b", "t.a = ?")
    ),
    *(
        (f"DELETE FROM t WHERE {condition}", "given")
        for condition in (
            *(
                "a = a + 1",
                "a = a * 10",
                "a = lower(a)",
                "a <> trim(a)",
                "a IN (SELECT a FROM s)",
                "a = -a",
            ),
            *(
                "a IN (SELECT a FROM t WHERE b = 1)",
                "a IN (SELECT b FROM t)",
                "a IN (SELECT a FROM t LIMIT 5)",
                "NOT a = a",
            ),
            *("a > 5 OR a < 0", "a <> 1 AND a <> 2", "a = 1 OR a = 2", "a >= 5 OR a < 5 - 1", "NOT (a = 1 OR a <> 1)"),
            *(
                "a = 1 OR b <> 1",
                "a IS NOT NULL",
                "a NOT IN (SELECT a FROM t)",
                "a > 5 OR a < 5",
                "a <> 1 OR a = 2",
                "NOT a = a",
            ),
            *(
                "EXISTS (SELECT 1 FROM s WHERE s.a = t.a)",
                "EXISTS (SELECT 1 FROM t x WHERE x.a = t.b)",
                "NOT a LIKE '%'",
            ),
        )
    ),
    ("DELETE t FROM t JOIN s ON t.a = s.a", "given"),
    ("UPDATE t SET a = 1 FROM s WHERE t.a = s.a", "given"),
    ("INSERT INTO t VALUES (1)", None),
    ("SELECT * FROM t", None),
]


def test_two_dashes_without_a_blank_hide_no_condition_from_mysql(sql: Sql) -> None:
    text = "DELETE FROM t WHERE a = 1 --1 OR 1 = 1"
    assert [statement["condition"] for statement in sql(text, "mysql")["statements"]] == ["trivial"]
    assert [statement["condition"] for statement in sql(text, "postgres")["statements"]] == ["given"]
    assert {statement["condition"] for statement in sql(text)["statements"]} == {"given", "trivial"}


@pytest.mark.parametrize(("text", "condition"), CONDITIONS)
def test_it_is_said_what_restricts_a_change(sql: Sql, text: str, condition: str | None) -> None:
    found = sql(text)
    assert found["parse_error"] is False
    assert {statement["condition"] for statement in found["statements"]} == {condition}


TABLES = [
    ("SELECT * FROM a JOIN s.b ON a.x = b.x, c", {"a", "s.b", "c"}, set[str]()),
    ("SELECT * FROM (SELECT * FROM a) x WHERE EXISTS (SELECT 1 FROM B)", {"a", "b"}, set()),
    ("WITH a AS (SELECT * FROM b) SELECT * FROM a", {"b"}, set()),
    ("INSERT INTO a SELECT * FROM b", {"b"}, {"a"}),
    ("UPDATE a SET x = 1 FROM b WHERE a.y = b.y", {"b"}, {"a"}),
    ("UPDATE x SET y = 1 FROM a x WHERE x.z = 1", {"a"}, {"a", "x"}),
    ("DELETE x FROM a x WHERE x.z = 1", {"a"}, {"a", "x"}),
    ("DELETE FROM a USING b WHERE a.x = b.x", {"b"}, {"a"}),
    ("MERGE INTO a USING b ON a.x = b.x WHEN MATCHED THEN DELETE", {"b"}, {"a"}),
    ("WITH d AS (DELETE FROM a RETURNING *) INSERT INTO b SELECT * FROM d", set(), {"a", "b"}),
    ("DROP TABLE a, s.b", set(), {"a", "s.b"}),
    ("TRUNCATE a, b", set(), {"a", "b"}),
    ("CREATE TABLE a AS SELECT * FROM b", {"b"}, {"a"}),
    ("SELECT * INTO a FROM b", {"b"}, {"a"}),
    ("ALTER TABLE a ADD COLUMN x int", set(), {"a"}),
    ('SELECT * FROM "Order" o', {"order"}, set()),
    ("SELECT * FROM db.s.a", {"db.s.a"}, set()),
    ("EXPLAIN DELETE FROM a", {"a"}, set()),
]


@pytest.mark.parametrize(("text", "reads", "writes"), TABLES)
def test_the_tables_it_touches_are_named(sql: Sql, text: str, reads: set[str], writes: set[str]) -> None:
    statements = sql(text)["statements"]
    assert {table["qualified"] for statement in statements for table in statement["reads"]} == reads
    assert {table["qualified"] for statement in statements for table in statement["writes"]} == writes
    assert all(table["name"] == table["qualified"].rpartition(".")[2] for s in statements for table in s["writes"])


@pytest.mark.parametrize(
    ("text", "function"),
    [
        ("SELECT pg_read_file('/etc/passwd')", "pg_read_file"),
        ("SELECT PG_CATALOG.Pg_Read_File ('/etc/passwd')", "pg_read_file"),
        ("SELECT \"pg_read_file\"('/etc/passwd')", "pg_read_file"),
        ("SELECT pg_read_file/* */('/x')", "pg_read_file"),
        ("SELECT * FROM dblink('x', 'DELETE FROM t') AS y(a int)", "dblink"),
        ("SELECT 1 WHERE EXISTS (SELECT lo_import('/x'))", "lo_import"),
        ("SELECT LOAD_FILE('/x')", "load_file"),
        ("SELECT load_extension('x')", "load_extension"),
        ("SELECT * FROM OPENROWSET(BULK '/x', SINGLE_CLOB) AS y", "openrowset"),
        ("EXPLAIN SELECT pg_read_file('/x')", "pg_read_file"),
        ("INSERT INTO t VALUES (writefile('/x', 'y'))", "writefile"),
    ],
)
def test_functions_are_named_wherever_they_are_called(sql: Sql, text: str, function: str) -> None:
    assert function in sql(text)["functions"]


@pytest.mark.parametrize(
    ("text", "files", "programs"),
    [
        ("COPY t TO '/x'", True, False),
        ("COPY t FROM PROGRAM 'curl x'", True, True),
        ("COPY (SELECT 1) TO PROGRAM 'x'", True, True),
        ("COPY t TO STDOUT", False, False),
        ("LOAD DATA LOCAL INFILE '/x' INTO TABLE t", True, False),
        ("SELECT * FROM t INTO OUTFILE '/x'", True, False),
        ("ATTACH '/x' AS y", True, False),
        ("VACUUM INTO '/x'", True, False),
        ("BULK INSERT t FROM '/x'", True, False),
        ("RESTORE DATABASE x FROM DISK = 'y'", True, False),
        ("EXEC xp_cmdshell 'dir'", False, True),
        ("EXECUTE master..[XP_cmdshell] 'dir'", False, True),
        ("EXEC sp_OACreate 'x', @a OUT", False, True),
        ("EXEC sp_help 'xp_cmdshell'", False, False),
        ("SELECT 1", False, False),
    ],
)
def test_what_has_the_server_touch_files_says_so(sql: Sql, text: str, *, files: bool, programs: bool) -> None:
    found = sql(text)
    assert any(statement["files"] for statement in found["statements"]) is files
    assert any(statement["programs"] for statement in found["statements"]) is programs
    assert found["read_only"] is (text == "SELECT 1")


def test_several_statements_are_counted(sql: Sql) -> None:
    assert sql("SELECT 1;")["several"] is False
    assert sql("SELECT 1; ;")["several"] is False
    assert sql("SELECT ';'")["several"] is False
    assert sql("SELECT 1; SELECT 2")["several"] is True


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "no statement"),
        (" ; -- x", "no statement"),
        ("SELECT '", "not closed"),
        ("SELECT 1 FROM", "not understood"),
        ("SELECT (1", "not understood"),
        ("FOO BAR", "not known"),
        ("SELECT \ud800", "not valid Unicode"),
        ("SELECT 1 -- " + "x" * MAX_CHARS, "longer than"),
        ("SELECT " + "(" * (MAX_NESTING + 1) + "1" + ")" * (MAX_NESTING + 1), "deep"),
        ("SELECT " + "1," * 5_000 + "1", "words and signs"),
        ("SELECT 1;" * 65, "statements"),
        ("SELECT " + "ARRAY[" * 24 + "1" + "]" * 24, "not understood"),
        ("SELECT " + "NOT " * 2_000 + "1", "not understood"),
    ],
    ids=lambda value: ascii(value)[:24],
)
def test_what_is_not_understood_is_said(facts: Facts, text: str, reason: str) -> None:
    document = facts("sql", {"sql": text})
    found = document.get("sql")
    if found is None:
        assert reason in document["error"]
        return
    assert (found["parse_error"], found["read_only"]) == (True, False)
    assert any(reason in error for error in found["errors"])


def test_every_text_of_a_call_is_read(facts: Facts) -> None:
    found = facts("sql", {"statements": ["SELECT 1", "DROP TABLE t"]})["sql"]
    assert found["statements"][0]["argument"] == "/statements/0"
    assert (found["several"], found["effects"]) == (True, ["read", "schema"])


@pytest.mark.parametrize(
    "given", [{}, {"text": "SELECT 1"}, {"sql": 3}, {"sql": ["SELECT 1", 3]}, {"sql": []}, {"sql": {}}]
)
def test_a_call_without_sql_is_not_extracted(facts: Facts, given: dict[str, object]) -> None:
    document = facts("sql", given)
    assert document["extracted"] is False
    assert document["error"]


def test_schema_and_operator_say_what_is_sql_and_in_which_dialect(facts: Facts) -> None:
    schema = {
        "properties": {"q": {"type": "string", "x-interlock-fact": "sql", "x-interlock-dialect": "mysql"}},
        "required": ["q"],
    }
    found = facts("sql", {"q": "SELECT 1 # ; DROP TABLE t"}, schema=schema)["sql"]
    assert (found["dialect"], found["read_only"]) == ("mysql", True)
    names = {"sql": ("q",), "dialect": ("postgres",)}
    found = facts("sql", {"q": "SELECT 1 # ; DROP TABLE t", "dialect": "mysql"}, schema=schema, names=names)["sql"]
    assert (found["dialect"], found["read_only"]) == ("postgres", False)
    assert facts("sql", {}, schema=schema)["extracted"] is False


def test_a_dialect_that_a_call_asks_for_counts_for_nothing(facts: Facts) -> None:
    given = {"sql": "SELECT 1 # ; DROP TABLE t", "dialect": "mysql", "x-interlock-dialect": "mysql"}
    found = facts("sql", given)["sql"]
    assert (found["dialect"], found["read_only"]) == (None, False)


def test_the_configuration_of_a_tool_names_its_dialect() -> None:
    overrides = {"db.*": ToolOverride(facts={"sql": ("q",)}), "db.query": ToolOverride(sql_dialect="sqlite")}
    assert fact_arguments("db.query", overrides) == {"sql": ("q",), "dialect": ("sqlite",)}
    assert fact_arguments("db.execute", overrides) == {"sql": ("q",)}


@pytest.mark.req("POL-3")
@pytest.mark.parametrize(
    ("text", "condition"),
    [
        ("MERGE INTO t USING s ON t.a = s.a WHEN MATCHED THEN DELETE", "given"),
        ("MERGE INTO t USING s ON t.a = s.a WHEN MATCHED THEN UPDATE SET b = 1", "given"),
        ("MERGE INTO t USING s ON t.a = s.a WHEN NOT MATCHED THEN INSERT VALUES (1)", None),
        ("MERGE INTO t USING s ON true WHEN MATCHED THEN DELETE", "trivial"),
        ("MERGE INTO t USING s ON true WHEN MATCHED AND t.a = 1 THEN DELETE", "given"),
        ("MERGE INTO t USING s ON t.a = t.a WHEN MATCHED AND 1 = 1 THEN UPDATE SET b = 1", "trivial"),
        ("MERGE INTO t USING t s ON t.a = s.a WHEN MATCHED THEN DELETE", "trivial"),
        ("MERGE INTO t USING (SELECT * FROM t) s ON t.a = s.a WHEN MATCHED THEN DELETE", "trivial"),
        ("MERGE INTO t USING (SELECT * FROM t WHERE b = 1) s ON t.a = s.a WHEN MATCHED THEN DELETE", "given"),
        (
            (
                "MERGE INTO t USING s ON t.a = s.a WHEN MATCHED AND s.b = 1 THEN DELETE "
                "WHEN NOT MATCHED BY SOURCE AND true THEN UPDATE SET b = 1"
            ),
            "given",
        ),
    ],
)
def test_a_merge_has_the_weakest_condition_of_the_branches_that_change_rows(
    sql: Sql, text: str, condition: str | None
) -> None:
    assert [statement["condition"] for statement in sql(text, "postgres")["statements"]] == [condition]
