"""What callers see when a SQLite database does not work, and that it heals."""

import asyncio
import shutil
import sqlite3
import subprocess
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from interlock_gateway.pipeline.ports import StateUnavailableError
from interlock_gateway.state import sqlite
from interlock_gateway.state.store import SqlStateStore
from state_records import NOW, a_record, a_session, an_action, an_operation
from waiting import eventually

MEBIBYTE = 1024 * 1024
on_sqlite = pytest.mark.parametrize("kind", ["sqlite"], indirect=True)


def fill_disk(filler: Path) -> None:
    with filler.open("wb", buffering=0) as file, suppress(OSError):
        while True:
            file.write(bytes(4096))


@pytest.fixture
async def impatient(migrated: str) -> AsyncIterator[SqlStateStore]:
    async with await SqlStateStore.open(migrated, replica_id="r1", busy_timeout_s=0.02, probe_every_s=0.01) as store:
        await store.sessions.ensure_session(a_session())
        yield store


@pytest.fixture
def locked(url: str, impatient: SqlStateStore) -> Iterator[sqlite3.Connection]:
    """Another process has the database locked."""
    assert impatient.healthy
    other = sqlite3.connect(url.removeprefix("sqlite:///"), isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    yield other
    other.close()


@on_sqlite
async def test_a_locked_database_fails_writes_and_not_reads(
    impatient: SqlStateStore, locked: sqlite3.Connection
) -> None:
    begun = await asyncio.gather(
        *(impatient.calls.begin_call(a_record(str(n)), an_operation(str(n))) for n in range(5)),
        return_exceptions=True,
    )

    assert {type(outcome) for outcome in begun} == {StateUnavailableError}
    assert not impatient.healthy
    assert await impatient.sessions.get_session("s") == a_session()
    assert await impatient.calls.find_call("s", "1") is None
    locked.execute("ROLLBACK")
    await eventually(lambda: impatient.healthy)
    assert (await impatient.calls.begin_call(a_record("1"), an_operation("1"))).operation is not None


@on_sqlite
async def test_a_store_that_failed_heals_with_the_next_write_too(url: str) -> None:
    async with await SqlStateStore.open(url, replica_id="r1", busy_timeout_s=0.02, probe_every_s=60) as store:
        other = sqlite3.connect(url.removeprefix("sqlite:///"), isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StateUnavailableError):
            await store.sessions.ensure_session(a_session())
        assert not store.healthy
        other.close()

        assert await store.sessions.ensure_session(a_session()) == a_session()
        assert store.healthy


@on_sqlite
@pytest.mark.usefixtures("store")
async def test_a_write_that_changes_nothing_does_not_pass_for_a_recovery(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite, "_PRAGMAS", (*sqlite._PRAGMAS, "PRAGMA query_only = ON"))
    async with await SqlStateStore.open(url, replica_id="r2", probe_every_s=60) as store:
        with pytest.raises(StateUnavailableError):
            await store.pending.push_pending(an_action())

        with pytest.raises(StateUnavailableError):
            await store.pending.claim_pending("nothing", "me", NOW)
        assert not store.healthy


@on_sqlite
async def test_a_full_database_fails_the_write_keeps_the_earlier_ones_and_heals(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    limited = (*sqlite._PRAGMAS, "PRAGMA max_page_count = 75")
    with monkeypatch.context() as patch:
        patch.setattr(sqlite, "_PRAGMAS", limited)
        store = await SqlStateStore.open(url, replica_id="r1", probe_every_s=60)
        await store.sessions.ensure_session(a_session())
        await store.calls.begin_call(a_record("first"), an_operation("first"))
        with pytest.raises(StateUnavailableError):
            await store.calls.begin_call(a_record("big"), an_operation("big", input=bytes(MEBIBYTE)))
        assert not store.healthy
        assert await store.calls.find_call("s", "big") is None
        assert await store.calls.find_call("s", "first") == a_record("first")

    begun = await store.calls.begin_call(a_record("big"), an_operation("big", input=bytes(MEBIBYTE)))
    assert begun.operation is not None
    assert store.healthy
    await store.close()


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    mount, unmount = shutil.which("mount"), shutil.which("umount")
    disk = tmp_path / "disk"
    disk.mkdir()
    if mount is None or unmount is None:
        pytest.skip("there is no mount here")
    command = [mount, "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(disk)]
    if subprocess.run(command, check=False, capture_output=True).returncode != 0:
        pytest.skip("mounting a small disk is not permitted here")
    yield disk
    subprocess.run([unmount, str(disk)], check=True)


async def test_a_full_disk_fails_every_write_and_heals_when_there_is_room(small_disk: Path) -> None:
    url = f"sqlite:///{small_disk / 'state.db'}"
    async with await SqlStateStore.open(url, replica_id="r1", probe_every_s=60) as store:
        await store.sessions.ensure_session(a_session())
        await store.calls.begin_call(a_record("first"), an_operation("first"))
        filler = small_disk / "filler"
        fill_disk(filler)

        begun = await asyncio.gather(
            *(
                store.calls.begin_call(a_record(str(n)), an_operation(str(n), input=bytes(MEBIBYTE // 8)))
                for n in range(5)
            ),
            return_exceptions=True,
        )

        assert {type(outcome) for outcome in begun} == {StateUnavailableError}
        assert not store.healthy
        assert await store.calls.find_call("s", "first") == a_record("first")
        filler.unlink()
        assert (await store.calls.begin_call(a_record("0"), an_operation("0"))).operation is not None
        assert store.healthy


@pytest.fixture
def damaged(url: str) -> str:
    Path(url.removeprefix("sqlite:///")).write_bytes(b"not a database, whatever the name says" * 100)
    return url


@on_sqlite
async def test_a_damaged_database_is_unavailable(damaged: str) -> None:
    with pytest.raises(StateUnavailableError, match="cannot be opened: file is not a database"):
        await SqlStateStore.open(damaged, replica_id="r1")


async def test_a_folder_that_is_not_there_is_unavailable(tmp_path: Path) -> None:
    with pytest.raises(StateUnavailableError, match=r"cannot be opened: .*No such file"):
        await SqlStateStore.open(f"sqlite:///{tmp_path / 'missing' / 'state.db'}", replica_id="r1")


@pytest.mark.parametrize("url", ["sqlite://", "sqlite:///:memory:", "mysql://host/db"])
async def test_state_is_kept_in_a_file_or_not_at_all(url: str) -> None:
    with pytest.raises(ValueError, match="kept in a file"):
        await SqlStateStore.open(url, replica_id="r1")
