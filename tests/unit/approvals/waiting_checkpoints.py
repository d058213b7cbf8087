"""Checkpoints as the pipeline leaves them, in a real database."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from interlock_gateway.core.call import CallState
from interlock_gateway.core.checkpoint import Checkpoint
from interlock_gateway.core.session import Principal, Role, Session
from interlock_gateway.pipeline.ports import CallRecord
from interlock_gateway.state.store import SqlStateStore

NOW = 1_000_000.0
ALICE = Principal("alice", "token", frozenset({Role.APPROVER}), ("dba",))
BOB = Principal("bob", "token", frozenset({Role.APPROVER}), ("ops",))
AGENT = Principal("agent", "token", frozenset({Role.AGENT}), ("dba", "ops"))


@dataclass
class StillClock:
    """Time that stands still until it is set."""

    at: float = NOW

    def now(self) -> float:
        return self.at

    def monotonic(self) -> float:
        return self.at


def waiting(number: int = 1, **changes: Any) -> Checkpoint:
    """A checkpoint that anybody may answer, asked by `agent`."""
    made = Checkpoint(
        checkpoint_id=f"chk-{number}",
        session_id="s",
        call_id=f"call-{number}",
        request_digest="r",
        requester="agent",
        requester_kind="token",
        tool="drop_table",
        provider="db",
        pin="p",
        digest=f"{number:064x}",
        policy_revision="rev",
        input=b'{"table":"users"}',
        shown_input=b'{"table":"users"}',
        created_at=NOW,
        expires_at=NOW + 60 * number,
    )
    return replace(made, **changes)


async def opened(store: SqlStateStore, checkpoint: Checkpoint) -> Checkpoint:
    """Keep it, with its session and its call."""
    await store.sessions.ensure_session(Session(checkpoint.session_id, checkpoint.requester, NOW))
    record = CallRecord(
        checkpoint.session_id,
        checkpoint.call_id,
        checkpoint.request_digest,
        CallState.AWAITING_CHECKPOINT,
        checkpoint.created_at,
    )
    kept = await store.checkpoints.open_checkpoint(checkpoint, record)
    assert kept.checkpoint is not None
    return kept.checkpoint


@asynccontextmanager
async def state(directory: Path) -> AsyncIterator[SqlStateStore]:
    """A database of its own."""
    async with await SqlStateStore.open(f"sqlite:///{directory}/state.db", replica_id="r1") as store:
        yield store
