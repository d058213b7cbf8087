"""Keys that all gateways on one database use."""

import asyncio
from pathlib import Path

import pytest
from interlock_gateway.state.store import SqlStateStore


@pytest.mark.req("MCP-1", "STATE-1")
async def test_whoever_asks_first_makes_the_key_and_all_who_share_the_database_get_it(migrated: str) -> None:
    async with (
        await SqlStateStore.open(migrated, replica_id="r1") as one,
        await SqlStateStore.open(migrated, replica_id="r2") as other,
    ):
        keys = await asyncio.gather(*(store.keys.key("seal") for store in (one, other) for _ in range(5)))
        another = await one.keys.key("other")

    assert len(set(keys)) == 1
    assert len(keys[0]) == 32
    assert another != keys[0]


async def test_a_key_is_the_same_after_a_restart(tmp_path: Path) -> None:
    found = []
    for _ in range(2):
        async with await SqlStateStore.open(f"sqlite:///{tmp_path}/state.db", replica_id="r1") as store:
            found.append(await store.keys.key("seal"))

    assert found[0] == found[1]
