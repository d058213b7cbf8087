"""What the database is told about durability: what is committed stays, also when the machine loses its power."""

import pytest
from interlock_gateway.state.database import open_database
from sqlalchemy import text

ASKED: dict[str, dict[str, str | int]] = {
    "sqlite": {"PRAGMA journal_mode": "wal", "PRAGMA synchronous": 2, "PRAGMA foreign_keys": 1},
    "postgresql": {"SHOW synchronous_commit": "on"},
}


@pytest.mark.req("PIPE-9", "STATE-1")
def test_every_connection_waits_until_the_disk_has_what_is_committed(migrated: str, kind: str) -> None:
    database = open_database(migrated, busy_timeout_s=1.0)
    try:
        with database.engine.connect() as connection:
            told = {asked: connection.execute(text(asked)).scalar() for asked in ASKED[kind]}
    finally:
        database.engine.dispose()
    assert told == ASKED[kind]
