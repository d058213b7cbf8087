"""No statement looks at every row of a table that grows (PERF-5)."""

from collections.abc import Iterator
from types import ModuleType
from typing import Any

import psycopg
import pytest
from interlock_gateway.state import (
    approval_store,
    artifact_statements,
    call_store,
    checkpoint_statements,
    handler_store,
    operations,
    pending_statements,
    session_store,
    store,
    waiting_calls,
)
from interlock_gateway.state.database import Database, open_database
from interlock_gateway.state.transaction import Statement, _Compiled
from postgres_server import PostgresServer

MODULES: list[ModuleType] = [
    artifact_statements,
    session_store,
    call_store,
    operations,
    pending_statements,
    checkpoint_statements,
    waiting_calls,
    handler_store,
    approval_store,
    store,
]
# Adds up all of its table, once a minute and beside the calls.
WHOLE = {"artifact_statements.USAGE"}
STATEMENTS = {
    f"{module.__name__.rsplit('.', maxsplit=1)[-1]}.{name}": statement
    for module in MODULES
    for name, statement in vars(module).items()
    if isinstance(statement, Statement) and f"{module.__name__.rsplit('.', maxsplit=1)[-1]}.{name}" not in WHOLE
}


def test_the_statements_are_found() -> None:
    assert len(STATEMENTS) > 20


@pytest.mark.parametrize("name", STATEMENTS)
@pytest.mark.parametrize("kind", ["sqlite"], indirect=True)
def test_a_statement_finds_its_rows_by_an_index_on_sqlite(database: Database, name: str) -> None:
    compiled = _Compiled(STATEMENTS[name], database)

    with database.engine.connect() as connection:
        values = compiled.bind(dict.fromkeys(compiled._names, 1))
        plan = connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {compiled.sql}", tuple(values)).fetchall()

    steps = [str(row[3]) for row in plan]
    assert not [step for step in steps if step.startswith("SCAN") and "USING" not in step]
    assert not [step for step in steps if "TEMP B-TREE" in step]


@pytest.fixture(scope="module")
def planner(postgres: PostgresServer, migrated_template: str) -> Iterator[psycopg.ClientCursor[Any]]:
    """Plans statements on empty tables as it would on large ones: reading them whole is its last resort."""
    with psycopg.connect(postgres.url(migrated_template), autocommit=True) as connection:
        connection.execute("SET enable_seqscan = off; SET enable_sort = off; SET enable_bitmapscan = off")
        yield psycopg.ClientCursor(connection)


@pytest.mark.parametrize("name", STATEMENTS)
def test_a_statement_finds_its_rows_by_an_index_on_postgresql(
    postgres: PostgresServer, migrated_template: str, planner: psycopg.ClientCursor[Any], name: str
) -> None:
    compiled = _Compiled(STATEMENTS[name], open_database(postgres.url(migrated_template), busy_timeout_s=1.0))

    # A quoted literal is of whatever type the statement casts it to.
    values = compiled.bind(dict.fromkeys(compiled._names, "1"))
    plan = planner.execute(f"EXPLAIN {compiled.sql}", values).fetchall()

    steps = "\n".join(row[0] for row in plan)
    assert "Seq Scan" not in steps, steps
    assert "Sort" not in steps, steps
