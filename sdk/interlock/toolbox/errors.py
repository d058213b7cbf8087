"""What can go wrong with an operation, in words that a model can act on.

    OperationError
    ├── OutsideRootsError     the path leads out of the roots, by `..`, by an absolute path or by a symbolic link
    ├── MissingError          there is nothing at the path
    ├── AlreadyThereError     there is something at the path, and nothing may be replaced
    ├── WrongKindError        a directory where a file is needed, or the other way round, or something special
    │   └── RootError         a root itself, which is not moved or removed
    ├── TooLargeError         more than this operation takes in one piece
    ├── ChangedError          it is not what the caller expects to be there
    ├── RefusedError          the operating system does not permit it
    └── StorageError          any other trouble with the storage
        ├── UnreachableError      the host that has it cannot be reached, or was lost before anything was to change
        └── OutcomeUnknownError   the host was lost while something was changed: it happened, or it did not

The messages name paths as they were given, never where they lie on the host.
"""

import errno
from collections.abc import Iterator
from contextlib import contextmanager


class OperationError(Exception):
    """An operation that was not carried out; nothing has changed (but see OutcomeUnknownError)."""


class OutsideRootsError(OperationError):
    """The path leads out of the roots (BOX-12)."""

    def __init__(self, path: str) -> None:
        super().__init__(f"{path} is outside the directories that this toolbox serves")


class MissingError(OperationError):
    """There is nothing at the path."""

    def __init__(self, path: str) -> None:
        super().__init__(f"{path} does not exist")


class AlreadyThereError(OperationError):
    """There is something at the path already."""

    def __init__(self, path: str) -> None:
        super().__init__(f"{path} is already there")


class WrongKindError(OperationError):
    """What is at the path is not of the kind needed, such as a directory in place of a file."""

    def __init__(self, path: str, need: str) -> None:
        super().__init__(f"{path} is not {need}")


class RootError(WrongKindError):
    """A root itself, or a place named by `..`: nothing that can be moved or removed."""

    def __init__(self, path: str) -> None:
        OperationError.__init__(self, f"{path} cannot be moved or removed by that name")


class TooLargeError(OperationError):
    """The file is larger than the operation takes."""

    def __init__(self, path: str, limit: int) -> None:
        super().__init__(f"{path} is larger than {limit} bytes, the most that is handled at once")


class ChangedError(OperationError):
    """What is at the path is not what the caller expects."""

    def __init__(self, path: str) -> None:
        super().__init__(f"{path} has changed")


class RefusedError(OperationError):
    """The operating system does not permit it."""

    def __init__(self, path: str) -> None:
        super().__init__(f"{path}: permission denied")


class StorageError(OperationError):
    """Any other trouble with the storage: full, broken, gone."""

    def __init__(self, path: str, why: str) -> None:
        super().__init__(f"{path}: {why}")


class UnreachableError(StorageError):
    """The host cannot be reached; nothing has changed."""

    def __init__(self, sentence: str) -> None:
        OperationError.__init__(self, sentence)


class OutcomeUnknownError(StorageError):
    """The host was lost meanwhile: what was asked for has happened there, or it has not."""

    def __init__(self, sentence: str) -> None:
        OperationError.__init__(self, sentence)


LOST = (UnreachableError, OutcomeUnknownError)
"""The host was lost, which says nothing of what was looked at: whoever passes over errors does not pass over these."""


def from_os_error(error: OSError, path: str) -> OperationError:
    """The error of this tree for one of the operating system's; the one place where they are mapped."""
    if error.errno in _KINDS:
        return WrongKindError(path, _KINDS[error.errno])
    if error.errno in _PLAIN:
        return _PLAIN[error.errno](path)
    return StorageError(path, (error.strerror or "input or output failed").lower())


_KINDS = {errno.ENOTDIR: "a directory", errno.EISDIR: "a file"}
_PLAIN: dict[int | None, type[MissingError | AlreadyThereError | ChangedError | RefusedError]] = {
    errno.ENOENT: MissingError,
    errno.EEXIST: AlreadyThereError,
    errno.ENOTEMPTY: AlreadyThereError,
    errno.ELOOP: ChangedError,
    errno.EACCES: RefusedError,
    errno.EPERM: RefusedError,
    errno.EROFS: RefusedError,
}


@contextmanager
def os_errors_of(path: str) -> Iterator[None]:
    """Turn the operating system's errors in the block into this tree's, naming `path`."""
    try:
        yield
    except OSError as error:
        raise from_os_error(error, path) from error
