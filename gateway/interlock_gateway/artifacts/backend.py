"""Where objects are kept: a local directory, S3, GCS or Azure, all through obstore (ART-2)."""

import asyncio
import errno
import os
import stat
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from obstore.exceptions import BaseError
from obstore.store import LocalStore, ObjectStore, from_url

from interlock_gateway.artifacts.errors import ArtifactNotFoundError, ArtifactSilentError, ArtifactStoreError
from interlock_gateway.artifacts.refusals import refusal_of

if TYPE_CHECKING:
    from obstore.store import BackoffConfig, RetryConfig

CHUNK = 256 * 1024
DEFAULT_TIMEOUT_S = 15.0
_RETRIES = 3
_FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
# obstore reports a system error in words, not as an `OSError` with a number.
_FULL_WORDS = tuple(f"os error {number}" for number in _FULL)
_NOT_FOUND = "no artifact is stored under this URI"


@dataclass(frozen=True, slots=True)
class StoredObject:
    """One object as listed: its name, size in bytes, and Unix time of its last change."""

    name: str
    size: int
    modified_at: float


class ObjectBackend(Protocol):
    """Whole objects under names made of safe characters and `/`; each is written atomically.

    Every method raises `ArtifactStoreError`; those that read raise `ArtifactNotFoundError` for a missing object.
    """

    async def put(self, name: str, data: bytes) -> None:
        """Write one object."""
        ...

    async def put_stream(self, name: str, chunks: AsyncIterator[bytes]) -> None:
        """Write one object from chunks; when `chunks` raises, nothing is written and the error passes through."""
        ...

    async def rename(self, source: str, target: str) -> None:
        """Give an object another name."""
        ...

    async def read(self, name: str) -> bytes:
        """The whole of a small object."""
        ...

    async def size(self, name: str) -> int:
        """An object's size in bytes."""
        ...

    def stream(self, name: str, start: int, end: int) -> AsyncIterator[bytes]:
        """The bytes from `start` up to `end`, in chunks of about `CHUNK` bytes."""
        ...

    async def delete(self, name: str) -> None:
        """Remove an object; removing one that is not there is no error."""
        ...

    def listing(self) -> AsyncIterator[StoredObject]:
        """Every object."""
        ...


def open_backend(url: str, timeout_s: float = DEFAULT_TIMEOUT_S) -> ObjectBackend:
    """The backend for `file://`, `memory://`, `s3://`, `gs://`, `az://` and what else obstore knows.

    Nothing that is asked of it waits for the store longer than `timeout_s` seconds, but for `put_stream`, which lasts
    as long as its chunks come. How to connect, and credentials, are found as obstore does: in the environment, and in
    the platform's identity.
    A local directory is created when missing, readable by its owner alone. Raises `ArtifactStoreError`.
    """
    if url.startswith("file://"):
        return LocalBackend(Path(url.removeprefix("file://")), timeout_s)
    with _store_errors("opened"):
        if url.startswith("memory:"):
            return CloudBackend(from_url(url), timeout_s)
        # Options of the HTTP client would take the place of those in the environment, so none are given here.
        return CloudBackend(from_url(url, retry_config=_retries(timeout_s)), timeout_s)


def _retries(timeout_s: float) -> "RetryConfig":
    backoff: BackoffConfig = {
        "init_backoff": timedelta(milliseconds=100),
        "max_backoff": timedelta(seconds=1),
        "base": 2,
    }
    return {"max_retries": _RETRIES, "retry_timeout": timedelta(seconds=timeout_s), "backoff": backoff}


class CloudBackend:
    """Any object store that obstore speaks to."""

    def __init__(self, store: ObjectStore, timeout_s: float) -> None:
        self._store = store
        self._timeout_s = timeout_s

    async def put(self, name: str, data: bytes) -> None:
        """Write one object."""
        async with self._asked("written"):
            await self._store.put_async(name, data)

    async def put_stream(self, name: str, chunks: AsyncIterator[bytes]) -> None:
        """Write one object from chunks."""
        with _store_errors("written"):
            await self._store.put_async(name, chunks)

    async def rename(self, source: str, target: str) -> None:
        """Give an object another name."""
        async with self._asked("written"):
            await self._store.rename_async(source, target)

    async def read(self, name: str) -> bytes:
        """The whole of a small object."""
        async with self._asked("read"):
            result = await self._store.get_async(name)
            return bytes(await result.bytes_async())

    async def size(self, name: str) -> int:
        """An object's size in bytes."""
        async with self._asked("read"):
            return (await self._store.head_async(name))["size"]

    async def stream(self, name: str, start: int, end: int) -> AsyncIterator[bytes]:
        """The bytes from `start` up to `end`."""
        if end <= start:
            return
        async with self._asked("read"):
            result = await self._store.get_async(name, options={"range": (start, end)})
            chunks = aiter(result.stream(min_chunk_size=CHUNK))
        while True:
            async with self._asked("read"):
                chunk = await anext(chunks, None)
            if chunk is None:
                return
            yield bytes(chunk)

    async def delete(self, name: str) -> None:
        """Remove an object."""
        try:
            async with self._asked("deleted from"):
                await self._store.delete_async(name)
        except ArtifactNotFoundError:
            return

    async def listing(self) -> AsyncIterator[StoredObject]:
        """Every object."""
        with _store_errors("listed"):
            batches = aiter(self._store.list())
        while True:
            async with self._asked("listed"):
                batch = await anext(batches, None)
            if batch is None:
                return
            for item in batch:
                yield StoredObject(item["path"], item["size"], item["last_modified"].timestamp())

    @asynccontextmanager
    async def _asked(self, done: str) -> AsyncIterator[None]:
        """What the store is asked for inside has to come in time, and what goes wrong is ours."""
        patience = asyncio.timeout(self._timeout_s)
        try:
            with _store_errors(done):
                async with patience:
                    yield
        except ArtifactStoreError as error:
            if not patience.expired():
                raise
            raise ArtifactSilentError(f"the artifact store does not answer within {self._timeout_s:g} s") from error


class LocalBackend(CloudBackend):
    """A local directory. Writing is obstore's (a temporary file, then a rename).

    Reading opens each folder and the file relative to the one before, following no symbolic link, so that a link put
    into the store, even between a check and the read, leads nowhere (SEC-3).
    """

    def __init__(self, root: Path, timeout_s: float) -> None:
        with _store_errors("opened"):
            root.mkdir(parents=True, exist_ok=True, mode=0o700)
            super().__init__(LocalStore(prefix=root, automatic_cleanup=True), timeout_s)
        self._root = root

    async def read(self, name: str) -> bytes:
        """The whole of a small object."""
        return b"".join([chunk async for chunk in self.stream(name, 0, await self.size(name))])

    async def size(self, name: str) -> int:
        """An object's size in bytes."""
        async with self._asked("read"):
            return await asyncio.to_thread(self._size, name)

    async def stream(self, name: str, start: int, end: int) -> AsyncIterator[bytes]:
        """The bytes from `start` up to `end`."""
        async with self._asked("read"):
            descriptor = await asyncio.to_thread(self._open, name)
        try:
            while start < end:
                async with self._asked("read"):
                    chunk = await asyncio.to_thread(os.pread, descriptor, min(CHUNK, end - start), start)
                if not chunk:
                    return
                start += len(chunk)
                yield chunk
        finally:
            os.close(descriptor)

    def _size(self, name: str) -> int:
        descriptor = self._open(name)
        try:
            return os.fstat(descriptor).st_size
        finally:
            os.close(descriptor)

    def _open(self, name: str) -> int:
        *folders, file = name.split("/")
        folder = os.open(self._root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            for part in folders:
                inner = os.open(part, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
                os.close(folder)
                folder = inner
            descriptor = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
        finally:
            os.close(folder)
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            os.close(descriptor)
            raise ArtifactStoreError("the artifact store holds something that is not a plain file")
        return descriptor


@contextmanager
def _store_errors(done: str) -> Iterator[None]:
    """Map what obstore and the system raise to ours, in one place."""
    try:
        yield
    except FileNotFoundError as error:
        if done == "written":
            raise ArtifactStoreError("the artifact store cannot be written: its place is not there") from error
        raise ArtifactNotFoundError(_NOT_FOUND) from error
    except (BaseError, OSError, ValueError) as error:
        raise ArtifactStoreError(_sentence(error, done)) from error


def _sentence(error: Exception, done: str) -> str:
    if getattr(error, "errno", None) in _FULL or any(words in str(error) for words in _FULL_WORDS):
        return "the artifact store is full"
    refusal = refusal_of(error)
    return f"the artifact store cannot be {done}: {refusal}" if refusal else f"the artifact store cannot be {done}"
