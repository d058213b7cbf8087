"""
Artifacts on servers of the protocols of S3, GCS and Azure: what a store does that is wrong, gone, or silent (ART-2).

The servers run here: versitygw, fake-gcs-server and Azurite. The clouds themselves are not asked.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager

import pytest
from artifact_stores import ManualClock, pieces
from clouds import Cloud
from interlock_gateway.artifacts.backend import open_backend
from interlock_gateway.artifacts.errors import ArtifactNotFoundError, ArtifactSilentError, ArtifactStoreError
from interlock_gateway.artifacts.search import SearchQuery
from interlock_gateway.artifacts.store import ArtifactStore
from interlock_gateway.artifacts.uri import parse_uri
from interlock_gateway.clock import SystemClock
from s3_server import S3Server, running_s3

TEXT = "text/plain; charset=utf-8"
LINES = b"".join(b"line %d\n" % number for number in range(1, 100_001))
PATIENCE_S = 0.5


def store_at(url: str, timeout_s: float = 15.0) -> ArtifactStore:
    """A store as a gateway of its own would have."""
    return ArtifactStore(open_backend(url, timeout_s), SystemClock(), timeout_s=timeout_s)


@asynccontextmanager
async def silent_server() -> AsyncIterator[int]:
    """The port of a server that takes every connection and never says anything."""
    kept: list[asyncio.StreamWriter] = []

    async def keep(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        kept.append(writer)

    server = await asyncio.start_server(keep, "127.0.0.1", 0)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        for writer in kept:
            writer.transport.abort()
        server.close()
        await server.wait_closed()


@pytest.fixture
def own_s3(s3: S3Server) -> Iterator[S3Server]:
    """A server that may be stopped."""
    with running_s3(s3.program) as server:
        yield server


@pytest.mark.req("ART-2", "ART-3", "STATE-2")
async def test_what_one_gateway_stores_another_reads_searches_and_describes(cloud: Cloud) -> None:
    one, other = store_at(cloud.url), store_at(cloud.url)
    artifact = await one.put("s", LINES, TEXT)

    assert await other.stat(artifact.uri) == artifact
    assert await other.read_bytes(artifact.uri, 7, 7) == b"line 2\n"
    assert (await other.read_lines(artifact.uri, 99_999, 5)).data == b"line 99999\nline 100000\n"
    found = await other.search(artifact.uri, SearchQuery(r"line 5000\d", regex=True, limit=3))
    assert [match.line for match in found.matches] == [50_000, 50_001, 50_002]
    assert b"".join([chunk async for chunk in other.stream_bytes(artifact.uri)]) == LINES


@pytest.mark.req("ART-2")
async def test_places_in_one_bucket_do_not_see_each_other(cloud: Cloud) -> None:
    artifact = await store_at(cloud.url).put("s", b"mine", TEXT)
    with pytest.raises(ArtifactNotFoundError):
        await store_at(f"{cloud.url}/deeper").stat(artifact.uri)


@pytest.mark.req("ART-2")
async def test_wrong_credentials_are_named_and_not_shown(cloud: Cloud, monkeypatch: pytest.MonkeyPatch) -> None:
    artifact = await store_at(cloud.url).put("s", b"mine", TEXT)
    secret = cloud.use_wrong_credentials(monkeypatch)
    store = store_at(cloud.url)
    with pytest.raises(ArtifactStoreError, match="permission denied") as failed:
        await store.put("s", b"more", TEXT)
    with pytest.raises(ArtifactStoreError, match="cannot be read: permission denied"):
        await store.read_bytes(artifact.uri)
    with pytest.raises(ArtifactStoreError, match="cannot be deleted from: permission denied"):
        await open_backend(cloud.url).delete("s/anything")
    with pytest.raises(ArtifactStoreError, match="cannot be listed"):
        _ = [item async for item in open_backend(cloud.url).listing()]
    assert secret not in str(failed.value)


@pytest.mark.req("ART-2")
async def test_credentials_that_nobody_gives_out_are_said_to_be_what_lacks(
    cloud: Cloud, monkeypatch: pytest.MonkeyPatch
) -> None:
    cloud.use_no_credentials(monkeypatch, platform="127.0.0.1:9")
    with pytest.raises(ArtifactStoreError, match="cannot be written: no credentials for it can be had"):
        await open_backend(cloud.url).put("s/x", b"x")


@pytest.mark.req("ART-1", "ART-2")
async def test_what_comes_in_many_parts_is_whole_and_what_breaks_off_is_not_there(cloud: Cloud) -> None:
    backend, store = open_backend(cloud.url), store_at(cloud.url)
    data = bytes(range(256)) * 90_000
    artifact = await store.put_stream("s", pieces(data, 1_000_003), "application/octet-stream")
    assert b"".join([chunk async for chunk in store.stream_bytes(artifact.uri)]) == data
    assert await store.read_bytes(artifact.uri, 20_000_000, 512) == data[20_000_000:20_000_512]
    stored = {item.name async for item in backend.listing()}
    key = parse_uri(artifact.uri)
    assert stored == {key.content_name, key.description_name}

    async def broken() -> AsyncIterator[bytes]:
        yield data
        raise RuntimeError("the tool is gone")

    with pytest.raises(RuntimeError, match="the tool is gone"):
        await store.put_stream("s", broken(), TEXT)
    assert {item.name async for item in backend.listing()} == stored
    assert await store.read_bytes((await store.put_stream("s", pieces(b"", 1), TEXT)).uri) == b""


@pytest.mark.req("ART-2", "ART-4")
async def test_objects_are_listed_replaced_renamed_and_removed(cloud: Cloud) -> None:
    backend = open_backend(cloud.url)
    began = time.time()
    for number in range(30):
        await backend.put(f"s-{number}/{'0' * 64}.json", b"x" * number)
    await backend.put(f"s-1/{'0' * 64}.json", b"another")
    await backend.rename(f"s-2/{'0' * 64}.json", f"s-3/{'0' * 64}.json")
    listed = {item.name.partition("/")[0]: item async for item in backend.listing()}
    assert {name: item.size for name, item in listed.items()} == {
        f"s-{number}": {1: 7, 3: 2}.get(number, number) for number in range(30) if number != 2
    }
    assert all(began - 60 < item.modified_at < time.time() + 60 for item in listed.values())
    for number in range(30):
        await backend.delete(f"s-{number}/{'0' * 64}.json")
    assert [item async for item in backend.listing()] == []
    with pytest.raises(ArtifactNotFoundError):
        await backend.size(f"s-1/{'0' * 64}.json")


@pytest.mark.req("ART-2", "ART-4")
async def test_a_bucket_that_is_not_there_fails_that_result(cloud: Cloud) -> None:
    with pytest.raises(ArtifactStoreError, match="its place is not there"):
        await store_at(cloud.url.replace("/place", "-of-nobody/place")).put("s", b"x", TEXT)


@pytest.mark.req("ART-2", "ART-4")
async def test_a_server_that_is_down_fails_that_result_and_is_used_again_once_it_is_up(
    own_s3: S3Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in own_s3.environment().items():
        monkeypatch.setenv(name, value)
    store = store_at(f"s3://{own_s3.bucket()}")
    artifact = await store.put("s", b"before", TEXT)
    own_s3.stop()
    began = time.monotonic()
    with pytest.raises(ArtifactStoreError):
        await store.put("s", b"while", TEXT)
    with pytest.raises(ArtifactStoreError):
        await store.read_bytes(artifact.uri)
    assert time.monotonic() - began < 60

    own_s3.start()

    assert await store.read_bytes(artifact.uri) == b"before"
    assert await store.read_bytes((await store.put("s", b"after", TEXT)).uri) == b"after"


@pytest.mark.req("ART-2", "ART-4")
async def test_a_server_that_hangs_holds_a_result_for_so_long_and_the_next_not_at_all(
    cloud: Cloud, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with silent_server() as port:
        cloud.use(monkeypatch, f"http://127.0.0.1:{port}")
        store = store_at(cloud.url, PATIENCE_S)
        ticks = 0

        async def tick() -> None:
            nonlocal ticks
            while True:
                await asyncio.sleep(0)
                ticks += 1

        beside = asyncio.create_task(tick())
        began = time.monotonic()
        with pytest.raises(ArtifactSilentError, match=r"does not answer within 0.5 s"):
            await store.put("s", b"x", TEXT)
        held_s = time.monotonic() - began
        beside.cancel()
        assert PATIENCE_S <= held_s < PATIENCE_S + 2
        assert ticks > 100

        began = time.monotonic()
        for _ in range(20):
            with pytest.raises(ArtifactSilentError):
                await store.put("s", b"y", TEXT)
        assert time.monotonic() - began < PATIENCE_S
        for read in (store.stat, store.read_bytes, store.read_lines):
            with pytest.raises(ArtifactSilentError):
                await read(f"artifact://s/{'0' * 64}")


@pytest.mark.req("ART-2")
async def test_a_silent_store_is_tried_again_after_a_while(cloud: Cloud, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = ManualClock()
    async with silent_server() as port:
        cloud.use(monkeypatch, f"http://127.0.0.1:{port}")
        hanging = open_backend(cloud.url, PATIENCE_S)
        store = ArtifactStore(hanging, clock, timeout_s=PATIENCE_S)
        with pytest.raises(ArtifactSilentError):
            await store.put("s", b"x", TEXT)
    cloud.use(monkeypatch)
    monkeypatch.setattr(store, "_backend", open_backend(cloud.url, PATIENCE_S))
    with pytest.raises(ArtifactSilentError):
        await store.put("s", b"x", TEXT)
    clock.time += PATIENCE_S
    assert await store.read_bytes((await store.put("s", b"x", TEXT)).uri) == b"x"
