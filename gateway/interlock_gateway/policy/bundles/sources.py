"""Where a bundle is had: a file, a server, an object store. Each gives its bytes, or says that nothing changed."""

import asyncio
import os
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol
from urllib.parse import urlsplit
from urllib.request import url2pathname

from interlock_gateway.config_bundles import BundleConfig
from interlock_gateway.policy.bundles.errors import BundleError, BundleFault


@dataclass(frozen=True, slots=True)
class Fetched:
    """A bundle's bytes, and what the source calls this version of it; empty when it has no name for versions."""

    raw: bytes
    version: str


class BundleSource(Protocol):
    """Fetches one bundle."""

    @property
    def settles(self) -> bool:
        """Whether what is fetched may be half written, so that it counts when it was the same twice."""
        ...

    async def fetch(self, known: str) -> Fetched | None:
        """The bundle, or `None` when it is still the version `known`. Raises `BundleError` when it cannot be had."""
        ...

    async def close(self) -> None:
        """Release what is held open."""
        ...


def open_source(config: BundleConfig) -> BundleSource:
    """The source that a configuration names. Libraries for servers and object stores are loaded only for them.

    Blocks for a moment. Raises `BundleError` for an address that is none.
    """
    scheme = urlsplit(config.url).scheme
    if scheme in {"http", "https"}:
        from interlock_gateway.policy.bundles.http_source import HttpSource  # noqa: PLC0415 -- as said above

        return HttpSource(config)
    if scheme in {"s3", "gs", "az"}:
        from interlock_gateway.policy.bundles.object_source import open_object_source  # noqa: PLC0415 -- as said above

        return open_object_source(config)
    path = url2pathname(urlsplit(config.url).path) if scheme == "file" else config.url
    return FileSource(Path(path).expanduser(), config.max_bytes)


class FileSource:
    """A file, which others replace or write in place."""

    settles = True

    def __init__(self, path: Path, max_bytes: int) -> None:
        self._path = path
        self._max_bytes = max_bytes

    async def fetch(self, known: str) -> Fetched | None:
        """Read the file, unless it is the one that was read before."""
        return await asyncio.to_thread(self._read, known)

    async def close(self) -> None:
        """Nothing is held open."""

    def _read(self, known: str) -> Fetched | None:
        try:
            # Not to wait for the other end when it is a pipe.
            descriptor = os.open(self._path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
            with os.fdopen(descriptor, "rb") as file:
                found = os.fstat(descriptor)
                if not stat.S_ISREG(found.st_mode):
                    raise BundleError(BundleFault.UNREACHABLE, "is no file", str(self._path))
                version = f"{found.st_dev}-{found.st_ino}-{found.st_mtime_ns}-{found.st_size}"
                if version == known:
                    return None
                raw = file.read(self._max_bytes + 1)
        except OSError as error:
            problem = f"cannot be read: {error.strerror or error}"
            raise BundleError(BundleFault.UNREACHABLE, problem, str(self._path)) from error
        return Fetched(within(raw, self._max_bytes, str(self._path)), version)


def within(raw: bytes, max_bytes: int, place: str) -> bytes:
    """`raw`, when it is not too large. Raises `BundleError`."""
    if len(raw) > max_bytes:
        raise too_large(max_bytes, place)
    return raw


def too_large(max_bytes: int, place: str) -> BundleError:
    """The error for a bundle above its bound."""
    return BundleError(BundleFault.TOO_LARGE, f"is larger than {max_bytes} bytes", place)


def shown(url: str) -> str:
    """An address without what may be a secret in it."""
    return url.partition("?")[0].partition("#")[0]
