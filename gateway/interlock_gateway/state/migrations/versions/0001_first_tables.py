"""The first tables.

Revision ID: 0001
Revises:
"""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Create every table."""
    _sessions()
    _calls()
    _pending()
    _providers()
    op.create_table(
        "probes",
        sa.Column("replica_id", sa.Text, nullable=False),
        sa.Column("count", sa.Integer, nullable=False),
        sa.PrimaryKeyConstraint("replica_id", name="pk_probes"),
    )


def _sessions() -> None:
    op.create_table(
        "sessions",
        sa.Column("session_id", sa.Text, nullable=False),
        sa.Column("owner", sa.Text, nullable=False),
        sa.Column("opened_at", sa.Double, nullable=False),
        sa.Column("closed_at", sa.Double),
        sa.Column("pending_sequence", sa.Integer, nullable=False),
        sa.Column("document", sa.LargeBinary, nullable=False),
        sa.PrimaryKeyConstraint("session_id", name="pk_sessions"),
    )
    op.create_index("ix_sessions_opened_at_session_id", "sessions", ["opened_at", "session_id"])
    op.create_table(
        "session_facts",
        sa.Column("session_id", sa.Text, nullable=False),
        sa.Column("document", sa.LargeBinary, nullable=False),
        sa.PrimaryKeyConstraint("session_id", name="pk_session_facts"),
    )
    op.create_table(
        "standing_handlers",
        sa.Column("session_id", sa.Text, nullable=False),
        sa.Column("document", sa.LargeBinary, nullable=False),
        sa.PrimaryKeyConstraint("session_id", name="pk_standing_handlers"),
        sa.ForeignKeyConstraint(["session_id"], ["sessions.session_id"], name="fk_standing_handlers_sessions"),
    )


def _calls() -> None:
    op.create_table(
        "calls",
        sa.Column("session_id", sa.Text, nullable=False),
        sa.Column("call_id", sa.Text, nullable=False),
        sa.Column("request_digest", sa.Text, nullable=False),
        sa.Column("state", sa.Text, nullable=False),
        sa.Column("status", sa.Text),
        sa.Column("updated_at", sa.Double, nullable=False),
        sa.Column("result", sa.LargeBinary),
        sa.PrimaryKeyConstraint("session_id", "call_id", name="pk_calls"),
        sa.ForeignKeyConstraint(["session_id"], ["sessions.session_id"], name="fk_calls_sessions"),
    )
    op.create_table(
        "operations",
        sa.Column("sequence", sa.BigInteger().with_variant(sa.Integer, "sqlite"), autoincrement=True, nullable=False),
        sa.Column("operation_id", sa.Text, nullable=False),
        sa.Column("session_id", sa.Text, nullable=False),
        sa.Column("call_id", sa.Text, nullable=False),
        sa.Column("replica_id", sa.Text, nullable=False),
        sa.Column("state", sa.Text, nullable=False),
        sa.Column("intended_at", sa.Double, nullable=False),
        sa.Column("finished_at", sa.Double),
        sa.Column("updated_at", sa.Double, nullable=False),
        sa.Column("input", sa.LargeBinary, nullable=False),
        sa.Column("intent", sa.LargeBinary, nullable=False),
        sa.Column("outcome", sa.LargeBinary),
        sa.PrimaryKeyConstraint("sequence", name="pk_operations"),
        sa.ForeignKeyConstraint(
            ["session_id", "call_id"], ["calls.session_id", "calls.call_id"], name="fk_operations_calls"
        ),
        sa.UniqueConstraint("operation_id", name="uq_operations_operation_id"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_operations_session_id_sequence", "operations", ["session_id", "sequence"])
    in_flight = sa.text("state = 'intended'")
    op.create_index(
        "ix_operations_in_flight", "operations", ["replica_id"], sqlite_where=in_flight, postgresql_where=in_flight
    )


def _pending() -> None:
    op.create_table(
        "pending_actions",
        sa.Column("pending_id", sa.Text, nullable=False),
        sa.Column("session_id", sa.Text, nullable=False),
        sa.Column("sequence", sa.Integer, nullable=False),
        sa.Column("state", sa.Text, nullable=False),
        sa.Column("expires_at", sa.Double, nullable=False),
        sa.Column("updated_at", sa.Double, nullable=False),
        sa.Column("claimant", sa.Text, nullable=False),
        sa.Column("replica_id", sa.Text, nullable=False),
        sa.Column("input", sa.LargeBinary, nullable=False),
        sa.Column("document", sa.LargeBinary, nullable=False),
        sa.Column("outcome", sa.LargeBinary),
        sa.PrimaryKeyConstraint("pending_id", name="pk_pending_actions"),
        sa.ForeignKeyConstraint(["session_id"], ["sessions.session_id"], name="fk_pending_actions_sessions"),
    )
    op.create_index(
        "ix_pending_actions_session_id_state_sequence", "pending_actions", ["session_id", "state", "sequence"]
    )
    pending = sa.text("state = 'pending'")
    op.create_index(
        "ix_pending_actions_expiry", "pending_actions", ["expires_at"], sqlite_where=pending, postgresql_where=pending
    )
    applying = sa.text("state = 'applying'")
    op.create_index(
        "ix_pending_actions_in_flight",
        "pending_actions",
        ["replica_id"],
        sqlite_where=applying,
        postgresql_where=applying,
    )


def _providers() -> None:
    op.create_table(
        "pins",
        sa.Column("provider", sa.Text, nullable=False),
        sa.Column("tool", sa.Text, nullable=False),
        sa.Column("sha256", sa.Text, nullable=False),
        sa.Column("pinned_at", sa.Double, nullable=False),
        sa.Column("approved_by", sa.Text, nullable=False),
        sa.Column("definition", sa.LargeBinary, nullable=False),
        sa.PrimaryKeyConstraint("provider", "tool", name="pk_pins"),
    )
    op.create_table(
        "consents",
        sa.Column("provider", sa.Text, nullable=False),
        sa.Column("definitions_sha256", sa.Text, nullable=False),
        sa.Column("given_by", sa.Text, nullable=False),
        sa.Column("given_at", sa.Double, nullable=False),
        sa.Column("shown", sa.LargeBinary, nullable=False),
        sa.PrimaryKeyConstraint("provider", "definitions_sha256", name="pk_consents"),
    )
