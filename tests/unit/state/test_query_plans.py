"""No statement looks at every row of a table that grows (PERF-5)."""

from types import ModuleType

import pytest
from interlock_gateway.state import (
    call_store,
    checkpoint_statements,
    handler_store,
    operations,
    pending_statements,
    session_store,
    store,
    waiting_calls,
)
from interlock_gateway.state.database import open_database
from interlock_gateway.state.transaction import Statement, _Compiled

MODULES: list[ModuleType] = [
    session_store,
    call_store,
    operations,
    pending_statements,
    checkpoint_statements,
    waiting_calls,
    handler_store,
    store,
]
STATEMENTS = {
    f"{module.__name__.rsplit('.', maxsplit=1)[-1]}.{name}": statement
    for module in MODULES
    for name, statement in vars(module).items()
    if isinstance(statement, Statement)
}


def test_the_statements_are_found() -> None:
    assert len(STATEMENTS) > 20


@pytest.mark.parametrize("name", STATEMENTS)
def test_a_statement_finds_its_rows_by_an_index(migrated: str, name: str) -> None:
    database = open_database(migrated, busy_timeout_s=1.0)
    compiled = _Compiled(STATEMENTS[name], database)

    with database.engine.connect() as connection:
        values = compiled.bind(dict.fromkeys(compiled._names, 1))
        plan = connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {compiled.sql}", tuple(values)).fetchall()

    steps = [str(row[3]) for row in plan]
    assert not [step for step in steps if step.startswith("SCAN") and "USING" not in step]
    assert not [step for step in steps if "TEMP B-TREE" in step]
