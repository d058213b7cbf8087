"""`write` and `edit`: what they show beforehand, do, refuse, and take back."""

import json

import pytest
from interlock.toolbox.editing import EditError, replaced
from toolbox_workplaces import Box, Workplace


@pytest.mark.req("BOX-3")
async def test_a_preview_of_a_new_file_says_so_and_changes_nothing(box: Box) -> None:
    preview = await box.preview("write", path="src/new.txt", content="one\ntwo\n")

    assert preview.preview.splitlines() == [
        "new file",
        "--- /dev/null",
        "+++ b/src/new.txt",
        "@@ -0,0 +1,2 @@",
        "+one",
        "+two",
    ]
    assert list(preview.would_affect) == ["src/", "src/new.txt"]
    assert json.loads(preview.estimated_impact) == {
        "files": 1,
        "new_file": True,
        "lines_added": 2,
        "lines_removed": 0,
    }
    assert preview.label == "write src/new.txt"
    assert box.tree() == {}


@pytest.mark.req("BOX-3")
async def test_a_preview_of_a_rewrite_is_a_unified_diff(box: Box) -> None:
    box.workplace.put("a.txt", b"one\ntwo\nthree\n")

    preview = await box.preview("write", path="a.txt", content="one\n2\nthree")

    assert preview.preview.splitlines() == [
        "--- a/a.txt",
        "+++ b/a.txt",
        "@@ -1,3 +1,3 @@",
        " one",
        "-two",
        "-three",
        "+2",
        "+three",
        "\\ No newline at end of file",
    ]


@pytest.mark.req("BOX-3")
async def test_what_is_written_keeps_its_mode_and_is_undone_exactly(box: Box) -> None:
    box.workplace.put("run.sh", b"#!/bin/sh\r\n\xff", 0o750)
    before = box.tree()

    result = await box.result("write", path="run.sh", content="#!/bin/sh\n")

    assert box.tree()["run.sh"] == ("file", 0o750, b"#!/bin/sh\n")
    assert result.undo.tool == "restore"
    assert not (await box.undo(result)).is_error
    assert box.tree() == before


@pytest.mark.req("BOX-3")
async def test_undoing_a_new_file_takes_its_new_directories_too(box: Box) -> None:
    box.workplace.put_directory("there")
    before = box.tree()

    result = await box.result("write", path="there/a/b/c.txt", content="new")
    assert not (await box.undo(result)).is_error

    assert box.tree() == before


@pytest.mark.req("BOX-3")
async def test_directories_that_somebody_uses_by_now_stay(box: Box) -> None:
    result = await box.result("write", path="a/b/c.txt", content="new")
    box.workplace.put("a/other.txt", b"somebody's")

    assert not (await box.undo(result)).is_error

    assert set(box.tree()) == {"a", "a/other.txt"}


@pytest.mark.req("PREV-5", "BOX-3")
async def test_a_preview_is_applied_when_nothing_changed_and_refused_when_something_did(box: Box) -> None:
    box.workplace.put("a.txt", b"old\n")
    token = (await box.preview("write", path="a.txt", content="new\n")).state_token
    box.workplace.put("a.txt", b"somebody's\n")

    refused = await box.result("write", path="a.txt", content="new\n", state_token=token)

    assert refused.state_changed
    assert refused.is_error
    assert box.workplace.content("a.txt") == b"somebody's\n"
    token = (await box.preview("write", path="a.txt", content="new\n")).state_token
    assert not (await box.result("write", path="a.txt", content="new\n", state_token=token)).is_error
    assert box.workplace.content("a.txt") == b"new\n"


@pytest.mark.req("PREV-5")
@pytest.mark.parametrize("what", ["file", "directory", "parent", "link"])
async def test_a_preview_of_a_new_file_is_refused_when_something_came_into_its_place(box: Box, what: str) -> None:
    given = {"path": "d/new.txt", "content": "mine"}
    token = (await box.preview("write", **given)).state_token
    put = box.workplace
    match what:
        case "file":
            put.put("d/new.txt", b"theirs")
        case "directory":
            put.put_directory("d/new.txt")
        case "parent":
            put.put_directory("d")
        case _:
            put.put_link("d/new.txt", "elsewhere.txt")
    before = box.tree()

    result = await box.result("write", state_token=token, **given)

    assert result.state_changed
    assert box.tree() == before


async def test_what_cannot_be_written_is_refused_in_words(box: Box) -> None:
    box.workplace.put_directory("d")
    box.workplace.put("f", b"")

    assert await box.error("write", path="d", content="") == "d is not a file"
    assert await box.error("write", path="f/x", content="") == "f/x is not in a directory"
    assert "outside" in await box.error("write", path="../x", content="")


@pytest.mark.req("BOX-4")
async def test_an_edit_replaces_the_one_occurrence_and_is_undone_exactly(box: Box) -> None:
    box.workplace.put("a.py", b"x = 1\ny = 2\n", 0o600)
    before = box.tree()

    preview = await box.preview("edit", path="a.py", old_string="x = 1", new_string="x = 3")
    result = await box.result("edit", path="a.py", old_string="x = 1", new_string="x = 3")

    assert preview.preview.splitlines()[2:] == ["@@ -1,2 +1,2 @@", "-x = 1", "+x = 3", " y = 2"]
    assert result.output == "Edited a.py: 1 replacement"
    assert box.tree()["a.py"] == ("file", 0o600, b"x = 3\ny = 2\n")
    assert not (await box.undo(result)).is_error
    assert box.tree() == before


@pytest.mark.req("BOX-4")
async def test_undo_of_an_edit_is_refused_when_the_file_has_changed_since(box: Box) -> None:
    box.workplace.put("a.py", b"x = 1\n")
    result = await box.result("edit", path="a.py", old_string="1", new_string="2")
    box.workplace.put("a.py", b"x = 2  # theirs\n")

    refused = await box.undo(result)

    assert refused.is_error
    assert "has changed since" in refused.output
    assert box.workplace.content("a.py") == b"x = 2  # theirs\n"


@pytest.mark.req("BOX-4")
async def test_no_match_and_several_matches_are_different_helpful_errors(box: Box) -> None:
    box.workplace.put("a.py", b"def first():\n    return 1\n\ndef second():\n    return 1\n")
    before = box.tree()

    none = await box.error("edit", path="a.py", old_string="def frist():", new_string="")
    several = await box.error("edit", path="a.py", old_string="return 1", new_string="return 2")
    blanks = await box.error("edit", path="a.py", old_string="def first():\n  return 1", new_string="")

    assert none.startswith("old_string is not in a.py. The closest lines are:\n1: def first():")
    assert several.startswith("old_string is in a.py 2 times, at lines 2, 5.")
    assert "replace_all" in several
    assert "With other blanks it is at line 1:\n1: def first():\n2:     return 1" in blanks
    assert box.tree() == before


@pytest.mark.req("BOX-4")
async def test_every_occurrence_is_replaced_when_asked(box: Box) -> None:
    box.workplace.put("a.txt", b"a b a b a")

    text = await box.text("edit", path="a.txt", old_string="a", new_string="aa", replace_all=True)

    assert text == "Edited a.txt: 3 replacements"
    assert box.workplace.content("a.txt") == b"aa b aa b aa"


@pytest.mark.req("BOX-4")
@pytest.mark.parametrize(
    ("content", "after"),
    [
        (b"one\r\ntwo\r\nthree\r\n", b"one\r\n2\r\n2b\r\nthree\r\n"),
        (b"\xef\xbb\xbfone\ntwo\nthree", b"\xef\xbb\xbfone\n2\n2b\nthree"),
        (b"mixed\r\none\ntwo\nthree\r", b"mixed\r\none\n2\n2b\nthree\r"),
    ],
)
async def test_line_ends_and_byte_order_marks_stay(box: Box, content: bytes, after: bytes) -> None:
    box.workplace.put("a.txt", content)

    await box.text("edit", path="a.txt", old_string="one\ntwo\n", new_string="one\n2\n2b\n")

    assert box.workplace.content("a.txt") == after


@pytest.mark.req("BOX-4")
@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"a\0b", "is a binary file"),
        (b"caf\xe9", "is not UTF-8 text"),
        ("text".encode("utf-16"), "is UTF-16 text"),
    ],
)
async def test_what_is_no_utf8_text_is_left_as_it_is(box: Box, content: bytes, words: str) -> None:
    box.workplace.put("a", content)

    assert words in await box.error("edit", path="a", old_string="a", new_string="b")
    assert box.workplace.content("a") == content


async def test_an_edit_that_would_change_nothing_is_refused(box: Box) -> None:
    box.workplace.put("a.txt", b"a")

    assert "are the same" in await box.error("edit", path="a.txt", old_string="a", new_string="a")
    assert "does not exist" in await box.error("edit", path="b.txt", old_string="a", new_string="b")


@pytest.mark.req("PREV-5")
async def test_an_edit_applies_to_what_was_previewed_alone(box: Box) -> None:
    box.workplace.put("a.txt", b"one two")
    given = {"path": "a.txt", "old_string": "two", "new_string": "2"}
    token = (await box.preview("edit", **given)).state_token
    box.workplace.put("a.txt", b"one two ")

    assert (await box.result("edit", state_token=token, **given)).state_changed
    assert box.workplace.content("a.txt") == b"one two "


def test_an_edit_cannot_make_a_file_explode() -> None:
    with pytest.raises(EditError, match="larger than"):
        replaced("a" * 100_000, "a", "b" * 10_000, replace_all=True, name="a.txt")


@pytest.mark.req("BOX-4")
async def test_an_edit_that_fails_half_way_leaves_nothing_behind(
    local_box: Box, monkeypatch: pytest.MonkeyPatch
) -> None:
    local_box.workplace.put("a.txt", b"one")
    before = local_box.tree()

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("interlock.toolbox.local_files.os.rename", full)
        message = await local_box.error("edit", path="a.txt", old_string="one", new_string="two")

    assert message == "a.txt: no space left on device"
    assert local_box.tree() == before


async def test_a_path_is_seen_from_the_working_directory(box: Box) -> None:
    box.workplace.put("sub/a.txt", b"one")
    workdir = f"{box.workplace.root}/sub"

    result = await box.result("edit", path="a.txt", old_string="one", new_string="two", workdir=workdir)
    preview = await box.preview("write", path="../b.txt", content="", workdir=workdir)

    assert result.output == "Edited a.txt: 1 replacement"
    assert list(preview.would_affect) == [f"{box.workplace.root}/b.txt"]
    assert not (await box.undo(result)).is_error
    assert box.workplace.content("sub/a.txt") == b"one"


async def test_a_long_preview_is_cut_and_says_how_much_is_missing(box: Box) -> None:
    preview = await box.preview("write", path="a.txt", content="line\n" * 5000)

    assert preview.preview.splitlines()[-1] == "[... 4003 more changed lines are not shown]"


@pytest.fixture
def written(workplace: Workplace) -> Workplace:
    workplace.put("big.txt", b"".join(b"%d\n" % number for number in range(20_000)))
    return workplace


async def test_a_preview_of_two_unlike_large_files_takes_no_time(written: Workplace, box: Box) -> None:
    del written
    preview = await box.preview("write", path="big.txt", content="".join(f"x{number}\n" for number in range(20_000)))

    assert json.loads(preview.estimated_impact)["lines_added"] == 20_000
