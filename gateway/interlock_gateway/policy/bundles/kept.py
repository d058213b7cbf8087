"""The last good bundle on disk, and the newest that was ever accepted: an older one is refused, after a restart too."""

import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from interlock_gateway.policy.bundles.errors import BundleError, BundleFault
from interlock_gateway.policy.bundles.opened import OpenedBundle

BUNDLE, NEWEST = "bundle.tar.gz", "newest.json"


@dataclass(frozen=True, slots=True)
class Newest:
    """The place in the order of the newest bundle that was accepted, and the digest of its bytes."""

    sequence: int
    digest: str


_NEWEST = TypeAdapter(Newest)


class KeptOrder:
    """A directory of the state with the place of the newest that was accepted. Every method blocks."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def check(self, sequence: int | None, digest: str) -> None:
        """Raise `BundleError` unless this is newer than all that were accepted, or the newest of them itself."""
        newest = self._newest()
        if newest is None or digest == newest.digest:
            return
        if sequence is None or sequence < newest.sequence:
            said = "does not say of which time" if sequence is None else f"is number {sequence}"
            problem = f"{said}, and number {newest.sequence} was accepted before: an older one is not taken"
            raise BundleError(BundleFault.OLDER, problem)
        if sequence == newest.sequence:
            problem = f"is another than the one with the same number {newest.sequence} that was accepted before"
            raise BundleError(BundleFault.OLDER, problem)

    def keep(self, sequence: int | None, digest: str) -> None:
        """Have it on disk that this is the newest; what does not say where it stands changes nothing.

        Raises `OSError`.
        """
        if sequence is None:
            return
        self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        _write(self._directory, NEWEST, json.dumps(asdict(Newest(sequence, digest))).encode())

    def _newest(self) -> Newest | None:
        raw = _read(self._directory, NEWEST)
        if raw is None:
            return None
        try:
            return _NEWEST.validate_json(raw, strict=True)
        except ValidationError as error:
            problem = "is damaged, so that an older bundle cannot be told from a newer one"
            raise BundleError(BundleFault.OLDER, problem, str(self._directory / NEWEST)) from error


class KeptBundle:
    """A directory of the state with the last good bundle. Every method blocks."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._order = KeptOrder(directory)

    def read(self) -> bytes | None:
        """The last good bundle, which has to be verified again; `None` when there is none. Raises `BundleError`."""
        return _read(self._directory, BUNDLE)

    def check_order(self, opened: OpenedBundle) -> None:
        """Raise `BundleError` unless `opened` is newer than all that were accepted, or the newest of them itself."""
        self._order.check(opened.sequence, opened.digest)

    def keep(self, raw: bytes, opened: OpenedBundle) -> None:
        """Have it on disk that this bundle is the last good one. Raises `OSError`."""
        self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        # In this order: cut off in between, the bundle on disk is newer than it must be, and never older.
        _write(self._directory, BUNDLE, raw)
        self._order.keep(opened.sequence, opened.digest)


def _read(directory: Path, name: str) -> bytes | None:
    try:
        return (directory / name).read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        problem = f"cannot be read: {error.strerror or error}"
        raise BundleError(BundleFault.UNREACHABLE, problem, str(directory / name)) from error


def _write(directory: Path, name: str, content: bytes) -> None:
    """Replace a file as a whole, and have it on disk."""
    new = directory / f".{name}.new"
    descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(descriptor)
    new.replace(directory / name)
    opened = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)
