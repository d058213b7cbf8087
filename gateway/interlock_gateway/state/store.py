"""The state store: two lanes to one database, and what is kept there."""

import asyncio
import logging
import time
from dataclasses import dataclass
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self
from uuid import uuid4

from sqlalchemy import bindparam

from interlock_gateway.pipeline.ports import Crossing, StateError
from interlock_gateway.state.approval_store import StoredApprovals
from interlock_gateway.state.artifact_store import StoredArtifacts
from interlock_gateway.state.batch import read_each, write_each, write_together
from interlock_gateway.state.call_store import Calls
from interlock_gateway.state.changes import LocalChanges
from interlock_gateway.state.checkpoint_store import Checkpoints
from interlock_gateway.state.count_store import StoredCounts
from interlock_gateway.state.database import Database, open_database
from interlock_gateway.state.handler_store import StandingHandlers
from interlock_gateway.state.journal import StoredJournal
from interlock_gateway.state.key_store import SharedKeys
from interlock_gateway.state.lane import MAX_BATCH, Lane
from interlock_gateway.state.migrate import ensure_current
from interlock_gateway.state.pending_store import PendingActions
from interlock_gateway.state.pin_store import Pins
from interlock_gateway.state.schema import probes
from interlock_gateway.state.session_store import Sessions
from interlock_gateway.state.standing import Standing
from interlock_gateway.state.transaction import Link, Statement
from interlock_gateway.state.watch_store import StoredWatches

if TYPE_CHECKING:
    from interlock_gateway.state.replica import Replica

_log = logging.getLogger(__name__)
# How long a start waits for another one that is migrating the same database.
_MIGRATION_WAIT_S = 30.0

_PROBE = Statement(
    lambda insert: (
        insert(probes)
        .values(replica_id=bindparam("replica"), count=1)
        .on_conflict_do_update(index_elements=["replica_id"], set_={"count": probes.c.count + 1})
    )
)


@dataclass(frozen=True, slots=True)
class StoreSettings:
    """How a store works.

    `busy_timeout_s` is how long a writer waits for another one; `capacity` bounds the reads and the writes that wait.
    `probe_every_s` is how often a store that failed tries to write again.
    """

    busy_timeout_s: float = 1.0
    capacity: int = 4096
    probe_every_s: float = 1.0


class SqlStateStore:
    """`StateStore` on a database. Made by `open`, ended by `close` or as an `async with` block.

    It belongs to the event loop it was opened on.
    """

    def __init__(
        self, database: Database, standing: Standing, changes: LocalChanges, settings: StoreSettings, origin: str
    ) -> None:
        replica_id = standing.replica_id
        reader = Lane("state-read", database, read_each, capacity=settings.capacity, threads=database.readers)
        writer = Lane(
            "state-write",
            database,
            write_together if database.together else write_each,
            capacity=settings.capacity,
            threads=database.writers,
            batch=MAX_BATCH if database.together else 1,
            probe=partial(_probe, replica_id=replica_id),
            probe_every_s=settings.probe_every_s,
            publish=changes.publish,
        )
        self.changes = changes
        self.shown = database.shown
        self._database = database
        self._origin = origin
        self._standing = standing
        self._reader = reader
        self._writer = writer
        self._replica: Replica | None = None
        self._orphans: asyncio.Task[None] | None = None
        self.sessions = Sessions(reader, writer, replica_id)
        self.counts = StoredCounts(reader, writer, replica_id)
        self.calls = Calls(reader, writer, replica_id)
        self.journal = StoredJournal(reader, writer, replica_id)
        self.pending = PendingActions(reader, writer, replica_id)
        self.checkpoints = Checkpoints(reader, writer, replica_id)
        self.handlers = StandingHandlers(reader, writer)
        self.pins = Pins(reader, writer)
        self.approvals = StoredApprovals(reader, writer)
        self.watches = StoredWatches(reader, writer, replica_id)
        self.artifacts = StoredArtifacts(reader, writer)
        self.keys = SharedKeys(reader, writer)

    @classmethod
    async def open(cls, url: str, *, replica_id: str, **settings: Any) -> Self:
        """Open the database at `url`, creating or upgrading its tables; `settings` are those of `StoreSettings`.

        `url` is `sqlite:///PATH`, in a folder that exists, or `postgresql://HOST/NAME`, of a database that exists.
        `replica_id` is the same at every start of one replica and shared with no other. Raises `ValueError` for
        another URL, `StateUnavailableError`, and `StoredFormatError` for a newer database.
        """
        chosen = StoreSettings(**settings)
        migrating = open_database(url, busy_timeout_s=_MIGRATION_WAIT_S)
        await asyncio.get_running_loop().run_in_executor(None, ensure_current, migrating)
        standing, origin, changes = Standing(replica_id), uuid4().hex, LocalChanges()
        database = open_database(url, busy_timeout_s=chosen.busy_timeout_s, origin=origin, standing=standing)
        return cls(database, standing, changes, chosen, origin)

    async def join(self, lease_s: float = 5.0) -> None:
        """Take part as one of several replicas, where the database is one that can be shared.

        From now on this replica hears of changes elsewhere and holds a lease, which others take for over after
        `lease_s` seconds of silence. Raises `StateUnavailableError`, also when another gateway runs under this id.
        """
        if self._database.connect is None:
            return
        from interlock_gateway.state.replica import Replica  # noqa: PLC0415 - loads what only PostgreSQL needs

        # There is none until it is granted, and who writes must not take the lack of one for a database of its own.
        self._standing.lose()
        self._replica = Replica(
            self._database.connect,
            self._standing,
            lease_s=lease_s,
            origin=self._origin,
            changes=self.changes,
            on_tick=self._look_for_orphans,
        )
        await self._replica.join()
        self.calls.hear(self.changes)

    @property
    def crossing(self) -> Crossing | None:
        """What keeps the calls of one session apart across replicas; `None` where there is one replica."""
        return self._replica.locks if self._replica is not None else None

    @property
    def stands(self) -> bool:
        """Whether this replica holds its lease, without which it must change nothing."""
        return self._standing.holds

    @property
    def healthy(self) -> bool:
        """Whether the last write reached the disk; readiness follows it."""
        return self._writer.healthy

    @property
    def waiting(self) -> dict[str, int]:
        """How much is submitted and not begun, by lane."""
        return {"read": self._reader.waiting, "write": self._writer.waiting}

    async def close(self) -> None:
        """Finish what was submitted and close the database."""
        if self._orphans is not None:
            await asyncio.wait([self._orphans])
        if self._replica is not None:
            await self._replica.leave()
        await self._writer.close()
        await self._reader.close()

    def _look_for_orphans(self) -> None:
        if self._orphans is None or self._orphans.done():
            self._orphans = asyncio.create_task(self._abandon_orphans())

    async def _abandon_orphans(self) -> None:
        try:
            found = await self.journal.abandon_orphans(time.time())
        except StateError as error:
            _log.warning("what a lost replica left cannot be looked for", extra={"problem": str(error)})
            return
        if found.operations or found.pending:
            counts = {"operations": len(found.operations), "pending": len(found.pending)}
            _log.warning("a lost replica left calls of unknown outcome", extra=counts)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()


def _probe(link: Link, replica_id: str) -> None:
    link.change(_PROBE, replica=replica_id)
