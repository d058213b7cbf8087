"""Files that `find` finds are read without a question, as long as the gateway sees that no other can be among them."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from engine_running import verdict, with_shipped_policies
from interlock_gateway.policy.embedded.engine import EmbeddedEngine

engine = pytest.fixture(with_shipped_policies)
pytestmark = pytest.mark.req("PIPE-5", "POL-4")

BY_NAME = [
    "find src -name '*.py' | xargs wc -l",
    "find src -name '*.py' | xargs grep -l foo",
    "find src -name '*.py' | head -5 | xargs cat",
    "find src -name '*.py' | grep -v test | sort | xargs -n 1 head -2",
    "find src -name '*.py' | xargs -I{} head -3 {}",
    r"find src \( -name '*.py' -o -name '*.pyi' \) | xargs head -3",
    "find . -name '*.py' -not -path './node_modules/*' | xargs wc -l | sort -n | tail -1",
    "find . -path ./node_modules -prune -o -name '*.py' -print 2>/dev/null | xargs wc -l",
]
BY_NAME_AND_TYPE = [
    "find src -type f -name '*.py' -exec grep -l foo {} +",
    r"find src -name '*.py' -type f -exec grep -l foo {} \;",
    "find src -name '*.py' -type f -print0 | xargs -0 head",
]
ALL = ["find src | xargs cat", "find src -type f | xargs cat", "find src -type f -mtime -1 -exec cat {} +"]
NAMES = ["find src -type f | xargs ls -la", "find src -type f -exec stat {} +"]


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    for name in ("src/a.py", "src/below/b.py", "docs/x.md"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    return tmp_path


def secret(root: Path) -> None:
    (root / "src" / "below" / ".env").touch()


def link(root: Path) -> None:
    (root / "src" / "link.py").symlink_to("/etc/passwd")


def blank(root: Path) -> None:
    # Split at the blank, `src/x /etc/passwd.py` is `src/x` and `/etc/passwd.py`.
    (root / "src" / "x ").mkdir()
    (root / "src" / "x " / "etc").mkdir()
    (root / "src" / "x " / "etc" / "passwd.py").touch()


def not_text(root: Path) -> None:
    # Of a list with such a name grep says that it matches, in words that would be taken for names.
    os.close(os.open(os.fsencode(root / "src") + b"/\xff.py", os.O_CREAT))


@pytest.mark.parametrize(
    ("prepare", "allowed", "asked"),
    [
        (lambda _: None, [*BY_NAME, *BY_NAME_AND_TYPE, *ALL, *NAMES], []),
        (secret, [*BY_NAME, *BY_NAME_AND_TYPE, *NAMES], ALL),
        (link, [*BY_NAME_AND_TYPE, *ALL[1:], *NAMES], [*BY_NAME, ALL[0]]),
        (blank, [*BY_NAME_AND_TYPE, NAMES[1]], [*BY_NAME, *ALL[:2], NAMES[0]]),
        (not_text, [*BY_NAME_AND_TYPE, NAMES[1]], [*BY_NAME, *ALL[:2], NAMES[0]]),
    ],
)
async def test_found_files_are_read_where_they_are_seen(
    engine: EmbeddedEngine,
    workspace: Path,
    prepare: Callable[[Path], None],
    allowed: list[str],
    asked: list[str],
) -> None:
    prepare(workspace)
    assert [script for script in allowed if await verdict(engine, script, workspace) != "allow"] == []
    assert [script for script in asked if await verdict(engine, script, workspace) != "checkpoint"] == []


@pytest.mark.parametrize("name", [r".\env", "[/.]env", "[,-/]env", ".en[v/]", "[.]env", "*.e?v", ".??v"])
async def test_no_spelling_of_a_pattern_hides_a_secret(engine: EmbeddedEngine, workspace: Path, name: str) -> None:
    secret(workspace)
    for script in (
        "find . -type f -name '%s' -exec cat {} +",
        "find . -name '%s' | xargs cat",
        "grep -r k . --include='%s'",
    ):
        assert await verdict(engine, script % name, workspace) != "allow", script % name


async def test_where_nothing_is_seen_links_may_lead_anywhere(engine: EmbeddedEngine, tmp_path: Path) -> None:
    unseen = tmp_path / "elsewhere"
    assert await verdict(engine, BY_NAME_AND_TYPE[0], unseen) == "allow"
    assert [script for script in (*BY_NAME, ALL[0]) if await verdict(engine, script, unseen) != "checkpoint"] == []
    assert await verdict(engine, "grep -R --include='*.py' x src", unseen) == "checkpoint"
    assert await verdict(engine, "rg -L x src", unseen) == "checkpoint"
