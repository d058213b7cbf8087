"""A gateway as a process of its own: its agent's spans go on in it, and its log lines hold nothing of calls (OBS-2)."""

import json
import random
import signal
from pathlib import Path

import pytest
from interlock.errors import RequestError
from interlock.provider import ToolServer, tool
from opentelemetry.sdk.trace import TracerProvider
from otlp_collector import collecting
from served_gateway import served
from waiting import eventually

OUTSIDE = {"time", "level", "logger", "message"}


@tool(read_only=True)
def say(text: str) -> str:
    """Say it again."""
    return text


@tool(read_only=True)
def crash(text: str) -> str:
    """Fail with it."""
    raise ValueError(text)


@tool(destructive=False, reversible=True)
def change(text: str) -> str:
    """Change it."""
    return text


@pytest.mark.req("OBS-2")
async def test_a_gateway_tells_the_trace_of_a_call_and_nothing_that_it_brought(socket_directory: Path) -> None:
    canary = f"canary{random.randrange(10**12):012}"
    tracer = TracerProvider().get_tracer("agent")
    tools = [say, crash, change]
    with collecting() as collector:
        more = {"tracing": {"endpoint": collector.endpoint, "delay_s": 0.02}, "logs": {"level": "debug"}}
        async with (
            ToolServer(tools, f"unix:{socket_directory}/held.sock", name="held"),
            served(socket_directory, more=more) as at,
        ):
            session = at.agent.session("s-1")
            with tracer.start_as_current_span("the agent's turn") as turn:
                assert (await session.call("say", {"text": canary})).completed
                await session.call("crash", {"text": canary})
                await session.call("change", {"text": canary})
                await session.call("say", {canary: canary})
                await session.call(canary, {"text": canary})
                await session.call("say", canary.encode())
                with pytest.raises(RequestError):
                    await session.call("", {"text": canary})
                await session.resolve_references(f"look at @{canary} and @../{canary}")
            await eventually(lambda: len(collector.named("execute_tool say")) == 3)
            assert await at.ended_by(signal.SIGTERM) == 0

    lines = [json.loads(line) for line in (socket_directory / "serve.log").read_text().splitlines()]
    assert all(line.keys() >= OUTSIDE for line in lines)
    assert {"draining", "provider connected"} <= {line["message"] for line in lines}
    assert canary not in (socket_directory / "serve.log").read_text()
    assert canary.encode() not in collector.raw
    span = turn.get_span_context()
    calls = [one for one in collector.spans if one.name.startswith("execute_tool")]
    assert {(one.trace_id, one.parent_id) for one in calls} == {(f"{span.trace_id:032x}", f"{span.span_id:016x}")}
    (crashed,) = collector.named("execute_tool crash")
    assert (crashed.failed, crashed.attributes["error.type"]) == (True, "failed")
