"""Where each path of a file call leads, links and all."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import pytest
from facts_calls import Facts
from interlock_gateway.facts.places import MAX_LOOKUPS, Workspace

pytestmark = pytest.mark.req("PIPE-5")

Entry: TypeAlias = dict[str, Any]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A workspace with links in it, to inside and outside."""
    root = tmp_path / "root"
    (root / "dir" / "deep").mkdir(parents=True)
    (root / "file.txt").touch()
    (root / "in").symlink_to("dir")
    (root / "in-file").symlink_to(root / "file.txt")
    (root / "out").symlink_to("/etc")
    (root / "out-file").symlink_to("../other/x")
    (root / "up").symlink_to("..")
    (root / "dangling").symlink_to("nothing/here")
    (root / "dangling-out").symlink_to("/nothing/here")
    (root / "loop").symlink_to("loop2")
    (root / "loop2").symlink_to("loop")
    (root / "chain").symlink_to("chain2")
    (root / "chain2").symlink_to("out")
    (root / "dir" / "back").symlink_to("../..")
    (root / ".env").touch()
    (tmp_path / "other").mkdir()
    (tmp_path / "root-sibling").mkdir()
    return root


@pytest.fixture
def entry(facts: Facts, root: Path) -> Callable[[object], Entry]:
    def entry_of(given: object) -> Entry:
        document = facts("file", {"path": given}, roots=(str(root),))
        [found] = document["file"]["arguments"]
        assert document["extracted"] is (found["error"] is None)
        assert document["file"]["inside"] is found["inside"]
        return found  # type: ignore[no-any-return]  # the facts are JSON, checked against their schema

    return entry_of


# What is given, where in the root it leads (None: outside of it), and whether a link was followed.
LEADS = [
    ("file.txt", "file.txt", False),
    ("./file.txt", "file.txt", False),
    (".//file.txt", "file.txt", False),
    ("dir/", "dir", False),
    (".", "", False),
    ("./", "", False),
    ("dir/..", "", False),
    ("dir/../file.txt", "file.txt", False),
    ("dir/deep/../../file.txt", "file.txt", False),
    ("new/file", "new/file", False),
    ("new/../file.txt", "file.txt", False),
    ("new/../../root/file.txt", "file.txt", False),
    ("file.txt/x", "file.txt/x", False),
    ("a b", "a b", False),
    ("%2e%2e/x", "%2e%2e/x", False),
    ("..%2fx", "..%2fx", False),
    ("...", "...", False),
    ("..x/y..", "..x/y..", False),
    ("h\u00e9/\u4e2d\u6587", "h\u00e9/\u4e2d\u6587", False),
    ("file~", "file~", False),
    ("a/$HOME/x", "a/$HOME/x", False),
    ("routes/$userId.tsx", "routes/$userId.tsx", False),
    ("$types.d.ts", "$types.d.ts", False),
    ("100%/x", "100%/x", False),
    ("in", "dir", True),
    ("in/deep/x", "dir/deep/x", True),
    ("in-file", "file.txt", True),
    ("dangling", "nothing/here", True),
    ("new/../in/x", "dir/x", True),
    ("dir/back/root/file.txt", "file.txt", True),
    ("up/root/file.txt", "file.txt", True),
    ("..", None, False),
    ("../", None, False),
    ("../x", None, False),
    ("../root-sibling", None, False),
    ("dir/../../x", None, False),
    ("new/../../x", None, False),
    ("/", None, False),
    ("/etc/passwd", None, False),
    ("//etc/passwd", None, False),
    ("out", None, True),
    ("out/passwd", None, True),
    ("out/../etc/passwd", None, True),
    ("out-file", None, True),
    ("chain/x", None, True),
    ("dangling-out", None, True),
    ("up/x", None, True),
    ("dir/back/x", None, True),
    ("new/../out/x", None, True),
    # Folding `..` by text leads inside, following the link first leads out; and the other way round.
    ("in/../x", "x", True),
    ("out/../x", None, True),
    ("dir/back/../x", None, True),
    ("in/deep/../../../root/x", "x", True),
]


@pytest.mark.parametrize(("given", "leads", "symlink"), LEADS, ids=[given for given, _, _ in LEADS])
def test_a_path_leads_where_the_system_would_go(
    entry: Callable[[object], Entry], root: Path, given: str, leads: str | None, *, symlink: bool
) -> None:
    found = entry(given)
    assert found["error"] is None
    assert found["inside"] is (leads is not None)
    assert found["root"] == (str(root) if leads is not None else None)
    assert found["symlink"] is symlink
    if leads is not None:
        assert found["normalised"] == (f"{root}/{leads}" if leads else str(root))
        assert found["segments"] == [part for part in leads.split("/") if part]
    assert found["normalised"] == os.path.realpath(root / given) or ".." in given


@pytest.mark.parametrize(("given", "leads", "symlink"), LEADS, ids=[given for given, _, _ in LEADS])
def test_an_absolute_path_leads_to_the_same_place(
    entry: Callable[[object], Entry], root: Path, given: str, leads: str | None, *, symlink: bool
) -> None:
    found = entry(given if given.startswith("/") else f"{root}/{given}")
    assert (found["inside"], found["symlink"], found["relative"]) == (leads is not None, symlink, False)


REFUSED: list[tuple[object, str]] = [
    ("", "empty"),
    ("a\0b", "NUL"),
    ("a\nb", "control"),
    ("a\x1bb", "control"),
    ("a\x85b", "control"),
    (" file.txt", "white space"),
    ("file.txt ", "white space"),
    ("~", "~"),
    ("~/x", "~"),
    ("~user/x", "~"),
    ("file://host/etc/passwd", "URL"),
    ("file:///etc/passwd?x", "URL"),
    ("file:///%00", "NUL"),
    ("file:///%ff", "Unicode"),
    ("..\\x", "backslash"),
    ("dir\\..\\..\\x", "backslash"),
    ("C:\\x", "backslash"),
    ("$HOME/x", "variable"),
    ("$HOME", "variable"),
    ("${HOME}/x", "variable"),
    ("%USERPROFILE%/x", "variable"),
    ("https://host/x", "URL"),
    ("file:/etc/passwd", "URL"),
    ("C:/x", "URL"),
    ("\ud800", "Unicode"),
    ("x" * 300, "component"),
    ("x/" * 300, "components"),
    ("x" * 5000, "longer"),
    ("loop", "loop"),
    ("loop/x", "loop"),
    (3, "not a string"),
    (True, "not a string"),
    (1.5, "not a string"),
    ({"x": 1}, "not a string"),
]


@pytest.mark.parametrize(("given", "reason"), REFUSED, ids=lambda value: ascii(value)[:30])
def test_what_is_no_usable_path_says_why_and_is_not_inside(
    entry: Callable[[object], Entry], given: object, reason: str
) -> None:
    found = entry(given)
    assert reason in found["error"]
    assert (found["inside"], found["root"], found["normalised"]) == (False, None, None)
    assert found["tilde"] is (isinstance(given, str) and given.startswith("~"))


def test_a_directory_that_may_not_be_looked_into_leads_nowhere_known(tmp_path: Path) -> None:
    # The kernel refuses this name for its length alone, as it refuses others for permissions, to root too.
    (tmp_path / "link").symlink_to("x" * 300)
    place = Workspace("", (str(tmp_path),), (str(tmp_path),)).locate("link")
    assert (place.inside, place.normalised) == (False, None)
    assert place.problem
    assert "cannot be looked up" in place.problem


def test_looking_up_is_bounded_however_links_are_laid_out(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to("/".join(["b"] * 2000))
    workspace = Workspace("", (str(tmp_path),), (str(tmp_path),))
    problems = {workspace.locate(f"{number}/{'/'.join('xyz' * 30)}").problem for number in range(2 * MAX_LOOKUPS // 90)}
    assert problems == {None, "cannot be looked up: the call names more places than are looked at"}
    assert workspace.locate("a").problem


@pytest.mark.parametrize(
    ("given", "name", "extension", "hidden"),
    [
        ("a/b.tar.gz", "b.tar.gz", "gz", False),
        ("a/b", "b", "", False),
        (".env", ".env", "", True),
        ("a/.git/config", "config", "", True),
        (".env.local", ".env.local", "local", True),
        ("./a/../b.TXT", "b.TXT", "TXT", False),
        ("in/x.md", "x.md", "md", False),
    ],
)
def test_the_parts_of_a_path_are_told_apart(
    entry: Callable[[object], Entry], given: str, name: str, extension: str, *, hidden: bool
) -> None:
    found = entry(given)
    assert (found["name"], found["extension"], found["hidden"]) == (name, extension, hidden)


def test_a_link_keeps_the_name_it_was_called_by(entry: Callable[[object], Entry], root: Path) -> None:
    (root / ".secret").symlink_to("file.txt")
    found = entry(".secret")
    assert (found["given_name"], found["name"], found["hidden"]) == (".secret", "file.txt", True)


def test_dots_above_the_root_hide_nothing(facts: Facts, tmp_path: Path) -> None:
    root = tmp_path / ".cache" / "root"
    root.mkdir(parents=True)
    for path in (root / "x", root, f"{root}/"):
        document = facts("file", {"path": str(path)}, roots=(str(root),))
        assert document["file"]["arguments"][0]["hidden"] is False


def test_a_hidden_link_on_the_way_counts_as_hidden(entry: Callable[[object], Entry], root: Path) -> None:
    (root / "dir" / ".link").symlink_to("..")
    found = entry("dir/.link/file.txt")
    assert (found["segments"], found["hidden"]) == (["file.txt"], True)


def test_a_link_to_a_name_that_is_no_text_leads_nowhere_known(entry: Callable[[object], Entry], root: Path) -> None:
    (root / "odd").symlink_to(os.fsdecode(b"\xff"))
    assert "no text" in entry("odd")["error"]


def test_whether_something_is_there_is_said(entry: Callable[[object], Entry]) -> None:
    assert entry("file.txt")["exists"] is True
    assert entry("in-file")["exists"] is True
    assert entry("new")["exists"] is False
    assert entry("dangling")["exists"] is False
    assert entry("file.txt/x")["exists"] is False


def test_a_pattern_is_marked_as_one(entry: Callable[[object], Entry]) -> None:
    assert entry("dir/*.c")["glob"] is True
    assert entry("dir/x.c")["glob"] is False


@pytest.mark.parametrize(("of", "leads"), [("{root}/file.txt", "file.txt"), ("{root}/a%20b/%2Eenv", "a b/.env")])
def test_the_url_of_a_file_is_its_path(entry: Callable[[object], Entry], root: Path, of: str, leads: str) -> None:
    for start in ("file://", "file://localhost", "FILE://"):
        found = entry(f"{start}{of.format(root=root)}")
        assert (found["error"], found["inside"], found["normalised"]) == (None, True, f"{root}/{leads}")
    outside = [entry(f"file://{path}") for path in ("/etc/passwd", f"{root}/%2e%2e/x", f"{root}/..%2fx")]
    assert [(found["error"], found["inside"]) for found in outside] == [(None, False)] * 3


@pytest.mark.parametrize(
    ("glob", "inside"),
    [
        ("*.py", True),
        ("**/*.py", True),
        ("{root}/**/*.py", True),
        ("dir/../*.py", True),
        ("!/etc/**", True),
        ("/etc/**", False),
        ("~/*", False),
        ("../*", False),
        ("**/../../*", False),
        ("{{src,/etc}}/*", False),
        ("{{src,..}}/*", False),
        ("..\\*", False),
        ("out/../../*", False),
    ],
)
@pytest.mark.parametrize("given", [{}, {"path": "."}, {"path": "dir"}, {"path": "dir", "glob": None}])
def test_a_pattern_leads_no_further_than_a_path(
    facts: Facts, root: Path, given: dict[str, object], glob: str, *, inside: bool
) -> None:
    schema: dict[str, object] = {"properties": {"path": {}, "glob": {}, "include": {}}}
    document = facts("file", {**given, "include": [glob.format(root=root)]}, schema=schema, roots=(str(root),))
    assert document["file"]["inside"] is inside


@pytest.mark.parametrize("pattern", ["/etc/**", "../../*", "~/.ssh/*", "src/../../*", "/home/*/.aws/{a,b}"])
def test_what_is_called_a_pattern_is_one_of_names_when_it_leads_elsewhere(
    facts: Facts, root: Path, pattern: str
) -> None:
    document = facts("file", {"path": ".", "pattern": pattern}, roots=(str(root),))
    assert document["file"]["inside"] is False


@pytest.mark.parametrize(
    "pattern", ["/api/v1", "/api/.*", "**/*.py", "(/|\\*)", "^/\\*\\*", "../x", "a*b", "/x/[0-9]+"]
)
def test_what_is_called_a_pattern_may_be_of_text(facts: Facts, root: Path, pattern: str) -> None:
    document = facts("file", {"path": ".", "pattern": pattern}, roots=(str(root),))
    assert (document["file"]["inside"], document["file"]["patterns"]) == (True, [])


def test_a_pattern_is_looked_at_from_each_path_that_is_given(facts: Facts, root: Path) -> None:
    for path, inside in (("dir/deep", False), (str(root.parent), False)):
        document = facts("file", {"path": path, "glob": "../*"}, roots=(str(root),))
        assert document["file"]["inside"] is inside
    document = facts("file", {"path": "dir/deep", "glob": "../*"}, roots=(str(root),), workdir=f"{root}/dir/deep")
    assert document["file"]["inside"] is True


def test_parts_are_told_from_the_operators_root(facts: Facts, root: Path) -> None:
    inner = root / ".aws"
    bounds = (str(root.parent), str(root))
    document = facts("file", {"path": "credentials"}, roots=(str(inner),), within=bounds)
    [found] = document["file"]["arguments"]
    assert (found["root"], found["segments"], found["hidden"]) == (str(inner), [".aws", "credentials"], False)
    [own] = facts("file", {"path": "credentials"}, roots=(str(inner),), within=(*bounds, str(inner)))["file"][
        "arguments"
    ]
    assert own["segments"] == ["credentials"]


def test_it_is_said_where_links_were_resolved(entry: Callable[[object], Entry]) -> None:
    assert entry("x")["resolved_on"] == "gateway"


def test_relative_paths_start_in_the_working_directory_else_the_first_root(facts: Facts, root: Path) -> None:
    roots = (str(root), str(root.parent / "other"))
    assert facts("file", {"path": "x"}, roots=roots)["file"]["arguments"][0]["normalised"] == f"{root}/x"
    there = facts("file", {"path": "x"}, roots=roots, workdir=str(root / "dir"))
    assert there["file"]["arguments"][0]["normalised"] == f"{root}/dir/x"
    other = facts("file", {"path": "../other/x"}, roots=roots)["file"]["arguments"][0]
    assert (other["root"], other["inside"]) == (roots[1], True)


def test_the_innermost_root_is_named(facts: Facts, root: Path) -> None:
    document = facts("file", {"path": "dir/x"}, roots=(str(root), str(root / "dir")))
    assert document["file"]["arguments"][0]["root"] == str(root / "dir")


def test_a_root_that_is_a_link_holds_what_it_leads_to(facts: Facts, root: Path) -> None:
    document = facts("file", {"path": f"{root}/dir/x"}, roots=(str(root / "in"),))
    assert (document["file"]["inside"], document["file"]["arguments"][0]["segments"]) == (True, ["x"])


def test_without_roots_nothing_is_inside(facts: Facts, tmp_path: Path) -> None:
    assert facts("file", {"path": str(tmp_path)})["file"]["inside"] is False
    document = facts("file", {"path": "x"})
    assert (document["extracted"], document["file"]["inside"]) == (False, False)
    assert facts("file", {"path": "x"}, workdir=str(tmp_path))["file"]["inside"] is False


def test_a_root_that_is_no_absolute_path_holds_nothing(facts: Facts, tmp_path: Path) -> None:
    for root in ("", "relative", "~", "a\0b"):
        assert facts("file", {"path": str(tmp_path)}, roots=(root,))["file"]["inside"] is False


def test_one_path_outside_takes_the_whole_call_outside(facts: Facts, root: Path) -> None:
    document = facts("file", {"source": "x", "destination": "/x"}, roots=(str(root),))
    assert [found["inside"] for found in document["file"]["arguments"]] == [True, False]
    assert (document["extracted"], document["file"]["inside"]) == (True, False)


@pytest.mark.req("REF-4")
def test_a_sessions_root_that_leads_out_of_the_operators_roots_counts_for_nothing(facts: Facts, tmp_path: Path) -> None:
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    (tmp_path / "secret").write_text("x")
    (workspace / "out").symlink_to(tmp_path)
    given = {"path": f"{workspace}/out/secret"}
    document = facts("file", given, roots=(f"{workspace}/out",), within=(str(workspace),))
    assert [path["inside"] for path in document["file"]["arguments"]] == [False]
