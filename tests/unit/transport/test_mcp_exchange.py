"""One request over HTTP and its answer, when it is cancelled and when its client does not read (MCP-1)."""

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest
from interlock_gateway.transport.mcp import exchange as module
from interlock_gateway.transport.mcp.exchange import CANCELLED, Exchange, failure
from mcp_types import ErrorData
from starlette.requests import Request
from waiting import eventually


class Client:
    """Takes what it is sent once it reads."""

    def __init__(self) -> None:
        self.reads = asyncio.Event()
        self.offered = 0
        self.taken: list[str] = []

    async def send(self, message: Any) -> None:
        self.offered += 1
        await self.reads.wait()
        self.taken.append(message["type"])

    def exchange(self) -> Exchange:
        return Exchange(Request({"type": "http", "headers": []}), self.send, 1, None)


@pytest.mark.req("MCP-1")
async def test_who_cancels_a_request_twice_does_not_cut_off_what_it_does_when_it_is_cancelled() -> None:
    begun, ending, may_end, ended = (asyncio.Event() for _ in range(4))

    async def handled(_exchange: Any, _method: str, _params: Mapping[str, Any] | None) -> dict[str, Any]:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            ending.set()
            await may_end.wait()
            ended.set()
        return {}

    exchange = Client().exchange()
    running = asyncio.create_task(exchange.run(handled, "tools/call", None))
    await begun.wait()
    why = ErrorData(code=CANCELLED, message="it was cancelled")
    exchange.cancel(why)
    await ending.wait()
    exchange.cancel(ErrorData(code=CANCELLED, message="it was cancelled again"))
    may_end.set()
    assert await running == failure(1, why)
    assert ended.is_set()


@pytest.mark.req("MCP-1")
async def test_a_stream_that_did_not_begin_because_its_client_did_not_read_begins_with_the_answer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "PING_S", 0.0)
    client = Client()
    exchange = client.exchange()
    pinging = asyncio.create_task(exchange.ping())
    await eventually(lambda: client.offered == 1)
    pinging.cancel()
    with pytest.raises(asyncio.CancelledError):
        await pinging
    client.reads.set()
    await exchange.answer({"jsonrpc": "2.0", "id": 1, "result": {}})
    assert client.taken == ["http.response.start", "http.response.body"]
