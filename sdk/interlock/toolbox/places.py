"""From the path that a model wrote to a place in a root, and back to a path it can use."""

from collections.abc import Sequence
from pathlib import PurePosixPath

from interlock.toolbox.errors import OperationError, OutsideRootsError
from interlock.toolbox.operations import Place

MAX_PATH_BYTES = 4096


def locate(path: str, *, workdir: str, roots: Sequence[str]) -> Place:
    """The place that a path names, relative to `workdir`, or to the first root when that is empty.

    Raises OutsideRootsError for an absolute path in no root, OperationError for one that no path can be. A `..` is
    kept: where it leads is known only when the links before it are followed.
    """
    if not path or "\0" in path or len(path.encode(errors="surrogateescape")) > MAX_PATH_BYTES:
        raise OperationError("the path is empty, longer than 4096 bytes, or has a NUL character in it")
    whole = PurePosixPath(workdir or roots[0], path)
    for root in sorted(roots, key=len, reverse=True):
        if whole.is_relative_to(root):
            return Place(root, whole.relative_to(root).parts, path)
    raise OutsideRootsError(path)


def shown(place: Place, *, workdir: str, roots: Sequence[str]) -> str:
    """A path that leads to the place again: relative when it lies in the working directory, absolute otherwise."""
    whole = PurePosixPath(place.path)
    start = workdir or roots[0]
    text = str(whole.relative_to(start)) if whole.is_relative_to(start) else str(whole)
    return readable(text)


def readable(name: str) -> str:
    """A name of the file system as text that can be shown: bytes in it that are no UTF-8 become escapes."""
    return name.encode(errors="surrogateescape").decode(errors="backslashreplace")
