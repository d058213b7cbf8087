import asyncio
import hashlib
import json
import os
import resource
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from artifact_stores import ManualClock, pieces
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from interlock_gateway.artifacts.backend import StoredObject, open_backend
from interlock_gateway.artifacts.content import MARK_EVERY
from interlock_gateway.artifacts.errors import ArtifactNotFoundError, ArtifactStoreError, ArtifactUriError
from interlock_gateway.artifacts.search import SearchQuery
from interlock_gateway.artifacts.store import MAX_PAGE_BYTES, ArtifactStore
from interlock_gateway.artifacts.uri import parse_uri

TEXT = "text/plain; charset=utf-8"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "artifacts"


@pytest.fixture(params=["file", "memory"])
def store(request: pytest.FixtureRequest, root: Path) -> ArtifactStore:
    return ArtifactStore(open_backend(f"file://{root}" if request.param == "file" else "memory:///"), ManualClock())


@pytest.fixture
def local(root: Path) -> ArtifactStore:
    return ArtifactStore(open_backend(f"file://{root}"), ManualClock())


@contextmanager
def full_disk(size: int) -> Iterator[None]:
    """No file can grow past `size` bytes: the kernel itself refuses the write."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def descriptions(root: Path) -> list[str]:
    return [path.read_text() for path in root.rglob("*.json")]


def replace_by_file(root: Path) -> None:
    root.rename(root.with_name("elsewhere"))
    root.write_text("not a directory")


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
