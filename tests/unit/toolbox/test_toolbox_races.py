"""Nothing gets out of the roots, even while somebody swaps directories and links all the time (BOX-12)."""

import asyncio
import contextlib
import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from interlock.toolbox.errors import OperationError
from interlock.toolbox.local import local_operations
from interlock.toolbox.operations import Place
from interlock.toolbox.places import locate
from interlock.toolbox.renaming import Renaming
from toolbox_workplaces import Box

ROUNDS = 30
LOOKS = 1500
SECRET = b"classified"


def list_of(directory: Path) -> list[Path]:
    return sorted(directory.iterdir())


def check_outside(outside: Path) -> None:
    assert [one.name for one in list_of(outside)] == ["secret.txt"]
    assert (outside / "secret.txt").read_bytes() == SECRET


# Swaps `d` and `f` with links that lead outside, as fast as it can, until its input ends; then says how often.
SWAPPER = """
import os, select, shutil, sys

root, outside = sys.argv[1:]
os.chdir(root)


def make(name):
    for one in (name, name + "_real", name + "_link"):
        shutil.rmtree(one, ignore_errors=True) if os.path.isdir(one) and not os.path.islink(one) else None
        os.unlink(one) if os.path.lexists(one) else None
    os.symlink(outside if name == "d" else outside + "/secret.txt", name + "_link")
    if name == "d":
        os.makedirs("d/inner")
    for path in ("d/inner/a.txt", "d/secret.txt") if name == "d" else ("f",):
        with open(path, "w") as file:
            file.write("public")


def swap(name):
    os.rename(name, name + "_real")
    os.rename(name + "_link", name)
    os.rename(name, name + "_link")
    os.rename(name + "_real", name)


count = 0
make("d"), make("f")
print("ready", flush=True)
while count % 64 or not select.select([sys.stdin], [], [], 0)[0]:
    for name in ("d", "f"):
        try:
            swap(name)
        except OSError:  # a tool made or took away something in between
            try:
                make(name)
            except OSError:
                pass
    count += 1
print(count, flush=True)
"""


@contextlib.contextmanager
def swapping(root: Path, outside: Path) -> Iterator[None]:
    """While in the block, `d` is a directory and a link to outside in turn, and so is the file `f`."""
    process = subprocess.Popen(
        [sys.executable, "-c", SWAPPER, str(root), str(outside)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert process.stdout is not None
    assert process.stdout.readline() == b"ready\n"
    try:
        yield
    finally:
        output, _ = process.communicate(timeout=30)
    assert int(output) > ROUNDS


@pytest.mark.req("BOX-12", "SEC-3")
async def test_no_tool_gets_out_while_directories_and_links_are_swapped(local_box: Box, tmp_path: Path) -> None:
    root, outside = tmp_path / "root", tmp_path / "outside"
    calls: list[tuple[str, dict[str, Any]]] = [
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


@pytest.mark.req("BOX-12", "SEC-3")
def test_no_operation_gets_out_between_a_look_and_its_use(local_box: Box, tmp_path: Path) -> None:
    root, outside = tmp_path / "root", tmp_path / "outside"
    files = local_box.workplace.files
    file, inside = local_box.workplace.at("f"), local_box.workplace.at("d/secret.txt")
    seen: Counter[bytes | None] = Counter()

    with swapping(root, outside):
        for number in range(LOOKS):
            for place in (file, inside):
                with contextlib.suppress(OperationError), files.open(place) as opened:
                    seen[opened.read()] += 1
                with contextlib.suppress(OperationError):
                    snapshot = files.snapshot(place)
                    seen[snapshot.content] += 1
                    if number % 30 == 0:  # it waits for the disk
                        files.replace(snapshot, b"public", 0o644)

    assert set(seen) <= {b"public", b"", None}
    assert seen[b"public"] > 0
    check_outside(outside)


def spellings() -> list[str]:
    """Ways to write a path that leads out of a root in which there is a directory `d`."""
    ups = ["..", "../..", "d/../..", "d/../../", "./..", "d//..//..", "d/./../..", "../root/..", "d/../../root/.."]
    ups += ["d/.././..", "./d/./../..", "d/../d/../..", "../" * 20 + "..", "d/new/../../..", "//..", ".//./..//."]
    ends = ["", "/outside", "/outside/secret.txt", "/./outside//secret.txt", "/etc/passwd"]
    plain = [up + end for up in ups for end in ends]
    absolute = ["/", "//", "/etc/passwd", "/proc/self/root/etc/passwd", "/dev/fd/0", "/proc/self/cwd/../outside"]
    encoded = [quote(path, safe="") for path in plain] + [path.replace("/", "\\") for path in plain]
    odd = ["..\0", "d/\0/..", "\u2025/outside", "\uff0e\uff0e/outside", "%2e%2e/outside", "~/", "file:///etc/passwd"]
    beside = [f"d/{path}" for path in encoded] + [f"d/../{path}" for path in plain]
    return [*plain, *absolute, *encoded, *odd, *beside]


@pytest.mark.req("BOX-12", "SEC-3")
async def test_no_spelling_of_a_path_leads_out(local_box: Box, tmp_path: Path) -> None:
    local_box.workplace.put("d/a.txt", b"public")
    paths = spellings()
    assert len(paths) >= 490

    for number, path in enumerate(paths):
        changing = (
            ("write", {"path": f"{path}/new.txt", "content": "mine"}),
            ("delete", {"path": path}),
        )
        for tool, given in (
            ("read", {"path": path}),
            ("list", {"path": path}),
            *(changing if number % 4 == 0 else ()),  # they wait for the disk
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


@pytest.mark.req("BOX-8", "BOX-12", "SEC-3")
def test_a_batch_of_renames_stays_inside_while_directories_and_links_are_swapped(tmp_path: Path) -> None:
    root, outside = tmp_path / "root", tmp_path / "outside"
    root.mkdir()
    outside.mkdir()
    (outside / "secret.txt").write_bytes(SECRET)
    operations = local_operations([root], tmp_path / "state")
    renaming = Renaming(operations)
    ended: Counter[str] = Counter()

    def at(path: str) -> Place:
        return locate(path, workdir="", roots=operations.files.roots)

    with swapping(root, outside):
        for _ in range(200):
            try:
                plan = renaming.plan([(at("d/secret.txt"), at("d/moved.txt")), (at("f"), at("d/f"))])
                done = renaming.apply(plan.record_id)
                renaming.restore(operations.vault.load(done.record_id))
                ended["done"] += 1
            except OperationError:
                ended["refused"] += 1

    check_outside(outside)
    assert ended["refused"] > 0
