"""A process that begins and finishes calls for ever, and prints each step once it was acknowledged."""

import asyncio
import sys

from interlock_gateway.core.call import CallState
from interlock_gateway.core.operation import OperationState
from interlock_gateway.state.store import SqlStateStore
from state_records import NOW, a_record, a_session, an_operation


async def call(store: SqlStateStore, call_id: str) -> None:
    begun = await store.calls.begin_call(a_record(call_id), an_operation(call_id))
    assert begun.operation is not None
    print("begun", call_id, flush=True)  # noqa: T201 - the other side reads it
    await store.calls.finish_call(
        "s",
        call_id,
        begun.operation.operation_id,
        CallState.COMPLETED,
        OperationState.DONE,
        now=NOW,
        result=call_id.encode(),
    )
    print("finished", call_id, flush=True)  # noqa: T201 - the other side reads it


async def main(url: str) -> None:
    store = await SqlStateStore.open(url, replica_id="r1")
    await store.sessions.ensure_session(a_session())

    async def worker(name: str) -> None:
        count = 0
        while True:
            count += 1
            await call(store, f"{name}{count}")

    await asyncio.gather(*(worker(name) for name in "abcd"))


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
