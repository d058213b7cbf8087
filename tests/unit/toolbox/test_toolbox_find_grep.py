"""`glob`, `grep` and `list`."""

import dataclasses
import json
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from interlock.toolbox import secret_files
from interlock.toolbox.searching import PythonSearch, RipgrepSearch
from toolbox_workplaces import Box, box_of

POLICIES = Path(__file__).resolve().parents[3] / "policies" / "interlock"


@pytest.fixture
def project(box: Box) -> Box:
    put = box.workplace.put
    put("src/app.py", b"import os\n\ndef main():\n    print('Hello')\n")
    put("src/deep/util.py", b"def helper():\n    return 'hello'\n")
    put("README.md", b"# Hello\nSay hello.\n")
    put(".github/ci.yml", b"run: hello\n")
    put(".gitignore", b"build/\n*.log\n!keep.log\n")
    put("build/out.py", b"hello\n")
    put("debug.log", b"hello\n")
    put("keep.log", b"hello\n")
    put("src/.ignore", b"generated.py\n")
    put("src/generated.py", b"hello\n")
    put(".git/config", b"hello\n")
    put("picture.bin", b"hello\0\n")
    box.workplace.put_link("out", "../outside")
    return box


@pytest.mark.req("BOX-7")
async def test_files_are_found_by_pattern_sorted_and_ignored_ones_left_out(project: Box) -> None:
    assert (await project.text("glob", pattern="**/*.py")).splitlines() == ["src/app.py", "src/deep/util.py"]
    assert (await project.text("glob", pattern="**/*.{md,yml}")).splitlines() == [".github/ci.yml", "README.md"]
    assert (await project.text("glob", pattern="*.log")).splitlines() == ["keep.log"]
    assert (await project.text("glob", pattern="*.py", path="src")).splitlines() == ["src/app.py"]
    assert await project.text("glob", pattern="*.rs") == "No file matches *.rs"


@pytest.mark.req("BOX-7")
async def test_ignored_files_are_found_when_asked_for(project: Box) -> None:
    found = (await project.text("glob", pattern="**/*.py", ignored=True)).splitlines()

    assert found == ["build/out.py", "src/app.py", "src/deep/util.py", "src/generated.py"]


@pytest.mark.req("BOX-7")
async def test_the_ignore_files_above_the_start_count_too(project: Box) -> None:
    project.workplace.put("src/deep/trace.log", b"")

    assert await project.text("glob", pattern="*.log", path="src/deep") == "No file matches *.log"


@pytest.mark.req("BOX-7")
async def test_a_directory_is_listed(project: Box) -> None:
    assert (await project.text("list")).splitlines() == [
        ".github/",
        ".gitignore (23 bytes)",
        "README.md (19 bytes)",
        "keep.log (6 bytes)",
        "out -> ../outside",
        "picture.bin (7 bytes)",
        "src/",
    ]
    assert (await project.text("list", path="src", depth=2)).splitlines() == [
        ".ignore (13 bytes)",
        "app.py (42 bytes)",
        "deep/",
        "  util.py (33 bytes)",
    ]
    project.workplace.put_directory("empty")
    assert await project.text("list", path="empty") == "The directory is empty"


@pytest.mark.req("BOX-7")
async def test_matching_lines_are_shown_with_path_and_number(project: Box) -> None:
    text = await project.text("grep", pattern="hello", ignore_case=True)

    assert text.splitlines() == [
        ".github/ci.yml:1:run: hello",
        "README.md:1:# Hello",
        "README.md:2:Say hello.",
        "keep.log:1:hello",
        "src/app.py:4:    print('Hello')",
        "src/deep/util.py:2:    return 'hello'",
    ]


@pytest.mark.req("BOX-7")
async def test_files_and_counts_are_shown_when_asked_for(project: Box) -> None:
    files = await project.text("grep", pattern="hello", path="src", show="files")
    counts = await project.text("grep", pattern="[Hh]ello", glob="*.md", show="count")

    assert files == "src/deep/util.py"
    assert counts == "README.md:2"


@pytest.mark.req("BOX-7")
async def test_lines_around_a_match_are_shown_when_asked_for(project: Box) -> None:
    text = await project.text("grep", pattern="main", path="src/app.py", context=1)

    assert text.splitlines() == ["src/app.py-2-", "src/app.py:3:def main():", "src/app.py-4-    print('Hello')", "--"]


@pytest.mark.req("BOX-7")
async def test_a_literal_and_nothing_found(project: Box) -> None:
    assert await project.text("grep", pattern="main()", literal=True) == "src/app.py:3:def main():"
    assert await project.text("grep", pattern="nowhere") == "Nothing matches nowhere"


@pytest.mark.req("BOX-7")
async def test_bad_patterns_and_places_are_said_in_words(project: Box) -> None:
    assert "look-ahead" in await project.error("grep", pattern="(?=x)")
    assert "relative" in await project.error("grep", pattern="x", glob="/etc/*")
    assert "relative" in await project.error("glob", pattern="../*")
    assert "does not exist" in await project.error("grep", pattern="x", path="nowhere")
    assert "outside" in await project.error("grep", pattern="x", path="out")
    assert "not a directory" in await project.error("list", path="README.md")


@pytest.mark.req("BOX-7")
async def test_files_that_may_hold_secrets_are_searched_by_nobody(project: Box) -> None:
    for name in (".env", "credentials.json", "deep/ID_RSA", "tls/server.pem", ".docker/config.json", ".env.local"):
        project.workplace.put(name, b"password: hello\n")
    project.workplace.put(".env.example", b"password:\n")

    found = (await project.text("grep", pattern="password")).splitlines()
    asked_for = [await project.text("grep", pattern=".", glob=glob) for glob in ("*.json", ".e*l", "**/*_RSA")]

    assert found == [".env.example:1:password:", "[6 files that may hold secrets left out]"]
    assert asked_for == ["Nothing matches .\n[1 file that may hold secrets left out]"] * 3


def test_what_is_left_out_is_what_policies_take_for_secret() -> None:
    settings = yaml.safe_load((POLICIES / "settings" / "file" / "data.yaml").read_text(encoding="utf-8"))

    assert settings["secret_directories"].keys() == secret_files.DIRECTORIES
    assert settings["secret_names"].keys() == secret_files.NAMES
    assert settings["secret_extensions"].keys() == secret_files.EXTENSIONS
    assert settings["secret_places"].keys() == secret_files.PLACES
    assert settings["secret_prefixes"] == [*secret_files.PREFIXES]
    assert settings["public_names"].keys() == secret_files.PUBLIC


@pytest.mark.req("BOX-7")
async def test_what_is_found_is_bounded_and_says_so(box: Box) -> None:
    for number in range(1100):
        box.workplace.put(f"d/{number:04}.txt", b"x\n")

    found = (await box.text("glob", pattern="**/*.txt")).splitlines()
    listed = (await box.text("list", path="d")).splitlines()
    matches = (await box.text("grep", pattern="x")).splitlines()
    files = (await box.text("grep", pattern="x", show="files")).splitlines()

    assert (len(found), found[-1]) == (1001, "[100 more are left out; narrow it]")
    assert (len(listed), listed[-1]) == (1001, "[100 more are left out; narrow it]")
    assert (len(matches), matches[-1]) == (501, "[there are more matches than are shown; narrow the search]")
    assert (len(files), files[-1]) == (1001, "[there are more matches than are shown; narrow the search]")


@pytest.mark.req("BOX-7")
async def test_a_long_line_is_cut(box: Box) -> None:
    box.workplace.put("a.txt", b"y" * 3000 + b"\n")

    assert await box.text("grep", pattern="y") == f"a.txt:1:{'y' * 500} [... the line is longer]"


@pytest.mark.req("BOX-7")
async def test_the_answers_are_the_same_with_and_without_ripgrep(
    local_box: Box, program: Callable[[str], Path]
) -> None:
    ripgrep = RipgrepSearch(local_box.workplace.files, str(program("rg")), PythonSearch(local_box.workplace.files))
    put = local_box.workplace.put
    for number in range(450):
        put(f"{number % 7}/{number}.txt", b"alpha\nBeta %d\r\ngamma\xff\n" % number)
    workplace = local_box.workplace
    fast, slow = (
        box_of(dataclasses.replace(workplace, operations=dataclasses.replace(workplace.operations, search=search)))
        for search in (ripgrep, PythonSearch(workplace.files))
    )

    for given in (
        {"pattern": r"\d[02468]$"},
        {"pattern": "beta", "ignore_case": True, "show": "count"},
        {"pattern": "gamma.", "show": "files"},
        {"pattern": "[^a-z]", "context": 1, "glob": "3/*"},
    ):
        assert (await fast.result("grep", **given)) == (await slow.result("grep", **given))


async def test_details_tell_programs_what_was_found(project: Box) -> None:
    result = await project.result("grep", pattern="hello", show="count")

    assert json.loads(result.details) == {
        "summary": "4 matching lines in 4 files",
        "matches": 4,
        "files": 4,
        "complete": True,
    }
