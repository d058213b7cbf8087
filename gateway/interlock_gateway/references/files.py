"""Files of the workspace, read without a gap between check and read (REF-4). Blocks: for a thread of its own."""

import ctypes
import errno
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import PurePosixPath

from interlock.beneath import (
    BeneathError,
    Found,
    LinksError,
    NotDirectoryError,
    NotThereError,
    OpenDirectory,
    OutsideError,
    open_regular,
    open_root,
    walked,
)

from interlock_gateway.core.visible import visible_line
from interlock_gateway.references.prompt import Problem, UnresolvedError

_CHUNK = 64 * 1024
_NO_FILE = "not a regular file"
_LIBC = ctypes.CDLL(None, use_errno=True) if sys.platform == "linux" else None
_STATFS_BYTES = 256
# File systems whose files are the kernel's own and not anybody's work (linux/magic.h): proc, sysfs, debugfs, tracefs,
# securityfs, cgroup, cgroup2, configfs, selinuxfs, bpf, efivarfs, pstore, binfmt_misc, nsfs, devpts.
_OF_THE_KERNEL = frozenset(
    {
        *(0x9FA0, 0x62656572, 0x64626720, 0x74726163, 0x73636673, 0x27E0EB, 0x63677270, 0x62656570),
        *(0xF97CFF8C, 0xCAFE4A11, 0xDE5E81E4, 0x6165676C, 0x42494E4D, 0x6E736673, 0x1CD1),
    }
)


@dataclass(frozen=True, slots=True)
class Head:
    """The beginning of a content, and how many bytes it has in all."""

    data: bytes
    total_bytes: int

    @property
    def more(self) -> bool:
        """Whether there is more than the beginning."""
        return self.total_bytes > len(self.data)


def read_head(path: str, roots: tuple[str, ...], configured: tuple[str, ...], most_bytes: int) -> Head:
    """The first `most_bytes` of a regular file in the session's `roots`, which lie in the `configured` ones.

    `path` is absolute, or relative to the first of `roots`. Links are followed as long as they stay in the session's
    roots, and these are followed as long as they stay in the configured ones. Nothing outside is opened or asked about,
    so that an answer never tells what is there. Raises `UnresolvedError`.
    """
    with _in_words(path):
        scope = _Scope.of(roots, configured)
        root, parts = scope.locate(path)
        with walked(root, parts, open_root=scope.open_root, roots=scope.roots) as found:
            return _head(found, most_bytes)


@dataclass(frozen=True, slots=True)
class _Scope:
    """The session's roots and the operator's, by all their names: as they are written and without links."""

    first: str
    roots: tuple[str, ...]
    configured: tuple[str, ...]

    @classmethod
    def of(cls, roots: tuple[str, ...], configured: tuple[str, ...]) -> "_Scope":
        """Raises `OutsideError` when there are none."""
        outer = _all_names(configured)
        inner = tuple(name for name in _all_names(roots) if _holder(name, outer) is not None)
        if not inner:
            raise OutsideError("no roots")
        return cls(roots[0], inner, outer)

    def locate(self, path: str) -> tuple[str, tuple[str, ...]]:
        """The root and the names beneath it. Raises `OutsideError`, FileNotFoundError."""
        if not path or "\0" in path:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
        whole = PurePosixPath(self.first, path)
        root = _holder(str(whole), self.roots)
        if root is None:
            raise OutsideError("in no root")
        return root, whole.relative_to(root).parts

    def open_root(self, root: str) -> OpenDirectory:
        """One of the session's roots, reached from the operator's: what lies in there others may swap for a link."""
        base = _holder(root, self.configured)
        if base is None:
            raise OutsideError("in no configured root")
        parts = PurePosixPath(root).relative_to(base).parts
        with walked(base, parts, open_root=open_root, roots=self.configured) as found:
            return found.directory.enter(found.name)


def _all_names(roots: tuple[str, ...]) -> tuple[str, ...]:
    names = [str(PurePosixPath(root)) for root in roots]
    return tuple(dict.fromkeys([*names, *map(os.path.realpath, names)]))


def _holder(path: str, roots: tuple[str, ...]) -> str | None:
    """The innermost of `roots` that `path` is written to lie in."""
    whole = PurePosixPath(path)
    return max((root for root in roots if whole.is_relative_to(root)), key=len, default=None)


def _head(found: Found[OpenDirectory], most_bytes: int) -> Head:
    descriptor = open_regular(found)
    if descriptor is None:
        raise OSError(errno.EINVAL, _NO_FILE)
    try:
        if _is_of_the_kernel(descriptor):
            raise OSError(errno.EINVAL, _NO_FILE)
        data = bytearray()
        while len(data) < most_bytes and (chunk := os.read(descriptor, min(_CHUNK, most_bytes - len(data)))):
            data += chunk
        size = os.fstat(descriptor).st_size
    finally:
        os.close(descriptor)
    return Head(bytes(data), max(size, len(data)) if len(data) == most_bytes else len(data))


def _is_of_the_kernel(descriptor: int) -> bool:
    if _LIBC is None:
        return False
    found = ctypes.create_string_buffer(_STATFS_BYTES)
    if _LIBC.fstatfs(descriptor, found) != 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    # The first member of `struct statfs` is the type of the file system.
    return ctypes.c_long.from_buffer(found).value & 0xFFFFFFFF in _OF_THE_KERNEL


@contextmanager
def _in_words(path: str) -> Iterator[None]:
    """Turn what the walk and the system raise into the four errors (REF-3)."""
    shown = visible_line(path)
    try:
        yield
    except OutsideError:
        message = f"{shown} is outside the session's workspace roots"
        raise UnresolvedError(Problem.OUT_OF_SCOPE, message) from None
    except (NotThereError, NotDirectoryError, FileNotFoundError, NotADirectoryError):
        raise UnresolvedError(Problem.NOT_FOUND, f"there is no file {shown}") from None
    except LinksError:
        raise UnresolvedError(Problem.IO, f"{shown} leads through too many symbolic links") from None
    except (BeneathError, OSError) as error:
        why = (error.strerror or "input or output failed") if isinstance(error, OSError) else "it cannot be reached"
        raise UnresolvedError(Problem.IO, f"{shown} could not be read: {why.lower()}") from None
