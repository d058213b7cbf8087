"""`batch_rename`: a plan, and then all of it or nothing (BOX-8)."""

import json
from pathlib import Path
from typing import Any

import pytest
from interlock.v1.provider_pb2 import PendingResolution, ToolResult
from interlock.v1.tool_provider_service_pb2 import ApplyPendingRequest, RejectPendingRequest
from toolbox_workplaces import Box, box_of

Pairs = list[tuple[str, str]]


def renames(*pairs: tuple[str, str]) -> list[dict[str, str]]:
    return [{"path": path, "new_path": new_path} for path, new_path in pairs]


async def plan(box: Box, *pairs: tuple[str, str]) -> ToolResult:
    result = await box.result("batch_rename", renames=renames(*pairs))
    assert not result.is_error, result.output
    return result


async def applied(box: Box, planned: ToolResult) -> ToolResult:
    pending = planned.pending_action
    asked = PendingResolution(token=pending.token, source_tool=pending.source_tool, reason="go", pending_id="1")
    return (await box.provider.apply_pending(ApplyPendingRequest(resolution=asked))).result


def contents(box: Box) -> dict[str, Any]:
    return {path: body for path, (kind, _, body) in box.tree().items() if kind == "file"}


@pytest.fixture
def filled(box: Box) -> Box:
    for name in ("a", "b", "c", "d/x", "d/y"):
        box.workplace.put(name, name.encode())
    return box


@pytest.mark.req("BOX-8", "PREV-11")
async def test_a_call_shows_the_plan_and_changes_nothing(filled: Box) -> None:
    before = filled.tree()

    planned = await plan(filled, ("a", "d/a"), ("b", "e"))

    assert planned.output == "This is the plan; nothing has been renamed yet.\na -> d/a\nb -> e"
    pending = planned.pending_action
    assert (pending.label, pending.source_tool, pending.has_reject) == ("rename 2 paths", "batch_rename", True)
    shown = [{"path": "a", "new_path": "d/a"}, {"path": "b", "new_path": "e"}]
    assert json.loads(pending.details)["renames"] == shown
    assert filled.tree() == before


@pytest.mark.req("BOX-8")
@pytest.mark.parametrize(
    ("pairs", "after"),
    [
        ([("a", "d/a"), ("b", "e")], {"d/a": b"a", "e": b"b", "c": b"c", "d/x": b"d/x", "d/y": b"d/y"}),
        ([("a", "b"), ("b", "a")], {"a": b"b", "b": b"a", "c": b"c", "d/x": b"d/x", "d/y": b"d/y"}),
        ([("a", "b"), ("b", "c"), ("c", "a")], {"a": b"c", "b": b"a", "c": b"b", "d/x": b"d/x", "d/y": b"d/y"}),
        ([("a", "b"), ("b", "c"), ("c", "z")], {"b": b"a", "c": b"b", "z": b"c", "d/x": b"d/x", "d/y": b"d/y"}),
        ([("d", "e"), ("a", "d")], {"d": b"a", "b": b"b", "c": b"c", "e/x": b"d/x", "e/y": b"d/y"}),
        ([("a", "d/x"), ("d/x", "a")], {"a": b"d/x", "b": b"b", "c": b"c", "d/x": b"a", "d/y": b"d/y"}),
    ],
)
async def test_names_are_moved_swapped_and_passed_on_and_taken_back(
    filled: Box, pairs: Pairs, after: dict[str, bytes]
) -> None:
    before = filled.tree()
    planned = await plan(filled, *pairs)

    done = await applied(filled, planned)

    assert not done.is_error, done.output
    assert contents(filled) == after
    undone = await filled.undo(done)
    assert not undone.is_error, undone.output
    assert filled.tree() == before
    assert "had been restored before" in (await filled.undo(done)).output
    again = await filled.undo(undone)
    assert not again.is_error, again.output
    assert contents(filled) == after


@pytest.mark.req("BOX-8", "BOX-12")
@pytest.mark.parametrize(
    ("pairs", "words"),
    [
        ([("a", "b")], "b is already there"),
        ([("a", "x"), ("b", "x")], "the same new path is given twice"),
        ([("a", "x"), ("./a", "y")], "the same path is renamed twice"),
        ([("a", "a")], "renamed to itself"),
        ([("d", "e"), ("d/x", "f")], "lies in what is renamed"),
        ([("d", "d/e")], "lies in what is renamed"),
        ([("a", "new/x"), ("b", "new")], "lies in what is renamed"),
        ([("nothing", "x")], "nothing does not exist"),
        ([("a", "new/a")], "does not exist"),
        ([("a", "b/a")], "is not"),
        ([("a", "../a")], "outside"),
        ([("../root", "x")], "outside"),
        ([("a", "/etc/a")], "outside"),
        ([(".", "x")], "cannot be moved"),
        ([("d/..", "x")], "cannot be moved"),
        ([("a", "out/a")], "outside"),
        ([("out/secret.txt", "a2")], "outside"),
    ],
)
async def test_what_does_not_go_together_or_leads_outside_is_refused(filled: Box, pairs: Pairs, words: str) -> None:
    filled.workplace.put_link("out", "../outside")
    before = filled.tree()

    assert words in await filled.error("batch_rename", renames=renames(*pairs))

    assert filled.tree() == before


@pytest.mark.req("BOX-8")
async def test_links_are_renamed_themselves_and_directories_that_are_links_are_followed(local_box: Box) -> None:
    local_box.workplace.put("d/x", b"x")
    local_box.workplace.put_link("out", "../outside")
    local_box.workplace.put_link("to_d", "d")

    done = await applied(local_box, await plan(local_box, ("out", "far"), ("to_d/x", "to_d/y")))

    assert not done.is_error, done.output
    assert local_box.tree()["far"][2] == "../outside"
    assert local_box.workplace.content("d/y") == b"x"


@pytest.mark.req("BOX-8", "PREV-5")
@pytest.mark.parametrize("interfere", ["changed", "removed", "replaced", "taken", "link", "gone"])
async def test_nothing_is_renamed_when_things_are_not_as_they_were_planned(local_box: Box, interfere: str) -> None:
    for name in ("a", "b", "d/x", "e/y"):
        local_box.workplace.put(name, name.encode())
    planned = await plan(local_box, ("b", "z"), ("a", "d/a"))
    root = Path(local_box.workplace.root)
    if interfere == "changed":
        (root / "a").write_bytes(b"other content")
    elif interfere == "removed":
        (root / "a").unlink()
    elif interfere == "replaced":
        (root / "a").unlink()
        (root / "a").symlink_to("b")
    elif interfere == "taken":
        (root / "d/a").write_bytes(b"taken")
    elif interfere == "link":
        (root / "d").rename(root / "real")
        (root / "d").symlink_to("e")
    else:
        (root / "d/x").unlink()
        (root / "d").rmdir()
    before = local_box.tree()

    refused = await applied(local_box, planned)

    assert (refused.is_error, refused.tool_error) == (True, True), refused.output
    assert "Nothing was renamed" in refused.output
    assert local_box.tree() == before


@pytest.mark.req("BOX-8")
async def test_a_plan_outlives_the_toolbox_and_is_applied_once(filled: Box) -> None:
    planned = await plan(filled, ("a", "b"), ("b", "a"))
    later = box_of(filled.workplace)

    first, second = await applied(later, planned), await applied(later, planned)

    assert (first.is_error, second.is_error) == (False, False)
    assert first.undo == second.undo
    assert contents(filled)["a"] == b"b"
    await later.undo(first)
    refused = await applied(later, planned)
    assert "applied or withdrawn before" in refused.output
    assert contents(filled)["a"] == b"a"


@pytest.mark.req("BOX-8", "PREV-8")
async def test_a_plan_that_is_discarded_or_undone_cannot_be_applied(filled: Box) -> None:
    before = filled.tree()
    discarded, undone = await plan(filled, ("a", "z")), await plan(filled, ("b", "y"))

    asked = PendingResolution(token=discarded.pending_action.token, source_tool="batch_rename", reason="no")
    answer = await filled.provider.reject_pending(RejectPendingRequest(resolution=asked))
    assert not answer.HasField("result")
    assert not (await filled.undo(undone)).is_error

    for planned in (discarded, undone):
        assert "applied or withdrawn before" in (await applied(filled, planned)).output
    assert filled.tree() == before


@pytest.mark.req("BOX-8", "UNDO-1")
async def test_an_undo_gives_old_names_back_whatever_was_written_since_but_replaces_nothing(local_box: Box) -> None:
    local_box.workplace.put("a", b"a")
    done = await applied(local_box, await plan(local_box, ("a", "b")))
    await local_box.text("edit", path="b", old_string="a", new_string="edited")
    root = Path(local_box.workplace.root)
    (root / "a").write_bytes(b"new")

    assert (await local_box.undo(done)).is_error
    assert local_box.workplace.content("a") == b"new"
    (root / "a").unlink()
    assert not (await local_box.undo(done)).is_error

    assert contents(local_box) == {"a": b"edited"}


@pytest.mark.req("BOX-8")
async def test_a_batch_has_at_most_a_hundred_renames(box: Box) -> None:
    pairs = [(f"a{number}", f"b{number}") for number in range(101)]
    for old, _ in pairs:
        box.workplace.put(old, b"")

    assert "at most 100" in (await box.result("batch_rename", renames=renames(*pairs))).output
    done = await applied(box, await plan(box, *pairs[:100]))

    assert not done.is_error, done.output
    assert set(contents(box)) == {new for _, new in pairs[:100]} | {"a100"}
