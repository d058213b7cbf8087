"""Artifacts go when they are too old or too many, and never while something refers to them (ART-4)."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest
from artifact_keepers import DAY, MEBIBYTE, Keeping
from interlock_gateway.artifacts.errors import (
    ArtifactLimitError,
    ArtifactNotFoundError,
    ArtifactRemovedError,
    ArtifactStoreError,
)
from interlock_gateway.artifacts.index import RemovalReason
from interlock_gateway.artifacts.sweeping import REMEMBERED_S, SETTLED_S
from interlock_gateway.core.pending import PendingState
from interlock_gateway.state.store import SqlStateStore
from state_records import a_checkpoint, a_waiting_call, an_action


@pytest.fixture
async def state(migrated: str) -> AsyncIterator[SqlStateStore]:
    async with await SqlStateStore.open(migrated, replica_id="r1") as opened:
        yield opened


@pytest.fixture
def keeping(state: SqlStateStore, tmp_path: Path) -> Keeping:
    return Keeping(state, tmp_path / "artifacts")


@pytest.mark.req("ART-4")
async def test_an_artifact_goes_once_it_is_too_old_and_its_session_closed(keeping: Keeping) -> None:
    await keeping.opened("a", "b")
    old, held = await keeping.put("a", "old"), await keeping.put("b", "held")
    await keeping.closed("a")
    keeping.clock.time += 6 * DAY
    young = await keeping.put("b", "young")
    await keeping.closed("b")
    assert (await keeping.swept()).counts[RemovalReason.AGE] == 0

    keeping.clock.time += 1 * DAY
    swept = await keeping.swept()

    assert swept.counts == {RemovalReason.AGE: 2, RemovalReason.SIZE: 0, RemovalReason.FAILED: 0}
    assert swept.sizes[RemovalReason.AGE] == len("old" + "held")
    for gone in (old, held):
        with pytest.raises(ArtifactRemovedError, match=r"has expired: it was removed on 2025-06-\d\d \d\d:\d\d UTC"):
            await keeping.store.read_bytes(gone.uri)
    assert await keeping.store.read_bytes(young.uri) == b"young"
    assert await keeping.usage() == (1, len("young"))
    assert keeping.files() == [young.sha256, f"{young.sha256}.json"]


@pytest.mark.req("ART-4")
async def test_what_an_open_session_refers_to_stays_however_old_and_large(keeping: Keeping) -> None:
    keeping = Keeping(keeping.state, keeping.root, total_bytes=MEBIBYTE, clock=keeping.clock)
    await keeping.opened("a")
    kept = await keeping.put("a", bytes(MEBIBYTE - 1))
    keeping.clock.time += 365 * DAY
    assert sum((await keeping.swept()).counts.values()) == 0
    assert (await keeping.store.stat(kept.uri)) == kept


@pytest.mark.req("ART-4")
@pytest.mark.parametrize("pending", [PendingState.PENDING, PendingState.APPLYING, PendingState.OUTCOME_UNKNOWN])
async def test_what_a_pending_action_refers_to_stays_even_in_a_closed_session(
    keeping: Keeping, pending: PendingState
) -> None:
    await keeping.opened("a", "other")
    kept, free = await keeping.put("a", "kept"), await keeping.put("other", "free")
    await keeping.state.pending.push_pending(an_action("p", "a", expires_at=keeping.clock.time + 900 * DAY))
    if pending is not PendingState.PENDING:
        await keeping.state.pending.claim_pending("p", "me", keeping.clock.time)
    if pending is PendingState.OUTCOME_UNKNOWN:
        await keeping.state.pending.finish_pending("p", "me", PendingState.OUTCOME_UNKNOWN, keeping.clock.time, "")
    await keeping.closed("a", "other")
    keeping.clock.time += 8 * DAY

    assert (await keeping.swept()).counts[RemovalReason.AGE] == 1
    assert await keeping.store.read_bytes(kept.uri) == b"kept"
    with pytest.raises(ArtifactRemovedError):
        await keeping.store.stat(free.uri)


@pytest.mark.req("ART-4")
async def test_what_an_open_checkpoint_refers_to_stays_even_in_a_closed_session(keeping: Keeping) -> None:
    await keeping.opened("a")
    kept = await keeping.put("a", "kept")
    checkpoint = a_checkpoint("k", "c", "a", expires_at=keeping.clock.time + 900 * DAY)
    await keeping.state.checkpoints.open_checkpoint(checkpoint, a_waiting_call("c", "a"))
    await keeping.closed("a")
    keeping.clock.time += 8 * DAY
    assert sum((await keeping.swept()).counts.values()) == 0

    await keeping.state.checkpoints.withdraw_checkpoint("k", keeping.clock.time, "done")

    assert (await keeping.swept()).counts[RemovalReason.AGE] == 1
    with pytest.raises(ArtifactRemovedError):
        await keeping.store.stat(kept.uri)


@pytest.mark.req("ART-4")
async def test_the_oldest_go_first_when_there_is_too_much_and_only_as_many_as_it_takes(keeping: Keeping) -> None:
    keeping = Keeping(keeping.state, keeping.root, total_bytes=MEBIBYTE, max_age_s=None, clock=keeping.clock)
    await keeping.opened("a", "b")
    artifacts = []
    for number in range(9):
        keeping.clock.time += 60
        artifacts.append(await keeping.put("ab"[number % 2], bytes([number]) * (MEBIBYTE // 10)))
    await keeping.closed("a", "b")
    keeping.clock.time += SETTLED_S
    assert sum((await keeping.swept()).counts.values()) == 0, "nine tenths are not too much"

    await keeping.opened("c")
    await keeping.put("c", bytes(MEBIBYTE // 20))
    swept = await keeping.swept()

    assert swept.counts[RemovalReason.SIZE] == 1
    with pytest.raises(ArtifactRemovedError):
        await keeping.store.stat(artifacts[0].uri)
    assert [await keeping.store.stat(one.uri) for one in artifacts[1:]] == artifacts[1:]


@pytest.mark.req("ART-4")
async def test_nothing_goes_while_it_may_still_be_on_its_way_into_the_store(keeping: Keeping) -> None:
    keeping = Keeping(keeping.state, keeping.root, total_bytes=1000, max_age_s=1.0, every_s=1.0, clock=keeping.clock)
    await keeping.opened("a")
    await keeping.put("a", bytes(1000))
    await keeping.closed("a")
    keeping.clock.time += SETTLED_S - 10
    assert sum((await keeping.swept()).counts.values()) == 0
    keeping.clock.time += 10
    assert sum((await keeping.swept()).counts.values()) == 1


@pytest.mark.req("ART-4")
async def test_a_session_cannot_fill_the_store(keeping: Keeping) -> None:
    keeping = Keeping(keeping.state, keeping.root, session_bytes=100)
    await keeping.opened("a", "b")
    await keeping.put("a", bytes(60))
    with pytest.raises(ArtifactLimitError, match="this session has all the artifacts that it may, 100 bytes"):
        await keeping.put("a", bytes(41))
    await keeping.put("a", bytes(60))
    await keeping.put("a", bytes(40))
    await keeping.put("b", bytes(100))
    with pytest.raises(ArtifactLimitError):
        await keeping.put("b", b"x")
    assert await keeping.usage() == (3, 200)


@pytest.mark.req("ART-4")
async def test_of_many_at_once_a_session_keeps_no_more_than_it_may(keeping: Keeping) -> None:
    keeping = Keeping(keeping.state, keeping.root, session_bytes=50)
    await keeping.opened("a")
    results = await asyncio.gather(*(keeping.put("a", bytes([n]) * 10) for n in range(20)), return_exceptions=True)
    assert sum(isinstance(one, ArtifactLimitError) for one in results) == 15
    assert await keeping.usage() == (5, 50)


@pytest.mark.req("ART-4")
async def test_a_full_store_keeps_nothing_more_until_there_is_room(keeping: Keeping) -> None:
    keeping = Keeping(keeping.state, keeping.root, total_bytes=1000, clock=keeping.clock)
    await keeping.opened("a", "b")
    await keeping.put("a", bytes(950))
    with pytest.raises(ArtifactLimitError, match="holds all that it may, 1000 bytes"):
        await keeping.put("b", bytes(51))
    await keeping.closed("a")
    keeping.clock.time += SETTLED_S
    await keeping.swept()
    assert (await keeping.put("b", bytes(51))).total_bytes == 51


@pytest.mark.req("ART-4", "ART-1")
async def test_the_same_content_again_is_counted_once_and_young_again(keeping: Keeping) -> None:
    await keeping.opened("a", "b")
    first, second = await keeping.put("a", "same"), await keeping.put("a", "same")
    await keeping.put("b", "same")
    assert first == second
    assert await keeping.usage() == (2, 8)
    keeping.clock.time += 6 * DAY
    await keeping.put("a", "same")
    await keeping.closed("a", "b")
    keeping.clock.time += 2 * DAY

    assert (await keeping.swept()).counts[RemovalReason.AGE] == 1
    assert await keeping.store.read_bytes(first.uri) == b"same"


@pytest.mark.req("ART-4")
async def test_what_was_removed_can_be_stored_again(keeping: Keeping) -> None:
    await keeping.opened("a")
    artifact = await keeping.put("a", "again")
    await keeping.closed("a")
    keeping.clock.time += 8 * DAY
    await keeping.swept()
    # A call that was under way when its session was closed, or an undo in a closed session.
    again = await keeping.put("a", "again")
    assert replace(again, created_at=artifact.created_at) == artifact
    assert again.created_at is not None
    assert artifact.created_at is not None
    assert again.created_at > artifact.created_at + 8 * DAY
    assert await keeping.store.read_bytes(artifact.uri) == b"again"
    assert await keeping.usage() == (1, 5)
    keeping.clock.time += 8 * DAY
    assert (await keeping.swept()).counts[RemovalReason.AGE] == 1


@pytest.mark.req("ART-4")
async def test_that_an_artifact_expired_is_known_for_a_month(keeping: Keeping) -> None:
    await keeping.opened("a")
    artifact = await keeping.put("a", "old")
    await keeping.closed("a")
    keeping.clock.time += 8 * DAY
    await keeping.swept()
    keeping.clock.time += REMEMBERED_S
    await keeping.swept()
    with pytest.raises(ArtifactNotFoundError) as failed:
        await keeping.store.stat(artifact.uri)
    assert not isinstance(failed.value, ArtifactRemovedError)


@pytest.mark.req("ART-4")
async def test_a_store_that_failed_in_the_middle_leaves_nothing_and_counts_nothing(
    keeping: Keeping, monkeypatch: pytest.MonkeyPatch
) -> None:
    await keeping.opened("a")

    async def full(name: str, data: bytes) -> None:
        if name.endswith(".json"):
            raise ArtifactStoreError("the artifact store is full")
        await put(name, data)

    put = keeping.backend.put
    with monkeypatch.context() as patch:
        patch.setattr(keeping.backend, "put", full)
        with pytest.raises(ArtifactStoreError, match="full"):
            await keeping.put("a", "half")
    assert (await keeping.usage())[1] == 0
    assert len(keeping.files()) == 1

    swept = await keeping.swept()

    assert swept.counts[RemovalReason.FAILED] == 1
    assert keeping.files() == []
    assert await keeping.usage() == (0, 0)
    assert (await keeping.put("a", "half")).total_bytes == 4


@pytest.mark.req("ART-4")
async def test_an_open_session_that_is_not_used_may_count_as_closed(keeping: Keeping) -> None:
    keeping = Keeping(keeping.state, keeping.root, clock=keeping.clock, idle_session_s=30 * DAY)
    await keeping.opened("idle", "used")
    old = await keeping.put("idle", "old")
    await keeping.put("used", "same")
    keeping.clock.time += 20 * DAY
    await keeping.put("used", "same")
    keeping.clock.time += 11 * DAY

    assert (await keeping.swept()).counts[RemovalReason.AGE] == 1
    with pytest.raises(ArtifactRemovedError):
        await keeping.store.stat(old.uri)
    assert await keeping.usage() == (1, 4)


@pytest.mark.req("ART-4")
async def test_a_session_that_counted_as_closed_and_is_used_again_holds_what_it_has(keeping: Keeping) -> None:
    keeping = Keeping(keeping.state, keeping.root, clock=keeping.clock, idle_session_s=DAY, max_age_s=7 * DAY)
    await keeping.opened("a")
    kept = await keeping.put("a", "kept")
    keeping.clock.time += 2 * DAY
    assert sum((await keeping.swept()).counts.values()) == 0
    await keeping.put("a", "and used again")
    keeping.clock.time += 6 * DAY
    await keeping.put("a", "and again")
    assert sum((await keeping.swept()).counts.values()) == 0
    assert await keeping.store.read_bytes(kept.uri) == b"kept"
