"""Ways to approvers: links, deliveries, answers seen, watches.

Revision ID: 0004
Revises: 0003
"""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Create the tables of the approvers' side."""
    op.create_table(
        "answer_links",
        sa.Column("token_sha256", sa.Text, nullable=False),
        sa.Column("checkpoint_id", sa.Text, nullable=False),
        sa.Column("channel", sa.Text, nullable=False),
        sa.Column("approver", sa.Text, nullable=False),
        sa.Column("decision", sa.Text, nullable=False),
        sa.Column("expires_at", sa.Double, nullable=False),
        sa.Column("used_at", sa.Double),
        sa.PrimaryKeyConstraint("token_sha256", name="pk_answer_links"),
    )
    op.create_index("ix_answer_links_expires_at", "answer_links", ["expires_at"])
    op.create_table(
        "seen_answers",
        sa.Column("key_sha256", sa.Text, nullable=False),
        sa.Column("expires_at", sa.Double, nullable=False),
        sa.PrimaryKeyConstraint("key_sha256", name="pk_seen_answers"),
    )
    op.create_index("ix_seen_answers_expires_at", "seen_answers", ["expires_at"])
    op.create_table(
        "webhook_deliveries",
        sa.Column("channel", sa.Text, nullable=False),
        sa.Column("checkpoint_id", sa.Text, nullable=False),
        sa.Column("event", sa.Text, nullable=False),
        sa.Column("claimed_until", sa.Double, nullable=False),
        sa.Column("expires_at", sa.Double, nullable=False),
        sa.Column("delivered_at", sa.Double),
        sa.PrimaryKeyConstraint("channel", "checkpoint_id", "event", name="pk_webhook_deliveries"),
    )
    op.create_index("ix_webhook_deliveries_expires_at", "webhook_deliveries", ["expires_at"])
    op.create_table(
        "approver_watches",
        sa.Column("watch_id", sa.Text, nullable=False),
        sa.Column("replica_id", sa.Text, nullable=False),
        sa.Column("approver", sa.Text, nullable=False),
        sa.Column("groups", sa.LargeBinary, nullable=False),
        sa.PrimaryKeyConstraint("watch_id", name="pk_approver_watches"),
    )
