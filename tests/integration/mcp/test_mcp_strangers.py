"""What one principal could try to have of another's over MCP: their questions, their session, their place (SEC-7)."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, cast

import pytest
from interlock_gateway.core.session import Principal, session_for
from mcp import MCPError
from mcp.server.mcpserver import Context, MCPServer
from mcp_bench import McpBench, text_of
from mcp_types import (
    ElicitRequest,
    ElicitRequestFormParams,
    ElicitResult,
    Implementation,
    InputRequiredResult,
    ToolAnnotations,
)
from passing_servers import Name, in_front_of
from waiting import eventually

READS = ToolAnnotations(read_only_hint=True, open_world_hint=False)
NAMED: dict[str, Any] = {"meta": {"dev.interlock/session": "of-a"}}


class Curious:
    """A server that asks its question when it is told to."""

    def __init__(self) -> None:
        self.called = 0
        self.go_on = asyncio.Event()
        self.server = MCPServer("curious", version="1", log_level="ERROR")

        @self.server.tool(annotations=READS)
        async def who(ctx: Context) -> str | InputRequiredResult:
            """Ask for a name."""
            if ctx.input_responses is not None:
                return str(ctx.input_responses["who"].content)  # type: ignore[union-attr]  # as asked
            self.called += 1
            await self.go_on.wait()
            question = ElicitRequestFormParams(message="Who?", requested_schema=Name.model_json_schema())
            return InputRequiredResult(input_requests={"who": ElicitRequest(params=question)}, request_state="asked")


@pytest.fixture
async def curious() -> Curious:
    return Curious()


@pytest.fixture
async def asked(socket_directory: Path, curious: Curious) -> AsyncIterator[McpBench]:
    async with in_front_of(socket_directory, curious.server, mcp={"allow": ("elicitation",)}) as at:
        yield at


@pytest.mark.req("MCP-2", "SEC-7")
async def test_a_question_is_asked_of_nobody_who_only_names_the_session_that_it_is_for(
    asked: McpBench, curious: Curious, monkeypatch: pytest.MonkeyPatch
) -> None:
    sessions, arrived, let_in = asked.at.gateway.rooms.parts.sessions, asyncio.Event(), asyncio.Event()
    admit = sessions.admit

    async def slowly(principal: Principal, session_id: str) -> Any:
        if principal.id == "agent-b":  # as when a gateway has much to do
            arrived.set()
            await let_in.wait()
        return await admit(principal, session_id)

    monkeypatch.setattr(sessions, "admit", slowly)
    seen: list[str] = []

    def answering(name: str) -> Any:
        async def answer(_context: Any, _params: Any) -> ElicitResult:
            seen.append(name)
            return ElicitResult(action="accept", content={"name": name})

        return answer

    async with (
        asyncio.timeout(20),
        asked.over_http(elicitation_callback=answering("a")) as client,
        asked.over_http(token=asked.other, elicitation_callback=answering("b")) as stranger,
    ):
        own = asyncio.create_task(client.session.call_tool("who", {}, **NAMED))
        await eventually(lambda: curious.called == 1)
        other = asyncio.create_task(stranger.session.call_tool("who", {}, **NAMED))
        await arrived.wait()
        curious.go_on.set()
        answer = await own
        let_in.set()
        with pytest.raises(MCPError):
            await other

    assert seen == ["a"]
    assert text_of(answer) == "{'name': 'a'}"


@pytest.mark.req("MCP-1", "SEC-7")
async def test_nobody_keeps_another_out_of_the_session_that_is_made_for_their_client(at: McpBench) -> None:
    who = Implementation(name="worked-out", version="1")
    theirs = session_for("mcp", "agent-a", who.name)
    async with (
        at.over_http("2026-07-28", client_info=who) as client,
        at.over_http("2026-07-28", token=at.other) as stranger,
    ):
        meta = cast("Any", {"dev.interlock/session": theirs})
        with pytest.raises(MCPError, match="belongs to another principal"):
            await stranger.session.call_tool("echo", {"text": "first"}, meta=meta)
        own = await client.session.call_tool("echo", {"text": "mine"})

    assert text_of(own) == "mine"
    live = at.at.gateway.rooms.parts.sessions.in_memory(theirs)
    assert live is not None
    assert live.session.owner == "agent-a"
