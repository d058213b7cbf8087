"""Whose artifacts are, so that no principal has all of the store.

Revision ID: 0008
Revises: 0007
"""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None

_ARTIFACTS = "name, session_id, size, stored_at, state, released, claimant, reason, claimed_until, removed_at"
_SESSIONS = "session_id, count, size, stored_at, released"


def upgrade() -> None:
    """Give artifacts, and what sessions have of them, the owner of the session."""
    # New tables in their place, because SQLite writes an added column down otherwise than one that was there.
    _set_aside("artifacts", _ARTIFACTS)
    op.create_table(
        "artifacts",
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("session_id", sa.Text, nullable=False),
        sa.Column("size", sa.BigInteger, nullable=False),
        sa.Column("stored_at", sa.Double, nullable=False),
        sa.Column("state", sa.Text, nullable=False),
        sa.Column("released", sa.Integer, nullable=False),
        sa.Column("claimant", sa.Text, nullable=False),
        sa.Column("reason", sa.Text, nullable=False),
        sa.Column("claimed_until", sa.Double),
        sa.Column("removed_at", sa.Double),
        sa.Column("owner", sa.Text, nullable=False, server_default=""),
        sa.PrimaryKeyConstraint("name", name="pk_artifacts"),
    )
    _fill("artifacts", _ARTIFACTS)
    op.create_index("ix_artifacts_session_id", "artifacts", ["session_id"])
    may_go = "state = 'kept' AND released = 1"
    _partial_index("ix_artifacts_oldest", ["stored_at", "name"], may_go)
    _partial_index("ix_artifacts_oldest_of_owner", ["owner", "stored_at", "name"], may_go)
    _partial_index("ix_artifacts_removing", ["claimed_until"], "state = 'removing'")
    _partial_index("ix_artifacts_removed", ["removed_at"], "state = 'removed'")
    _set_aside("artifact_sessions", _SESSIONS)
    op.create_table(
        "artifact_sessions",
        sa.Column("session_id", sa.Text, nullable=False),
        sa.Column("count", sa.Integer, nullable=False),
        sa.Column("size", sa.BigInteger, nullable=False),
        sa.Column("stored_at", sa.Double, nullable=False),
        sa.Column("released", sa.Integer, nullable=False),
        sa.Column("owner", sa.Text, nullable=False, server_default=""),
        sa.PrimaryKeyConstraint("session_id", name="pk_artifact_sessions"),
    )
    _fill("artifact_sessions", _SESSIONS)
    _partial_index("ix_artifact_sessions_idle", ["stored_at"], "released = 0", table="artifact_sessions")


def _set_aside(table: str, columns: str) -> None:
    op.execute(f"CREATE TABLE {table}_before AS SELECT {columns} FROM {table}")  # noqa: S608 - constants
    op.drop_table(table)


def _fill(table: str, columns: str) -> None:
    owner = f"(SELECT owner FROM sessions WHERE sessions.session_id = {table}_before.session_id)"  # noqa: S608 - constants
    given = f"SELECT {columns}, coalesce({owner}, '') FROM {table}_before"  # noqa: S608 - as above
    op.execute(f"INSERT INTO {table} ({columns}, owner) {given}")
    op.drop_table(f"{table}_before")


def _partial_index(name: str, columns: list[str], where: str, *, table: str = "artifacts") -> None:
    condition = sa.text(where)
    op.create_index(name, table, columns, sqlite_where=condition, postgresql_where=condition)
