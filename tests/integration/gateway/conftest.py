"""The fixture that most tests of the gateway start from."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from gateway_bench import Bench, bench


@pytest.fixture
async def at(socket_directory: Path) -> AsyncIterator[Bench]:
    """A gateway with everything at its defaults."""
    async with bench(socket_directory) as made:
        yield made
