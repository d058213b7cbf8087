"""What each principal called lately.

Revision ID: 0005
Revises: 0004
"""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Create the table of the calls in sliding windows."""
    op.create_table(
        "principal_calls",
        sa.Column("principal_id", sa.Text, nullable=False),
        sa.Column("replica_id", sa.Text, nullable=False),
        sa.Column("updated_at", sa.Double, nullable=False),
        sa.Column("document", sa.LargeBinary, nullable=False),
        sa.PrimaryKeyConstraint("principal_id", "replica_id", name="pk_principal_calls"),
    )
