"""A process that races for pending actions: prints `ready`, waits for a line, prints what it claimed."""

import asyncio
import json
import sys

from interlock_gateway.state.store import SqlStateStore
from state_records import NOW


async def claim(store: SqlStateStore, pending_id: str, claimant: str) -> list[str]:
    claimed = await store.pending.claim_pending(pending_id, claimant, NOW)
    return [] if claimed is None else [claimed.pending_id]


async def race(url: str, replica_id: str, actions: int, racers: int) -> list[str]:
    async with await SqlStateStore.open(
        url, replica_id=replica_id, busy_timeout_s=30, capacity=actions * racers
    ) as store:
        print("ready", flush=True)  # noqa: T201 - the other side reads it
        sys.stdin.readline()
        claims = [claim(store, f"p{n}", f"{replica_id}-{k}") for n in range(actions) for k in range(racers)]
        return [pending_id for won in await asyncio.gather(*claims) for pending_id in won]


if __name__ == "__main__":
    _, url, replica_id, actions, racers = sys.argv
    print(json.dumps(asyncio.run(race(url, replica_id, int(actions), int(racers)))))  # noqa: T201 - its result
