"""What the tests of the adapters start from. No framework tells anybody of them."""

import os
import sys
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

sys.path.insert(0, str(Path(__file__).parent.parent / "gateway"))
os.environ |= {"OPENAI_AGENTS_DISABLE_TRACING": "1", "LANGSMITH_TRACING": "false", "LANGCHAIN_TRACING_V2": "false"}

from adapter_bench import PLAYERS, Played, Player, Scene, adapter_scene


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def scene() -> AsyncIterator[Scene]:
    """A gateway with tools of every kind, for all tests of a module: each has a session of its own."""
    with tempfile.TemporaryDirectory(prefix="il-", dir="/tmp", ignore_cleanup_errors=True) as directory:
        async with adapter_scene(Path(directory)) as made:
            yield made


@pytest_asyncio.fixture(loop_scope="module")
async def at(scene: Scene) -> Played:
    """A session at it, at which nothing has happened yet."""
    return await scene.played()


@pytest.fixture(params=PLAYERS, ids=lambda player: player.__name__)
def player(request: pytest.FixtureRequest) -> Player:
    """Each framework in turn."""
    played: Player = request.param
    return played
