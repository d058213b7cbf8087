"""A toolbox that is killed at any step: files are whole, and what was begun can be taken back (REL-6)."""

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeAlias

import pytest
from interlock.provider import ToolContext
from interlock.toolbox import local_tree
from interlock.toolbox.errors import OperationError
from interlock.toolbox.local import local_operations
from interlock.toolbox.undo import Undo
from toolbox_workplaces import Box, box_of, local_workplace

Tree: TypeAlias = dict[str, tuple[str, int, bytes | str]]
KILLED = 9
MAX_STEPS = 60


def visible(box: Box) -> Tree:
    """What is there, but for what lies beside a file while it is replaced."""
    return {path: one for path, one in box.tree().items() if local_tree.HIDDEN_PREFIX not in path}


def prepare(directory: Path) -> Box:
    directory.mkdir()
    box = box_of(local_workplace(directory))
    box.workplace.put("a.txt", b"old", 0o640)
    box.workplace.put("d/b.txt", b"b")
    return box


def call(box: Box, tool: str, given: dict[str, Any]) -> Any:
    by_name = {one.name: one for one in box.provider.tools}
    return by_name[tool](**given, ctx=ToolContext())


def killed_at(step: int, work: Callable[[], object]) -> bool:
    """Do the work in another process that is killed before its step of that number; whether it got that far."""
    child = os.fork()
    if child == 0:
        try:
            count_down(step)
            work()
        finally:
            os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == KILLED


def count_down(step: int) -> None:
    left = step

    def counted(real: Callable[..., Any]) -> Callable[..., Any]:
        def counting(*args: Any, **kwargs: Any) -> Any:
            nonlocal left
            left -= 1
            if left == 0:
                os._exit(KILLED)
            return real(*args, **kwargs)

        return counting

    for name in ("rename", "replace", "fsync", "unlink", "mkdir", "rmdir", "fchmod"):
        setattr(os, name, counted(getattr(os, name)))
    local_tree.rename_to_free_name = counted(local_tree.rename_to_free_name)


def crashes(tmp_path: Path, before: Callable[[Box], Any], work: Callable[[Box, Any], object]) -> Iterator[Box]:
    """The workplace after a kill before each step of the work, one after the other."""
    for step in range(1, MAX_STEPS):
        box = prepare(tmp_path / str(step))
        prepared = before(box)
        if not killed_at(step, lambda box=box, prepared=prepared: work(box, prepared)):  # type: ignore[misc]  # bound now
            return
        yield box
    raise AssertionError("it takes more steps than expected")


def after_restart(box: Box) -> Undo:
    directory = Path(box.workplace.root).parent
    return Undo(local_operations([Path(box.workplace.root)], directory / "state"))


def newest_record(box: Box) -> dict[str, Any] | None:
    records = list((Path(box.workplace.root).parent / "state/records").glob("*.json"))
    assert len(records) <= 1
    return json.loads(records[0].read_text()) if records else None


CALLS = {
    "write over": ("write", {"path": "a.txt", "content": "new"}),
    "write new": ("write", {"path": "x/y/c.txt", "content": "new"}),
    "edit": ("edit", {"path": "a.txt", "old_string": "old", "new_string": "new"}),
    "delete file": ("delete", {"path": "a.txt"}),
    "delete directory": ("delete", {"path": "d"}),
}


@pytest.mark.req("REL-6", "BOX-3", "BOX-4", "BOX-5")
@pytest.mark.parametrize("name", CALLS)
def test_a_call_that_is_killed_leaves_whole_files_and_can_be_taken_back(tmp_path: Path, name: str) -> None:
    tool, given = CALLS[name]
    start = visible(prepare(tmp_path / "before"))
    finished = prepare(tmp_path / "after")
    call(finished, tool, given)
    whole = {**visible(finished), **start}
    kills = 0

    for box in crashes(tmp_path, lambda _: None, lambda box, _: call(box, tool, given)):
        kills += 1
        found = visible(box)
        assert all(one == whole[path] or one == visible(finished).get(path) for path, one in found.items())
        record = newest_record(box)
        if record is not None:
            place = "/".join([record["root"], *record["parts"]])
            after_restart(box).restore(record["record_id"], place)
            assert after_restart(box).restore(record["record_id"], place).changed is False
        assert visible(box) == start

    assert kills > 4


@pytest.mark.req("REL-6")
@pytest.mark.parametrize("name", CALLS)
def test_an_undo_that_is_killed_is_finished_by_the_next_one(tmp_path: Path, name: str) -> None:
    tool, given = CALLS[name]
    start = visible(prepare(tmp_path / "before"))
    kills = 0

    def undo_of(box: Box) -> dict[str, Any]:
        return dict(call(box, tool, given).undo.input)

    def undo(box: Box, undo_input: dict[str, Any]) -> None:
        call(box, "restore", undo_input)

    done: dict[int, dict[str, Any]] = {}

    def remembered(box: Box) -> dict[str, Any]:
        done[id(box)] = undo_of(box)
        return done[id(box)]

    for box in crashes(tmp_path, remembered, undo):
        kills += 1
        undo_input = done[id(box)]
        after_restart(box).restore(undo_input["record"], undo_input["path"])
        assert visible(box) == start
        assert after_restart(box).restore(undo_input["record"], undo_input["path"]).changed is False
        assert visible(box) == start

    assert kills > 2


def test_a_record_of_nothing_is_refused(tmp_path: Path) -> None:
    box = prepare(tmp_path / "one")

    with pytest.raises(OperationError):
        after_restart(box).restore("0" * 32, "/anything")
