"""However a command is hidden, what destroys, sends something away or runs what nobody has seen is not let through."""

import json
from pathlib import Path

import pytest
from engine_running import verdict, with_shipped_policies
from interlock_gateway.policy.embedded.engine import EmbeddedEngine

engine = pytest.fixture(with_shipped_policies)
pytestmark = pytest.mark.req("PIPE-5", "POL-4")

SCRIPTS = [
    json.loads(line)
    for line in Path(__file__).with_name("hidden_commands.txt").read_text(encoding="utf-8").splitlines()
    if not line.startswith("#")
]
HARMLESS = [
    "ls -la src",
    "git status && git diff",
    "grep -rn 'rm -rf' src | head",
    "cat notes.txt | sort | uniq -c",
    "PYTHONPATH=src pytest",
    "bun test",
    "deno test",
    "git log --pretty=format:%h --since=2024-01-01 -n 5",
    "git diff -- . ':!package-lock.json'",
    "git show HEAD:notes.txt",
    "pytest --cov=src --cov-report=xml:build/cov.xml tests/test_a.py::test_b",
    "git commit -m 'fix(api): /users answers'",
    "grep -rn 'foo:/bar' src",
]


@pytest.fixture
def workspace(tmp_path: Path) -> str:
    for name in ("notes.txt", "Makefile", "script.txt", "x", "y", "x.py", "y.js", "x.tar", "x.zip", "notes.yaml"):
        (tmp_path / name).write_text("x", encoding="utf-8")
    for name in ("dir", "src", "dist", "build", "docs"):
        (tmp_path / name).mkdir()
    return str(tmp_path)


async def test_no_hidden_command_is_allowed(engine: EmbeddedEngine, workspace: str) -> None:
    assert len(SCRIPTS) > 1000
    assert [
        script for script in SCRIPTS if await verdict(engine, script, workspace) not in {"deny", "checkpoint"}
    ] == []


async def test_plain_reading_is_allowed(engine: EmbeddedEngine, workspace: str) -> None:
    assert [script for script in HARMLESS if await verdict(engine, script, workspace) != "allow"] == []
