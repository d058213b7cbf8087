"""How many sessions are open, found without looking at those that are closed.

Revision ID: 0009
Revises: 0008
"""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Index the open sessions."""
    is_open = sa.text("closed_at IS NULL")
    op.create_index("ix_sessions_open", "sessions", ["session_id"], sqlite_where=is_open, postgresql_where=is_open)
