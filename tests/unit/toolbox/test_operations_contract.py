"""What every implementation of the operations promises; each test runs on all of them."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from interlock.toolbox.errors import (
    AlreadyThereError,
    ChangedError,
    MissingError,
    OperationError,
    OutsideRootsError,
    WrongKindError,
)
from interlock.toolbox.operations import Kind, Place, Snapshot
from interlock.toolbox.places import locate
from toolbox_workplaces import Workplace, local_workplace, memory_workplace, ssh_workplace

SLOT = "0123456789abcdef"
pytestmark = pytest.mark.req("BOX-1")


@pytest.fixture(params=["local", "memory", "ssh", "openssh"])
def workplace(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Workplace]:
    match request.param:
        case "local":
            yield local_workplace(tmp_path)
        case "memory":
            yield memory_workplace()
        case server:
            name = "ssh_server" if server == "ssh" else server
            with ssh_workplace(tmp_path, request.getfixturevalue(name)) as made:
                yield made


def test_a_file_is_read_as_it_was_put(workplace: Workplace) -> None:
    workplace.put("src/a.txt", b"one\r\n\xff\x00")

    assert workplace.content("src/a.txt") == b"one\r\n\xff\x00"
    assert workplace.content("./src//a.txt") == b"one\r\n\xff\x00"
    assert workplace.content(f"{workplace.root}/src/a.txt") == b"one\r\n\xff\x00"


def test_entries_are_sorted_and_do_not_follow_links(workplace: Workplace) -> None:
    workplace.put("b.txt", b"12345", 0o640)
    workplace.put_directory("a")
    workplace.put_link("c", "b.txt")

    found = workplace.files.entries(workplace.at("."))

    assert [(entry.name, entry.kind) for entry in found] == [
        ("a", Kind.DIRECTORY),
        ("b.txt", Kind.FILE),
        ("c", Kind.LINK),
    ]
    assert (found[1].size, found[1].mode) == (5, 0o640)


def test_what_is_missing_or_of_another_kind_says_so(workplace: Workplace) -> None:
    workplace.put("a.txt", b"")
    workplace.put_directory("d")
    files = workplace.files

    with pytest.raises(MissingError, match=r"nothing\.txt does not exist"):
        files.open(workplace.at("nothing.txt"))
    with pytest.raises(MissingError, match="no/such/file does not exist"):
        files.stat(workplace.at("no/such/file"))
    with pytest.raises(WrongKindError, match="d is not a file"):
        files.open(workplace.at("d"))
    with pytest.raises(WrongKindError):
        files.entries(workplace.at("a.txt"))
    with pytest.raises(WrongKindError):
        files.stat(workplace.at("a.txt/b"))


@pytest.mark.req("BOX-12")
def test_links_are_followed_while_they_stay_inside(workplace: Workplace) -> None:
    workplace.put("real/deep/a.txt", b"a")
    workplace.put_link("short", "real/deep")
    workplace.put_link("real/up", "../real/deep/a.txt")
    workplace.put_link("absolute", f"{workplace.root}/real")
    workplace.put_link("chain", "short/../deep/a.txt")

    assert workplace.content("short/a.txt") == b"a"
    assert workplace.content("real/up") == b"a"
    assert workplace.content("absolute/deep/a.txt") == b"a"
    assert workplace.content("chain") == b"a"
    assert workplace.files.resolve(workplace.at("short/new.txt")).parts == ("real", "deep", "new.txt")


@pytest.mark.req("BOX-12")
def test_dot_dot_goes_back_from_where_a_link_led(workplace: Workplace) -> None:
    workplace.put("real/deep/a.txt", b"deep")
    workplace.put("real/b.txt", b"beside deep")
    workplace.put_link("short", "real/deep")

    assert workplace.content("short/../b.txt") == b"beside deep"


@pytest.mark.req("BOX-12", "SEC-3")
@pytest.mark.parametrize(
    "path",
    [
        "..",
        "../outside/secret.txt",
        "d/../../outside/secret.txt",
        "./../outside/secret.txt",
        "/etc/passwd",
        "/",
        "//etc/passwd",
        "out/secret.txt",
        "out",
        "up/outside/secret.txt",
        "file",
        "d/out2/../secret.txt",
        "hop/hop/secret.txt",
        "d/../d/../../root/../outside/secret.txt",
    ],
)
def test_no_path_leads_outside(workplace: Workplace, path: str) -> None:
    workplace.put("d/a.txt", b"inside")
    workplace.put_link("out", "../outside")
    workplace.put_link("up", "..")
    workplace.put_link("file", "../outside/secret.txt")
    workplace.put_link("d/out2", f"{workplace.root}/../outside/x")
    workplace.put_link("hop", "d/../out")
    files = workplace.files

    for reach in (
        lambda: files.open(workplace.at(path)),
        lambda: files.entries(workplace.at(path)),
        lambda: files.stat(workplace.at(path)),
        lambda: files.snapshot(workplace.at(path)),
        lambda: files.make_directory(workplace.at(f"{path}/new")),
        lambda: files.rename(workplace.at("d/a.txt"), workplace.at(f"{path}/a.txt")),
        lambda: files.tree(workplace.at(f"{path}/secret.txt"), 1),
    ):
        with pytest.raises(OperationError):
            reach()
    assert workplace.content("d/a.txt") == b"inside"


@pytest.mark.req("BOX-12")
def test_a_loop_of_links_is_refused(workplace: Workplace) -> None:
    workplace.put_link("a", "b")
    workplace.put_link("b", "a")

    with pytest.raises(OperationError):
        workplace.files.open(workplace.at("a"))


@pytest.mark.parametrize("path", ["", "a\0b", "x" * 5000])
def test_what_is_no_path_is_refused(workplace: Workplace, path: str) -> None:
    with pytest.raises(OperationError):
        workplace.at(path)


def test_a_name_that_is_too_long_is_an_error_in_words(workplace: Workplace) -> None:
    with pytest.raises(OperationError):
        workplace.files.open(workplace.at("x" * 300))


def test_an_absolute_path_in_no_root_is_outside(workplace: Workplace) -> None:
    with pytest.raises(OutsideRootsError, match="/elsewhere/a is outside"):
        locate("/elsewhere/a", workdir="", roots=workplace.files.roots)


@pytest.mark.req("BOX-12")
def test_a_place_in_what_is_no_root_is_outside(workplace: Workplace) -> None:
    workplace.put("a.txt", b"a")
    above, _, name = workplace.root.rpartition("/")

    for place in (Place("/etc", ("passwd",)), Place(above, (name, "a.txt")), Place("", ("etc", "passwd"))):
        with pytest.raises(OutsideRootsError):
            workplace.files.stat(place)
        with pytest.raises(OutsideRootsError):
            workplace.files.snapshot(place)


def test_a_snapshot_tells_presence_absence_and_missing_parents(workplace: Workplace) -> None:
    workplace.put("a.txt", b"a", 0o755)
    files = workplace.files

    there = files.snapshot(workplace.at("a.txt"))
    absent = files.snapshot(workplace.at("b.txt"))
    deep = files.snapshot(workplace.at("x/y/b.txt"))

    assert (there.content, there.mode, there.missing) == (b"a", 0o755, ())
    assert (absent.content, absent.missing) == (None, ())
    assert [place.parts for place in deep.missing] == [("x",), ("x", "y")]
    assert len({there.token, absent.token, deep.token}) == 3


def test_a_new_file_is_made_with_the_parents_it_needs(workplace: Workplace) -> None:
    files = workplace.files

    files.replace(files.snapshot(workplace.at("x/y/b.txt")), b"new", 0o640)

    assert workplace.content("x/y/b.txt") == b"new"
    assert files.stat(workplace.at("x/y/b.txt")).mode == 0o640
    assert [entry.name for entry in files.entries(workplace.at("x/y"))] == ["b.txt"]


def test_a_file_is_replaced_through_a_link_and_the_link_stays(workplace: Workplace) -> None:
    workplace.put("real.txt", b"old")
    workplace.put_link("link.txt", "real.txt")
    files = workplace.files

    files.replace(files.snapshot(workplace.at("link.txt")), b"new", 0o644)

    assert workplace.content("real.txt") == b"new"
    assert files.read_link(workplace.at("link.txt")) == "real.txt"


def changed_states(workplace: Workplace) -> list[Snapshot]:
    """Snapshots taken of a.txt or new.txt before somebody else changed what is there."""
    files = workplace.files
    workplace.put("a.txt", b"old")
    content = files.snapshot(workplace.at("a.txt"))
    workplace.put("a.txt", b"other")
    workplace.put("b.txt", b"old", 0o600)
    mode = files.snapshot(workplace.at("b.txt"))
    workplace.put("b.txt", b"old", 0o644)
    appeared = files.snapshot(workplace.at("new.txt"))
    workplace.put("new.txt", b"somebody's")
    parent = files.snapshot(workplace.at("x/new.txt"))
    workplace.put_directory("x")
    became = files.snapshot(workplace.at("dir"))
    workplace.put_directory("dir")
    linked = files.snapshot(workplace.at("link"))
    workplace.put_link("link", "a.txt")
    return [content, mode, appeared, parent, became, linked]


@pytest.mark.req("PREV-5")
@pytest.mark.parametrize("which", range(6))
def test_nothing_is_replaced_or_removed_when_the_state_is_not_the_expected_one(
    workplace: Workplace, which: int
) -> None:
    stale = changed_states(workplace)[which]
    before = {entry.name: entry for entry in workplace.files.entries(workplace.at("."))}

    with pytest.raises(ChangedError):
        workplace.files.replace(stale, b"mine", 0o644)
    with pytest.raises((ChangedError, MissingError)):
        workplace.files.remove(stale)

    assert {entry.name: entry for entry in workplace.files.entries(workplace.at("."))} == before
    assert workplace.content("a.txt") == b"other"
    assert workplace.content("new.txt") == b"somebody's"


def test_a_file_and_an_empty_directory_are_removed(workplace: Workplace) -> None:
    workplace.put("d/a.txt", b"a")
    files = workplace.files

    assert not files.remove_directory(workplace.at("d"))
    files.remove(files.snapshot(workplace.at("d/a.txt")))
    assert files.remove_directory(workplace.at("d"))
    assert not files.remove_directory(workplace.at("d"))
    assert files.entries(workplace.at(".")) == []


def test_a_directory_is_made_once(workplace: Workplace) -> None:
    workplace.files.make_directory(workplace.at("d"))

    assert workplace.files.stat(workplace.at("d")).kind is Kind.DIRECTORY
    with pytest.raises(AlreadyThereError):
        workplace.files.make_directory(workplace.at("d"))


def test_a_rename_replaces_nothing(workplace: Workplace) -> None:
    workplace.put("a.txt", b"a")
    workplace.put("b.txt", b"b")
    files = workplace.files

    with pytest.raises(AlreadyThereError):
        files.rename(workplace.at("a.txt"), workplace.at("b.txt"))
    files.rename(workplace.at("a.txt"), workplace.at("c.txt"))

    assert (workplace.content("b.txt"), workplace.content("c.txt")) == (b"b", b"a")


def test_a_tree_goes_to_the_trash_and_comes_back_as_it_was(workplace: Workplace) -> None:
    workplace.put("d/a.txt", b"a", 0o600)
    workplace.put("d/e/b.txt", b"bb")
    workplace.put_link("d/link", "../../outside")
    files, vault = workplace.files, workplace.operations.vault

    tree = files.tree(workplace.at("d"), 3)
    files.trash(tree, SLOT)

    assert tree.names == ("d/", "d/a.txt", "d/e/")
    assert (tree.kind, tree.count) == (Kind.DIRECTORY, 5)
    assert files.entries(workplace.at(".")) == []
    assert vault.trash_holds(SLOT)

    files.untrash(SLOT, tree.place)

    assert not vault.trash_holds(SLOT)
    assert files.tree(workplace.at("d"), 0).token == tree.token
    assert files.stat(workplace.at("d/a.txt")).mode == 0o600
    assert files.read_link(workplace.at("d/link")) == "../../outside"


def test_a_link_goes_to_the_trash_and_its_target_stays(workplace: Workplace) -> None:
    workplace.put("a.txt", b"a")
    workplace.put_link("link", "a.txt")

    workplace.files.trash(workplace.files.tree(workplace.at("link"), 1), SLOT)

    assert [entry.name for entry in workplace.files.entries(workplace.at("."))] == ["a.txt"]


def test_a_tree_that_changed_is_not_trashed(workplace: Workplace) -> None:
    workplace.put("d/a.txt", b"old")
    tree = workplace.files.tree(workplace.at("d"), 0)
    workplace.put("d/a.txt", b"newer")

    with pytest.raises(ChangedError):
        workplace.files.trash(tree, SLOT)

    assert workplace.content("d/a.txt") == b"newer"
    assert not workplace.operations.vault.trash_holds(SLOT)


def test_what_is_back_in_the_place_is_not_overwritten_by_the_trash(workplace: Workplace) -> None:
    workplace.put("a.txt", b"old")
    tree = workplace.files.tree(workplace.at("a.txt"), 0)
    workplace.files.trash(tree, SLOT)
    workplace.put("a.txt", b"somebody's")

    with pytest.raises(AlreadyThereError):
        workplace.files.untrash(SLOT, tree.place)

    assert workplace.content("a.txt") == b"somebody's"
    assert workplace.operations.vault.trash_holds(SLOT)


@pytest.mark.parametrize("path", [".", "d/.."])
def test_a_root_is_not_moved(workplace: Workplace, path: str) -> None:
    workplace.put("d/a.txt", b"")

    with pytest.raises(WrongKindError):
        workplace.files.tree(workplace.at(path), 0)


def test_the_vault_keeps_contents_and_records(workplace: Workplace) -> None:
    vault = workplace.operations.vault

    digest = vault.keep(b"content")
    vault.save(SLOT, {"content": digest})
    vault.save(SLOT, {"content": digest, "done": True})

    assert vault.kept(vault.keep(b"content")) == b"content"
    assert vault.load(SLOT) == {"content": digest, "done": True}
    with pytest.raises(MissingError):
        vault.kept("0" * 64)
    with pytest.raises(MissingError):
        vault.load("../../etc/passwd")
