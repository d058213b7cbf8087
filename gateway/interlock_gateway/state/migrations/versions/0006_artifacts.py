"""What is in the artifact store, how much of it is each session's, and who sweeps it.

Revision ID: 0006
Revises: 0005
"""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Create the tables of artifacts; what the store held before is entered by the first sweep."""
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
        sa.PrimaryKeyConstraint("name", name="pk_artifacts"),
    )
    op.create_index("ix_artifacts_session_id", "artifacts", ["session_id"])
    _partial_index("ix_artifacts_oldest", ["stored_at", "name"], "state = 'kept' AND released = 1")
    _partial_index("ix_artifacts_removing", ["claimed_until"], "state = 'removing'")
    _partial_index("ix_artifacts_removed", ["removed_at"], "state = 'removed'")
    op.create_table(
        "artifact_sessions",
        sa.Column("session_id", sa.Text, nullable=False),
        sa.Column("count", sa.Integer, nullable=False),
        sa.Column("size", sa.BigInteger, nullable=False),
        sa.Column("stored_at", sa.Double, nullable=False),
        sa.Column("released", sa.Integer, nullable=False),
        sa.PrimaryKeyConstraint("session_id", name="pk_artifact_sessions"),
    )
    _partial_index("ix_artifact_sessions_idle", ["stored_at"], "released = 0", table="artifact_sessions")
    op.create_table(
        "artifact_errands",
        sa.Column("errand", sa.Text, nullable=False),
        sa.Column("claimant", sa.Text, nullable=False),
        sa.Column("claimed_until", sa.Double, nullable=False),
        sa.Column("begun_at", sa.Double, nullable=False),
        sa.Column("done_at", sa.Double),
        sa.PrimaryKeyConstraint("errand", name="pk_artifact_errands"),
    )


def _partial_index(name: str, columns: list[str], where: str, *, table: str = "artifacts") -> None:
    condition = sa.text(where)
    op.create_index(name, table, columns, sqlite_where=condition, postgresql_where=condition)
