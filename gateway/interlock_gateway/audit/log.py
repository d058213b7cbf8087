"""The audit log as the gateway uses it: records go in on the event loop, one thread writes them in groups (AUD-2).

Group commit: the thread takes whatever is queued, writes it with one fsync, then lets everyone know. A record that
somebody waits for is written at once; records nobody waits for wait for company, `group_s` at most (PIPE-12).
"""

import asyncio
import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from interlock_gateway.audit.chain import Chain
from interlock_gateway.audit.keys import SigningKey
from interlock_gateway.audit.line import Head
from interlock_gateway.audit.masking import AuditRecord, SecretFinder, UnwritableRecordError, encode_members
from interlock_gateway.audit.pauses import Pauses
from interlock_gateway.core.clock import Clock
from interlock_gateway.errors import AuditUnavailableError
from interlock_gateway.patience import NAP_S, Patience

# A record, or a function that makes it; the function runs on the writer's thread, so what it reads must not change.
Record: TypeAlias = "AuditRecord | Callable[[], AuditRecord]"
_Entry: TypeAlias = "tuple[Record | bytes, asyncio.Future[None] | None]"
STEPS = 4
"""In how many steps the records of a group are encoded while it waits for company."""


@dataclass(frozen=True, slots=True)
class AuditLimits:
    """Bounds of the log. Sizes are bytes, times seconds.

    `buffered` is the most records that wait to be written; beyond `patient_up_to` the caller makes room for the
    writer; `group_s` how long one that nobody waits for may wait; `batch` the most records under one fsync; `retry_s`
    how often writing is tried again after a failure; `stall_s` how long one write may take before the log counts as
    unavailable.
    """

    segment_bytes: int = 64 * 1024 * 1024
    buffered: int = 4096
    patient_up_to: int = 256
    batch: int = 256
    group_s: float = 0.02
    retry_s: float = 0.25
    stall_s: float = 1.0
    commit_timeout_s: float = 5.0


@dataclass(slots=True)
class AuditStats:
    """Counts since the start.

    `retried` is how often a record was kept for another try; `unwritable` were not JSON and are noted in the log in
    their place; `dropped` records found no room, or no end of an outage before the log was closed.
    """

    written: int = 0
    groups: int = 0
    failed_groups: int = 0
    retried: int = 0
    refused: int = 0
    unwritable: int = 0
    dropped: int = 0


class AuditLog:
    """Receipts of one gateway process in one directory. Building it recovers the log and starts the writer's thread.

    Raises `AuditDamagedError` when the log on disk may not be continued. `submit` and `offer` may be called from any
    thread, `commit` on an event loop.
    """

    def __init__(
        self,
        directory: Path,
        key: SigningKey,
        clock: Clock,
        finder: SecretFinder,
        limits: AuditLimits = AuditLimits(),
    ) -> None:
        self._chain = Chain(directory, key, clock, limits.segment_bytes)
        self._clock = clock
        self._finder = finder
        self._limits = limits
        self._queue: deque[_Entry] = deque()
        self._encoded_ahead = 0
        self._something = threading.Event()
        self._urgent = threading.Event()
        self._failed_since: float | None = None
        self._writing_since: float | None = None
        self._behind_since: float | None = None
        self.is_working = False
        """Whether the writer's thread is at work now, and needs the interpreter and a processor."""
        self._accepts = True
        self._closing = False
        self.stats = AuditStats()
        self._patience: Patience | None = None
        self._thread = threading.Thread(target=self._run, name="audit", daemon=True)
        self._thread.start()

    @property
    def healthy(self) -> bool:
        """Whether receipts can be written: the last group was, and none is taking too long."""
        writing = self._writing_since
        return (
            self._accepts
            and self._failed_since is None
            and (writing is None or self._clock.monotonic() - writing < self._limits.stall_s)
        )

    @property
    def head(self) -> Head:
        """The last line that is on disk."""
        return self._chain.head

    @property
    def backlog(self) -> int:
        """How many records wait to be written."""
        return len(self._queue)

    @property
    def lag_s(self) -> float:
        """At most how many seconds ago the oldest record came that is not on disk; 0 when all are."""
        since = self._behind_since
        return 0.0 if since is None else max(0.0, self._clock.monotonic() - since)

    def submit(self, record: Record) -> None:
        """Hand over the receipt of a read-only call; it is on disk within 100 ms when the log is healthy.

        Raises `AuditUnavailableError`, and keeps nothing, when the log is not healthy or the buffer is full.
        """
        if not self.healthy:
            self.stats.refused += 1
            raise AuditUnavailableError("receipts cannot be written")
        self._enqueue(record, None)
        if len(self._queue) > self._limits.patient_up_to:
            # An event loop that never idles leaves the writer no turn at the interpreter; this gives it one.
            time.sleep(NAP_S)

    def offer(self, record: Record) -> bool:
        """Hand over the receipt of a refusal, which needs no promise: kept while the log is down, if there is room.

        False, counted as dropped, when there is none.
        """
        try:
            self._enqueue(record, None)
        except AuditUnavailableError:
            self.stats.dropped += 1
            return False
        return True

    async def commit(self, record: Record) -> None:
        """Write the record and return when it is on disk. Also tried while the log is unhealthy, so that it heals.

        Raises `AuditUnavailableError` when it could not be written. Being cancelled does not take the record back.
        """
        loop = asyncio.get_running_loop()
        future: asyncio.Future[None] = loop.create_future()
        if self._patience is None:
            self._patience = Patience(loop)
        self._patience.asked()
        future.add_done_callback(self._answered)
        try:
            self._enqueue(record, future)
        except AuditUnavailableError:
            future.cancel()
            raise
        self._urgent.set()
        try:
            async with asyncio.timeout(self._limits.commit_timeout_s):
                await future
        except TimeoutError:
            raise AuditUnavailableError("a receipt could not be written in time") from None

    def close(self) -> None:
        """Write what is queued, the closing line and the closing checkpoint; then accept nothing more. Blocks."""
        self._closing = True
        self._urgent.set()
        self._something.set()
        self._thread.join()

    def _answered(self, _future: "asyncio.Future[None]") -> None:
        if self._patience is not None:
            self._patience.answered(1)

    def _enqueue(self, record: Record, future: "asyncio.Future[None] | None") -> None:
        if not self._accepts or self._closing or len(self._queue) >= self._limits.buffered:
            self.stats.refused += 1
            raise AuditUnavailableError("receipts cannot be written: the buffer is full or the log is closed")
        self._queue.append((record, future))
        if self._behind_since is None:
            self._behind_since = self._clock.monotonic()
        if not self._something.is_set():
            self._something.set()

    def _run(self) -> None:
        try:
            while not (self._closing and not self._queue):
                self._wait()
                taken_at = self._clock.monotonic()
                self.is_working = True
                if self._behind_since is None and self._queue:
                    self._behind_since = taken_at
                written = self._write_groups(self._take())
                if not self._queue:
                    self._behind_since = None
                elif written:  # what came meanwhile is no older than that
                    self._behind_since = taken_at
            self._finish()
        finally:
            # Whatever ends this thread, nothing may be promised any more.
            self._accepts = False
            _settle([future for _, future in self._take() if future is not None], "the log is closed")

    def _wait(self) -> None:
        self.is_working = False
        is_down = self._failed_since is not None
        if not self._queue:
            self._something.wait(self._limits.retry_s if is_down else None)
        if is_down and not self._closing:
            self._urgent.wait(self._limits.retry_s)
        elif not self._closing:
            self._gather()
        self._urgent.clear()
        self._something.clear()

    def _gather(self) -> None:
        """Wait for company, and encode meanwhile what is there: all at once would keep the loop for milliseconds."""
        for _ in range(STEPS):
            self.is_working = False
            if self._urgent.wait(self._limits.group_s / STEPS):
                return
            self.is_working = True
            pauses = Pauses(STEPS * (len(self._queue) - self._encoded_ahead))
            for place in range(self._encoded_ahead, len(self._queue)):
                record, future = self._queue[place]
                with suppress(Exception):  # what cannot be encoded is told when its turn comes
                    self._queue[place] = self._members(record), future
                self._encoded_ahead = place + 1
                pauses.pause()

    def _take(self) -> list[_Entry]:
        self._encoded_ahead = 0
        return [self._queue.popleft() for _ in range(len(self._queue))]

    def _write_groups(self, entries: list[_Entry]) -> bool:
        """Write them; false when some are to be tried again."""
        size = self._limits.batch
        groups = [entries[at : at + size] for at in range(0, len(entries), size)]
        if not groups and self._failed_since is not None:
            groups = [[]]
        for index, group in enumerate(groups):
            self._writing_since = self._clock.monotonic()
            failure = self._write(group)
            self._writing_since = None
            if failure is not None:
                self._give_back([entry for rest in groups[index:] for entry in rest], failure)
                return False
        return True

    def _write(self, group: list[_Entry]) -> str | None:
        """Write one group; the reason when it could not be."""
        bad: list[asyncio.Future[None]] = []
        records = [members for entry in group if (members := self._encoded(entry, bad)) is not None]
        _settle(bad, "a receipt is not JSON")
        if self._failed_since is not None:
            lasted = max(0, round((self._clock.monotonic() - self._failed_since) * 1000))
            records.insert(0, self._chain.note("outage", lasted_ms=lasted, refused=self.stats.refused))
        try:
            if records:
                is_awaited = any(future is not None for _, future in group)
                self._chain.append(records, None if is_awaited or self._closing else Pauses(len(records)))
        except OSError as error:
            return error.strerror or "I/O error"
        self._failed_since = None
        self.stats.written += len(records)
        self.stats.groups += 1
        _settle([future for _, future in group if future is not None and future not in bad], None)
        self._mark()
        return None

    def _mark(self) -> None:
        try:
            self._chain.mark()
        except OSError:
            # The group is on disk, but a cut-off tail would not be noticed: nothing more until it can be marked.
            self._failed_since = self._clock.monotonic()

    def _encoded(self, entry: _Entry, bad: list["asyncio.Future[None]"]) -> bytes | None:
        record, future = entry
        try:
            return self._members(record)
        except UnwritableRecordError as error:
            reason = str(error)
        except Exception as error:  # noqa: BLE001 - one record's fault must not end the log of all the others
            reason = type(error).__name__
        self.stats.unwritable += 1
        if future is not None:
            bad.append(future)
            return None
        return self._chain.note("unwritable", reason=reason[:200])

    def _members(self, record: "Record | bytes") -> bytes:
        if isinstance(record, bytes):
            return record
        return encode_members(record() if callable(record) else record, self._finder)

    def _give_back(self, entries: list[_Entry], failure: str) -> None:
        """After a failure: those who wait are told, the records nobody waits for are kept and tried again."""
        if self._failed_since is None:
            self._failed_since = self._clock.monotonic()
        self.stats.failed_groups += 1
        kept = [entry for entry in entries if entry[1] is None]
        if self._closing:
            self.stats.dropped += len(kept)
        else:
            self.stats.retried += len(kept)
            self._queue.extendleft(reversed(kept))
        _settle([future for _, future in entries if future is not None], failure)

    def _finish(self) -> None:
        try:
            self._chain.close()
        except OSError:
            # No closing line: the next start says so in its `recovered` line.
            self.stats.failed_groups += 1


def _settle(futures: list["asyncio.Future[None]"], failure: str | None) -> None:
    """Tell those who wait, with one wake-up per event loop."""
    by_loop: dict[asyncio.AbstractEventLoop, list[asyncio.Future[None]]] = {}
    for future in futures:
        by_loop.setdefault(future.get_loop(), []).append(future)
    for loop, waiting in by_loop.items():
        try:
            loop.call_soon_threadsafe(_wake, waiting, failure)
        except RuntimeError:
            # That loop is closed, and with it everyone who waited there.
            continue


def _wake(futures: list["asyncio.Future[None]"], failure: str | None) -> None:
    for future in futures:
        if future.done():
            continue
        if failure is None:
            future.set_result(None)
        else:
            future.set_exception(AuditUnavailableError(f"receipts cannot be written: {failure}"))
