"""The state store: two lanes to one database, and what is kept there."""

import asyncio
from functools import partial
from types import TracebackType
from typing import Self
from uuid import uuid4

from sqlalchemy import bindparam

from interlock_gateway.state.approval_store import StoredApprovals
from interlock_gateway.state.batch import read_each, write_each, write_together
from interlock_gateway.state.call_store import Calls
from interlock_gateway.state.changes import LocalChanges
from interlock_gateway.state.checkpoint_store import Checkpoints
from interlock_gateway.state.database import open_database
from interlock_gateway.state.handler_store import StandingHandlers
from interlock_gateway.state.journal import StoredJournal
from interlock_gateway.state.lane import MAX_BATCH, Lane
from interlock_gateway.state.migrate import ensure_current
from interlock_gateway.state.pending_store import PendingActions
from interlock_gateway.state.pin_store import Pins
from interlock_gateway.state.schema import probes
from interlock_gateway.state.session_store import Sessions
from interlock_gateway.state.transaction import Link, Statement
from interlock_gateway.state.watch_store import StoredWatches

# How long a start waits for another one that is migrating the same database.
_MIGRATION_WAIT_S = 30.0

_PROBE = Statement(
    lambda insert: (
        insert(probes)
        .values(replica_id=bindparam("replica"), count=1)
        .on_conflict_do_update(index_elements=["replica_id"], set_={"count": probes.c.count + 1})
    )
)


class SqlStateStore:
    """`StateStore` on a database. Made by `open`, ended by `close` or as an `async with` block.

    It belongs to the event loop it was opened on.
    """

    def __init__(self, reader: Lane, writer: Lane, replica_id: str, changes: LocalChanges) -> None:
        self.changes = changes
        self._reader = reader
        self._writer = writer
        self.sessions = Sessions(reader, writer, replica_id)
        self.calls = Calls(reader, writer, replica_id)
        self.journal = StoredJournal(reader, writer, replica_id)
        self.pending = PendingActions(reader, writer, replica_id)
        self.checkpoints = Checkpoints(reader, writer, replica_id)
        self.handlers = StandingHandlers(reader, writer)
        self.pins = Pins(reader, writer)
        self.approvals = StoredApprovals(reader, writer)
        self.watches = StoredWatches(reader, writer, replica_id)

    @classmethod
    async def open(
        cls,
        url: str,
        *,
        replica_id: str,
        busy_timeout_s: float = 1.0,
        capacity: int = 4096,
        probe_every_s: float = 1.0,
    ) -> Self:
        """Open the database at `url`, creating or upgrading its tables.

        `url` is `sqlite:///PATH`, in a folder that exists, or `postgresql://HOST/NAME`, of a database that exists.
        `replica_id` is the same at every start of one replica and shared with no other. `capacity` bounds the reads
        and the writes that wait; `probe_every_s` is how often a store that failed tries to write again. Raises
        `ValueError` for another URL, `StateUnavailableError`, and `StoredFormatError` for a newer database.
        """
        migrating = open_database(url, busy_timeout_s=_MIGRATION_WAIT_S)
        await asyncio.get_running_loop().run_in_executor(None, ensure_current, migrating)
        origin = uuid4().hex
        database = open_database(url, busy_timeout_s=busy_timeout_s, origin=origin)
        probe = partial(_probe, replica_id=replica_id)
        changes = LocalChanges()
        reader = Lane("state-read", database, read_each, capacity=capacity, threads=database.readers)
        writer = Lane(
            "state-write",
            database,
            write_together if database.together else write_each,
            capacity=capacity,
            threads=database.writers,
            batch=MAX_BATCH if database.together else 1,
            probe=probe,
            probe_every_s=probe_every_s,
            publish=changes.publish,
        )
        return cls(reader, writer, replica_id, changes)

    @property
    def healthy(self) -> bool:
        """Whether the last write reached the disk; readiness follows it."""
        return self._writer.healthy

    async def close(self) -> None:
        """Finish what was submitted and close the database."""
        await self._writer.close()
        await self._reader.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()


def _probe(link: Link, replica_id: str) -> None:
    link.change(_PROBE, replica=replica_id)
