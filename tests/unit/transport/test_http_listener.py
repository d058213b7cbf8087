"""The HTTP listener keeps nobody waiting for those who never say what they want."""

import asyncio
from collections.abc import AsyncIterator

import pytest
from interlock_gateway.transport.http import listener
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route

WHOLE = b"GET /wait HTTP/1.1\r\nhost: x\r\n\r\n"
HALF = WHOLE[:-2]


@pytest.fixture
def go_on() -> asyncio.Event:
    return asyncio.Event()


@pytest.fixture
async def port(go_on: asyncio.Event, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[int]:
    async def wait(_: Request) -> PlainTextResponse:
        await go_on.wait()
        return PlainTextResponse("done")

    monkeypatch.setattr(listener, "HEAD_S", 0.05)
    with listener.bound("127.0.0.1:0") as listening:
        async with listener.serving(Starlette(routes=[Route("/wait", wait)]), listening):
            yield listening.getsockname()[1]


async def until_closed(reader: asyncio.StreamReader) -> bytes:
    try:
        return await asyncio.wait_for(reader.read(), 10)
    except ConnectionResetError:
        return b""


@pytest.mark.parametrize("said", [b"", HALF], ids=["nothing", "half a head"])
async def test_a_connection_on_which_nothing_is_asked_is_closed(port: int, said: bytes) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(said)
    assert await until_closed(reader) == b""
    writer.close()


async def test_so_is_one_on_which_nothing_more_is_asked(port: int, go_on: asyncio.Event) -> None:
    go_on.set()
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(WHOLE)
    assert await asyncio.wait_for(reader.readuntil(b"done"), 10)
    writer.write(HALF)
    assert await until_closed(reader) == b""
    writer.close()


async def test_who_waits_for_an_answer_is_left_alone(port: int, go_on: asyncio.Event) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(WHOLE)
    silent, other = await asyncio.open_connection("127.0.0.1", port)
    assert await until_closed(silent) == b""
    go_on.set()
    assert await asyncio.wait_for(reader.readuntil(b"done"), 10)
    writer.close()
    other.close()
