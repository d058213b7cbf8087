"""`delete` and the trash."""

import dataclasses
import errno
import json
import os
import tempfile
from pathlib import Path

import pytest
from interlock.toolbox import local_tree
from interlock.toolbox.local import local_operations
from toolbox_workplaces import Box, box_of, local_workplace


@pytest.mark.req("BOX-5")
async def test_a_preview_lists_what_would_go_and_nothing_goes(box: Box) -> None:
    box.workplace.put("d/a.txt", b"12345")
    box.workplace.put("d/e/b.txt", b"")
    before = box.tree()

    preview = await box.preview("delete", path="d")

    assert list(preview.would_affect) == ["d/", "d/a.txt", "d/e/", "d/e/b.txt"]
    assert preview.preview.startswith("delete the directory d with 3 entries in it, 5 bytes\nd/\nd/a.txt")
    assert json.loads(preview.estimated_impact) == {"entries": 4, "bytes": 5}
    assert box.tree() == before


@pytest.mark.req("BOX-5")
async def test_the_list_of_a_large_directory_is_bounded(box: Box) -> None:
    for number in range(250):
        box.workplace.put(f"d/{number}", b"")

    preview = await box.preview("delete", path="d")

    assert len(preview.would_affect) == 200
    assert preview.preview.endswith("[... and 51 more]")


@pytest.mark.req("BOX-5")
@pytest.mark.parametrize("path", ["d", "d/a.txt", "d/e", "link", "d/dangling"])
async def test_what_is_deleted_comes_back_exactly(box: Box, path: str) -> None:
    box.workplace.put("d/a.txt", b"12345", 0o640)
    box.workplace.put("d/e/b.txt", b"b")
    box.workplace.put_link("d/dangling", "nowhere")
    box.workplace.put_link("link", "d")
    before = box.tree()

    result = await box.result("delete", path=path)

    assert not result.is_error, result.output
    assert path not in box.tree()
    assert not (await box.undo(result)).is_error
    assert box.tree() == before


@pytest.mark.req("BOX-5")
async def test_undo_is_refused_when_something_is_there_now_and_works_once_it_is_gone(box: Box) -> None:
    box.workplace.put("a.txt", b"mine")
    result = await box.result("delete", path="a.txt")
    box.workplace.put("a.txt", b"theirs")

    refused = await box.undo(result)
    await box.result("delete", path="a.txt")
    accepted = await box.undo(result)

    assert refused.is_error
    assert "a.txt is already there" in refused.output
    assert not accepted.is_error
    assert box.workplace.content("a.txt") == b"mine"


@pytest.mark.req("REL-6")
async def test_an_undo_takes_effect_at_most_once(box: Box) -> None:
    box.workplace.put("a.txt", b"mine")
    result = await box.result("delete", path="a.txt")
    await box.undo(result)
    box.workplace.put("a.txt", b"newer")

    again = await box.undo(result)

    assert not again.is_error
    assert "had been restored before" in again.output
    assert not again.HasField("undo")
    assert box.workplace.content("a.txt") == b"newer"


@pytest.mark.req("PREV-5")
async def test_a_deletion_is_refused_when_the_tree_is_not_the_one_previewed(box: Box) -> None:
    box.workplace.put("d/a.txt", b"old")
    token = (await box.preview("delete", path="d")).state_token
    box.workplace.put("d/b.txt", b"new")

    refused = await box.result("delete", path="d", state_token=token)

    assert refused.state_changed
    assert set(box.tree()) == {"d", "d/a.txt", "d/b.txt"}
    token = (await box.preview("delete", path="d")).state_token
    assert not (await box.result("delete", path="d", state_token=token)).is_error


async def test_what_cannot_be_deleted_is_refused_in_words(box: Box) -> None:
    assert "does not exist" in await box.error("delete", path="nothing")
    assert "cannot be moved or removed" in await box.error("delete", path=".")
    assert "outside" in await box.error("delete", path="../outside")


async def test_a_restoration_can_be_taken_back_too(box: Box) -> None:
    box.workplace.put("a.txt", b"one")
    written = await box.result("write", path="a.txt", content="two")
    deleted = await box.result("delete", path="a.txt")

    restored = await box.undo(deleted)
    deleted_again = await box.undo(restored)
    assert box.tree() == {}
    assert not (await box.undo(deleted_again)).is_error
    assert box.workplace.content("a.txt") == b"two"
    unwritten = await box.undo(written)
    assert box.workplace.content("a.txt") == b"one"
    assert not (await box.undo(unwritten)).is_error
    assert box.workplace.content("a.txt") == b"two"


async def test_a_record_restores_the_path_it_is_about_alone(box: Box) -> None:
    box.workplace.put("a.txt", b"a")
    result = await box.result("delete", path="a.txt")
    record = json.loads(result.undo.input)["record"]

    assert "another path" in await box.error("restore", path=f"{box.workplace.root}/b.txt", record=record)
    assert "does not exist" in await box.error("restore", path=f"{box.workplace.root}/a.txt", record="0" * 32)
    assert box.tree() == {}


@pytest.fixture
def across(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Box:
    """A workplace from which nothing can be renamed into the trash, as if that were on another file system."""
    rename = local_tree.rename_to_free_name

    def refuse_across(source: str, target: str, *, source_fd: int, target_fd: int) -> None:
        if not os.path.sameopenfile(source_fd, target_fd):
            raise OSError(errno.EXDEV, "Invalid cross-device link")
        rename(source, target, source_fd=source_fd, target_fd=target_fd)

    monkeypatch.setattr(local_tree, "rename_to_free_name", refuse_across)
    return box_of(local_workplace(tmp_path))


@pytest.mark.req("BOX-5")
async def test_the_trash_may_be_on_another_file_system(across: Box, tmp_path: Path) -> None:
    across.workplace.put("d/a.txt", b"12345", 0o400)
    across.workplace.put("d/e/b.txt", b"b" * 3_000_000)
    across.workplace.put_link("d/link", "../../outside")
    (tmp_path / "root/d/e").chmod(0o500)
    os.utime(tmp_path / "root/d/a.txt", ns=(1, 2_000_000_003))
    before = across.tree()

    result = await across.result("delete", path="d")

    assert not result.is_error, result.output
    assert across.tree() == {}
    assert not (await across.undo(result)).is_error
    assert across.tree() == before
    assert (tmp_path / "root/d/a.txt").stat().st_mtime_ns == 2_000_000_003
    assert not list((tmp_path / "state/trash").iterdir())


@pytest.mark.req("BOX-5")
async def test_a_tree_that_cannot_be_copied_stays_where_it_is(across: Box, tmp_path: Path) -> None:
    across.workplace.put("d/a.txt", b"12345")
    os.mkfifo(tmp_path / "root/d/pipe")
    before = across.tree()

    message = await across.error("delete", path="d")

    assert "cannot be moved to another file system" in message
    assert across.tree() == before
    assert not list((tmp_path / "state/trash").iterdir())


@pytest.mark.req("BOX-5")
@pytest.mark.skipif(
    not Path("/dev/shm").is_dir() or Path("/dev/shm").stat().st_dev == Path("/tmp").stat().st_dev,
    reason="needs two file systems",
)
async def test_a_real_second_file_system_is_no_obstacle(tmp_path: Path) -> None:
    with tempfile.TemporaryDirectory(dir="/dev/shm") as state:
        workplace = local_workplace(tmp_path)
        operations = local_operations([tmp_path / "root"], Path(state) / "state")
        box = box_of(dataclasses.replace(workplace, operations=operations))
        workplace.put("d/a.txt", b"12345")
        before = box.tree()

        result = await box.result("delete", path="d")
        assert box.tree() == {}
        assert not (await box.undo(result)).is_error

        assert box.tree() == before


async def test_old_records_go_with_their_trash_and_young_ones_stay(tmp_path: Path) -> None:
    box = box_of(local_workplace(tmp_path))
    box.workplace.put("old.txt", b"old")
    box.workplace.put("young.txt", b"young")

    async def delete(path: str) -> str:
        result = await box.result("delete", path=path)
        return str(json.loads(result.undo.input)["record"])

    old, young = await delete("old.txt"), await delete("young.txt")
    os.utime(tmp_path / f"state/records/{old}.json", (1, 1))

    assert box.workplace.operations.vault.sweep(3600) == 1

    assert not box.workplace.operations.vault.trash_holds(old)
    assert box.workplace.operations.vault.trash_holds(young)
