"""The same workplace on this machine and in memory, for the tests of the toolbox."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from interlock.toolbox.local import local_operations
from interlock.toolbox.memory import memory_operations
from interlock.toolbox.operations import Files, Operations, Place
from interlock.toolbox.places import locate


@dataclass(frozen=True, slots=True)
class Workplace:
    """Operations with one root, and somebody else who puts things there behind their back. Paths are relative to it."""

    operations: Operations
    root: str
    put: Callable[..., None]
    put_link: Callable[[str, str], None]
    put_directory: Callable[[str], None]

    @property
    def files(self) -> Files:
        return self.operations.files

    def at(self, path: str) -> Place:
        return locate(path, workdir="", roots=self.files.roots)

    def content(self, path: str) -> bytes:
        with self.files.open(self.at(path)) as file:
            return file.read()


def local_workplace(directory: Path) -> Workplace:
    root = directory / "root"
    root.mkdir()
    outside = directory / "outside"
    outside.mkdir()
    (outside / "secret.txt").write_bytes(b"secret")

    def put(path: str, content: bytes, mode: int = 0o644) -> None:
        target = root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)
        target.chmod(mode)

    def put_link(path: str, target: str) -> None:
        link = root / path
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(target)

    def put_directory(path: str) -> None:
        (root / path).mkdir(parents=True, exist_ok=True)

    operations = local_operations([root], directory / "state", environment={"PATH": "/usr/local/bin:/usr/bin:/bin"})
    return Workplace(operations, str(root), put, put_link, put_directory)


def memory_workplace() -> Workplace:
    operations, files = memory_operations(["/base/root"])

    def put(path: str, content: bytes, mode: int = 0o644) -> None:
        files.put(f"/base/root/{path}", content, mode)

    return Workplace(
        operations,
        "/base/root",
        put,
        lambda path, target: files.put_link(f"/base/root/{path}", target),
        lambda path: files.put_directory(f"/base/root/{path}"),
    )
