import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from artifact_stores import ManualClock, descriptions, pieces
from clouds import CLOUDS, cloud_of
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from interlock_gateway.artifacts.backend import StoredObject, open_backend
from interlock_gateway.artifacts.content import MARK_EVERY
from interlock_gateway.artifacts.errors import ArtifactNotFoundError, ArtifactStoreError, ArtifactUriError
from interlock_gateway.artifacts.search import SearchQuery
from interlock_gateway.artifacts.store import MAX_PAGE_BYTES, ArtifactStore
from interlock_gateway.artifacts.uri import parse_uri

TEXT = "text/plain; charset=utf-8"


@pytest.fixture(params=["file", "memory", *CLOUDS])
def store(request: pytest.FixtureRequest, root: Path, monkeypatch: pytest.MonkeyPatch) -> ArtifactStore:
    """A store in each kind of place."""
    match request.param:
        case "file":
            url = f"file://{root}"
        case "memory":
            url = "memory:///"
        case kind:
            cloud = cloud_of(kind, request)
            cloud.use(monkeypatch)
            url = cloud.url
    return ArtifactStore(open_backend(url), ManualClock())


def mode(path: Path) -> int:
    return path.stat().st_mode


@pytest.mark.req("ART-1", "ART-2")
async def test_an_artifact_is_addressed_by_its_content(store: ArtifactStore) -> None:
    data = "one\ntwo\nthrée".encode()
    artifact = await store.put("s-1", data, TEXT)
    digest = hashlib.sha256(data).hexdigest()
    assert artifact.uri == f"artifact://s-1/{digest}"
    assert (artifact.total_bytes, artifact.total_lines, artifact.media_type) == (14, 3, TEXT)
    assert artifact.sha256 == digest
    assert await store.stat(artifact.uri) == artifact
    assert await store.put("s-1", data, TEXT) == artifact
    assert await store.read_bytes(artifact.uri) == data


@pytest.mark.req("ART-1", "ART-2")
async def test_a_streamed_artifact_is_the_same_as_one_put_whole(store: ArtifactStore) -> None:
    data = b"line\n" * 700_000
    streamed = await store.put_stream("s-1", pieces(data, 100_003), TEXT)
    assert streamed == await store.put("s-1", data, TEXT)
    assert streamed == await store.put_stream("s-1", pieces(data, 7_000_000), TEXT)
    assert b"".join([chunk async for chunk in store.stream_bytes(streamed.uri)]) == data


@pytest.mark.req("ART-1", "SEC-3")
async def test_another_sessions_artifact_is_not_found_under_ones_own(store: ArtifactStore) -> None:
    artifact = await store.put("s-1", b"mine", TEXT)
    for session in ("s-2", "S-1", "s-1.", "s-10"):
        with pytest.raises(ArtifactNotFoundError):
            await store.stat(f"artifact://{session}/{artifact.sha256}")
    assert parse_uri(artifact.uri).session_id == "s-1"


@pytest.mark.req("ART-1", "SEC-3")
async def test_a_guessed_digest_is_not_found(store: ArtifactStore) -> None:
    await store.put("s-1", b"mine", TEXT)
    uri = f"artifact://s-1/{'0' * 64}"
    for read in (store.stat(uri), store.read_bytes(uri), store.read_lines(uri), store.search(uri, SearchQuery("x"))):
        with pytest.raises(ArtifactNotFoundError):
            await read


@pytest.mark.req("ART-1", "SEC-3")
async def test_a_bad_session_id_or_uri_is_refused(store: ArtifactStore) -> None:
    with pytest.raises(ArtifactUriError):
        await store.put("../s", b"x", TEXT)
    with pytest.raises(ArtifactUriError):
        await store.put_stream("../s", pieces(b"x", 1), TEXT)
    with pytest.raises(ArtifactUriError):
        await store.read_bytes("artifact://s/../../etc/passwd")


@pytest.mark.req("ART-1")
@pytest.mark.parametrize(
    ("data", "media_type", "lines"),
    [
        (b"", TEXT, 0),
        (b"\n", TEXT, 1),
        (b"a", TEXT, 1),
        (b"a\n", TEXT, 1),
        (b"a\nb", "application/json", 2),
        (b"a\nb", "application/vnd.x+json", 2),
        (b"a\nb", "image/png", 0),
        (b"\xff\n\xfe", TEXT, 2),
    ],
)
async def test_lines_are_counted_where_there_are_any(
    store: ArtifactStore, data: bytes, media_type: str, lines: int
) -> None:
    assert (await store.put("s", data, media_type)).total_lines == lines


@pytest.mark.req("ART-3")
async def test_bytes_are_read_by_range(store: ArtifactStore) -> None:
    data = bytes(range(256)) * 10
    uri = (await store.put("s", data, "application/octet-stream")).uri
    assert await store.read_bytes(uri, 5, 10) == data[5:15]
    assert await store.read_bytes(uri, 2555, 100) == data[2555:]
    assert await store.read_bytes(uri, 2560, 100) == b""
    assert await store.read_bytes(uri, 10**12, 1) == b""
    assert await store.read_bytes(uri, -5, 3) == data[:3]
    assert b"".join([chunk async for chunk in store.stream_bytes(uri, 2000)]) == data[2000:]


@pytest.mark.req("ART-3")
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(st.text(st.characters(exclude_characters="\n", codec="utf-8"), max_size=8), max_size=12),
    st.sampled_from(["", "\n"]),
    st.integers(0, 14),
    st.integers(0, 5),
)
async def test_lines_are_read_by_number(
    local: ArtifactStore, lines: list[str], end: str, first: int, count: int
) -> None:
    text = "\n".join(lines) + end
    artifact = await local.put("s", text.encode(), TEXT)
    whole_lines = [line + b"\n" for line in text.encode().split(b"\n")]
    whole_lines[-1] = whole_lines[-1][:-1]
    whole_lines = [line for line in whole_lines if line]
    assert artifact.total_lines == len(whole_lines)
    page = await local.read_lines(artifact.uri, first, count)
    start = max(first, 1) - 1
    wanted = whole_lines[start : start + count] if count else whole_lines[start:]
    assert page.data == b"".join(wanted)
    assert (page.first, page.last) == ((start + 1, start + len(wanted)) if wanted else (0, 0))
    assert page.more == (bool(wanted) and start + len(wanted) < len(whole_lines))
    assert not page.cut


@pytest.mark.req("ART-3")
async def test_lines_far_into_a_large_artifact_are_found_by_its_index(
    local: ArtifactStore, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = "".join(f"line {n:07d}\n" for n in range(1, 400_001)).encode()
    uri = (await local.put("s", data, TEXT)).uri
    description = json.loads(descriptions(root)[0])
    assert len(description["marks"]) == len(data) // MARK_EVERY
    starts: list[int] = []
    real = os.pread

    def pread(descriptor: int, size: int, at: int) -> bytes:
        starts.append(at)
        return real(descriptor, size, at)

    monkeypatch.setattr(os, "pread", pread)
    for line in (1, 2, 80_660, 80_661, 80_662, 300_000, 400_000):
        starts.clear()
        page = await local.read_lines(uri, line, 1)
        assert page.data == f"line {line:07d}\n".encode()
        content_reads = starts[1:]
        assert line * 13 - min(content_reads) < MARK_EVERY + 100
        assert len(content_reads) <= 6


@pytest.mark.req("ART-3")
async def test_a_page_is_bounded_even_when_a_line_is_not(store: ArtifactStore) -> None:
    uri = (await store.put("s", b"short\n" + b"x" * (3 * MAX_PAGE_BYTES) + b"\nend\n", TEXT)).uri
    page = await store.read_lines(uri)
    assert (len(page.data), page.first, page.last, page.more, page.cut) == (MAX_PAGE_BYTES, 1, 2, True, True)
    assert len(await store.read_bytes(uri, 0, 10**9)) == MAX_PAGE_BYTES
    last = await store.read_lines(uri, 3)
    assert (last.data, last.more, last.cut) == (b"end\n", False, False)


@pytest.mark.req("ART-1")
async def test_the_directory_is_its_owners_alone(local: ArtifactStore, root: Path) -> None:
    await local.put("s", b"x", TEXT)
    assert mode(root) & 0o077 == 0


@pytest.mark.req("ART-2")
async def test_every_object_is_listed_with_its_size(root: Path) -> None:
    backend = open_backend(f"file://{root}")
    store = ArtifactStore(backend, ManualClock())
    key = parse_uri((await store.put("s", b"12345", TEXT)).uri)
    listed: dict[str, StoredObject] = {item.name: item async for item in backend.listing()}
    assert set(listed) == {key.content_name, key.description_name}
    assert listed[key.content_name].size == 5
    assert listed[key.content_name].modified_at > 1_600_000_000
    await backend.delete(key.content_name)
    await backend.delete(key.content_name)
    assert [item.name async for item in backend.listing()] == [key.description_name]


@pytest.mark.req("ART-2")
def test_an_address_nobody_can_serve_is_refused() -> None:
    with pytest.raises(ArtifactStoreError):
        open_backend("gopher://somewhere")


MEMORY_SCRIPT = """
import asyncio, resource, sys
from interlock_gateway.artifacts.backend import open_backend
from interlock_gateway.artifacts.search import SearchQuery
from interlock_gateway.artifacts.store import ArtifactStore

class Clock:
    def now(self): return 0.0
    def monotonic(self): return 0.0

async def chunks(count):
    for n in range(count):
        yield (b"%09d some words on a line of fifty bytes or so.....\\n" % n) * 20_000

async def main():
    store = ArtifactStore(open_backend("file://" + sys.argv[1]), Clock())
    small = await store.put_stream("s", chunks(1), "text/plain")
    await store.search(small.uri, SearchQuery("nothing"))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    large = await store.put_stream("s", chunks(250), "text/plain")
    found = await store.search(large.uri, SearchQuery("000000249 some", limit=1))
    page = await store.read_lines(large.uri, 4_000_000, 10)
    assert found.matches[0].line == 249 * 20_000 + 1, found
    assert page.first == 4_000_000
    async for _ in store.stream_bytes(large.uri):
        pass
    print(large.total_bytes, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)

asyncio.run(main())
"""


@pytest.mark.req("SEC-3", "ART-3")
def test_a_large_artifact_is_stored_read_and_searched_in_little_memory(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", MEMORY_SCRIPT, str(tmp_path / "store")], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    size, kibibytes = map(int, done.stdout.split())
    assert size > 250_000_000
    assert kibibytes < 64 * 1024
