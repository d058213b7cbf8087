"""What an upstream server asks while it runs a call: refused, or asked of the client whose call it is (MCP-2)."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from interlock_gateway.config import LimitsConfig
from mcp import MCPError
from mcp.server.mcpserver import Context, MCPServer
from mcp.shared.exceptions import MCPDeprecationWarning
from mcp_bench import McpBench, text_of
from mcp_types import (
    CreateMessageRequest,
    CreateMessageRequestParams,
    CreateMessageResult,
    ElicitRequest,
    ElicitRequestFormParams,
    ElicitResult,
    InputRequiredResult,
    SamplingMessage,
    TextContent,
    ToolAnnotations,
)
from passing_servers import in_front_of
from pydantic import BaseModel
from waiting import eventually

MODES = ("legacy", "2026-07-28")
READS = ToolAnnotations(read_only_hint=True, open_world_hint=False)
SCHEMA = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
ALLOWED = {"allow": ("sampling", "elicitation")}


class Name(BaseModel):
    """What is asked for."""

    name: str


def asking_server() -> MCPServer:
    """Asks for a name, and a model for the capital of it; at every revision in its own way."""
    server = MCPServer("curious", version="1", log_level="ERROR")

    @server.tool(annotations=READS)
    async def both(ctx: Context) -> str | InputRequiredResult:
        """Ask two things."""
        if ctx.input_responses is None or len(ctx.input_responses) < 2:
            question = SamplingMessage(role="user", content=TextContent(text="Which capital?"))
            return InputRequiredResult(
                input_requests={
                    "who": ElicitRequest(params=ElicitRequestFormParams(message="Who?", requested_schema=SCHEMA)),
                    "where": CreateMessageRequest(params=CreateMessageRequestParams(messages=[question], max_tokens=5)),
                },
                request_state="asked",
            )
        who, where = ctx.input_responses["who"], ctx.input_responses["where"]
        return f"{who.content} {where.content.text} {ctx.request_state}"  # type: ignore[union-attr]  # as asked

    @server.tool(annotations=READS)
    async def who(ctx: Context) -> str:
        """Ask in the way of older revisions: with a request to the client."""
        answer = await ctx.elicit("Who?", Name)
        return f"{answer.action} {getattr(getattr(answer, 'data', None), 'name', '')}"

    return server


async def ada(_context: Any, _params: Any) -> ElicitResult:
    return ElicitResult(action="accept", content={"name": "Ada"})


async def paris(_context: Any, _params: Any) -> CreateMessageResult:
    return CreateMessageResult(role="assistant", content=TextContent(text="Paris"), model="m")


ABLE: dict[str, Any] = {"elicitation_callback": ada, "sampling_callback": paris}


@pytest.fixture
async def relaying(socket_directory: Path) -> AsyncIterator[McpBench]:
    async with in_front_of(socket_directory, asking_server(), mcp=ALLOWED) as at:
        yield at


@pytest.mark.req("MCP-2")
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.filterwarnings(f"ignore::{MCPDeprecationWarning.__module__}.{MCPDeprecationWarning.__name__}")
async def test_what_a_server_asks_is_asked_of_the_client_and_the_call_goes_on(relaying: McpBench, mode: str) -> None:
    async with relaying.over_http(mode, **ABLE) as client:
        answer = await client.call_tool("both", {})

    assert text_of(answer) == "{'name': 'Ada'} Paris asked"


@pytest.mark.req("MCP-2")
async def test_a_client_that_carries_rounds_is_asked_everything_at_once_under_the_servers_names(
    relaying: McpBench,
) -> None:
    async with relaying.over_http("2026-07-28", **ABLE) as client:
        asked = await client.session.call_tool("both", {}, allow_input_required=True)
        assert isinstance(asked, InputRequiredResult)
        assert asked.input_requests is not None
        assert set(asked.input_requests) == {"who", "where"}
        answers = {"who": await ada(None, None), "where": await paris(None, None)}
        more: dict[str, Any] = {"input_responses": answers, "request_state": asked.request_state}
        once = await client.session.call_tool("both", {}, allow_input_required=True, **more)
        with pytest.raises(MCPError):
            await client.session.call_tool("both", {}, allow_input_required=True, **more)

    assert text_of(once) == "{'name': 'Ada'} Paris asked"


@pytest.mark.req("MCP-2", "SEC-1")
async def test_a_round_is_for_its_own_principal_alone(relaying: McpBench) -> None:
    async with (
        relaying.over_http("2026-07-28", **ABLE) as client,
        relaying.over_http("2026-07-28", token=relaying.other, **ABLE) as thief,
    ):
        asked = await client.session.call_tool("both", {}, allow_input_required=True)
        assert isinstance(asked, InputRequiredResult)
        with pytest.raises(MCPError):
            await thief.session.call_tool(
                "both", {}, allow_input_required=True, request_state=asked.request_state, input_responses={}
            )


@pytest.mark.req("MCP-2")
@pytest.mark.parametrize("mode", MODES)
async def test_without_leave_a_server_asks_nobody_anything(socket_directory: Path, mode: str) -> None:
    asked: list[Any] = []

    async def heard(_context: Any, params: Any) -> ElicitResult:
        asked.append(params)
        return await ada(None, None)

    able = {**ABLE, "elicitation_callback": heard}
    async with in_front_of(socket_directory, asking_server()) as at, at.over_http(mode, **able) as client:
        try:
            refused = (await client.call_tool("both", {})).is_error
        except MCPError:
            refused = True

    assert refused
    assert asked == []


@pytest.mark.req("MCP-2")
@pytest.mark.parametrize("mode", MODES)
async def test_a_client_that_cannot_answer_is_not_asked_and_the_call_ends(relaying: McpBench, mode: str) -> None:
    async with asyncio.timeout(10), relaying.over_http(mode) as client:
        with pytest.raises(MCPError) as caught:
            await client.call_tool("both", {})

    assert "does not support" in caught.value.error.message


@pytest.mark.req("MCP-2")
async def test_a_round_that_nobody_comes_back_for_ends_by_itself(socket_directory: Path) -> None:
    async with in_front_of(socket_directory, asking_server(), mcp=ALLOWED, surface={"round_s": 0.3}) as at:
        pipeline = at.at.gateway.rooms.pipeline
        async with at.over_http("2026-07-28", **ABLE) as client:
            asked = await client.session.call_tool("both", {}, allow_input_required=True)
            assert isinstance(asked, InputRequiredResult)
            assert pipeline.in_flight == 1
            await eventually(lambda: pipeline.in_flight == 0)


@pytest.mark.req("MCP-2")
@pytest.mark.parametrize("mode", MODES)
async def test_a_server_that_asks_with_requests_is_spoken_to_by_handshake_and_its_clients_at_any_revision(
    socket_directory: Path, mode: str
) -> None:
    async with (
        in_front_of(socket_directory, asking_server(), mcp={**ALLOWED, "handshake": True}) as at,
        at.over_http(mode, **ABLE) as client,
    ):
        assert text_of(await client.call_tool("who", {})) == "accept Ada"


@pytest.mark.req("MCP-2")
async def test_a_question_is_put_away_when_the_call_that_it_was_asked_in_is_out_of_time(socket_directory: Path) -> None:
    shown, put_away = asyncio.Event(), asyncio.Event()

    async def slow(_context: Any, _params: Any) -> ElicitResult:
        shown.set()
        try:
            await asyncio.Event().wait()
        finally:
            put_away.set()
        return await ada(None, None)

    limits = LimitsConfig(default_timeout_s=0.5)
    upstream = {**ALLOWED, "handshake": True}
    async with (
        in_front_of(socket_directory, asking_server(), mcp=upstream, limits=limits) as at,
        at.over_socket(elicitation_callback=slow) as client,
    ):
        answer = await client.call_tool("who", {})
        async with asyncio.timeout(5):
            await put_away.wait()
        assert not at.at.gateway.rooms.pipeline.in_flight

    assert answer.is_error
    assert shown.is_set()
