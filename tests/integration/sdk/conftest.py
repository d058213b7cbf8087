"""A scripted gateway, and a session at it of each client."""

from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
from either_client import Either
from interlock.testing import (
    FakeGateway,
)


@pytest.fixture
def fake() -> Iterator[FakeGateway]:
    with FakeGateway() as made:
        yield made


@pytest.fixture(params=["async", "sync"])
async def session(fake: FakeGateway, request: pytest.FixtureRequest) -> AsyncIterator[Any]:
    if request.param == "async":
        async with fake.gateway(timeout=20) as gateway:
            yield Either(gateway.session("s-1"), threads=False)
    else:
        with fake.sync_gateway(timeout=20) as sync_gateway:
            yield Either(sync_gateway.session("s-1"), threads=True)
