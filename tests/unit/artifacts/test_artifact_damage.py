import asyncio
import hashlib
import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from artifact_stores import ManualClock, descriptions, full_disk, pieces, replace_by_file
from interlock_gateway.artifacts.backend import open_backend
from interlock_gateway.artifacts.errors import ArtifactNotFoundError, ArtifactStoreError
from interlock_gateway.artifacts.search import SearchQuery
from interlock_gateway.artifacts.store import ArtifactStore
from interlock_gateway.artifacts.uri import parse_uri

TEXT = "text/plain; charset=utf-8"


@pytest.mark.req("ART-1", "ART-4")
async def test_a_full_disk_is_an_error_on_that_result_and_leaves_nothing(local: ArtifactStore) -> None:
    kept = await local.put("s", b"small", TEXT)
    with full_disk(50_000):
        with pytest.raises(ArtifactStoreError, match="the artifact store is full"):
            await local.put("s", b"x" * 100_000, TEXT)
        with pytest.raises(ArtifactStoreError, match="the artifact store is full"):
            await local.put_stream("s", pieces(b"y" * 20_000_000, 1_000_000), TEXT)
        assert await local.stat(kept.uri) == kept
    for letter in (b"x" * 100_000, b"y" * 20_000_000):
        with pytest.raises(ArtifactNotFoundError):
            await local.stat(f"artifact://s/{hashlib.sha256(letter).hexdigest()}")
    assert (await local.put("s", b"x" * 100_000, TEXT)).total_bytes == 100_000


@pytest.mark.req("ART-1")
async def test_a_stream_that_breaks_off_leaves_no_artifact(local: ArtifactStore, root: Path) -> None:
    async def broken() -> AsyncIterator[bytes]:
        yield b"x" * 10_000_000
        raise ConnectionResetError

    with pytest.raises((ArtifactStoreError, ConnectionResetError)):
        await local.put_stream("s", broken(), TEXT)
    assert descriptions(root) == []


@pytest.mark.req("ART-4")
async def test_a_store_that_is_gone_says_so_without_naming_a_path(tmp_path: Path, root: Path) -> None:
    local = ArtifactStore(open_backend(f"file://{root}"), ManualClock())
    uri = (await local.put("s", b"x", TEXT)).uri
    replace_by_file(root)
    with pytest.raises(ArtifactStoreError) as caught:
        await local.read_bytes(uri)
    assert str(tmp_path) not in caught.value.message
    with pytest.raises(ArtifactStoreError) as caught:
        await local.put("s", b"other", TEXT)
    assert str(tmp_path) not in caught.value.message
    with pytest.raises(ArtifactStoreError):
        open_backend(f"file://{root}/below")


@pytest.mark.req("ART-1", "SEC-3")
@pytest.mark.parametrize("what", ["content", "description", "session", "layout"])
async def test_a_symbolic_link_in_the_store_leads_nowhere(
    local: ArtifactStore, root: Path, tmp_path: Path, what: str
) -> None:
    uri = (await local.put("s", b"mine\n", TEXT)).uri
    key = parse_uri(uri)
    outside = tmp_path / "outside"
    path = {
        "content": root / key.content_name,
        "description": root / key.description_name,
        "session": (root / key.content_name).parent,
        "layout": root / "v1",
    }[what]
    path.rename(outside)
    path.symlink_to(outside)
    for read in (local.read_bytes(uri), local.read_lines(uri), local.search(uri, SearchQuery("mine"))):
        with pytest.raises((ArtifactStoreError, ArtifactNotFoundError)):
            await read


@pytest.mark.req("ART-1", "SEC-3")
async def test_a_pipe_in_the_stores_place_does_not_hang(local: ArtifactStore, root: Path) -> None:
    uri = (await local.put("s", b"mine\n", TEXT)).uri
    path = root / parse_uri(uri).content_name
    path.unlink()
    os.mkfifo(path)
    async with asyncio.timeout(10):
        with pytest.raises(ArtifactStoreError):
            await local.read_bytes(uri)


@pytest.mark.req("SEC-3")
async def test_a_link_swapped_in_while_reading_never_shows_what_it_points_to(
    local: ArtifactStore, root: Path, tmp_path: Path
) -> None:
    uri = (await local.put("s", b"mine", TEXT)).uri
    path = root / parse_uri(uri).content_name
    secret = tmp_path / "secret"
    secret.write_bytes(b"SECRET")
    spare = tmp_path / "spare"
    spare.write_bytes(b"mine")

    def swap() -> None:
        for _ in range(150):
            link = path.with_name("swap")
            link.symlink_to(secret)
            link.replace(path)
            os.link(spare, link)
            link.replace(path)

    swapping = asyncio.create_task(asyncio.to_thread(swap))
    seen: set[bytes] = set()
    while not swapping.done():
        try:
            seen.add(await local.read_bytes(uri))
        except (ArtifactStoreError, ArtifactNotFoundError):
            seen.add(b"refused")
    await swapping
    assert seen <= {b"mine", b"refused"}


@pytest.mark.req("ART-1")
@pytest.mark.parametrize("damage", [b"", b"{", b"[]", b'{"uri": 1}', b"\xff"])
async def test_a_damaged_description_is_an_error_not_a_crash(local: ArtifactStore, root: Path, damage: bytes) -> None:
    uri = (await local.put("s", b"mine", TEXT)).uri
    (root / parse_uri(uri).description_name).write_bytes(damage)
    with pytest.raises(ArtifactStoreError, match="damaged"):
        await local.stat(uri)


@pytest.mark.req("ART-1")
async def test_a_description_of_another_artifact_is_not_believed(local: ArtifactStore, root: Path) -> None:
    one, other = [(await local.put("s", data, TEXT)).uri for data in (b"one", b"other")]
    description = (root / parse_uri(other).description_name).read_bytes()
    (root / parse_uri(one).description_name).write_bytes(description)
    with pytest.raises(ArtifactStoreError, match="damaged"):
        await local.stat(one)


@pytest.mark.req("ART-1")
async def test_a_content_cut_short_is_noticed(local: ArtifactStore, root: Path) -> None:
    uri = (await local.put("s", b"x" * 1000, TEXT)).uri
    os.truncate(root / parse_uri(uri).content_name, 500)
    with pytest.raises(ArtifactStoreError, match="shorter"):
        await local.read_bytes(uri)
