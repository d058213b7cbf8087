"""Checkpoints.

Revision ID: 0002
Revises: 0001
"""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Create the table of checkpoints."""
    op.create_table(
        "checkpoints",
        sa.Column("checkpoint_id", sa.Text, nullable=False),
        sa.Column("session_id", sa.Text, nullable=False),
        sa.Column("call_id", sa.Text, nullable=False),
        sa.Column("ordinal", sa.Integer, nullable=False),
        sa.Column("state", sa.Text, nullable=False),
        sa.Column("expires_at", sa.Double, nullable=False),
        sa.Column("escalates_at", sa.Double),
        sa.Column("updated_at", sa.Double, nullable=False),
        sa.Column("version", sa.Integer, nullable=False),
        sa.Column("input", sa.LargeBinary, nullable=False),
        sa.Column("document", sa.LargeBinary, nullable=False),
        sa.Column("progress", sa.LargeBinary, nullable=False),
        sa.PrimaryKeyConstraint("checkpoint_id", name="pk_checkpoints"),
        sa.ForeignKeyConstraint(
            ["session_id", "call_id"], ["calls.session_id", "calls.call_id"], name="fk_checkpoints_calls"
        ),
        sa.UniqueConstraint("session_id", "call_id", "ordinal", name="uq_checkpoints_session_id_call_id_ordinal"),
    )
    op.create_index(
        "ix_checkpoints_state_expires_at_checkpoint_id", "checkpoints", ["state", "expires_at", "checkpoint_id"]
    )
    op.create_index(
        "ix_checkpoints_session_id_state_expires_at_checkpoint_id",
        "checkpoints",
        ["session_id", "state", "expires_at", "checkpoint_id"],
    )
    waiting = sa.text("escalates_at IS NOT NULL")
    op.create_index(
        "ix_checkpoints_escalation", "checkpoints", ["escalates_at"], sqlite_where=waiting, postgresql_where=waiting
    )
