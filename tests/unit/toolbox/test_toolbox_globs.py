"""Path patterns and ignore files, held to git's own reading of them."""

import re
import subprocess
import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from interlock.toolbox.globs import BadGlobError, glob
from interlock.toolbox.ignores import NOTHING_IGNORED

TREE = ["a", "b.py", "a.b/c", "d/a", "d/b.py", "d/e/a", "d/e/f/b.py", "x y", "d/#a", "!b", "e/a.b", "ab/ba/aab"]


@pytest.mark.req("BOX-7")
@pytest.mark.parametrize(
    ("pattern", "matching"),
    [
        ("*.py", {"b.py"}),
        ("**/*.py", {"b.py", "d/b.py", "d/e/f/b.py"}),
        ("d/**", {"d/a", "d/b.py", "d/e/a", "d/e/f/b.py", "d/#a"}),
        ("d/**/a", {"d/a", "d/e/a"}),
        ("**/{a,b.py}", {"a", "b.py", "d/a", "d/b.py", "d/e/a", "d/e/f/b.py"}),
        ("{d/{a,e/a},x y}", {"d/a", "d/e/a", "x y"}),
        ("?", {"a"}),
        ("[!a]/a", {"d/a"}),
        ("[^a-c]/a", {"d/a"}),
        ("\\!b", {"!b"}),
        ("a{b", set()),
    ],
)
def test_a_glob_matches_whole_paths(pattern: str, matching: set[str]) -> None:
    wanted = glob(pattern)

    assert {path for path in TREE if wanted.matches(path.split("/"))} == matching


@pytest.mark.parametrize(
    "pattern", ["", "/etc/*", "../*", "a/../b", "{a,b}" * 7, "{" * 11 + "a,b" + "}" * 11, "x" * 501]
)
def test_a_glob_that_cannot_be_used_says_why(pattern: str) -> None:
    with pytest.raises(BadGlobError):
        glob(pattern)


def test_a_directory_that_cannot_hold_a_match_is_not_entered() -> None:
    wanted = glob("src/*/tests/**")

    assert wanted.may_match_below(["src"])
    assert wanted.may_match_below(["src", "any", "tests", "deep"])
    assert not wanted.may_match_below(["docs"])
    assert not wanted.may_match_below(["src", "any", "lib"])


def test_a_hostile_pattern_takes_no_time() -> None:
    started = time.process_time()

    assert not glob("*a" * 200 + "b").matches(["a" * 255])
    assert not glob("**/" * 100 + "b").matches(["a"] * 200)
    ignores = NOTHING_IGNORED.below(0, [b"*a*a*a*a*a*a*a*a*a*a*a*b\n" * 50])
    assert not ignores.ignored(["a" * 255], directory=False)

    assert time.process_time() - started < 1


def git_ignores(directory: Path, content: bytes, paths: list[str]) -> set[str]:
    """What git ignores, of files and of the directories above them (which it asks about first)."""
    (directory / ".gitignore").write_bytes(content)
    told = subprocess.run(
        ["git", "-c", "core.excludesFile=/dev/null", "check-ignore", "--no-index", "--stdin", "-z"],
        cwd=directory,
        input="\0".join(paths).encode(),
        stdout=subprocess.PIPE,
        check=False,
    )
    return {path.decode() for path in told.stdout.split(b"\0") if path}


def ours(content: bytes, paths: list[str]) -> set[str]:
    ignores = NOTHING_IGNORED.below(0, [content])

    def ignored(path: str) -> bool:
        parts = path.split("/")
        return any(ignores.ignored(parts[: end + 1], directory=end + 1 < len(parts)) for end in range(len(parts)))

    return {path for path in paths if ignored(path)}


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("repository")
    subprocess.run(["git", "init", "-q"], cwd=directory, check=True)
    for path in TREE:
        (directory / path).parent.mkdir(parents=True, exist_ok=True)
        (directory / path).write_text("")
    return directory


@pytest.mark.req("BOX-7")
@pytest.mark.parametrize(
    "content",
    [
        b"*.py\n!b.py\n",
        b"/a\n",
        b"d/\n!d/a\n",
        b"d/*\n!d/e\n",
        b"**/e/\n",
        b"d/**/b.py\n",
        b"d/**\n",
        b"\\#a\n\\!b\n",
        b"# a comment\n\nx y   \n",
        b"x\\ y\n",
        b"a.b\\\n",
        b"[ab]\r\n",
        b"\xef\xbb\xbfa\n",
        b"e/*.b\nab/**/aab\n",
        b"/\n//\n!\n",
        b"[!\\]\n",
        b"[\\a]\n[]b]\n",
        b"[a-\\b]\n[!c-d]\n[b-a]x\n",
        b"[a-?]\n",
        b"[!a-?]\n",
        b"[a-?]b\n[b-\\a].py\n",
    ],
)
def test_ignore_files_are_read_as_git_reads_them(repository: Path, content: bytes) -> None:
    assert ours(content, TREE) == git_ignores(repository, content, TREE)


# A slash in a class or after a backslash parts two names here, and not for git; nobody writes either.
LINE = st.text(alphabet="ab.*?/!#\\ de[]-^", max_size=8).filter(lambda line: not re.search(r"\[[^]]*/|\\/", line))


@pytest.mark.req("BOX-7")
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(lines=st.lists(LINE, min_size=1, max_size=3))
def test_random_ignore_files_are_read_as_git_reads_them(repository: Path, lines: list[str]) -> None:
    content = "\n".join(lines).encode()

    assert ours(content, TREE) == git_ignores(repository, content, TREE)
