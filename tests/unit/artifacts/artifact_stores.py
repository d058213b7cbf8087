"""Artifact stores for the tests, and what they put into them."""

import resource
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from pathlib import Path


class ManualClock:
    """Stands still unless `step` says how much later each look at it is."""

    def __init__(self, step: float = 0.0) -> None:
        self.time = 1000.0
        self.step = step

    def now(self) -> float:
        return self.time

    def monotonic(self) -> float:
        self.time += self.step
        return self.time


async def pieces(data: bytes, size: int) -> AsyncIterator[bytes]:
    for start in range(0, len(data), size):
        yield data[start : start + size]


@contextmanager
def full_disk(size: int) -> Iterator[None]:
    """No file can grow past `size` bytes: the kernel itself refuses the write."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def descriptions(root: Path) -> list[str]:
    return [path.read_text() for path in root.rglob("*.json")]


def replace_by_file(root: Path) -> None:
    root.rename(root.with_name("elsewhere"))
    root.write_text("not a directory")
