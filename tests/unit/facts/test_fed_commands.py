"""Which commands are given names of files that `find` finds, and nothing else, and by which search."""

from pathlib import Path
from typing import Any

import pytest
from facts_calls import Bash

pytestmark = pytest.mark.req("PIPE-5")

FED = [
    ("find src -exec cat {} +", "cat"),
    (r"find src -exec grep -l x {} \;", "grep"),
    ("find src -print -exec cat {} +", "cat"),
    ("find src | xargs cat", "cat"),
    ("find src tests -type f | xargs -r -n 2 -P 4 head -3", "head"),
    ("find src -print0 | xargs -0 -I % tail -n 1 %", "tail"),
    ("gfind src | sort -u | tail -n +2 | grep -E 'a|b' | uniq | gxargs wc", "wc"),
]
NOT_FED = [
    "find src -execdir cat {} +",
    r"find src -ok cat {} \;",
    r"find src -exec cat {}.bak \;",
    r"find src -exec cat {} {} \;",
    r"find src -exec head {} -3 \;",
    "find src -exec cat $x {} +",
    "find src $x -exec cat {} +",
    "find $x -exec cat {} +",
    "find -- src -exec cat {} +",
    "find * -exec cat {} +",
    "find @list -exec cat {} +",
    "find src -name *.py -exec cat {} +",
    "find src -printf x -exec cat {} +",
    "find src -exec grep -r x {} +",
    "find src -print -print0 | xargs cat",
    "find src -print0 | xargs cat",
    "find src | xargs -0 cat",
    "find src -fprint x | xargs cat",
    "find src -exec env echo /etc/passwd {} + | xargs cat",
    "find src | xargs -I {} cat {} {}",
    "find src | xargs -a list cat",
    "find src | xargs -d x cat",
    "find src | xargs -x$y cat",
    "find src | xargs cat < list",
    "find src | cat - list | xargs cat",
    "find src | head -c 9 | xargs cat",
    "find src | head list | xargs cat",
    "find src | grep -o x | xargs cat",
    "find src | grep x list | xargs cat",
    "find src | grep -e x list | xargs cat",
    "find src | sort -o list | xargs cat",
    "find src | tail --bytes=3 | xargs cat",
    "find src | grep --regexp=. list | xargs cat",
    "find src | grep --color=always x | xargs cat",
    "find src | xargs -I r* cat r*",
    "find src | xargs -n * cat",
    "find src 2>&1 | xargs cat",
    "find src 2>list | xargs cat",
    "find src | grep x &> list | xargs cat",
    "find src" + " | sort" * 9 + " | xargs cat",
    "find src | sort $x | xargs cat",
    "find src | sort < list | xargs cat",
    "find src | ./sort | xargs cat",
    "find src |& xargs cat",
    "(find src; echo /etc/passwd) | xargs cat",
    "find src | { cat; echo /etc/passwd; } | xargs cat",
    "find src | while read x; do echo $x; done | xargs cat",
    "find src | env xargs cat",
    "env find src | xargs cat",
    "echo src | xargs cat",
    "xargs cat",
    "find 'a b' | xargs cat",
]


def commands(bash: Bash, script: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = bash(script)["commands"]
    return found


@pytest.mark.parametrize(("script", "name"), FED)
def test_what_find_gives_to_another(bash: Bash, script: str, name: str) -> None:
    found = commands(bash, script)
    assert [(command["name"], command["argv"][-1]) for command in found if command["fed"]] == [(name, None)]
    assert [command["name"] for command in found if command["feeds"]] == [
        "find" if "-exec" in script else "gxargs" if "gxargs" in script else "xargs"
    ]
    facts = bash(script)
    assert (facts["dynamic"], facts["open"]) == (True, False)
    assert [command["dynamic_args"] for command in found if command["fed"]] == [True]
    assert [path["given"] for path in facts["paths"] if path["dynamic"]] == []


@pytest.mark.parametrize("script", NOT_FED)
def test_what_may_be_given_anything_else(bash: Bash, script: str) -> None:
    assert [command["name"] for command in commands(bash, script) if command["fed"] and command["name"] != "env"] == []
    assert bash(script)["open"] is True


def test_a_command_with_something_else_that_is_not_known_stays_open(bash: Bash) -> None:
    assert bash("find src -exec cat {} + > $x")["open"] is True
    assert bash("find src -exec cat {} +; cat $x")["open"] is True
    assert bash("IFS=/; find src -exec cat {} +")["open"] is True


FILES = {"src/a.py", "src/b.c", "src/x"}
ONLY_FILES = [
    ("find src -type f -exec cat {} +", FILES),
    ("find -type f -exec cat {} +", FILES),
    ("find src -type f ! -name '*.py' -exec cat {} +", FILES),
    ("find src -type f -name '*.py' -exec cat {} +", {"src/a.py"}),
    (r"find src -type f -name '*.\py' -exec cat {} +", FILES),
    ("find src -type f -name '*.py' -print0 | xargs -0 cat", {"src/a.py"}),
    (r"find src -type f \( -name '*.py' -o -name '*.c' \) -exec cat {} +", {"src/a.py", "src/b.c"}),
]
LINKS_TOO = [
    "find src -exec cat {} +",
    "find -L src -type f -exec cat {} +",
    "find src -type f -follow -exec cat {} +",
    "find src -exec cat {} + -type f -name '*.py'",
    "find src -type f -name '*.py' -o -name x -exec cat {} +",
    "find src -type f , -exec cat {} +",
    "find src ! -type f -exec cat {} +",
    r"find src -type f \( -name '*.py' -name x \) -exec cat {} +",
    r"find src -type f \( -name x -o -name '.\env' \) -name '*.py' -exec cat {} +",
    "find src -type f -print -o -print | xargs cat",
]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for name in FILES:
        (tmp_path / "root" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "root" / name).touch()
    return tmp_path / "root"


@pytest.mark.parametrize(("script", "files"), ONLY_FILES)
def test_which_files_are_found(bash: Bash, root: Path, script: str, files: set[str]) -> None:
    [search] = bash(script, roots=(str(root),))["searches"]
    assert ("py" in search["endings"], "c" in search["endings"], "x" in search["names"]) == (
        "src/a.py" in files,
        "src/b.c" in files,
        "src/x" in files,
    )
    (root / "src" / "link").symlink_to("/etc/passwd")
    assert bash(script, roots=(str(root),))["searches"][0]["complete"] is True


@pytest.mark.parametrize("script", LINKS_TOO)
def test_where_links_are_found_they_may_lead_anywhere(bash: Bash, root: Path, script: str) -> None:
    [search] = bash(script, roots=(str(root),))["searches"]
    assert (search["complete"], search["known"], "x" in search["names"]) == (True, True, True)
    (root / "src" / "link").symlink_to("/etc/passwd")
    [search] = bash(script, roots=(str(root),))["searches"]
    assert (search["complete"], search["known"]) == (False, False)
    assert bash(script, roots=("/unseen",))["searches"][0]["known"] is False
