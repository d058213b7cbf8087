"""What the state costs with much in it: `python benchmarks/state_at_scale.py` (PERF-5, the database's part).

Each step of a call is timed on an empty database, then on one with 100,000 sessions, a journal of a million operations,
10,000 pending actions and 1,000 open checkpoints; on SQLite and on PostgreSQL. Takes some minutes and 3 GB in /tmp.
"""

import argparse
import asyncio
import statistics
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from itertools import count, islice
from pathlib import Path
from typing import Any

import uvloop
from interlock_gateway.core.call import CallState
from interlock_gateway.core.operation import OperationState
from interlock_gateway.core.pending import PendingState
from interlock_gateway.state.database import open_database
from interlock_gateway.state.store import SqlStateStore

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tests" / "unit" / "state")]

import state_records as a  # noqa: E402 - found on the path set above
from postgres_server import running_postgres  # noqa: E402 - found on the path set above

SESSIONS, PENDING, CHECKPOINTS = 100_000, 10_000, 1_000
TIMES = 300
# Copies of the one session, call and operation that are there; `i` counts, `s` goes round the sessions.
_FILL = (
    """
INSERT INTO sessions (session_id, owner, opened_at, pending_sequence, document)
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {sessions})
SELECT 'x' || i, owner, opened_at + i, 0, document FROM sessions, n WHERE session_id = 's'
""",
    """
INSERT INTO calls (session_id, call_id, request_digest, state, status, updated_at, result)
WITH RECURSIVE n(i, s) AS (
    SELECT 1, 1 UNION ALL SELECT i + 1, CASE s WHEN {sessions} THEN 1 ELSE s + 1 END FROM n WHERE i < {operations}
)
SELECT 'x' || s, 'c' || i, request_digest, state, status, updated_at, result FROM calls, n WHERE call_id = 'first'
""",
    """
INSERT INTO operations (
    operation_id, session_id, call_id, replica_id, state, intended_at, finished_at, updated_at, input, intent, outcome
)
WITH RECURSIVE n(i, s) AS (
    SELECT 1, 1 UNION ALL SELECT i + 1, CASE s WHEN {sessions} THEN 1 ELSE s + 1 END FROM n WHERE i < {operations}
)
SELECT 'o' || i, 'x' || s, 'c' || i, replica_id, state, intended_at, finished_at, updated_at, input, intent, outcome
FROM operations, n WHERE operation_id = 'first'
""",
)
_ids = count()


class Steps:
    """The steps that are timed."""

    def __init__(self, store: SqlStateStore) -> None:
        self.store = store

    async def call(self, name: str = "") -> None:
        """Begin and finish a call that changes something."""
        name = name or f"call {next(_ids)}"
        await self.store.calls.begin_call(a.a_record(name), a.an_operation(name, operation_id=name))
        await self.store.calls.finish_call(
            "s", name, name, CallState.COMPLETED, OperationState.DONE, now=a.NOW, result=bytes(300)
        )

    async def preview_and_apply(self) -> None:
        """Push a pending action, claim it, finish it."""
        name, pending = f"pending {next(_ids)}", self.store.pending
        await pending.push_pending(a.an_action(name))
        await pending.claim_pending(name, "me", a.NOW)
        await pending.finish_pending(name, PendingState.APPLIED, a.NOW, "")

    async def checkpoint(self) -> None:
        """Open a checkpoint, answer it."""
        name, checkpoints = f"checkpoint {next(_ids)}", self.store.checkpoints
        await checkpoints.open_checkpoint(a.a_checkpoint(name, name), a.a_waiting_call(name))
        await checkpoints.answer_checkpoint(name, a.an_answer(), a.NOW)

    async def known_call(self) -> None:
        """Look whether a call id was used."""
        await self.store.calls.find_call("s", "never")

    async def newest_operations(self) -> None:
        """List a session's journal."""
        await self.store.journal.newest_operations("s", 20)

    async def housekeeping(self) -> None:
        """Expire and escalate, as is done every second."""
        await self.store.pending.expire_pending(a.NOW)
        await self.store.checkpoints.expire_checkpoints(a.NOW)
        await self.store.checkpoints.escalate_checkpoints(a.NOW)
        await self.store.journal.abandon_orphans(a.NOW)

    def all(self) -> dict[str, Callable[[], Awaitable[None]]]:
        """Each by its name."""
        steps = (self.call, self.preview_and_apply, self.checkpoint, self.known_call, self.newest_operations)
        return {step.__name__.replace("_", " "): step for step in (*steps, self.housekeeping)}

    async def measure(self) -> dict[str, float]:
        """What a tenth of the runs of each stays below, in milliseconds, after a first round for the caches."""
        figures: dict[str, float] = {}
        for _ in range(2):
            for name, step in self.all().items():
                figures[name] = await _fast_tenth(step)
        return figures


async def _fast_tenth(step: Callable[[], Awaitable[None]]) -> float:
    took = []
    for _ in range(TIMES):
        began = time.perf_counter()
        await step()
        took.append(time.perf_counter() - began)
    # What else the machine does only adds to it.
    return statistics.quantiles(took, n=10)[0] * 1000


async def compared(url: str, operations: int) -> None:
    """Measure, fill, measure again, and print both."""
    async with await SqlStateStore.open(url, replica_id="r1") as store:
        await store.sessions.ensure_session(a.a_session())
        await Steps(store).call("first")
        empty = await Steps(store).measure()
        await fill(store, url, operations)
    async with await SqlStateStore.open(url, replica_id="r1") as store:
        full = await Steps(store).measure()
    print(f"\n| {url.partition(':')[0]} | empty, ms | full, ms | ratio |\n|---|---|---|---|")
    for name, before in empty.items():
        print(f"| {name} | {before:.2f} | {full[name]:.2f} | {full[name] / before:.2f} |")


async def fill(store: SqlStateStore, url: str, operations: int) -> None:
    """Put much into the database."""
    database = open_database(url, busy_timeout_s=600)
    with database.engine.connect() as connection:
        for statement in _FILL:
            connection.exec_driver_sql(statement.format(sessions=SESSIONS, operations=operations))
    await _in_turn(store.pending.push_pending(a.an_action(f"y{n}", f"x{n + 1}")) for n in range(PENDING))
    await _in_turn(
        store.checkpoints.open_checkpoint(
            a.a_checkpoint(f"k{n}", f"k{n}", f"x{n + 1}"), a.a_waiting_call(f"k{n}", f"x{n + 1}")
        )
        for n in range(CHECKPOINTS)
    )
    with database.engine.connect() as connection:
        connection.exec_driver_sql("ANALYZE")
        if database.connect is not None:
            connection.exec_driver_sql("CHECKPOINT")


async def _in_turn(works: Iterable[Coroutine[Any, Any, object]], together: int = 500) -> None:
    waiting = iter(works)
    while some := list(islice(waiting, together)):
        await asyncio.gather(*some)


async def main() -> None:
    """Both databases, one after the other."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--operations", type=int, default=1_000_000)
    operations = parser.parse_args().operations
    with tempfile.TemporaryDirectory() as directory:
        await compared(f"sqlite:///{directory}/state.db", operations)
    settings = {"fsync": "on", "full_page_writes": "on", "shared_buffers": "256MB", "max_wal_size": "4GB"}
    with running_postgres(**settings) as server, server.database() as url:
        await compared(url, operations)


if __name__ == "__main__":
    uvloop.run(main())
