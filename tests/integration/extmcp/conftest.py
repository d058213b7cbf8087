"""The fixture that these tests start from."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from other_gateway import Asked, asked


@pytest.fixture
async def at(socket_directory: Path) -> AsyncIterator[Asked]:
    async with asked(socket_directory) as made:
        yield made
