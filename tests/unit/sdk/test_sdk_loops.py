"""A client for event loops, where there is more than one of them."""

import asyncio
from collections.abc import Iterator

import pytest
from interlock import Gateway
from interlock.testing import Allow, FakeGateway

pytestmark = pytest.mark.req("SDK-1")


@pytest.fixture
def fake() -> Iterator[FakeGateway]:
    with FakeGateway() as made:
        made.on("read", Allow("read"))
        yield made


async def read(gateway: Gateway) -> str:
    return (await gateway.session("s-1").call("read")).text


def test_a_client_goes_on_in_the_loop_that_follows(fake: FakeGateway) -> None:
    gateway = fake.gateway(timeout=20)
    assert [asyncio.run(read(gateway)) for _ in range(3)] == ["read"] * 3

    async def end() -> None:
        assert await read(gateway) == "read"
        await gateway.close()

    asyncio.run(end())
    assert asyncio.run(read(gateway)) == "read"
    asyncio.run(gateway.close())


def test_a_client_that_was_closed_is_at_home_in_any_loop(fake: FakeGateway) -> None:
    gateway = fake.gateway(timeout=20)
    with asyncio.Runner() as first, asyncio.Runner() as second:
        assert first.run(read(gateway)) == "read"
        first.run(gateway.close())
        assert second.run(read(gateway)) == "read"
        second.run(gateway.close())


def test_a_client_in_use_is_refused_to_another_loop_in_words(fake: FakeGateway) -> None:
    gateway = fake.gateway(timeout=20)
    with asyncio.Runner() as first, asyncio.Runner() as second:
        first.run(read(gateway))
        with pytest.raises(RuntimeError, match="belongs to the event loop that first used it"):
            second.run(read(gateway))
        assert first.run(read(gateway)) == "read"
        first.run(gateway.close())
