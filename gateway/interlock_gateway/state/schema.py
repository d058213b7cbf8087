"""The tables, one schema for every database (STATE-1).

Columns are what statements identify, filter, order or guard by. The rest of a record is one JSON document, kept as
ASCII bytes: so any text survives, also what PostgreSQL's text type would refuse. Times are Unix seconds.

Indexes of some rows alone say so with `sqlite_where`; `postgresql.py` takes that over, because naming PostgreSQL here
would load all that SQLAlchemy knows of it.
"""

from sqlalchemy import (
    BigInteger,
    Column,
    Double,
    ForeignKey,
    ForeignKeyConstraint,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
    UniqueConstraint,
    literal_column,
)

# The newest migration. It stands here so that a start can see that nothing is to be done without loading Alembic.
HEAD = "0009"

metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "fk": "fk_%(table_name)s_%(referred_table_name)s",
        "pk": "pk_%(table_name)s",
    }
)

sessions = Table(
    "sessions",
    metadata,
    Column("session_id", Text, primary_key=True),
    Column("owner", Text, nullable=False),
    Column("opened_at", Double, nullable=False),
    Column("closed_at", Double),
    # Counts the places on the session's stack of pending actions.
    Column("pending_sequence", Integer, nullable=False),
    Column("document", LargeBinary, nullable=False),
    Index(None, "opened_at", "session_id"),
)

Index("ix_sessions_open", sessions.c.session_id, sqlite_where=sessions.c.closed_at.is_(None))

# No reference to `sessions`: facts are written behind, many at once, and one unknown session must not lose the others.
# What each replica saw of a session is a row of its own, so that none writes over what another one counted.
session_facts = Table(
    "session_facts",
    metadata,
    Column("session_id", Text, primary_key=True),
    Column("replica_id", Text, primary_key=True),
    Column("document", LargeBinary, nullable=False),
)

# What each replica counted of a principal's calls within a day.
principal_calls = Table(
    "principal_calls",
    metadata,
    Column("principal_id", Text, primary_key=True),
    Column("replica_id", Text, primary_key=True),
    Column("updated_at", Double, nullable=False),
    Column("document", LargeBinary, nullable=False),
)

calls = Table(
    "calls",
    metadata,
    Column("session_id", Text, ForeignKey("sessions.session_id"), primary_key=True),
    Column("call_id", Text, primary_key=True),
    Column("request_digest", Text, nullable=False),
    Column("state", Text, nullable=False),
    Column("status", Text),
    Column("updated_at", Double, nullable=False),
    Column("result", LargeBinary),
)

operations = Table(
    "operations",
    metadata,
    # SQLite counts for itself only in a column that it calls INTEGER.
    Column("sequence", BigInteger().with_variant(Integer, "sqlite"), primary_key=True, autoincrement=True),
    Column("operation_id", Text, nullable=False, unique=True),
    Column("session_id", Text, nullable=False),
    Column("call_id", Text, nullable=False),
    Column("replica_id", Text, nullable=False),
    Column("state", Text, nullable=False),
    Column("intended_at", Double, nullable=False),
    Column("finished_at", Double),
    Column("updated_at", Double, nullable=False),
    Column("input", LargeBinary, nullable=False),
    Column("intent", LargeBinary, nullable=False),
    Column("outcome", LargeBinary),
    ForeignKeyConstraint(["session_id", "call_id"], ["calls.session_id", "calls.call_id"]),
    Index(None, "session_id", "sequence"),
    # A number that was given once is never given again: clients page by it.
    sqlite_autoincrement=True,
)

# A literal in a statement finds the index that is for it alone; a bound value never does.
IS_INTENDED = operations.c.state == literal_column("'intended'")
# Holds only what is in flight, so that a start finds it among millions.
Index("ix_operations_in_flight", operations.c.replica_id, sqlite_where=IS_INTENDED)

pending_actions = Table(
    "pending_actions",
    metadata,
    Column("pending_id", Text, primary_key=True),
    Column("session_id", Text, ForeignKey("sessions.session_id"), nullable=False),
    Column("sequence", Integer, nullable=False),
    Column("state", Text, nullable=False),
    Column("expires_at", Double, nullable=False),
    Column("updated_at", Double, nullable=False),
    # Who applies it, and in which replica; empty until it is claimed.
    Column("claimant", Text, nullable=False),
    Column("replica_id", Text, nullable=False),
    Column("input", LargeBinary, nullable=False),
    Column("document", LargeBinary, nullable=False),
    Column("outcome", LargeBinary),
    Index(None, "session_id", "state", "sequence"),
)

IS_PENDING = pending_actions.c.state == literal_column("'pending'")
IS_APPLYING = pending_actions.c.state == literal_column("'applying'")
Index("ix_pending_actions_expiry", pending_actions.c.expires_at, sqlite_where=IS_PENDING)
Index(
    "ix_pending_actions_in_flight",
    pending_actions.c.replica_id,
    sqlite_where=IS_APPLYING,
)

# What people are asked, as it was asked (`document`) and as far as it has come (`progress`).
checkpoints = Table(
    "checkpoints",
    metadata,
    Column("checkpoint_id", Text, primary_key=True),
    Column("session_id", Text, nullable=False),
    Column("call_id", Text, nullable=False),
    # Which of the call's checkpoints it is, from 1: an edit or a changed policy asks again.
    Column("ordinal", Integer, nullable=False),
    Column("state", Text, nullable=False),
    Column("expires_at", Double, nullable=False),
    # Empty when it never is, once it has been, and once it is not open any more.
    Column("escalates_at", Double),
    Column("updated_at", Double, nullable=False),
    # Counts its changes: each is made to the version that was read, or not at all.
    Column("version", Integer, nullable=False),
    Column("input", LargeBinary, nullable=False),
    Column("document", LargeBinary, nullable=False),
    Column("progress", LargeBinary, nullable=False),
    ForeignKeyConstraint(["session_id", "call_id"], ["calls.session_id", "calls.call_id"]),
    UniqueConstraint("session_id", "call_id", "ordinal"),
    Index(None, "state", "expires_at", "checkpoint_id"),
    Index(None, "session_id", "state", "expires_at", "checkpoint_id"),
)

TO_BE_ESCALATED = checkpoints.c.escalates_at.is_not(None)
Index(
    "ix_checkpoints_escalation",
    checkpoints.c.escalates_at,
    sqlite_where=TO_BE_ESCALATED,
)

standing_handlers = Table(
    "standing_handlers",
    metadata,
    Column("session_id", Text, ForeignKey("sessions.session_id"), primary_key=True),
    Column("document", LargeBinary, nullable=False),
)

pins = Table(
    "pins",
    metadata,
    Column("provider", Text, primary_key=True),
    Column("tool", Text, primary_key=True),
    Column("sha256", Text, nullable=False),
    Column("pinned_at", Double, nullable=False),
    Column("approved_by", Text, nullable=False),
    Column("definition", LargeBinary, nullable=False),
)

consents = Table(
    "consents",
    metadata,
    Column("provider", Text, primary_key=True),
    Column("definitions_sha256", Text, primary_key=True),
    Column("given_by", Text, nullable=False),
    Column("given_at", Double, nullable=False),
    Column("shown", LargeBinary, nullable=False),
)

# Who is alive of those that share the database. Times are the database's own: its clock is the one that all share.
replicas = Table(
    "replicas",
    metadata,
    Column("replica_id", Text, primary_key=True),
    # Another one at each start, and after each loss of the lease.
    Column("incarnation", Text, nullable=False),
    Column("renewed_at", Double, nullable=False),
    Column("expires_at", Double, nullable=False),
)

# Links to answer a checkpoint with; of their tokens only hashes are kept.
answer_links = Table(
    "answer_links",
    metadata,
    Column("token_sha256", Text, primary_key=True),
    Column("checkpoint_id", Text, nullable=False),
    Column("channel", Text, nullable=False),
    Column("approver", Text, nullable=False),
    Column("decision", Text, nullable=False),
    Column("expires_at", Double, nullable=False),
    Column("used_at", Double),
    Index(None, "expires_at"),
)

# Signed answers that came in, so that none counts twice.
seen_answers = Table(
    "seen_answers",
    metadata,
    Column("key_sha256", Text, primary_key=True),
    Column("expires_at", Double, nullable=False),
    Index(None, "expires_at"),
)

# What is posted to webhooks, so that one of several replicas posts it, and another one if that dies.
webhook_deliveries = Table(
    "webhook_deliveries",
    metadata,
    Column("channel", Text, primary_key=True),
    Column("checkpoint_id", Text, primary_key=True),
    Column("event", Text, primary_key=True),
    Column("claimed_until", Double, nullable=False),
    Column("expires_at", Double, nullable=False),
    Column("delivered_at", Double),
    Index(None, "expires_at"),
)

# Who watches at which replica, for the others to know; what a dead replica left counts for nothing.
approver_watches = Table(
    "approver_watches",
    metadata,
    Column("watch_id", Text, primary_key=True),
    Column("replica_id", Text, nullable=False),
    Column("approver", Text, nullable=False),
    Column("groups", LargeBinary, nullable=False),
)

# What is in the artifact store, entered before it is written there. `name` is the content's name in the store.
artifacts = Table(
    "artifacts",
    metadata,
    Column("name", Text, primary_key=True),
    Column("session_id", Text, nullable=False),
    Column("size", BigInteger, nullable=False),
    Column("stored_at", Double, nullable=False),
    Column("state", Text, nullable=False),
    # 1 once its session is closed: then it may go.
    Column("released", Integer, nullable=False),
    # Who removes it, until when that counts, and why it goes; empty while it stays.
    Column("claimant", Text, nullable=False),
    Column("reason", Text, nullable=False),
    Column("claimed_until", Double),
    Column("removed_at", Double),
    # Of the session. A gateway that is older than this column enters nobody's.
    Column("owner", Text, nullable=False, server_default=""),
    Index(None, "session_id"),
)

MAY_GO = (artifacts.c.state == literal_column("'kept'")) & (artifacts.c.released == literal_column("1"))
IS_BEING_REMOVED = artifacts.c.state == literal_column("'removing'")
IS_REMOVED = artifacts.c.state == literal_column("'removed'")
Index("ix_artifacts_oldest", artifacts.c.stored_at, artifacts.c.name, sqlite_where=MAY_GO)
Index(
    "ix_artifacts_oldest_of_owner",
    artifacts.c.owner,
    artifacts.c.stored_at,
    artifacts.c.name,
    sqlite_where=MAY_GO,
)
Index("ix_artifacts_removing", artifacts.c.claimed_until, sqlite_where=IS_BEING_REMOVED)
Index("ix_artifacts_removed", artifacts.c.removed_at, sqlite_where=IS_REMOVED)

# How much of the artifacts is each session's.
artifact_sessions = Table(
    "artifact_sessions",
    metadata,
    Column("session_id", Text, primary_key=True),
    Column("count", Integer, nullable=False),
    Column("size", BigInteger, nullable=False),
    # When the last one was stored, and whether they may go.
    Column("stored_at", Double, nullable=False),
    Column("released", Integer, nullable=False),
    Column("owner", Text, nullable=False, server_default=""),
)

HOLDS_ARTIFACTS = artifact_sessions.c.released == literal_column("0")
Index("ix_artifact_sessions_idle", artifact_sessions.c.stored_at, sqlite_where=HOLDS_ARTIFACTS)

# Work on the artifact store that one of several replicas does, and when it was done.
artifact_errands = Table(
    "artifact_errands",
    metadata,
    Column("errand", Text, primary_key=True),
    Column("claimant", Text, nullable=False),
    Column("claimed_until", Double, nullable=False),
    Column("begun_at", Double, nullable=False),
    Column("done_at", Double),
)

# Keys that all who share the database use, each made by whoever needed it first.
shared_keys = Table(
    "shared_keys",
    metadata,
    Column("name", Text, primary_key=True),
    Column("key", LargeBinary, nullable=False),
)

# Written to find out whether writing works again.
probes = Table(
    "probes",
    metadata,
    Column("replica_id", Text, primary_key=True),
    Column("count", Integer, nullable=False),
)
