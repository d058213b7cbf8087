"""The statements on replicas, for PostgreSQL. Times are by the database's clock, in Unix seconds."""

from hashlib import blake2b

REGISTER = """
INSERT INTO replicas (replica_id, incarnation, renewed_at, expires_at)
VALUES (
    %(replica)s,
    %(incarnation)s,
    extract(epoch FROM clock_timestamp()),
    extract(epoch FROM clock_timestamp()) + %(lease_s)s
)
ON CONFLICT (replica_id) DO UPDATE
SET incarnation = excluded.incarnation, renewed_at = excluded.renewed_at, expires_at = excluded.expires_at
"""
# One that has run out is not renewed: others may have acted on it already.
RENEW = """
UPDATE replicas SET
    renewed_at = extract(epoch FROM clock_timestamp()),
    expires_at = extract(epoch FROM clock_timestamp()) + %(lease_s)s
WHERE replica_id = %(replica)s AND incarnation = %(incarnation)s
    AND expires_at > extract(epoch FROM clock_timestamp())
"""
LEAVE = "DELETE FROM replicas WHERE replica_id = %(replica)s AND incarnation = %(incarnation)s"
LEASE = """
SELECT incarnation, expires_at > extract(epoch FROM clock_timestamp()) FROM replicas WHERE replica_id = %(replica)s
"""
OVERDUE = """
SELECT replica_id, incarnation, expires_at <= extract(epoch FROM clock_timestamp()) FROM replicas
WHERE replica_id <> %(replica)s AND renewed_at < extract(epoch FROM clock_timestamp()) - %(grace_s)s
"""
# A transaction of a replica that was paused in its middle holds the row; nobody may wait for that.
BURY = """
DELETE FROM replicas WHERE replica_id IN (
    SELECT replica_id FROM replicas
    WHERE replica_id = %(replica)s AND incarnation = %(incarnation)s
        AND (%(gone)s OR expires_at <= extract(epoch FROM clock_timestamp()))
    FOR UPDATE SKIP LOCKED
)
"""
# Held for as long as the transaction that dispatches lasts, so that nobody buries the replica in its middle.
STANDS = """
SELECT 1 FROM replicas
WHERE replica_id = %s AND incarnation = %s AND expires_at > extract(epoch FROM clock_timestamp()) FOR KEY SHARE
"""

TRY_LOCK = "SELECT pg_try_advisory_lock(%s)"
TRY_LOCK_SHARED = "SELECT pg_try_advisory_lock_shared(%s)"
UNLOCK = "SELECT pg_advisory_unlock(%s)"
UNLOCK_SHARED = "SELECT pg_advisory_unlock_shared(%s)"
# Gives the lock back at once: it only asks whether somebody has it.
IS_FREE = "SELECT pg_try_advisory_xact_lock_shared(%s)"
END_HOLDER = """
SELECT pg_terminate_backend(pid) FROM pg_locks
WHERE locktype = 'advisory' AND granted AND pid <> pg_backend_pid() AND objsubid = 1
AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
AND classid::bigint = %(high)s AND objid::bigint = %(low)s
"""
END_CONNECTIONS = """
SELECT pg_terminate_backend(pid) FROM pg_stat_activity
WHERE datname = current_database() AND application_name = %s AND pid <> pg_backend_pid()
"""
NOTIFY = "SELECT pg_notify(%s, %s)"


def application_name(replica_id: str) -> str:
    """What the connections of a replica are called, so that others can end them; PostgreSQL keeps 63 bytes."""
    return f"interlock {replica_id}"[:63]


def lock_key(kind: str, name: str) -> int:
    """The advisory lock that stands for `name`, a signed 64-bit number."""
    return int.from_bytes(blake2b(f"interlock {kind} {name}".encode(), digest_size=8).digest(), signed=True)


def halves(key: int) -> dict[str, int]:
    """`key` as `pg_locks` shows it."""
    return {"high": key >> 32 & 0xFFFFFFFF, "low": key & 0xFFFFFFFF}
