"""No principal has all of the artifact store (ART-4)."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from artifact_keepers import Keeping
from interlock_gateway.artifacts.admission import Limit
from interlock_gateway.artifacts.errors import ArtifactLimitError, ArtifactRemovedError
from interlock_gateway.artifacts.index import RemovalReason, Reservation
from interlock_gateway.artifacts.sweeping import SETTLED_S
from interlock_gateway.artifacts.uri import ArtifactKey
from interlock_gateway.config import ArtifactsConfig
from interlock_gateway.config_artifacts import RetentionConfig
from interlock_gateway.state.database import open_database
from interlock_gateway.state.migrations.runner import upgrade
from interlock_gateway.state.store import SqlStateStore

FULL = "the sessions of this principal have all the artifacts that they may, 1000 bytes"


@pytest.fixture
async def state(migrated: str) -> AsyncIterator[SqlStateStore]:
    async with await SqlStateStore.open(migrated, replica_id="r1") as opened:
        yield opened


@pytest.fixture
def keeping(state: SqlStateStore, tmp_path: Path) -> Keeping:
    return Keeping(state, tmp_path / "artifacts", principal_bytes=1000, total_bytes=10_000, max_age_s=None)


@pytest.mark.req("ART-4")
async def test_all_sessions_of_a_principal_together_keep_no_more_than_they_may(keeping: Keeping) -> None:
    await keeping.opened("a1", "a2", owner="alice")
    await keeping.opened("b", owner="bob")
    await keeping.put("a1", bytes(600))
    with pytest.raises(ArtifactLimitError, match=FULL):
        await keeping.put("a2", bytes(401))
    await keeping.put("a2", bytes(400))
    await keeping.put("b", bytes(1000))
    assert keeping.admission.refused == {Limit.SESSION: 0, Limit.PRINCIPAL: 1, Limit.TOTAL: 0}
    assert (await keeping.state.artifacts.usage()).by_owner == {"alice": 1000, "bob": 1000}


@pytest.mark.req("ART-4")
async def test_of_many_at_once_a_principal_keeps_no_more_than_it_may(keeping: Keeping) -> None:
    sessions = [f"s{number}" for number in range(20)]
    await keeping.opened(*sessions)
    stored = await asyncio.gather(*(keeping.put(one, bytes(100)) for one in sessions), return_exceptions=True)
    assert sum(isinstance(one, ArtifactLimitError) for one in stored) == 10
    assert await keeping.usage() == (10, 1000)


@pytest.mark.req("ART-4")
async def test_what_was_stored_before_gives_no_room_when_all_is_counted_while_it_comes_again(
    keeping: Keeping, monkeypatch: pytest.MonkeyPatch
) -> None:
    await keeping.opened("a")
    await keeping.put("a", bytes(400))
    reserve = keeping.state.artifacts.reserve

    async def reserve_while_counted(key: ArtifactKey, size: int, *, now: float, most: int) -> Reservation | None:
        await keeping.keeper.count()
        return await reserve(key, size, now=now, most=most)

    with monkeypatch.context() as patch:
        patch.setattr(keeping.state.artifacts, "reserve", reserve_while_counted)
        await keeping.put("a", bytes(400))
    with pytest.raises(ArtifactLimitError, match=FULL):
        await keeping.put("a", bytes(601))
    await keeping.put("a", bytes(600))


@pytest.mark.req("ART-4", "STATE-2")
async def test_what_another_gateway_stored_for_a_principal_counts_once_it_was_looked_at(keeping: Keeping) -> None:
    other = Keeping(keeping.state, keeping.root, principal_bytes=1000)
    await keeping.opened("a")
    await other.put("a", bytes(900))
    await keeping.keeper.count()
    with pytest.raises(ArtifactLimitError, match=FULL):
        await keeping.put("a", b"x" * 101)


@pytest.mark.req("ART-4")
async def test_of_a_principal_with_too_much_its_own_oldest_go_and_nobody_elses(keeping: Keeping) -> None:
    await keeping.opened("b", owner="bob")
    older = await keeping.put("b", bytes([9]) * 100)
    await keeping.opened("a1", "a2", owner="alice")
    artifacts = []
    for number in range(10):
        keeping.clock.time += 60
        artifacts.append(await keeping.put(f"a{1 + number % 2}", bytes([number]) * 100))
    await keeping.closed("a1", "a2", "b")
    keeping.clock.time += SETTLED_S

    assert (await keeping.swept()).counts[RemovalReason.SIZE] == 1
    with pytest.raises(ArtifactRemovedError):
        await keeping.store.stat(artifacts[0].uri)
    assert [await keeping.store.stat(one.uri) for one in (*artifacts[1:], older)] == [*artifacts[1:], older]
    await keeping.opened("a3", owner="alice")
    assert (await keeping.put("a3", bytes(100))).total_bytes == 100


@pytest.mark.req("ART-4")
async def test_what_could_not_be_stored_leaves_the_principal_its_room(
    keeping: Keeping, monkeypatch: pytest.MonkeyPatch
) -> None:
    await keeping.opened("a")

    async def fails(_name: str, _data: bytes) -> None:
        raise OSError

    with monkeypatch.context() as patch:
        patch.setattr(keeping.backend, "put", fails)
        with pytest.raises(OSError):  # noqa: PT011 - it has no words
            await keeping.put("a", bytes(900))
    assert (await keeping.put("a", b"y" * 900)).total_bytes == 900


@pytest.mark.req("ART-4", "STATE-1")
async def test_what_was_stored_before_owners_were_entered_is_its_owners(url: str, tmp_path: Path) -> None:
    database = open_database(url, busy_timeout_s=1.0)
    with database.engine.connect() as connection:
        connection.exec_driver_sql(database.begin)
        upgrade(connection, to="0007")
        connection.exec_driver_sql(
            "INSERT INTO sessions (session_id, owner, opened_at, pending_sequence, document)"
            " VALUES ('s', 'alice', 1, 0, '{}')"
        )
        connection.exec_driver_sql(
            "INSERT INTO artifacts (name, session_id, size, stored_at, state, released, claimant, reason)"
            " VALUES ('s/x', 's', 700, 1, 'kept', 0, '', '')"
        )
        connection.exec_driver_sql(
            "INSERT INTO artifact_sessions (session_id, count, size, stored_at, released) VALUES ('s', 1, 700, 1, 0)"
        )
        connection.exec_driver_sql("COMMIT")

    async with await SqlStateStore.open(url, replica_id="r1") as state:
        assert (await state.artifacts.usage()).by_owner == {"alice": 700}
        keeping = Keeping(state, tmp_path / "artifacts", principal_bytes=1000)
        await keeping.keeper.count()
        with pytest.raises(ArtifactLimitError, match=FULL):
            await keeping.put("s", bytes(301))


def test_without_a_setting_a_principal_has_four_fifths_of_the_store() -> None:
    retention = RetentionConfig(max_total_bytes=1000)
    assert ArtifactsConfig(retention=retention).principal_bytes == 800
    assert ArtifactsConfig(retention=retention, max_principal_bytes=10).principal_bytes == 10
    assert ArtifactsConfig(retention=RetentionConfig(max_total_bytes=None)).principal_bytes is None
