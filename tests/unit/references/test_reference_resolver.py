"""Reading is off the loop, within its time, and no prompt brings in more than it may (REF-3, REF-4)."""

import asyncio
import threading
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager

import pytest
from interlock_gateway.artifacts.backend import open_backend
from interlock_gateway.artifacts.store import ArtifactStore
from interlock_gateway.clock import SystemClock
from interlock_gateway.core.session import Session
from interlock_gateway.references.files import Head
from interlock_gateway.references.prompt import ArtifactSegment, FileSegment, Problem, TextSegment
from interlock_gateway.references.resolver import PROMPT_BYTES, SIDE_BY_SIDE, ReferenceResolver
from interlock_gateway.results.redaction import Redactor

SESSION = Session("s", "me", 0.0, roots=("/work",))
REDACTOR = Redactor()


class Counts:
    def __init__(self) -> None:
        self.ended: Counter[tuple[str, str]] = Counter()

    def reference_ended(self, kind: str, outcome: str) -> None:
        self.ended[kind, outcome] += 1


@pytest.fixture
def store() -> ArtifactStore:
    return ArtifactStore(open_backend("memory:///"), SystemClock())


@contextmanager
def reading(
    store: ArtifactStore, read: Callable[[str], bytes], *, timeout_s: float = 10.0, total_s: float = 30.0
) -> Iterator[ReferenceResolver]:
    def head(path: str, _roots: object, _configured: object, most: int) -> Head:
        data = read(path)
        return Head(data[:most], len(data))

    resolver = ReferenceResolver(("/work",), store, REDACTOR, Counts(), timeout_s=timeout_s, total_s=total_s, read=head)
    try:
        yield resolver
    finally:
        resolver.close()


@pytest.fixture
async def hanging(store: ArtifactStore) -> AsyncIterator[ReferenceResolver]:
    """A resolver before a file system where `hang` is never answered."""
    released = threading.Event()

    def read(path: str) -> bytes:
        if path == "hang":
            released.wait()
        return path.encode()

    with reading(store, read, timeout_s=0.5, total_s=1.0) as resolver:
        yield resolver
        released.set()


@pytest.mark.req("REF-3", "REF-4")
async def test_a_file_that_hangs_is_given_up_and_the_others_are_read(hanging: ReferenceResolver) -> None:
    prompt = await hanging.resolve(SESSION, [FileSegment("a"), FileSegment("hang"), FileSegment("b")])

    assert prompt.system == ("[File: a]\na", "[File: b]\nb")
    assert [(one.index, one.problem) for one in prompt.alerts] == [(1, Problem.IO)]
    assert prompt.user == "a[unresolved file ref: hang]b"


@pytest.mark.req("REF-3", "REF-4")
async def test_a_prompt_ends_in_its_time_even_when_every_thread_hangs(hanging: ReferenceResolver) -> None:
    async with asyncio.timeout(20):
        prompt = await hanging.resolve(SESSION, [FileSegment("hang")] * 1000)

    assert len(prompt.alerts) == 1000
    assert {one.problem for one in prompt.alerts} == {Problem.IO}


@pytest.mark.req("REF-4")
async def test_only_a_few_references_are_read_at_a_time(store: ArtifactStore) -> None:
    now, most, lock = 0, 0, threading.Lock()

    def read(path: str) -> bytes:
        nonlocal now, most
        with lock:
            now += 1
            most = max(most, now)
        with lock:
            now -= 1
        return path.encode()

    with reading(store, read) as resolver:
        prompt = await resolver.resolve(SESSION, [FileSegment(str(number)) for number in range(100)])

    assert prompt.system == tuple(f"[File: {number}]\n{number}" for number in range(100))
    assert most <= SIDE_BY_SIDE


@pytest.mark.req("REF-3")
async def test_a_prompt_brings_in_no_more_than_a_message_may_hold_and_says_so(store: ArtifactStore) -> None:
    with reading(store, lambda _: b"x" * 100_000) as resolver:
        prompt = await resolver.resolve(SESSION, [FileSegment("f")] * 100)

    assert 0 < len(prompt.system) < 100
    assert sum(len(text.encode()) for text in prompt.system) <= PROMPT_BYTES
    assert [one.index for one in prompt.alerts] == list(range(len(prompt.system), 100))
    assert "fill the" in prompt.alerts[0].message


@pytest.mark.req("RES-6", "REF-2")
async def test_a_secret_is_masked_whole_though_the_body_is_cut_in_its_middle(store: ArtifactStore) -> None:
    key = "-----BEGIN RSA PRIVATE KEY-----\n" + "MIIEowIBAAKCAQEA\n" * 400 + "-----END RSA PRIVATE KEY-----\n"
    text = "x\n" * 7000 + key + "y\n" * 50_000

    with reading(store, lambda _: text.encode()) as resolver:
        (message,) = (await resolver.resolve(SESSION, [FileSegment("f")])).system

    assert "MIIEowIBAAKCAQEA" not in message
    assert "[redacted:" in message
    assert f"{len(text)} bytes total" in message


@pytest.mark.req("REF-3")
@pytest.mark.parametrize(
    ("data", "resolved"),
    [
        (b"", True),
        ("é".encode(), True),
        (b"\xff", False),
        (b"ok\xc3", False),
        ("é".encode() * 200_000 + b"\xff", True),  # what is not looked at is not judged
        (b"x" + "é".encode() * 200_000, True),
        (b"\xed\xa0\x80", False),
    ],
)
async def test_what_is_no_utf_8_is_said_to_be_so(store: ArtifactStore, data: bytes, resolved: bool) -> None:
    with reading(store, lambda _: data) as resolver:
        prompt = await resolver.resolve(SESSION, [FileSegment("f")])

    assert [one.problem for one in prompt.alerts] == ([] if resolved else [Problem.NOT_UTF8])
    assert len(prompt.system) == resolved


@pytest.mark.req("REF-3", "ART-1")
async def test_an_artifact_is_the_sessions_own_or_out_of_scope(store: ArtifactStore) -> None:
    mine = await store.put("s", b"mine", "text/plain")
    theirs = await store.put("other", b"theirs", "text/plain")
    image = await store.put("s", b"\x89PNG\xff", "image/png")
    uris = [mine.uri, theirs.uri, f"artifact://s/{'0' * 64}", "file:///etc/passwd", "artifact://s/../x", image.uri]

    with reading(store, str.encode) as resolver:
        prompt = await resolver.resolve(SESSION, [TextSegment("see "), *map(ArtifactSegment, uris)])

    assert prompt.system == (f"[Artifact: {mine.uri}]\nmine",)
    assert prompt.user.startswith(f"see {mine.uri}[unresolved artifact ref: {theirs.uri}]")
    assert [one.problem for one in prompt.alerts] == [
        Problem.OUT_OF_SCOPE, Problem.NOT_FOUND, Problem.NOT_FOUND, Problem.NOT_FOUND, Problem.NOT_UTF8,
    ]  # fmt: skip
