"""Files are read inside the roots, whatever leads elsewhere, is no file, or is swapped meanwhile (REF-3, REF-4)."""

import contextlib
import errno
import os
import socket
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from interlock_gateway.references.files import Head, read_head
from interlock_gateway.references.prompt import Problem, UnresolvedError

MOST = 1000
SECRET = b"classified"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A workspace with a file in it, beside a secret."""
    made = tmp_path / "root"
    (made / "d").mkdir(parents=True)
    (made / "d/a.txt").write_bytes(b"public")
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/secret.txt").write_bytes(SECRET)
    return made


def read(root: Path, path: str, *narrowed: Path) -> bytes:
    return head(root, path, *narrowed).data


def head(root: Path, path: str, *narrowed: Path) -> Head:
    return read_head(path, tuple(map(str, narrowed)) or (str(root),), (str(root),), MOST)


def problem(root: Path, path: str, *narrowed: Path) -> Problem:
    with pytest.raises(UnresolvedError) as refused:
        head(root, path, *narrowed)
    assert str(root.parent / "outside") not in refused.value.message or path.startswith("/")
    return refused.value.problem


@pytest.mark.req("REF-4")
def test_a_file_is_found_by_every_path_that_stays_inside(root: Path) -> None:
    (root / "relative").symlink_to("d/../d")
    (root / "absolute").symlink_to(root / "d/a.txt")
    (root.parent / "alias").symlink_to(root)

    for path in ("d/a.txt", "./d//a.txt", "d/../d/a.txt", f"{root}/d/a.txt", "relative/a.txt", "absolute"):
        assert read(root, path) == b"public"
    assert read(root.parent / "alias", f"{root.parent}/alias/d/a.txt") == b"public"
    assert read(root.parent / "alias", f"{root}/d/a.txt") == b"public"


@pytest.mark.req("REF-4", "REF-3", "SEC-3")
@pytest.mark.parametrize(
    "path",
    [
        "..", "../outside/secret.txt", "d/../../outside/secret.txt", "/etc/passwd", "/", "//etc/passwd",
        "link/secret.txt", "chain/secret.txt", "up/outside/secret.txt", "file", "gone", "d/../../outside/nothing",
        "/../etc/passwd", "d/../link/../secret.txt",
    ],
)  # fmt: skip
def test_what_leads_outside_is_out_of_scope_whether_it_is_there_or_not(root: Path, path: str) -> None:
    (root / "link").symlink_to(root.parent / "outside")
    (root / "chain").symlink_to("link")
    (root / "up").symlink_to("..")
    (root / "file").symlink_to("../outside/secret.txt")
    (root / "gone").symlink_to(root.parent / "outside/nothing")

    assert problem(root, path) is Problem.OUT_OF_SCOPE


@pytest.mark.req("REF-3", "REF-4")
@pytest.mark.parametrize(
    "path", ["nothing", "d/nothing/a.txt", "d/a.txt/b", "a\0b", "~/a", "%2e%2e/outside", "dangling"]
)
def test_what_is_not_there_is_not_found(root: Path, path: str) -> None:
    (root / "dangling").symlink_to("nowhere")

    assert problem(root, path) is Problem.NOT_FOUND


@pytest.mark.req("REF-3", "REF-4")
def test_what_is_no_file_is_neither_waited_for_nor_read(root: Path, socket_directory: Path) -> None:
    os.mkfifo(root / "pipe")
    (root / "loop").symlink_to("loop")
    short = socket_directory / "r"
    short.mkdir()
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(short / "socket"))
        assert problem(short, "socket") is Problem.IO

    for path in ("pipe", "d", ".", "loop"):
        assert problem(root, path) is Problem.IO


@pytest.mark.req("REF-3")
def test_a_file_that_may_not_be_read_is_said_to_be_so(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # The administrator may read everything, so the kernel's answer is put in its mouth.
    (root / "closed").write_bytes(b"x")
    real = os.open

    def refusing(path: str, *rest: Any, **named: Any) -> int:
        if str(path).endswith("closed"):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), path)
        return real(path, *rest, **named)

    monkeypatch.setattr(os, "open", refusing)

    assert problem(root, "closed") is Problem.IO


@pytest.mark.req("REF-4")
@pytest.mark.skipif(sys.platform != "linux", reason="there is no such file system elsewhere")
@pytest.mark.parametrize("path", ["/proc/self/environ", "/proc/version", "/sys/kernel/mm/hugepages", "/dev/null"])
def test_files_of_the_kernel_are_not_read_even_when_everything_is_in_scope(path: str) -> None:
    with pytest.raises(UnresolvedError):
        read_head(path, ("/",), ("/",), MOST)


@pytest.mark.req("REF-4")
def test_a_huge_file_is_read_at_its_beginning_alone(root: Path) -> None:
    with (root / "huge").open("wb") as file:
        file.write(b"begins")
        file.truncate(1 << 40)

    found = head(root, "huge")

    assert (found.data, found.total_bytes, found.more) == (b"begins" + bytes(MOST - 6), 1 << 40, True)


@pytest.mark.req("REF-4")
def test_a_session_sees_its_own_roots_alone(root: Path) -> None:
    (root / "e").mkdir()
    (root / "e/b.txt").write_bytes(b"other")
    (root / "d/to_e").symlink_to(root / "e/b.txt")

    assert read(root, "a.txt", root / "d") == b"public"
    assert problem(root, "../e/b.txt", root / "d") is Problem.OUT_OF_SCOPE
    assert problem(root, f"{root}/e/b.txt", root / "d") is Problem.OUT_OF_SCOPE
    assert problem(root, "to_e", root / "d") is Problem.OUT_OF_SCOPE
    assert read(root, "to_e", root / "d", root / "e") == b"other"
    assert problem(root, "a.txt", root.parent / "outside") is Problem.OUT_OF_SCOPE
    with pytest.raises(UnresolvedError):
        read_head("a.txt", (), (str(root),), MOST)


@pytest.mark.req("REF-4", "SEC-3")
def test_a_root_that_the_session_made_a_link_of_does_not_widen_its_scope(root: Path) -> None:
    (root / "mine").symlink_to(root.parent / "outside")
    (root / "inner").symlink_to("d")

    assert problem(root, "secret.txt", root / "mine") is Problem.OUT_OF_SCOPE
    assert problem(root, f"{root.parent}/outside/secret.txt", root / "mine") is Problem.OUT_OF_SCOPE
    assert read(root, "a.txt", root / "inner") == b"public"


# Swaps `d`, the file `f` and the session's own root `r` with links that lead outside, as fast as it can, until its
# input ends; then says how often.
SWAPPER = """
import os, select, sys

root, outside = sys.argv[1:]
os.chdir(root)
for name, target in (("d", outside), ("f", outside + "/secret.txt"), ("r", outside)):
    os.symlink(target, name + "_link")
    if name != "f":
        os.makedirs(name)
    with open(name if name == "f" else name + "/secret.txt", "w") as file:
        file.write("public")
count = 0
print("ready", flush=True)
while count % 64 or not select.select([sys.stdin], [], [], 0)[0]:
    for name in ("d", "f", "r"):
        os.rename(name, name + "_real")
        os.rename(name + "_link", name)
        os.rename(name, name + "_link")
        os.rename(name + "_real", name)
    count += 1
print(count, flush=True)
"""


@contextlib.contextmanager
def swapping(root: Path) -> Iterator[None]:
    command = [sys.executable, "-c", SWAPPER, str(root), str(root.parent / "outside")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        yield
        output, _ = process.communicate(timeout=30)
    assert int(output) > 0


@pytest.mark.req("REF-4", "SEC-3")
def test_nothing_outside_is_read_while_directories_files_and_roots_are_swapped_for_links(tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/secret.txt").write_bytes(SECRET)
    outcomes: Counter[str] = Counter()

    with swapping(root):
        for _ in range(2000):
            for path, narrowed in (("d/secret.txt", root), ("f", root), ("secret.txt", root / "r")):
                try:
                    data = read(root, path, narrowed)
                except UnresolvedError as error:
                    outcomes[error.problem] += 1
                else:
                    assert data == b"public"
                    outcomes["read"] += 1

    assert outcomes["read"] > 0
    assert outcomes[Problem.OUT_OF_SCOPE] > 0
