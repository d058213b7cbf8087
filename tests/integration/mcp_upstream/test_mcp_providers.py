"""MCP servers as providers: what is called at them, and what comes back, over both transports and both eras."""

import asyncio
import json
from typing import Any

import mcp_types as types
import pytest
from interlock_gateway.core.outcome import ProgressEvent, ToolEvent
from interlock_gateway.core.tool import ToolMetadata
from interlock_gateway.core.trace import TraceContext
from interlock_gateway.errors import OutcomeUnknownError, ProviderDownError
from interlock_gateway.providers.mcp.contents import ERROR, MCP_DETAILS, RESULT
from interlock_gateway.providers.mcp.link import RpcError
from interlock_gateway.transport.mcp.content import content_of
from upstream_bench import ERAS, WAYS, call, reached, stdio_config, text_of
from upstream_server import PARTS, TOOLS
from waiting import eventually

BOTH = pytest.mark.parametrize(
    ("way", "era"), [("stdio", "modern"), ("stdio", "handshake"), ("http", "modern"), ("http", "handshake")]
)


@BOTH
@pytest.mark.req("MCP-2", "MCP-3")
async def test_a_server_is_listed_and_called_whatever_way_it_is_reached(way: str, era: str) -> None:
    async with reached(way, era, prefix="up_") as (provider, _):
        upstream = provider.upstream
        assert upstream is not None
        assert upstream.version == ("2026-07-28" if era == "modern" else "2025-11-25")
        again = await provider.describe(10)
        assert [one.name for one in again.tools] == [f"up_{one.name}" for one in TOOLS]
        assert again.version == "7"
        assert not again.problems
        named = {one.name.removeprefix("up_"): one for one in again.tools}
        assert named["echo"].title == "Say it again"
        assert named["echo"].metadata == ToolMetadata(read_only=True, concurrency_safe=True)
        assert named["sum"].output_schema == {"type": "object", "properties": {"sum": {"type": "number"}}}
        assert named["undeclared"].metadata is None

        echoed = await provider.execute(call("up_echo", b'{"text":"h\\u00e9"}'))
        assert [part.text for part in echoed.content] == ["hé"]  # type: ignore[union-attr]  # it is text
        assert (echoed.is_error, echoed.has_data, echoed.details) == (False, False, None)

        added = await provider.execute(call("up_sum", b'{"a": 1,\r\n "b": 2.5}'))
        assert added.data == {"sum": 3.5}
        assert added.details == {MCP_DETAILS: {RESULT: {"_meta": {"by": "upstream"}}}}

        failed = await provider.execute(call("up_fail"))
        assert (failed.is_error, failed.tool_error) == (True, True)

        refused = await provider.execute(call("up_refuse"))
        assert (refused.is_error, refused.tool_error) == (True, False)
        assert refused.details is not None
        error = {"code": -32042, "message": "not today", "data": {"again": "tomorrow"}}
        assert refused.details[MCP_DETAILS] == {ERROR: error}

        parts = await provider.execute(call("up_parts"))
        shown = [content_of(part, "2025-11-25") for part in parts.content]
        assert shown == [part.model_dump(by_alias=True, mode="json", exclude_none=True) for part in PARTS]

        seen: list[ToolEvent] = []
        await provider.execute(call("up_steps"), seen.append)
        assert seen == [ProgressEvent(1, "step 1", 2), ProgressEvent(2, "step 2", 2)]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.req("MCP-3", "PIPE-3")
async def test_arguments_arrive_as_policy_saw_them(way: str) -> None:
    sent = b'{"big": 9007199254740993, "float": 1.0, "one": 1, "text": "\\u2028\\n", "none": null, "list": [[], {}]}'
    async with reached(way) as (provider, _):
        outcome = await provider.execute(call("arguments", sent))
        assert text_of(outcome) == repr(json.loads(sent))


@pytest.mark.req("MCP-2", "OBS-2")
async def test_the_trace_goes_with_the_call_and_the_environment_holds_what_is_configured() -> None:
    trace = TraceContext("a" * 32, "b" * 16, 1)
    async with reached("stdio") as (provider, _):
        meta = await provider.execute(call("meta", trace=trace))
        assert trace.traceparent in text_of(meta)
        environment = await provider.execute(call("environment"))
        names = set(text_of(environment).split(","))
        assert names - {"LC_CTYPE"} == {"PATH", "HOME"}
    assert "SECRET" not in repr(stdio_config(environment={"SECRET": "hunter2hunter2"}))


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.req("MCP-2", "PIPE-7")
async def test_a_call_that_is_out_of_time_is_unknown_and_cancelled_at_the_server(era: str) -> None:
    async with reached("http", era) as (provider, upstream):
        assert upstream is not None
        with pytest.raises(OutcomeUnknownError, match="did not answer in time"):
            await provider.execute(call("wait", deadline_s=0.2))
        await eventually(lambda: upstream.cancelled == ["wait"])
        running = asyncio.create_task(provider.execute(call("slow")))
        await eventually(lambda: upstream.calls[-1][0] == "slow")
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        await eventually(lambda: upstream.cancelled == ["wait", "slow"])
        assert not (await provider.execute(call("echo", b'{"text":"on"}'))).is_error


class Person:
    """A client that answers whatever it is asked."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, Any]] = []

    @property
    def able(self) -> frozenset[str]:
        return frozenset({"elicitation"})

    async def request(self, method: str, params: Any, *, key: str = "") -> dict[str, Any]:
        del key
        self.asked.append((method, params))
        return {"action": "accept", "content": {"name": "Ada"}}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.req("MCP-2")
async def test_a_server_may_not_ask_the_client_unless_it_is_allowed_to(way: str) -> None:
    async with reached(way, "handshake") as (provider, _):
        outcome = await provider.execute(call("ask"))
        assert outcome.is_error
        assert "not supported" in text_of(outcome).lower()


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.req("MCP-2")
async def test_a_server_that_is_allowed_to_asks_the_client_whose_call_it_runs(way: str) -> None:
    from interlock_gateway.providers.mcp.clients import Clients

    clients, person, other = Clients(), Person(), Person()
    clients.register("s", person)
    clients.register("another session", other)
    async with reached(way, "handshake", allow=("elicitation",), clients=clients) as (provider, _):
        outcome = await provider.execute(call("ask"))
        assert text_of(outcome) == "accept {'name': 'Ada'}"
        ((method, params),) = person.asked
        assert method == "elicitation/create"
        assert params["message"] == "Who are you?"
        assert not other.asked
        clients.unregister("s", person)
        alone = await provider.execute(call("ask"))
        assert alone.is_error


@pytest.mark.req("MCP-3")
async def test_what_is_no_call_passes_with_the_servers_own_answer_or_error() -> None:
    async with reached("http") as (provider, _):
        page = await provider.request("tools/list", {})
        assert page["tools"][0]["name"] == "echo"
        assert provider.listed("echo") is not None
        with pytest.raises(RpcError) as caught:
            await provider.request("resources/list", {})
        assert caught.value.code == types.METHOD_NOT_FOUND


@pytest.mark.req("MCP-2")
async def test_a_provider_that_is_closed_cannot_be_called() -> None:
    async with reached("http") as (provider, _):
        pass
    with pytest.raises(ProviderDownError):
        await provider.execute(call("echo", deadline_s=0.05))
