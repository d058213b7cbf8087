"""Tools inside an agent's own process, called over a stream that the agent opened."""

import asyncio
import json
import threading
from contextlib import AsyncExitStack
from typing import Any

import grpc
import pytest
from attach_hub import WAIT, Hub
from interlock.errors import GatewayUnavailableError, NotAuthorizedError
from interlock.provider import ToolContext, attach_tools, tool
from interlock.v1 import provider_pb2
from interlock.v1 import tool_provider_service_pb2 as rpc


@tool(read_only=True)
async def echo(text: str) -> str:
    return text


@tool
def threaded(ctx: ToolContext) -> str:
    ctx.output("on the way")
    return threading.current_thread().name


def execute(name: str, **arguments: Any) -> rpc.ExecuteRequest:
    made = provider_pb2.ToolInvocation(session_id="s", call_id="c", tool=name, input=json.dumps(arguments).encode())
    return rpc.ExecuteRequest(invocation=made)


@pytest.mark.req("SDK-1")
async def test_tools_are_offered_with_a_window_and_called_over_the_stream() -> None:
    async with Hub(token="t0p") as gateway:
        async with attach_tools([echo, threaded], gateway.address, token="t0p", name="agent", window=4) as attached:
            assert (attached.provider, attached.tools) == ("agent/test", ("echo",))
            assert attached.refused == {"threaded": "the name is taken"}
            await gateway.ask(request_id=1, execute=execute("echo", text="hi"))
            answer = await gateway.answer()
            assert (answer.request_id, answer.execute.result.output) == (1, "hi")
        await asyncio.wait_for(gateway.gone.wait(), WAIT)


@pytest.mark.req("SDK-1")
async def test_output_from_a_thread_comes_before_the_result() -> None:
    async with Hub() as gateway, attach_tools([threaded], gateway.address):
        await gateway.ask(request_id=7, execute=execute("threaded"))
        first, second = await gateway.answer(), await gateway.answer()
        assert (first.request_id, first.execute.output.text) == (7, "on the way")
        assert second.execute.result.output.startswith("interlock-tool")


@pytest.mark.req("SDK-1")
async def test_other_requests_are_answered_in_kind_or_with_the_error_they_would_be() -> None:
    async with Hub() as gateway, attach_tools([echo], gateway.address):
        await gateway.ask(request_id=1, dry_run=rpc.DryRunRequest(invocation=execute("echo", text="x").invocation))
        answer = await gateway.answer()
        assert answer.error.code == grpc.StatusCode.UNIMPLEMENTED.value[0]
        await gateway.ask(request_id=2, execute=execute("gone"))
        assert (await gateway.answer()).error.code == grpc.StatusCode.NOT_FOUND.value[0]
        await gateway.ask(request_id=3, describe=rpc.DescribeRequest())
        described = await asyncio.wait_for(gateway.descriptions.get(), WAIT)
        assert (described.request_id, described.description.tools[0].name) == (3, "echo")


@pytest.mark.req("SDK-1")
async def test_a_cancelled_request_stops_its_tool_and_the_stream_goes_on() -> None:
    begun, ended = asyncio.Event(), asyncio.Event()

    @tool
    async def wait() -> str:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()
        return ""

    async with Hub() as gateway, attach_tools([wait, echo, threaded], gateway.address):
        await gateway.ask(request_id=1, execute=execute("wait"))
        await asyncio.wait_for(begun.wait(), WAIT)
        await gateway.ask(request_id=1, cancel={"reason": "the client has gone"})
        await asyncio.wait_for(ended.wait(), WAIT)
        await gateway.ask(request_id=2, execute=execute("echo", text="still here"))
        answer = await gateway.answer()
        assert (answer.request_id, answer.execute.result.output) == (2, "still here")


@pytest.mark.req("SDK-1")
async def test_a_request_ends_at_its_timeout() -> None:
    @tool
    async def wait() -> str:
        await asyncio.Event().wait()
        return ""

    async with Hub() as gateway, attach_tools([wait], gateway.address):
        await gateway.ask(request_id=1, execute=execute("wait"), timeout={"nanos": 50_000_000})
        assert (await gateway.answer()).error.code == grpc.StatusCode.DEADLINE_EXCEEDED.value[0]


@pytest.mark.req("SDK-1")
async def test_when_the_gateway_drains_the_tools_are_offered_to_the_next() -> None:
    async with Hub() as gateway, attach_tools([echo], gateway.address):
        await gateway.ask(drain={})
        await gateway.requests.put(None)
        await asyncio.wait_for(gateway.gone.wait(), WAIT)
        await gateway.ask(request_id=1, execute=execute("echo", text="again"))
        assert (await gateway.answer()).execute.result.output == "again"


@pytest.mark.req("SDK-1")
async def test_when_the_gateway_breaks_off_the_tools_are_offered_as_soon_as_one_answers() -> None:
    async with AsyncExitStack() as stack:
        async with Hub() as first:
            attached = await stack.enter_async_context(attach_tools([echo], first.address))
            assert attached.provider == "agent/test"
        async with Hub(port=first.port) as second:
            await second.ask(request_id=1, execute=execute("echo", text="again"))
            assert (await second.answer()).execute.result.output == "again"
            await stack.aclose()


@pytest.mark.req("SDK-1")
async def test_a_gateway_that_is_away_or_refuses_is_an_error_on_entering() -> None:
    with pytest.raises(GatewayUnavailableError):
        async with attach_tools([echo], "127.0.0.1:1"):
            pytest.fail("nothing listens there")
    async with Hub(token="t0p") as gateway:
        with pytest.raises(NotAuthorizedError):
            async with attach_tools([echo], gateway.address, token="wrong"):
                pytest.fail("the token is wrong")


@pytest.mark.req("SDK-1")
async def test_an_agent_without_an_event_loop_attaches_in_a_thread() -> None:
    async with Hub() as gateway:
        attachment = attach_tools([echo], gateway.address)
        attached = await asyncio.to_thread(attachment.__enter__)
        assert attached.tools == ("echo",)
        await gateway.ask(request_id=1, execute=execute("echo", text="hi"))
        assert (await gateway.answer()).execute.result.output == "hi"
        await asyncio.to_thread(attachment.__exit__, None, None, None)
        await asyncio.wait_for(gateway.gone.wait(), WAIT)
    assert not [one for one in threading.enumerate() if one.name == "interlock-attach"]
