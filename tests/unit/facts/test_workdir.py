"""A call's working directory lies inside the session's roots, or the call is refused."""

from pathlib import Path

import pytest
from interlock_gateway.facts import workdir_inside

pytestmark = pytest.mark.req("TOOL-9")


def refused(workdir: str, roots: tuple[str, ...]) -> str | None:
    return workdir_inside(workdir, roots, within=roots)


def test_the_providers_own_directory_is_not_refused(tmp_path: Path) -> None:
    assert refused("", (str(tmp_path),)) is None
    assert refused("", ()) is None


def test_a_directory_inside_a_root_is_not_refused(tmp_path: Path) -> None:
    roots = ("/elsewhere", str(tmp_path))
    for workdir in (str(tmp_path), f"{tmp_path}/", f"{tmp_path}/new", f"{tmp_path}/a/../b"):
        assert refused(workdir, roots) is None


def test_a_directory_outside_of_every_root_is_refused(tmp_path: Path) -> None:
    for workdir in ("/", str(tmp_path.parent), f"{tmp_path}-sibling", f"{tmp_path}/../x"):
        assert "outside" in (refused(workdir, (str(tmp_path),)) or "")


def test_a_link_out_of_the_root_is_refused(tmp_path: Path) -> None:
    (tmp_path / "out").symlink_to("/")
    assert "outside" in (refused(f"{tmp_path}/out/etc", (str(tmp_path),)) or "")


@pytest.mark.parametrize("workdir", ["relative", "./x", "~", "a\0b", "/a\nb", "/" + "x" * 5000, "\ud800"])
def test_what_is_no_absolute_path_is_refused(tmp_path: Path, workdir: str) -> None:
    assert refused(workdir, (str(tmp_path),))


def test_without_roots_any_directory_is_refused(tmp_path: Path) -> None:
    assert "no workspace roots" in (refused(str(tmp_path), ()) or "")


@pytest.mark.req("REF-4")
def test_a_root_that_is_a_link_out_of_the_operators_roots_counts_for_nothing(tmp_path: Path) -> None:
    workspace = tmp_path / "workspace"
    (workspace / "sub").mkdir(parents=True)
    (workspace / "out").symlink_to(tmp_path)
    (workspace / "in").symlink_to(workspace / "sub")
    within = (str(workspace),)
    assert "outside" in (workdir_inside(f"{workspace}/out", (f"{workspace}/out",), within) or "")
    assert workdir_inside(f"{workspace}/in", (f"{workspace}/in",), within) is None
    assert "outside" in (workdir_inside(str(workspace), (str(workspace),), ()) or "")
