"""Undo, held to a model: whatever is done with the tools is taken back exactly, newest first."""

import asyncio
import json
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from interlock.v1.provider_pb2 import ToolResult
from toolbox_workplaces import Box, box_of, local_workplace, memory_workplace

PATHS = ["a", "b", "d", "d/a", "d/e", "d/e/f", "link", "link/a", "new/deep/x"]
CONTENTS = ["", "one\n", "one two\n", "ü" * 10]

Step = tuple[str, dict[str, Any]]
PATH = st.sampled_from(PATHS)
WRITE = st.fixed_dictionaries({"path": PATH, "content": st.sampled_from(CONTENTS)})
EDIT = st.fixed_dictionaries(
    {
        "path": PATH,
        "old_string": st.sampled_from(["o", "one", "ü"]),
        "new_string": st.just("two"),
        "replace_all": st.booleans(),
    }
)
STEP: st.SearchStrategy[Step] = st.one_of(
    st.tuples(st.just("write"), WRITE),
    st.tuples(st.just("edit"), EDIT),
    st.tuples(st.just("delete"), st.fixed_dictionaries({"path": PATH})),
    st.tuples(st.just("undo"), st.just({})),
)


def prepare(box: Box) -> None:
    box.workplace.put("a", b"one\r\n\xc3\xbc", 0o600)
    box.workplace.put("d/a", b"one two", 0o755)
    box.workplace.put("d/e/f", b"\0binary")
    box.workplace.put_link("link", "d")


async def run(box: Box, steps: list[Step]) -> None:
    prepare(box)
    done: list[tuple[ToolResult, dict[str, Any]]] = []
    for name, given_ in steps:
        before = box.tree()
        if name == "undo":
            if done:
                await take_back(box, *done.pop())
            continue
        result = await box.result(name, **given_)
        if result.is_error:
            assert result.tool_error, result.output
            assert box.tree() == before, "a call that failed has changed something"
        else:
            done.append((result, before))
    while done:
        await take_back(box, *done.pop())
    start = box_of(memory_workplace())
    prepare(start)
    assert contents(box) == contents(start)


async def take_back(box: Box, result: ToolResult, before: dict[str, Any]) -> None:
    undone = await box.undo(result)
    assert not undone.is_error, undone.output
    assert box.tree() == before
    again = await box.undo(result)
    assert "had been restored before" in again.output
    assert box.tree() == before


def contents(box: Box) -> dict[str, Any]:
    """What is there, without the modes of directories and links, which differ from system to system."""
    return {path: (kind, mode if kind == "file" else 0, body) for path, (kind, mode, body) in box.tree().items()}


@pytest.mark.req("REL-6", "BOX-3", "BOX-4", "BOX-5")
@settings(max_examples=60, deadline=None)
@given(steps=st.lists(STEP, max_size=12))
def test_any_sequence_in_memory_is_taken_back_exactly(steps: list[Step]) -> None:
    asyncio.run(run(box_of(memory_workplace()), steps))


@pytest.mark.req("REL-6", "BOX-3", "BOX-4", "BOX-5")
@settings(max_examples=25, deadline=None)
@given(steps=st.lists(STEP, max_size=12))
def test_any_sequence_on_this_machine_is_taken_back_exactly(steps: list[Step]) -> None:
    with tempfile.TemporaryDirectory() as directory:
        box = box_of(local_workplace(Path(directory)))
        asyncio.run(run(box, steps))
        assert not [one for one in Path(directory, "state/trash").iterdir() if not (one / "item").exists()]


@pytest.mark.req("REL-6")
@pytest.mark.parametrize("interfere", ["change", "remove", "mode", "replace_by_link", "replace_by_directory"])
async def test_what_has_changed_since_is_left_alone(local_box: Box, interfere: str) -> None:
    local_box.workplace.put("a", b"one")
    result = await local_box.result("write", path="a", content="two")
    path = Path(local_box.workplace.root, "a")

    def replace_by_link() -> None:
        path.rename(path.with_name("b"))
        path.symlink_to("b")

    def replace_by_directory() -> None:
        path.unlink()
        path.mkdir()

    changes: dict[str, Callable[[], object]] = {
        "change": lambda: path.write_bytes(b"two "),
        "remove": path.unlink,
        "mode": lambda: path.chmod(0o600),
        "replace_by_link": replace_by_link,
        "replace_by_directory": replace_by_directory,
    }
    changes[interfere]()
    before = local_box.tree()

    refused = await local_box.undo(result)

    assert refused.is_error
    assert refused.tool_error
    assert local_box.tree() == before


@pytest.mark.req("REL-6")
async def test_an_undo_that_was_cut_off_before_it_was_noted_is_done_once(local_box: Box) -> None:
    local_box.workplace.put("a", b"one")
    local_box.workplace.put("d/b", b"b")
    written = await local_box.result("write", path="a", content="two")
    deleted = await local_box.result("delete", path="d")
    vault = local_box.workplace.operations.vault
    for result in (written, deleted):
        await local_box.undo(result)
        record = json.loads(result.undo.input)["record"]
        vault.save(record, {**vault.load(record), "done": False})
    before = local_box.tree()

    outcomes = [await local_box.undo(result) for result in (written, deleted)]

    assert [outcome.is_error for outcome in outcomes] == [False, False]
    assert local_box.tree() == before
    assert local_box.workplace.content("a") == b"one"


@pytest.mark.req("REL-6")
async def test_two_rollbacks_at_once_have_one_effect(local_box: Box) -> None:
    local_box.workplace.put("a", b"one")
    result = await local_box.result("write", path="a", content="two")

    outcomes = await asyncio.gather(*(local_box.undo(result) for _ in range(8)))

    assert sorted(outcome.output for outcome in outcomes) == sorted(
        [f"Restored {local_box.workplace.root}/a"] + [f"{local_box.workplace.root}/a had been restored before"] * 7
    )
    assert local_box.workplace.content("a") == b"one"
