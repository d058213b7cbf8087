"""One session by two ways in at once: what runs alone runs alone, whichever way it came (PIPE-8)."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from interlock.provider import tool
from mcp_bench import mcp_bench, text_of
from waiting import eventually

IN_IT: dict[str, Any] = {"meta": {"dev.interlock/session": "shared"}}


@pytest.mark.req("PIPE-8", "PIPE-1")
async def test_a_change_over_mcp_waits_for_one_over_grpc_of_its_session(socket_directory: Path) -> None:
    events: list[str] = []
    go_on = asyncio.Event()

    @tool(destructive=False, reversible=True)
    async def change(value: str) -> str:
        """Change, alone."""
        events.append(f"{value} begins")
        await go_on.wait()
        events.append(f"{value} ends")
        return value

    async with mcp_bench(socket_directory, tools=lambda _: [change]) as at, at.over_socket() as client:
        first = asyncio.create_task(at.at.agent.session("shared").call("change", {"value": "grpc"}))
        await eventually(lambda: events == ["grpc begins"])
        second = asyncio.create_task(client.call_tool("change", {"value": "mcp"}, **IN_IT))
        await eventually(lambda: at.at.gateway.rooms.pipeline.in_flight == 2)
        assert events == ["grpc begins"]
        go_on.set()
        assert (await first).text == "grpc"
        assert text_of(await second) == "mcp"
    assert events == ["grpc begins", "grpc ends", "mcp begins", "mcp ends"]
