"""Where policies come from, as whoever keeps them in force sees it: looked at, loaded, and told when they are."""

import asyncio
import hashlib
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from interlock_gateway.policy.bundle import PolicyBundle
from interlock_gateway.policy.loader import load_bundle
from interlock_gateway.policy.settings import PolicySourceError

_LOOKED_AT = frozenset({".rego", ".yaml", ".yml", ".json"})


@dataclass(frozen=True, slots=True)
class OriginStatus:
    """What is to be said of an origin. `problem` is why it could not be asked last."""

    sources: tuple[str, ...]
    verified: bool = False
    sequence: int | None = None
    from_disk: bool = False
    problem: str = ""


class Origin(Protocol):
    """Policies by their source."""

    @property
    def every_s(self) -> float:
        """How long to wait between two looks."""
        ...

    @property
    def settles(self) -> bool:
        """Whether what is there may be half written, so that two looks have to see the same."""
        ...

    @property
    def status(self) -> OriginStatus:
        """What is to be said of it."""
        ...

    async def look(self) -> str:
        """What is there now, in a word that changes with it. Raises `PolicySourceError`."""
        ...

    async def load(self, *, allow_older: bool = False) -> PolicyBundle:
        """The policies that are there now, fit to be evaluated. Raises `PolicySourceError` and `InspectionError`."""
        ...

    async def load_kept(self) -> PolicyBundle | None:
        """The last good policies, kept for when there is no source; `None` when none are. Raises like `load`."""
        ...

    async def activated(self) -> None:
        """What was loaded last is in force."""
        ...

    async def close(self) -> None:
        """Release what is held open."""
        ...


class DirectoryOrigin:
    """What ships under a profile, and the operator's directories on top."""

    settles = True

    def __init__(self, profile: str, overlays: Sequence[Path], every_s: float) -> None:
        self._profile = profile
        self._overlays = tuple(overlays)
        self.every_s = every_s

    @property
    def status(self) -> OriginStatus:
        """What ships, and the directories by name."""
        return OriginStatus(("shipped", *(path.name for path in self._overlays)))

    async def look(self) -> str:
        """The digest of what the directories hold."""
        return await asyncio.to_thread(content_digest, self._overlays)

    async def load(self, *, allow_older: bool = False) -> PolicyBundle:
        """The policies that are there now; directories have no order."""
        del allow_older
        return await asyncio.to_thread(load_bundle, profile=self._profile, overlays=self._overlays)

    async def load_kept(self) -> PolicyBundle | None:
        """Nothing is kept: directories are on disk themselves."""
        return None

    async def activated(self) -> None:
        """Nothing is kept."""

    async def close(self) -> None:
        """Nothing is held open."""


def content_digest(directories: Sequence[Path]) -> str:
    """One word for everything that policies could be in these directories; blocks. Raises `PolicySourceError`.

    By content and not by time: a ConfigMap's files change by a link that is put in the place of another, and an editor
    that writes back what was there has changed nothing.
    """
    digest = hashlib.sha256()
    for directory in directories:
        for path in _files(directory):
            try:
                content = path.read_bytes()
            except OSError as error:
                raise PolicySourceError(str(path), f"cannot be read: {error.strerror or error}") from error
            for part in (str(path).encode("utf-8", "surrogateescape"), content):
                digest.update(len(part).to_bytes(8, "big") + part)
    return digest.hexdigest()


def _files(directory: Path) -> list[Path]:
    """The files below a directory that could be policies, behind links too, sorted."""
    found: list[Path] = []
    seen: set[tuple[int, int]] = set()
    for place, folders, names in os.walk(directory, followlinks=True):
        here = Path(place).stat()
        if (here.st_dev, here.st_ino) in seen:
            folders.clear()
            continue
        seen.add((here.st_dev, here.st_ino))
        # What begins with a dot is an editor's, or the ConfigMap's own copies of the same files.
        folders[:] = [name for name in folders if not name.startswith(".")]
        own = (Path(place, name) for name in names if not name.startswith("."))
        found += [path for path in own if path.suffix in _LOOKED_AT and path.is_file()]
    return sorted(found)
