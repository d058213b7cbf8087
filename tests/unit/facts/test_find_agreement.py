"""What `find` really finds is among what the facts say it may find, whatever its expression."""

import random
import subprocess
from pathlib import Path
from typing import Any

import pytest
from facts_calls import Bash

pytestmark = pytest.mark.req("PIPE-5")

FILES = (
    "src/a.py",
    "src/b.txt",
    "src/.env",
    "src/sub/c.py",
    "src/sub/key.pem",
    "src/sub/deep/d.csv",
    "README.md",
    "x y",
)
TESTS = (
    *("-name '*.py'", "-name '*.txt'", "-name '[a-c]*'", "-name '?.py'", "-name .env", "-iname '*.PY'", "-type f"),
    *("-type d", "-type l", "-path '*/sub/*'", "-maxdepth 2", "-mindepth 1", "-size -9", "-newer README.md", "-follow"),
    *("-prune", "-empty", "-true", "-false", "-depth", "-xtype f", "-regex '.*py'", "-name 'l*'"),
)
JOINS = ("", "", "", "-a", "-o", "-or", "!", "-not", ",")
ROOTS = ("", ".", "src", "./src", "src/sub README.md", "-L src", "-H .", "-P src/")


def action(chance: random.Random, *, piped: bool) -> str:
    return "-print" if piped else chance.choice((r"-exec printf '%s\n' {} \;", r"-exec printf '%s\n' {} +"))


def expression(chance: random.Random) -> str:
    """A `find` that hands files to `printf`, by itself or through a pipe."""
    words, piped = ["find", chance.choice(ROOTS)], chance.random() < 0.3
    for _ in range(chance.randint(0, 4)):
        words += [chance.choice(TESTS), chance.choice(JOINS)]
        if chance.random() < 0.25:
            words += [r"\(", chance.choice(TESTS), chance.choice(JOINS), chance.choice(TESTS), r"\)"]
        if chance.random() < 0.15:
            words += [action(chance, piped=piped), chance.choice(JOINS)]
    if not piped or chance.random() < 0.5:
        words.append(action(chance, piped=piped))
    return " ".join(filter(None, words)) + (r" | xargs printf '%s\n'" if piped else "")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for name in FILES:
        (tmp_path / "root" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "root" / name).write_text("x", encoding="utf-8")
    (tmp_path / "root" / "src" / "link.py").symlink_to(tmp_path)
    return tmp_path / "root"


def may_find(search: dict[str, Any], path: Path) -> bool:
    """Whether the facts say that something may be among what is found."""
    name = path.name.lower()
    if not search["complete"]:
        return True
    return not path.is_symlink() and (name in search["names"] or path.suffix.lower().lstrip(".") in search["endings"])


def test_what_find_hands_on_is_what_the_facts_say(bash: Bash, root: Path) -> None:
    chance = random.Random(20)
    bounded = 0
    for _ in range(800):
        script = expression(chance)
        facts = bash(script, roots=(str(root),))
        searches = facts["searches"]
        assert len(searches) == sum(command["fed"] for command in facts["commands"]), script
        if facts["open"] or any(not search["complete"] for search in searches):
            continue
        named = {path["given"] for path in facts["paths"]}
        ran = subprocess.run(["bash", "-c", script], cwd=root, capture_output=True, text=True, check=False, timeout=20)
        for line in filter(None, ran.stdout.split("\n")):
            found = root / line
            if line not in named and (found.is_symlink() or not found.is_dir()):
                bounded += 1
                assert any(may_find(search, found) for search in searches), (script, line)
    assert bounded > 100
