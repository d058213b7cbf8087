"""Several processes on one database, and processes that are killed."""

import asyncio
import json
import os
import sys
from collections import Counter
from pathlib import Path

import pytest
from interlock_gateway.core.call import CallState
from interlock_gateway.core.operation import OperationState
from interlock_gateway.state.store import SqlStateStore
from state_records import NOW, a_record, a_session, an_action, an_operation

HERE = Path(__file__).parent
ACTIONS = 100


async def start(script: str, *arguments: str) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        sys.executable,
        str(HERE / script),
        *arguments,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(HERE)},
    )


async def push_one_action_per_session(store: SqlStateStore, actions: int = ACTIONS) -> None:
    for n in range(actions):
        await store.sessions.ensure_session(a_session(f"s{n}"))
        await store.pending.push_pending(an_action(f"p{n}", f"s{n}"))


@pytest.mark.req("REL-3", "PREV-13")
async def test_of_racing_resolvers_on_two_replicas_one_claims_each_action(url: str, store: SqlStateStore) -> None:
    """The short version: 100 actions, 10 racers, two stores in one process."""
    await push_one_action_per_session(store)
    async with await SqlStateStore.open(url, replica_id="r2", busy_timeout_s=30) as other:
        claimed = await asyncio.gather(
            *(
                replica.pending.claim_pending(f"p{n}", f"racer {k}", NOW)
                for n in range(ACTIONS)
                for k in range(5)
                for replica in (store, other)
            )
        )

    won = Counter(action.pending_id for action in claimed if action is not None)
    assert won == Counter(f"p{n}" for n in range(ACTIONS))


async def race(url: str, actions: int, racers: int) -> "Counter[str]":
    """How often each action was claimed by that many racers in each of two processes."""
    running = [await start("race_pending.py", url, name, str(actions), str(racers)) for name in ("r2", "r3")]
    for racer in running:
        assert racer.stdout is not None
        assert await racer.stdout.readline() == b"ready\n"
    outputs = await asyncio.gather(*(racer.communicate(b"go\n") for racer in running))
    return Counter(pending_id for out, _ in outputs for pending_id in json.loads(out))


@pytest.mark.req("REL-3", "PREV-13")
async def test_of_racing_resolvers_in_two_processes_one_claims_each_action(url: str, store: SqlStateStore) -> None:
    """The short version: 100 actions, 10 racers, two processes."""
    await push_one_action_per_session(store)

    assert await race(url, ACTIONS, 5) == Counter(f"p{n}" for n in range(ACTIONS))


@pytest.mark.req("REL-3")
@pytest.mark.parametrize("kind", ["postgresql"], indirect=True)
async def test_of_20_racers_for_each_of_1000_actions_on_a_server_one_claims_each(
    url: str, store: SqlStateStore
) -> None:
    await push_one_action_per_session(store, 1000)

    assert await race(url, 1000, 10) == Counter(f"p{n}" for n in range(1000))


@pytest.mark.req("PIPE-9", "PIPE-10")
async def test_what_was_acknowledged_before_a_kill_is_there_and_the_rest_is_unknown(url: str) -> None:
    process = await start("write_calls.py", url)
    assert process.stdout is not None
    lines = [await process.stdout.readline() for _ in range(60)]
    process.kill()
    lines += (await process.stdout.read()).splitlines(keepends=True)
    await process.wait()
    steps = [line.decode().split() for line in lines if line.endswith(b"\n")]
    begun = {call_id for step, call_id in steps if step == "begun"}
    finished = {call_id for step, call_id in steps if step == "finished"}
    assert begun
    assert finished

    async with await SqlStateStore.open(url, replica_id="r1") as store:
        report = await store.journal.recover(NOW)
        operations = {operation.call_id: operation for operation in await store.journal.list_operations("s", 100_000)}
        unknown = {operation.call_id for operation in report.operations}

        assert begun <= operations.keys()
        assert begun - finished <= unknown | {
            name for name, operation in operations.items() if operation.state is OperationState.DONE
        }
        assert all(operations[call_id].state is OperationState.DONE for call_id in finished)
        assert all(operations[call_id].state is OperationState.OUTCOME_UNKNOWN for call_id in unknown)
        for call_id in operations:
            record = await store.calls.find_call("s", call_id)
            assert record is not None
            assert record.state is (CallState.OUTCOME_UNKNOWN if call_id in unknown else CallState.COMPLETED)
            again = await store.calls.begin_call(a_record(call_id), an_operation(call_id, operation_id="again"))
            assert again.existing == record
