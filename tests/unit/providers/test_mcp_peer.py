"""What one MCP server can make the gateway do by itself, unasked."""

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest
from interlock_gateway.providers.mcp.link import Outgoing, Receive
from interlock_gateway.providers.mcp.peer import MAX_ASIDE, MAX_ASKED, Peer


class Stuck:
    """A link whose server takes nothing."""

    closing_cancels = False

    def __init__(self) -> None:
        self.carried: list[Outgoing] = []
        self.receive: Receive | None = None

    async def open(self, receive: Receive, lost: Callable[[str], None]) -> None:
        del lost
        self.receive = receive

    async def carry(self, outgoing: Outgoing) -> None:
        self.carried.append(outgoing)
        await asyncio.Event().wait()

    def adopt(self, version: str, *, modern: bool) -> None:
        """Nothing differs."""

    async def close(self) -> None:
        """Nothing is open."""

    def say(self, **message: Any) -> bool:
        assert self.receive is not None
        return self.receive(json.dumps({"jsonrpc": "2.0", **message}).encode(), None)


async def unanswered(method: str, params: dict[str, Any], related: object) -> dict[str, Any] | None:
    del method, params, related
    await asyncio.Event().wait()
    return None


def nobody(*_: object) -> None:
    """Hears nothing."""


@pytest.mark.req("MCP-2", "SEC-2")
async def test_a_server_that_asks_without_end_and_takes_no_answers_is_not_told_of_each_refusal() -> None:
    link = Stuck()
    peer = Peer(link, unanswered, nobody, nobody)
    await peer.open()
    for number in range(5000):
        link.say(id=number, method="sampling/createMessage", params={})
    await asyncio.sleep(0)
    assert len(link.carried) == MAX_ASIDE - MAX_ASKED
    await peer.close()


@pytest.mark.parametrize(("progress", "told"), [(0.5, True), (7, True), (10**400, False), (True, False), ("7", False)])
@pytest.mark.req("MCP-2", "MCP-3")
async def test_progress_that_is_no_number_others_could_read_is_passed_over(progress: Any, *, told: bool) -> None:
    link = Stuck()
    peer = Peer(link, unanswered, nobody, nobody)
    await peer.open()
    heard: list[float] = []
    number = peer.new_id()
    asking = asyncio.create_task(
        peer.request(number, "tools/call", b"{}", timeout_s=5, on_progress=lambda done, *_: heard.append(done))
    )
    await asyncio.sleep(0)
    link.say(method="notifications/progress", params={"progressToken": number, "progress": progress})
    assert heard == ([progress] if told else [])
    asking.cancel()
    await asyncio.gather(asking, return_exceptions=True)
    await peer.close()
