"""What is done to whole trees of files on this machine, each step relative to an open directory.

Nothing here follows a link or hands the system a path of more than one name.
"""

import ctypes
import errno
import hashlib
import os
import secrets
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import PurePosixPath

from interlock.toolbox.errors import ChangedError, WrongKindError

MAX_DEPTH = 200
HIDDEN_PREFIX = ".interlock-"
NEW_PREFIX = f"{HIDDEN_PREFIX}new-"

_RENAME_NOREPLACE = 1
_BLOCK = 1024 * 1024
_OPEN_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_LIBC = ctypes.CDLL(None, use_errno=True) if sys.platform == "linux" else None


def hidden_name(prefix: str = HIDDEN_PREFIX) -> str:
    """A name for what lies beside a file only while the file is being replaced or moved."""
    return prefix + secrets.token_hex(8)


@contextmanager
def opened(name: str, flags: int, *, dir_fd: int, mode: int = 0o600) -> Iterator[int]:
    """A descriptor of one name in an open directory, for the block; never through a link."""
    descriptor = os.open(name, flags | os.O_NOFOLLOW | os.O_CLOEXEC, mode, dir_fd=dir_fd)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def names_in(dir_fd: int) -> list[str]:
    """The names in an open directory, sorted."""
    return sorted(os.listdir(dir_fd))


def sync_directory(dir_fd: int, name: str = ".") -> None:
    """Make the names in a directory durable. One that may be written to but not read is left to the system."""
    with suppress(PermissionError), opened(name, os.O_RDONLY | os.O_DIRECTORY, dir_fd=dir_fd) as descriptor:
        os.fsync(descriptor)


def rename_to_free_name(source: str, target: str, *, source_fd: int, target_fd: int) -> None:
    """Rename, and raise FileExistsError rather than replace anything.

    The kernel sees to that where it can. Elsewhere it is looked up first, which another process can slip past.
    """
    if _LIBC is not None and hasattr(_LIBC, "renameat2"):
        failed = _LIBC.renameat2(source_fd, os.fsencode(source), target_fd, os.fsencode(target), _RENAME_NOREPLACE)
        if not failed:
            return
        code = ctypes.get_errno()
        if code not in (errno.ENOSYS, errno.EINVAL):
            raise OSError(code, os.strerror(code))
    with suppress(FileNotFoundError):
        os.lstat(target, dir_fd=target_fd)
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST))
    os.rename(source, target, src_dir_fd=source_fd, dst_dir_fd=target_fd)


def walk_tree(name: str, *, dir_fd: int) -> Iterator[tuple[PurePosixPath, os.stat_result]]:
    """The entry of that name and all beneath it, parents first, siblings by name; paths begin with the name."""
    found = os.lstat(name, dir_fd=dir_fd)
    yield PurePosixPath(name), found
    if stat.S_ISDIR(found.st_mode):
        yield from _walk_within(PurePosixPath(name), name, dir_fd, 1)


def _walk_within(
    path: PurePosixPath, name: str, dir_fd: int, depth: int
) -> Iterator[tuple[PurePosixPath, os.stat_result]]:
    if depth > MAX_DEPTH:
        raise WrongKindError(str(path), f"within {MAX_DEPTH} directories of the top")
    with opened(name, _OPEN_DIRECTORY, dir_fd=dir_fd) as inner_fd:
        for child in names_in(inner_fd):
            found = os.lstat(child, dir_fd=inner_fd)
            yield path / child, found
            if stat.S_ISDIR(found.st_mode):
                yield from _walk_within(path / child, child, inner_fd, depth + 1)


def file_digest(name: str, *, dir_fd: int) -> bytes:
    """SHA-256 of a regular file's content."""
    digest = hashlib.sha256()
    with opened(name, os.O_RDONLY | os.O_NONBLOCK, dir_fd=dir_fd) as descriptor:
        while block := os.read(descriptor, _BLOCK):
            digest.update(block)
    return digest.digest()


def remove_empty_directory(name: str, *, dir_fd: int) -> None:
    """Remove a directory with nothing in it but unfinished new files, which a killed process may have left there."""
    with opened(name, _OPEN_DIRECTORY, dir_fd=dir_fd) as inner_fd:
        names = names_in(inner_fd)
        if all(one.startswith(NEW_PREFIX) for one in names):
            for one in names:
                os.unlink(one, dir_fd=inner_fd)
    os.rmdir(name, dir_fd=dir_fd)


def copy_tree(source: str, target: str, *, source_fd: int, target_fd: int) -> None:
    """Copy one entry and all beneath it to a free name, durably: content, modes, times, links, owners where permitted.

    Raises WrongKindError for sockets, pipes and devices, which cannot be copied.
    """
    found = os.lstat(source, dir_fd=source_fd)
    if stat.S_ISLNK(found.st_mode):
        os.symlink(os.readlink(source, dir_fd=source_fd), target, dir_fd=target_fd)
    elif stat.S_ISREG(found.st_mode):
        _copy_file(source, target, source_fd, target_fd)
    elif stat.S_ISDIR(found.st_mode):
        _copy_directory(source, target, source_fd, target_fd)
    else:
        raise WrongKindError(source, "a file, a directory or a link, and cannot be moved to another file system")


def _copy_file(source: str, target: str, source_fd: int, target_fd: int) -> None:
    with (
        opened(source, os.O_RDONLY | os.O_NONBLOCK, dir_fd=source_fd) as reading,
        opened(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, dir_fd=target_fd) as writing,
    ):
        while block := os.read(reading, _BLOCK):
            write_all(writing, block)
        _copy_attributes(reading, writing)
        os.fsync(writing)


def _copy_directory(source: str, target: str, source_fd: int, target_fd: int) -> None:
    os.mkdir(target, 0o700, dir_fd=target_fd)
    with (
        opened(source, _OPEN_DIRECTORY, dir_fd=source_fd) as reading,
        opened(target, _OPEN_DIRECTORY, dir_fd=target_fd) as writing,
    ):
        for child in names_in(reading):
            copy_tree(child, child, source_fd=reading, target_fd=writing)
        _copy_attributes(reading, writing)
        os.fsync(writing)


def _copy_attributes(source: int, target: int) -> None:
    found = os.fstat(source)
    keep_owner(target, found)
    os.fchmod(target, stat.S_IMODE(found.st_mode))
    os.utime(target, ns=(found.st_atime_ns, found.st_mtime_ns))


def keep_owner(descriptor: int, found: os.stat_result) -> None:
    """Give a file the owner and group of another, as far as this process may."""
    now = os.fstat(descriptor)
    if (now.st_uid, now.st_gid) != (found.st_uid, found.st_gid):
        with suppress(PermissionError):
            os.fchown(descriptor, found.st_uid, found.st_gid)


def write_all(descriptor: int, content: bytes) -> None:
    """Write all of it; the system may take it in pieces."""
    rest = memoryview(content)
    while rest:
        rest = rest[os.write(descriptor, rest) :]


def remove_tree(name: str, *, dir_fd: int) -> None:
    """Remove one entry and all beneath it, opening up directories that are closed to their owner."""
    if not stat.S_ISDIR(os.lstat(name, dir_fd=dir_fd).st_mode):
        os.unlink(name, dir_fd=dir_fd)
        return
    with opened(name, _OPEN_DIRECTORY, dir_fd=dir_fd) as inner_fd:
        os.fchmod(inner_fd, 0o700)
        for child in names_in(inner_fd):
            remove_tree(child, dir_fd=inner_fd)
    os.rmdir(name, dir_fd=dir_fd)


def move_tree(
    source: str, target: str, *, source_fd: int, target_fd: int, wanted: os.stat_result | None = None
) -> None:
    """Move one entry to a free name elsewhere, also to another file system, all or nothing.

    Raises FileExistsError when the name is not free, ChangedError when another file than `wanted` has the source's name
    by now. Across file systems the source is first taken out of everyone's way under a hidden name, so that nobody
    changes it while it is copied; if copying fails it gets its name back.
    """
    try:
        _rename_wanted(source, target, source_fd, target_fd, wanted)
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        _move_by_copying(source, target, source_fd, target_fd, wanted)
    sync_directory(target_fd)
    sync_directory(source_fd)


def _rename_wanted(source: str, target: str, source_fd: int, target_fd: int, wanted: os.stat_result | None) -> None:
    rename_to_free_name(source, target, source_fd=source_fd, target_fd=target_fd)
    if wanted is not None and os.lstat(target, dir_fd=target_fd).st_ino != wanted.st_ino:
        rename_to_free_name(target, source, source_fd=target_fd, target_fd=source_fd)
        raise ChangedError(source)


def _move_by_copying(source: str, target: str, source_fd: int, target_fd: int, wanted: os.stat_result | None) -> None:
    hidden, staged = hidden_name(), hidden_name()
    _rename_wanted(source, hidden, source_fd, source_fd, wanted)
    try:
        copy_tree(hidden, staged, source_fd=source_fd, target_fd=target_fd)
        rename_to_free_name(staged, target, source_fd=target_fd, target_fd=target_fd)
    except BaseException:
        with suppress(FileNotFoundError):
            remove_tree(staged, dir_fd=target_fd)
        rename_to_free_name(hidden, source, source_fd=source_fd, target_fd=source_fd)
        raise
    with suppress(OSError):  # the move is done; what cannot be removed stays behind under its hidden name
        remove_tree(hidden, dir_fd=source_fd)
