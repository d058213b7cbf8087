"""Put, describe, read and search artifacts (ART-1, ART-3). Who may read which is the caller's to check."""

import asyncio
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from interlock_gateway.artifacts.admission import Admission
from interlock_gateway.artifacts.backend import DEFAULT_TIMEOUT_S, ObjectBackend
from interlock_gateway.artifacts.content import MARK_EVERY, Description, Surveyor
from interlock_gateway.artifacts.errors import ArtifactNotFoundError, ArtifactSilentError, ArtifactStoreError
from interlock_gateway.artifacts.search import LineSearcher, SearchQuery, SearchResult
from interlock_gateway.artifacts.uri import ArtifactKey, parse_uri, session_prefix
from interlock_gateway.core.clock import Clock
from interlock_gateway.core.content import Artifact

MAX_PAGE_BYTES = 1024 * 1024
_INLINE_BYTES = 64 * 1024


@dataclass(frozen=True, slots=True)
class LinePage:
    """Consecutive lines of an artifact, line breaks included.

    `first` and `last` count from 1 and are both 0 when there are none. `more` says that lines follow `last`;
    `cut` that the last line here is not whole, because the page is as large as a page may be. `offset` is the byte at
    which the first line begins.
    """

    data: bytes
    first: int
    last: int
    more: bool
    cut: bool
    offset: int = 0


class ArtifactStore:
    """Content-addressed artifacts over one backend.

    With `admission`, room is entered before anything is stored, and limits hold. Storing one takes `timeout_s` at most.
    Methods that take a URI raise `ArtifactUriError`, `ArtifactNotFoundError` or `ArtifactStoreError`. Nothing here
    holds a whole artifact in memory, other than what `put` was given.
    """

    def __init__(
        self,
        backend: ObjectBackend,
        clock: Clock,
        admission: Admission | None = None,
        timeout_s: float = DEFAULT_TIMEOUT_S,
    ) -> None:
        self._backend = backend
        self._clock = clock
        self._admission = admission
        self._timeout_s = timeout_s
        self._trusted_at = 0.0

    async def put(self, session_id: str, data: bytes, media_type: str) -> Artifact:
        """Store `data` whole, or not at all. The same content twice in a session is one artifact.

        Raises `ArtifactUriError` for a bad session id and `ArtifactStoreError`.
        """
        session_prefix(session_id)
        surveyor = Surveyor(session_id, media_type)
        if len(data) <= _INLINE_BYTES:
            surveyor.feed(data)
        else:
            await asyncio.to_thread(surveyor.feed, data)
        key, description = surveyor.describe(self._clock.now())
        if self._clock.monotonic() < self._trusted_at:
            raise ArtifactSilentError("the artifact store did not answer a moment ago")
        async with self._admitted(key, len(data)) as is_new, self._in_time():
            known = None if is_new else await self._known(key)
            if known is None:
                await self._backend.put(key.content_name, data)
                await self._backend.put(key.description_name, description.encode())
        return known or description.artifact

    async def put_stream(self, session_id: str, chunks: AsyncIterator[bytes], media_type: str) -> Artifact:
        """Store what `chunks` gives, whole or not at all, in constant memory. Raises as `put` does."""
        incoming = f"{session_prefix(session_id)}/incoming-{uuid.uuid4().hex}"
        surveyor = Surveyor(session_id, media_type)
        await self._backend.put_stream(incoming, _surveyed(chunks, surveyor))
        key, description = surveyor.describe(self._clock.now())
        try:
            async with self._admitted(key, description.artifact.total_bytes) as is_new:
                known = None if is_new else await self._known(key)
                if known is None:
                    await self._backend.rename(incoming, key.content_name)
                    await self._backend.put(key.description_name, description.encode())
        finally:
            await self._backend.delete(incoming)
        return known or description.artifact

    async def stat(self, uri: str) -> Artifact:
        """What is stored under `uri`."""
        return (await self._describe(parse_uri(uri))).artifact

    async def read_bytes(self, uri: str, offset: int = 0, length: int = MAX_PAGE_BYTES) -> bytes:
        """At most `length` bytes from `offset` (0-based), and never more than `MAX_PAGE_BYTES`; empty past the end."""
        wanted = min(length, MAX_PAGE_BYTES)
        return b"".join([chunk async for chunk in self.stream_bytes(uri, offset, wanted)])

    async def stream_bytes(self, uri: str, offset: int = 0, length: int = 0) -> AsyncIterator[bytes]:
        """The bytes from `offset`, `length` of them or to the end when it is 0, in chunks of about 256 KiB."""
        key = parse_uri(uri)
        total = (await self._describe(key)).artifact.total_bytes
        start = max(0, offset)
        end = min(total, start + length) if length > 0 else total
        async for chunk in self._chunks(key, start, end):
            yield chunk

    async def read_lines(self, uri: str, first: int = 1, count: int = 0) -> LinePage:
        """`count` lines from line `first` (1-based), or all that fit a page when it is 0; at most `MAX_PAGE_BYTES`."""
        key = parse_uri(uri)
        description = await self._describe(key)
        page = _PageReader(max(1, first), count)
        offset, breaks = _nearest(description.marks, page.first - 1)
        page.begin_at(breaks + 1, offset)
        async for chunk in self._chunks(key, offset, description.artifact.total_bytes):
            if page.feed(chunk):
                break
        return page.page(description.artifact.total_lines)

    async def search(self, uri: str, query: SearchQuery) -> SearchResult:
        """The lines of the artifact that match, within the query's limits on matches and time.

        Raises also `ArtifactSearchError` for a pattern that cannot be used.
        """
        key = parse_uri(uri)
        searcher = LineSearcher(query, self._clock)
        total = (await self._describe(key)).artifact.total_bytes
        async for chunk in self._chunks(key, 0, total):
            if await asyncio.to_thread(searcher.feed, chunk):
                return searcher.result()
        await asyncio.to_thread(searcher.finish)
        return searcher.result()

    @asynccontextmanager
    async def _admitted(self, key: ArtifactKey, size: int) -> AsyncIterator[bool]:
        """Room for the artifact, given back when storing it fails; whether nothing of it can be there."""
        if self._admission is None:
            yield False
            return
        reservation = await self._admission.admit(key, size)
        try:
            yield reservation.is_new
        except BaseException:
            if reservation.is_new:
                await self._admission.withdraw(key, reservation, size)
            raise

    @asynccontextmanager
    async def _in_time(self) -> AsyncIterator[None]:
        """Bounds how long a call is held up by a store that hangs; after that, the next ones are not held up at all."""
        patience = asyncio.timeout(self._timeout_s)
        try:
            async with patience:
                yield
        except (TimeoutError, ArtifactSilentError) as error:
            self._trusted_at = self._clock.monotonic() + self._timeout_s
            raise ArtifactSilentError(f"the artifact store does not answer within {self._timeout_s:g} s") from error

    async def _known(self, key: ArtifactKey) -> Artifact | None:
        try:
            return Description.decode(key, await self._backend.read(key.description_name)).artifact
        except ArtifactNotFoundError:
            return None

    async def _describe(self, key: ArtifactKey) -> Description:
        try:
            return Description.decode(key, await self._backend.read(key.description_name))
        except ArtifactNotFoundError as error:
            raise await self._missing(key, error) from None

    async def _missing(self, key: ArtifactKey, error: ArtifactNotFoundError) -> ArtifactNotFoundError:
        return error if self._admission is None else await self._admission.missing(key)

    async def _chunks(self, key: ArtifactKey, start: int, end: int) -> AsyncIterator[bytes]:
        at = start
        try:
            async for chunk in self._backend.stream(key.content_name, start, end):
                at += len(chunk)
                yield chunk
        except ArtifactNotFoundError as error:  # it was removed since it was described
            raise await self._missing(key, error) from None
        if at < end:
            raise ArtifactStoreError("the artifact is damaged: it is shorter than it was when it was stored")


async def _surveyed(chunks: AsyncIterator[bytes], surveyor: Surveyor) -> AsyncIterator[bytes]:
    async for chunk in chunks:
        await asyncio.to_thread(surveyor.feed, chunk)
        yield chunk


def _nearest(marks: tuple[int, ...], breaks: int) -> tuple[int, int]:
    """The last marked offset with fewer than `breaks` line breaks in front of it, and how many there are."""
    best = (0, 0)
    for index, mark in enumerate(marks):
        if mark >= breaks:
            break
        best = ((index + 1) * MARK_EVERY, mark)
    return best


class _PageReader:
    """Collects the lines wanted from chunks that begin at or before the first of them."""

    def __init__(self, first: int, count: int) -> None:
        self.first = first
        self._count = count
        self._line = 1
        self._position = 0
        self._offset = 0
        self._kept = bytearray()
        self._cut = False

    def begin_at(self, line: int, offset: int) -> None:
        """Say which line the first chunk begins in, and at which byte."""
        self._line = line
        self._position = offset

    def feed(self, chunk: bytes) -> bool:
        """Take the next chunk; true when the page is full."""
        at = 0
        while at < len(chunk):
            end = chunk.find(b"\n", at) + 1 or len(chunk)
            if self._line >= self.first:
                if not self._kept:
                    self._offset = self._position + at
                if not self._keep(chunk[at:end]):
                    return True
            self._line += chunk[end - 1] == ord("\n")
            at = end
        self._position += len(chunk)
        return self._full()

    def _keep(self, part: bytes) -> bool:
        if self._full():
            return False
        room = MAX_PAGE_BYTES - len(self._kept)
        self._cut = len(part) > room
        self._kept += part[:room]
        return not self._cut

    def _full(self) -> bool:
        return self._count > 0 and self._line >= self.first + self._count

    def page(self, total_lines: int) -> LinePage:
        """What was collected."""
        data = bytes(self._kept)
        if not data:
            return LinePage(b"", 0, 0, more=False, cut=False)
        last = self.first + data.count(b"\n") - data.endswith(b"\n")
        return LinePage(
            data, self.first, last, more=self._cut or last < total_lines, cut=self._cut, offset=self._offset
        )
