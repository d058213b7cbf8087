"""Replicas, and what each saw of a session.

Revision ID: 0003
Revises: 0002
"""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Create the table of replicas, and give the facts of sessions a second key."""
    op.create_table(
        "replicas",
        sa.Column("replica_id", sa.Text, nullable=False),
        sa.Column("incarnation", sa.Text, nullable=False),
        sa.Column("renewed_at", sa.Double, nullable=False),
        sa.Column("expires_at", sa.Double, nullable=False),
        sa.PrimaryKeyConstraint("replica_id", name="pk_replicas"),
    )
    # A new table in its place, because SQLite cannot change the key of one.
    op.execute("CREATE TABLE facts_before AS SELECT session_id, document FROM session_facts")
    op.drop_table("session_facts")
    op.create_table(
        "session_facts",
        sa.Column("session_id", sa.Text, nullable=False),
        sa.Column("replica_id", sa.Text, nullable=False),
        sa.Column("document", sa.LargeBinary, nullable=False),
        sa.PrimaryKeyConstraint("session_id", "replica_id", name="pk_session_facts"),
    )
    op.execute(
        "INSERT INTO session_facts (session_id, replica_id, document) SELECT session_id, '', document FROM facts_before"
    )
    op.drop_table("facts_before")
