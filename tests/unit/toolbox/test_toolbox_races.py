"""Nothing gets out of the roots, even while somebody swaps directories and links all the time (BOX-12)."""

import asyncio
import json
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

import pytest
from interlock.toolbox.errors import OperationError
from interlock.toolbox.local import local_operations
from interlock.toolbox.places import locate
from toolbox_workplaces import Box

ROUNDS = 60
SECRET = b"classified"


def list_of(directory: Path) -> list[Path]:
    return sorted(directory.iterdir())


def check_outside(outside: Path) -> None:
    assert [one.name for one in list_of(outside)] == ["secret.txt"]
    assert (outside / "secret.txt").read_bytes() == SECRET


@contextmanager
def swapping(root: Path, outside: Path) -> Iterator[threading.Event]:
    """While in the block, `d` is a directory and a link to outside in turn, and so is the file `f`."""
    ended, turned = threading.Event(), threading.Event()
    (root / "d_link").symlink_to(outside)
    (root / "f_link").symlink_to(outside / "secret.txt")

    def swap() -> None:
        while not ended.is_set():
            for name in ("d", "f"):
                try:
                    (root / name).rename(root / f"{name}_real")
                    (root / f"{name}_link").rename(root / name)
                    turned.set()
                    (root / name).rename(root / f"{name}_link")
                    (root / f"{name}_real").rename(root / name)
                except OSError:
                    restore(name)

    def restore(name: str) -> None:
        """A tool had a hand in it: make the scene anew."""
        (root / f"{name}_link").unlink(missing_ok=True)
        (root / f"{name}_link").symlink_to(outside if name == "d" else outside / "secret.txt")
        if (root / name).is_symlink():
            (root / name).unlink()
        if name == "d":
            (root / "d/inner").mkdir(parents=True, exist_ok=True)
        elif not (root / "f").exists():
            (root / "f").write_bytes(b"public")

    thread = threading.Thread(target=swap, daemon=True)
    thread.start()
    assert turned.wait(5)
    try:
        yield turned
    finally:
        ended.set()
        thread.join(5)


@pytest.mark.req("BOX-12", "SEC-3")
async def test_no_tool_gets_out_while_directories_and_links_are_swapped(local_box: Box, tmp_path: Path) -> None:
    root, outside = tmp_path / "root", tmp_path / "outside"
    local_box.workplace.put("d/inner/a.txt", b"public")
    local_box.workplace.put("d/secret.txt", b"public")
    local_box.workplace.put("f", b"public")
    calls = [
        ("read", {"path": "d/secret.txt"}),
        ("read", {"path": "f"}),
        ("write", {"path": "d/new.txt", "content": "mine"}),
        ("write", {"path": "d/x/y/new.txt", "content": "mine"}),
        ("write", {"path": "d/secret.txt", "content": "mine"}),
        ("write", {"path": "f", "content": "public"}),
        ("edit", {"path": "d/secret.txt", "old_string": "classified", "new_string": "mine"}),
        ("edit", {"path": "f", "old_string": "classified", "new_string": "mine"}),
        ("delete", {"path": "d/secret.txt"}),
        ("list", {"path": "d"}),
        ("glob", {"pattern": "**/*", "ignored": True}),
        ("grep", {"pattern": "cl.ssif", "path": "."}),
        ("grep", {"pattern": "cl.ssif", "path": "d"}),
        ("bash", {"command": "cat secret.txt"}),
    ]
    answered = refused = 0

    with swapping(root, outside):
        for number in range(ROUNDS):
            for tool, given in calls:
                if tool == "bash" and number % 10:
                    continue
                workdir = str(root / "d") if tool == "bash" else ""
                result = await local_box.result(tool, workdir=workdir, **given)
                assert SECRET not in result.output.encode(), (tool, given, result.output)
                answered += not result.is_error
                refused += result.is_error
                if tool in ("write", "edit", "delete") and not result.is_error and number % 2:
                    await local_box.undo(result)

    check_outside(outside)
    assert answered > ROUNDS
    assert refused > 0


def spellings() -> list[str]:
    """Ways to write a path that leads out of a root in which there is a directory `d`."""
    ups = ["..", "../..", "d/../..", "d/../../", "./..", "d//..//..", "d/./../..", "../root/..", "d/../../root/.."]
    ends = ["", "/outside", "/outside/secret.txt", "/./outside//secret.txt", "/etc/passwd"]
    plain = [up + end for up in ups for end in ends]
    absolute = ["/", "//", "/etc/passwd", "/proc/self/root/etc/passwd", "/dev/fd/0", "/proc/self/cwd/../outside"]
    encoded = [quote(path, safe="") for path in plain] + [path.replace("/", "\\") for path in plain]
    odd = ["..\0", "d/\0/..", "\u2025/outside", "\uff0e\uff0e/outside", "%2e%2e/outside", "~/", "file:///etc/passwd"]
    return [*plain, *absolute, *encoded, *odd, *(f"d/{path}" for path in encoded), *(f"d/../{path}" for path in plain)]


@pytest.mark.req("BOX-12", "SEC-3")
async def test_no_spelling_of_a_path_leads_out(local_box: Box, tmp_path: Path) -> None:
    local_box.workplace.put("d/a.txt", b"public")
    paths = spellings()
    assert len(paths) > 200

    for path in paths:
        for tool, given in (
            ("read", {"path": path}),
            ("write", {"path": f"{path}/new.txt", "content": "mine"}),
            ("delete", {"path": path}),
            ("list", {"path": path}),
        ):
            result = await local_box.result(tool, **given)
            assert SECRET not in result.output.encode()
            assert "root:" not in result.output
            # A spelling that is only strange names something in the root, where it may be made and deleted.
            if not result.is_error and result.undo.tool:
                assert json.loads(result.undo.input)["path"].startswith(f"{tmp_path}/root/")

    assert {path.name for path in list_of(tmp_path)} == {"root", "outside", "state"}
    check_outside(tmp_path / "outside")


@pytest.mark.req("BOX-12")
async def test_special_files_are_not_opened(local_box: Box, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "root/pipe")

    async with asyncio.timeout(5):
        assert "is not a file" in await local_box.error("read", path="pipe")
        assert "is not a file" in await local_box.error("write", path="pipe", content="x")
        assert "is not a file" in await local_box.error("edit", path="pipe", old_string="a", new_string="b")
        assert await local_box.text("grep", pattern="x") == "Nothing matches x"


@pytest.mark.req("BOX-12")
def test_a_directory_that_was_moved_out_of_the_way_is_not_followed_by_dot_dot(local_box: Box, tmp_path: Path) -> None:
    """`..` goes back along the way that was walked, not to where the directory lies by then."""
    local_box.workplace.put("a/b/c.txt", b"public")
    files = local_box.workplace.files
    place = locate("a/b/../../../outside/secret.txt", workdir="", roots=files.roots)

    with pytest.raises(OperationError):
        files.open(place)
    assert (tmp_path / "outside/secret.txt").exists()


def test_overlapping_roots_and_state_directories_are_refused(tmp_path: Path) -> None:
    (tmp_path / "root").mkdir()
    for root, state in (("root", "root/state"), ("root", "."), ("root", "root"), ("missing", "state")):
        with pytest.raises(ValueError, match="root"):
            local_operations([tmp_path / root], tmp_path / state)
