"""Servers log what the most curious of those wants who are there, and no more once they have gone (MCP-3)."""

from typing import Any, cast

import pytest
from interlock_gateway.providers.mcp.provider import McpProvider
from interlock_gateway.transport.mcp.log_levels import KEEP_S, Levels
from interlock_gateway.transport.mcp.wires import Wire


class Agreed:
    """What was agreed on with a server."""

    def __init__(self, *, modern: bool) -> None:
        self.modern = modern
        self.level = "never"

    def hear(self, level: str) -> None:
        self.level = level


class Server:
    """A server, and the levels that it was asked for."""

    def __init__(self, *, modern: bool = False) -> None:
        self.upstream = Agreed(modern=modern)
        self.asked: list[str] = []
        self.fails = 0
        self.meanwhile: Any = None

    def passes(self, _kind: str) -> bool:
        return True

    async def request(self, _method: str, params: dict[str, str], *, timeout_s: float) -> None:
        assert timeout_s
        self.asked.append(params["level"])
        if self.fails:
            self.fails -= 1
            raise TimeoutError
        if self.meanwhile is not None:
            self.meanwhile()


async def told(levels: Levels, server: Server) -> list[str]:
    """What the server has been asked for, once it knows what it should."""
    if (work := levels.tell(cast("McpProvider", server))) is not None:
        await work
    return server.asked


@pytest.mark.req("MCP-3")
async def test_the_level_of_those_who_are_there_counts_when_the_most_curious_goes() -> None:
    levels, server, curious, calm = Levels(), Server(), Wire(), Wire()
    levels.set(calm, "error")
    assert await told(levels, server) == ["error"]
    levels.set(curious, "debug")
    assert await told(levels, server) == ["error", "debug"]
    levels.gone(curious)
    assert await told(levels, server) == ["error", "debug", "error"]
    levels.gone(calm)
    assert (await told(levels, server))[-1] == "emergency"
    assert await told(levels, server) == ["error", "debug", "error", "emergency"]


@pytest.mark.req("MCP-3")
async def test_a_server_that_nobody_wanted_anything_of_is_asked_for_nothing() -> None:
    assert await told(Levels(), Server()) == []


@pytest.mark.req("MCP-3")
async def test_what_a_request_asked_for_ends_some_time_after_the_last_that_did() -> None:
    levels, server = Levels(), Server(modern=True)
    assert levels.asked("debug", 0.0)
    assert not levels.asked("debug", 20.0)
    assert not levels.asked("loud", 20.0)
    await told(levels, server)
    assert server.upstream.level == "debug"
    assert levels.settle([None, "debug", cast("str", ["debug"])], KEEP_S + 30.0)
    await told(levels, server)
    assert server.upstream.level == "debug"
    assert not levels.settle([], 2 * KEEP_S + 30.0)
    await told(levels, server)
    assert server.upstream.level == ""
    assert levels.asked("debug", 1000.0)


@pytest.mark.req("MCP-3")
async def test_a_server_that_could_not_be_asked_is_asked_again_and_the_last_wish_comes_last() -> None:
    levels, server, wire = Levels(), Server(), Wire()
    levels.set(wire, "debug")
    server.fails = 1
    with pytest.raises(TimeoutError):
        await told(levels, server)

    def changed() -> None:
        levels.set(wire, "alert")
        assert levels.tell(cast("McpProvider", server)) is None
        server.meanwhile = None

    server.meanwhile = changed
    assert await told(levels, server) == ["debug", "debug", "alert"]
