"""What a search through directories would read, as far as the gateway's disk shows it."""

from pathlib import Path
from typing import Any

import pytest
from facts_calls import Bash
from interlock_gateway.facts.shell import searched

pytestmark = pytest.mark.req("PIPE-5")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "root"
    for name in (
        *(
            "src/a.py",
            "src/b.json",
            "conf/.env",
            "conf/a.py",
            "modules/x/k.pem",
            "README.md",
            ".git/HEAD",
            ".hidden/x.csv",
        ),
        *("built/t.key", "kept/modules/y.pem"),
    ):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).touch()
    (root / ".gitignore").write_text("# what is built\n/odd\nbuilt/\n*.log\n", encoding="utf-8")
    (root / "src" / "link").symlink_to(root / "conf")
    return root


def searches(bash: Bash, script: str, root: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = bash(script, roots=(str(root),))["searches"]
    return found


ALL = {"src", "b.json", "conf", ".env", "modules", "x", "k.pem", ".gitignore", ".hidden", "x.csv", "built", "t.key"}
ALL |= {"kept", "y.pem"}
PLACES = [
    ("grep -r x .", ALL),
    ("grep -rh . .", ALL),
    ("grep -r x", ALL),
    ("grep x -nr", ALL),
    ("grep --recursive x", ALL),
    ("grep -d recurse x .", ALL),
    ("grep -drecurse x .", ALL),
    ("grep --directories=recurse x .", ALL),
    ("grep -nd recurse x .", ALL),
    ("grep -nHdrecurse x .", ALL),
    ("git grep --no-index SECRET", ALL),
    ("git grep --no-ind SECRET", ALL),
    ("git grep --untr --no-exclude-standard SECRET", ALL),
    # What looks like an option is a pattern, or a file, and leaves nothing out.
    ("grep -r -e x -e --include=*.json conf", {".env"}),
    ("grep -r x conf -- --exclude=.env", {".env"}),
    ("rg -. -e x -e -tpy conf", {".env"}),
    ("rg -. -e x -e '-g!*' conf", {".env"}),
    ("rgrep x", ALL),
    ("egrep -r x src conf", {"b.json", ".env"}),
    ("grep -r -e x conf", {".env"}),
    ("grep -A 3 -rn x conf", {".env"}),
    ("grep -rnm1 x conf", {".env"}),
    ("cd conf && grep -r x", {".env"}),
    ("timeout 5 grep -r x conf", {".env"}),
    ("bash -c 'grep -r x conf'", {".env"}),
    ("grep -r x co*", {".env"}),
    ("grep -r x */x", {"k.pem"}),
    ("diff -r src conf", {"b.json", ".env"}),
    ("diff src conf", {"b.json", ".env"}),
    ("diff -N conf README.md", {".env"}),
    ("diff modules src/a.py", set()),
    ("grep -r --exclude=.env --exclude-dir=modules x conf kept", set()),
    ("grep -r --exclude-dir modules --exclude '*.p?m' x modules kept", {"x"}),
    ("grep -r --exclude='[.]env' x conf", {".env"}),
    ("grep -r --include='*.json' x src conf", {"b.json"}),
    ("grep -r --include='.e*' x src conf", {".env"}),
    ("rg x", {"src", "b.json", "conf", "modules", "x", "k.pem", "kept", "y.pem"}),
    ("rg -. x conf", {".env"}),
    ("rg --hidden x conf", {".env"}),
    ("rg -g .env x conf", {".env"}),
    ("rg -t py -g '.e*' x conf", {".env"}),
    ("rg -tpy --iglob='.e*' x conf", {".env"}),
    ("rg -tpy -ntjson x src", {"b.json"}),
    ("rg -g '!z' x conf", set()),
    ("rg -g '!z' -g '.e*' x conf", {".env"}),
    ("rg -g '!z' -ng '.e*' x conf", {".env"}),
    ("rg -uu x conf built", {".env", "t.key"}),
    ("rg --no-ignore x .", {"src", "b.json", "conf", "modules", "x", "k.pem", "kept", "y.pem", "built", "t.key"}),
    ("git grep --untracked x", ALL),
]


@pytest.mark.parametrize(("script", "names"), PLACES, ids=[script for script, _ in PLACES])
def test_what_a_search_reads_is_named(bash: Bash, root: Path, script: str, names: set[str]) -> None:
    [found] = searches(bash, script, root)
    # Directories are named, too: what lies in one may be secret for that.
    assert set(found["names"]) - {"modules", "kept"} == names - {"modules", "kept"}
    assert (found["seen"], found["complete"], found["known"]) == (True, True, True)


@pytest.mark.parametrize(
    "script",
    [
        "grep x README.md",
        "grep -n r src/a.py",
        "ls | rg x",
        "rg --files",
        "rg -t py x",
        "rg -tpy -n -g '!x*' x src",
        "diff src/a.py README.md",
        "diff a b",
        "git grep x",
        "ls -R",
    ],
)
def test_what_reads_no_directory_is_no_search(bash: Bash, root: Path, script: str) -> None:
    assert searches(bash, script, root) == []


@pytest.mark.parametrize(
    "script",
    [
        "grep -R x src",
        "rg -L x src",
        "grep -r x ..",
        "grep -r --unheard-of x src",
        # Programs take the beginning of an option for the whole, and what one thinks it means is a guess.
        "grep --rec x .",
        "grep --direct=recurse SECRET .",
        "grep --dir rec x .",
        "egrep --dir=recurse x .",
    ],
)
def test_what_is_not_followed_is_not_complete(bash: Bash, root: Path, script: str) -> None:
    [found] = searches(bash, script, root)
    assert found["complete"] is False


def test_more_than_is_looked_at_is_not_complete(bash: Bash, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(searched, "MAX_NAMES", 3)
    [found] = searches(bash, "grep -r x .", root)
    assert found["complete"] is False


def test_names_that_are_ignored_may_be_taken_back(bash: Bash, root: Path) -> None:
    (root / "src" / ".gitignore").write_text("!built\n", encoding="utf-8")
    (root / "src" / "built").mkdir()
    (root / "src" / "built" / "u.key").touch()
    [found] = searches(bash, "rg x", root)
    assert "u.key" in found["names"]
    assert "t.key" not in found["names"]


COMPARED = {
    "git diff src conf": {"b.json", ".env"},
    "git diff -- src conf": {"b.json", ".env"},
    "git diff src -- conf": {"b.json", ".env"},
    "git --no-pager diff -U9 -S x src conf": {"b.json", ".env"},
    "git diff README.md conf": {".env"},
    "git diff s* conf": {"b.json", ".env"},
    "git diff *c*": {"b.json", ".env"},
    "git -C modules diff x ../conf": {"k.pem", ".env"},
    "cd modules && git diff x ../conf": {"k.pem", ".env"},
}


@pytest.mark.parametrize("script", COMPARED)
def test_where_there_is_no_working_tree_git_compares_all_that_is_there(bash: Bash, root: Path, script: str) -> None:
    (root / ".git" / "HEAD").unlink()
    [found] = searches(bash, script, root)
    assert set(found["names"]) == COMPARED[script]
    assert (found["seen"], found["complete"], found["known"]) == (True, True, True)


@pytest.mark.parametrize("script", [*COMPARED, "git diff main feature", "git -C src diff HEAD~1 -- a.py"])
def test_in_a_working_tree_it_compares_what_is_in_version_control(bash: Bash, root: Path, script: str) -> None:
    assert searches(bash, script, root) == []
    (root / ".git" / "HEAD").unlink()
    (root / ".git" / "HEAD").parent.rmdir()
    (root / ".git").write_text("gitdir: elsewhere\n", encoding="utf-8")
    assert searches(bash, script, root) == []


@pytest.mark.parametrize("script", ["cd modules && git diff x ../conf", "git -C modules diff x ../conf"])
def test_what_lies_beside_a_working_tree_is_compared_whole(bash: Bash, root: Path, script: str) -> None:
    (root / ".git" / "HEAD").rename(root / "HEAD")
    (root / "modules" / ".git").mkdir()
    (root / "HEAD").rename(root / "modules" / ".git" / "HEAD")
    [found] = searches(bash, script, root)
    assert set(found["names"]) == {"k.pem", ".env"}


@pytest.mark.parametrize("script", ["git diff", "git diff --stat", "git diff HEAD", "git diff conf", "git log a b"])
def test_what_names_less_than_two_is_no_comparison(bash: Bash, root: Path, script: str) -> None:
    (root / ".git" / "HEAD").unlink()
    assert searches(bash, script, root) == []


def test_where_nothing_is_seen_it_is_said_how_much_is_searched(bash: Bash, tmp_path: Path) -> None:
    root = tmp_path / "nowhere"
    [all_of_it, part] = searches(bash, "grep -r x .; grep -r x src", root)
    assert (all_of_it["seen"], all_of_it["complete"], all_of_it["top"]) == (False, False, True)
    assert (part["seen"], part["complete"], part["top"]) == (False, False, False)
