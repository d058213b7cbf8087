"""The fixture that the tests of several replicas start from."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from postgres_server import PostgresServer
from two_gateways import Two, two_gateways


@pytest.fixture
async def two(socket_directory: Path, postgres: PostgresServer) -> AsyncIterator[Two]:
    """Two gateways on one database."""
    with postgres.database() as url:
        async with two_gateways(socket_directory, url) as made:
            yield made
