"""The fixture that tests of the MCP server start from."""

import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent.parent / "gateway"))
sys.path.insert(0, str(Path(__file__).parent.parent / "replicas"))

from mcp_bench import McpBench, mcp_bench


@pytest.fixture
async def at(socket_directory: Path) -> AsyncIterator[McpBench]:
    """A gateway with MCP."""
    async with mcp_bench(socket_directory) as made:
        yield made
