"""The examples of adapters run as they are, each in a process of its own, at a gateway with the toolbox."""

import asyncio
import os
import re
import sys
import tempfile
from asyncio.subprocess import PIPE
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from gateway_bench import Bench, bench
from interlock.toolbox.local import local_operations
from interlock.toolbox.server import toolbox_tools

pytestmark = [pytest.mark.req("SDK-2"), pytest.mark.asyncio(loop_scope="module")]
FOLDER = Path(__file__).parents[3] / "examples" / "adapters"
EXAMPLES = sorted(path.name for path in FOLDER.glob("*.py"))


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def at() -> AsyncIterator[Bench]:
    """A gateway in front of a directory with a README."""
    with tempfile.TemporaryDirectory(prefix="il-", dir="/tmp", ignore_cleanup_errors=True) as directory:
        root = garden(Path(directory))
        operations = local_operations([root], Path(directory, "undo"))
        tools = toolbox_tools(operations)
        async with bench(Path(directory), tools=lambda _: tools, workspace_roots=(str(root),)) as made:
            yield made


def garden(directory: Path) -> Path:
    """A directory with a README, for agents to work in."""
    root = directory / "root"
    root.mkdir()
    (root / "README.md").write_text("# A garden\n")
    return root


@pytest.mark.parametrize("name", EXAMPLES)
async def test_an_example_reads_writes_and_resolves(at: Bench, name: str) -> None:
    plan = at.directory / "root" / "plan.md"
    plan.unlink(missing_ok=True)
    env = {**os.environ, "INTERLOCK_ADDRESS": at.gateway.endpoints.agents[0]}
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-W", "error", str(FOLDER / name), env=env, stdout=PIPE, stderr=PIPE
    )
    said, complaints = (text.decode() for text in await process.communicate())

    assert process.returncode == 0, complaints
    assert complaints == ""
    assert re.findall(r"^\[(\w+)\]", said, re.MULTILINE) == ["completed", "preview", "completed"]
    assert said.startswith("[completed] # A garden")
    assert "Call the `resolve` tool to apply or discard these changes." in said
    assert said.endswith("\n\nThe plan is written.\n")
    assert plan.read_text() == "Water the plants.\n"
