"""Sweeps of the artifact store that meet, die in the middle, race with calls, and find what nobody entered (ART-4)."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest
from artifact_keepers import DAY, MEBIBYTE, Keeping
from clouds import CLOUDS, Cloud
from interlock_gateway.artifacts.errors import (
    ArtifactRemovedError,
    ArtifactStoreError,
)
from interlock_gateway.artifacts.index import RemovalReason
from interlock_gateway.artifacts.store import ArtifactStore
from interlock_gateway.artifacts.sweeping import SETTLED_S, Swept
from interlock_gateway.artifacts.uri import parse_uri
from interlock_gateway.state.store import SqlStateStore


@pytest.fixture
async def state(migrated: str) -> AsyncIterator[SqlStateStore]:
    async with await SqlStateStore.open(migrated, replica_id="r1") as opened:
        yield opened


@pytest.fixture
def keeping(state: SqlStateStore, tmp_path: Path) -> Keeping:
    return Keeping(state, tmp_path / "artifacts")


@pytest.mark.req("ART-4")
async def test_one_of_several_gateways_sweeps_and_not_more_often_than_is_due(keeping: Keeping) -> None:
    other = Keeping(keeping.state, keeping.root, clock=keeping.clock)
    turns = await asyncio.gather(keeping.sweeper.sweep(), other.sweeper.sweep())
    assert sum(one is not None for one in turns) == 1
    assert await other.sweeper.sweep() is None
    keeping.clock.time += keeping.every_s
    assert await other.sweeper.sweep() is not None
    await keeping.keeper.count()
    assert keeping.keeper.upkeep.last_swept_at == keeping.clock.time


@pytest.mark.req("ART-4")
async def test_two_sweeps_at_once_remove_and_count_everything_once(keeping: Keeping) -> None:
    other = Keeping(keeping.state, keeping.root, clock=keeping.clock)
    await keeping.opened("a")
    for number in range(120):
        await keeping.put("a", f"number {number}")
    await keeping.closed("a")
    keeping.clock.time += 8 * DAY

    # Each in the middle of the other, as when one was taken for dead and was not.
    counted = Swept(), Swept()
    await asyncio.gather(keeping.sweeper._sweep(counted[0]), other.sweeper._sweep(counted[1]))

    assert sum(swept.counts[RemovalReason.AGE] for swept in counted) == 120
    assert await keeping.usage() == (0, 0)
    assert keeping.files() == []


@pytest.mark.req("ART-4")
async def test_a_sweep_that_died_in_the_middle_is_taken_to_its_end_by_another(
    keeping: Keeping, monkeypatch: pytest.MonkeyPatch
) -> None:
    await keeping.opened("a")
    artifacts = [await keeping.put("a", f"number {number}") for number in range(30)]
    await keeping.closed("a")
    keeping.clock.time += 8 * DAY
    deleted = 0

    class Died(BaseException):
        """As if the process had ended there."""

    async def dying(name: str) -> None:
        nonlocal deleted
        deleted += 1
        if deleted > 20:
            raise Died
        await delete(name)

    delete = keeping.backend.delete
    with monkeypatch.context() as patch:
        patch.setattr(keeping.backend, "delete", dying)
        patch.setattr(keeping.state.artifacts, "removed", _never)
        patch.setattr(keeping.state.artifacts, "end_turn", _never)
        with pytest.raises(Died):
            await keeping.sweeper.sweep()
    assert await keeping.usage() == (30, sum(one.total_bytes for one in artifacts))

    other = Keeping(keeping.state, keeping.root, clock=keeping.clock)
    keeping.clock.time += 1000
    swept = await other.swept()

    assert swept.counts[RemovalReason.AGE] == 30
    assert await keeping.usage() == (0, 0)
    assert keeping.files() == []
    with pytest.raises(ArtifactRemovedError):
        await keeping.store.stat(artifacts[7].uri)


async def _never(*_arguments: object, **_more: object) -> tuple[()]:
    return ()


@pytest.mark.req("ART-4")
async def test_storing_what_is_being_removed_is_refused_and_works_once_the_claim_has_run_out(keeping: Keeping) -> None:
    await keeping.opened("a")
    artifact = await keeping.put("a", "same")
    await keeping.closed("a")
    now = keeping.clock.time
    page = await keeping.state.artifacts.claim(
        "sweeper", RemovalReason.AGE, before=now, enough=1 << 62, after=None, until=now + 60
    )
    assert [one.size for one in page.doomed] == [4]
    with pytest.raises(ArtifactStoreError, match="being removed at this moment"):
        await keeping.put("a", "same")

    keeping.clock.time += 61
    again = await keeping.put("a", "same")
    assert replace(again, created_at=artifact.created_at) == artifact

    names = [one.name for one in page.doomed]
    assert await keeping.state.artifacts.removed("sweeper", names, keeping.clock.time) == ()
    assert await keeping.usage() == (1, 4)
    assert await keeping.store.read_bytes(artifact.uri) == b"same"


@pytest.mark.req("ART-4")
async def test_what_was_stored_again_after_it_was_looked_at_is_not_claimed(keeping: Keeping) -> None:
    await keeping.opened("a")
    await keeping.put("a", "same")
    await keeping.closed("a")
    keeping.clock.time += 8 * DAY
    sweeping, putting = keeping.swept(), keeping.put("a", "same")
    swept, artifact = await asyncio.gather(sweeping, putting, return_exceptions=True)
    assert not isinstance(swept, BaseException)
    if isinstance(artifact, BaseException):
        assert isinstance(artifact, ArtifactStoreError)
        assert await keeping.usage() == (0, 0)
    else:
        assert await keeping.store.read_bytes(artifact.uri) == b"same"
        assert await keeping.usage() == (1, 4)


@pytest.mark.req("ART-4")
async def test_a_store_that_cannot_delete_fails_the_sweep_and_the_next_one_goes_on(
    keeping: Keeping, monkeypatch: pytest.MonkeyPatch
) -> None:
    await keeping.opened("a")
    await keeping.put("a", "old")
    await keeping.closed("a")
    keeping.clock.time += 8 * DAY

    async def refused(_name: str) -> None:
        raise ArtifactStoreError("the artifact store cannot be deleted from: permission denied")

    with monkeypatch.context() as patch:
        patch.setattr(keeping.backend, "delete", refused)
        swept = await keeping.swept()
    assert "permission denied" in swept.failure
    upkeep = keeping.keeper.upkeep
    assert (upkeep.failures, upkeep.sweeps, upkeep.last_swept_at) == (1, 0, None)

    swept = await keeping.swept()
    assert swept.counts[RemovalReason.AGE] == 1
    assert (upkeep.failures, upkeep.sweeps, upkeep.last_swept_at) == (1, 1, keeping.clock.time)


@pytest.mark.req("ART-4")
async def test_artifacts_of_an_earlier_version_are_entered_and_those_of_others_left_alone(keeping: Keeping) -> None:
    await keeping.opened("a")
    unentered = Keeping(keeping.state, keeping.root).store
    unentered._admission = None
    mine = await unentered.put("a", b"mine", "text/plain")
    foreign = await unentered.put("another-gateways", b"foreign", "text/plain")
    keeping.root.joinpath("v1", "x").mkdir(parents=True)
    keeping.root.joinpath("v1", "x", "damaged.json").write_text("{")

    swept = await keeping.swept()

    assert swept.adopted == 1
    assert await keeping.usage() == (1, 4)
    await keeping.closed("a")
    keeping.clock.time = 4_000_000_000.0
    assert (await keeping.swept()).counts[RemovalReason.AGE] == 1
    assert await keeping.store.read_bytes(foreign.uri) == b"foreign"
    with pytest.raises(ArtifactRemovedError):
        await keeping.store.stat(mine.uri)


@pytest.mark.req("ART-4")
async def test_artifacts_that_were_missed_when_their_session_was_closed_are_found_within_a_day(
    keeping: Keeping,
) -> None:
    await keeping.opened("a")
    await keeping.put("a", "missed")
    await keeping.closed("a")
    with keeping.state._database.engine.connect() as connection:
        connection.exec_driver_sql("UPDATE artifacts SET released = 0")
    keeping.clock.time += 8 * DAY
    assert (await keeping.swept()).counts[RemovalReason.AGE] == 1


@pytest.mark.req("ART-4")
async def test_sessions_closed_while_they_store_leave_nothing_that_never_goes(keeping: Keeping) -> None:
    names = [f"s{number}" for number in range(30)]
    await keeping.opened(*names)
    await asyncio.gather(*(keeping.put(name, "first") for name in names[:15]))
    await asyncio.gather(*(keeping.put(name, "second") for name in names), *(keeping.closed(name) for name in names))
    keeping.clock.time += 8 * DAY
    await keeping.swept()
    assert await keeping.usage() == (0, 0)


@pytest.mark.req("ART-2", "ART-4")
@pytest.mark.parametrize("kind", ["postgresql"], indirect=True)
@pytest.mark.parametrize("cloud", CLOUDS, indirect=True)
async def test_two_gateways_keep_one_bucket_within_its_limits(keeping: Keeping, cloud: Cloud) -> None:
    one, other = (
        Keeping(keeping.state, keeping.root, total_bytes=MEBIBYTE, clock=keeping.clock, url=cloud.url) for _ in range(2)
    )
    await one.opened("a", "b")
    oldest = await one.put("a", bytes(MEBIBYTE // 2))
    one.clock.time += 60
    await other.put("b", b"x" * (MEBIBYTE // 2 - 1000))
    await one.closed("a", "b")
    one.clock.time += SETTLED_S

    swept = await other.swept()

    assert swept.counts == {RemovalReason.AGE: 0, RemovalReason.SIZE: 1, RemovalReason.FAILED: 0}
    with pytest.raises(ArtifactRemovedError):
        await one.store.read_bytes(oldest.uri)
    assert sum([item.size async for item in one.backend.listing() if not item.name.endswith(".json")]) == 523_288
    assert (await one.usage()) == (1, 523_288)


@pytest.mark.req("ART-2", "ART-4")
@pytest.mark.parametrize("kind", ["sqlite"], indirect=True)
@pytest.mark.parametrize("cloud", CLOUDS, indirect=True)
async def test_what_is_too_old_goes_from_a_bucket_and_what_nobody_entered_is_found_in_it(
    keeping: Keeping, cloud: Cloud
) -> None:
    at = Keeping(keeping.state, keeping.root, clock=keeping.clock, url=cloud.url)
    await at.opened("a", "b")
    old = [await at.put("a", f"number {number}") for number in range(12)]
    await at.closed("a")
    at.clock.time += 8 * DAY
    young = await ArtifactStore(at.backend, at.clock).put("b", b"of an earlier version", "text/plain")

    swept = await at.swept()

    assert swept.counts[RemovalReason.AGE] == len(old)
    for artifact in old:
        with pytest.raises(ArtifactRemovedError):
            await at.store.read_bytes(artifact.uri)
    key = parse_uri(young.uri)
    assert {item.name async for item in at.backend.listing()} == {key.content_name, key.description_name}
    assert await at.usage() == (1, young.total_bytes)


@pytest.mark.req("ART-4")
async def test_whoever_reads_what_is_just_going_is_told_that_it_expired(keeping: Keeping) -> None:
    await keeping.opened("a")
    artifact = await keeping.put("a", "going")
    await keeping.closed("a")
    now = keeping.clock.time
    (doomed,) = (
        await keeping.state.artifacts.claim(
            "sweeper", RemovalReason.AGE, before=now, enough=1 << 62, after=None, until=now + 60
        )
    ).doomed
    assert await keeping.store.read_bytes(artifact.uri) == b"going"
    await keeping.backend.delete(doomed.name)
    with pytest.raises(ArtifactRemovedError):
        await keeping.store.read_bytes(artifact.uri)
    await keeping.backend.delete(f"{doomed.name}.json")
    with pytest.raises(ArtifactRemovedError):
        await keeping.store.stat(artifact.uri)
