"""The example of a standing handler, before a real gateway (PREV-12)."""

import importlib.util
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from gateway_bench import Bench, bench
from interlock import CallStatus
from interlock.provider import PendingAction, Tool, ToolResult, tool

SOURCE = Path(__file__).parents[3] / "examples/standing_handler/plan_provider.py"
NOTHING = "No pending action to resolve. Nothing to apply or discard."


@pytest.fixture
def example() -> ModuleType:
    spec = importlib.util.spec_from_file_location("plan_provider", SOURCE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


@pytest.fixture
async def at(socket_directory: Path, example: ModuleType) -> AsyncIterator[Bench]:
    @tool(destructive=False, reversible=True)
    def push() -> ToolResult:
        """Push a pending action, which comes before any standing handler."""
        return ToolResult(content="pushed", pending_action=PendingAction(label="pushed", token="1"))

    @push.apply
    def apply(token: str) -> str:
        return f"applied {token}"

    plans: list[Tool[..., Any]] = example.plan_tools(example.Plans())
    async with bench(socket_directory, tools=lambda _: [*plans, push]) as made:
        yield made


@pytest.mark.req("PREV-12", "PREV-4", "PREV-9")
async def test_a_plan_is_rejected_and_approved_by_its_handler_until_it_is_approved(at: Bench) -> None:
    session = at.agent.session("s")
    assert (await session.resolve("apply", "go")).text == NOTHING

    proposed = await session.call("propose_plan", {"steps": ["read", "write"]})
    assert (proposed.status, proposed.pending) == (CallStatus.COMPLETED, None)
    assert (await session.pending()).standing_handler == "the plan with 2 steps"
    for reason in ("too short", "still too short"):
        rejected = await session.resolve("discard", reason)
        assert rejected.text == f"Not approved ({reason}). Propose another plan."
    approved = await session.resolve("apply", "fine")
    assert approved.text == "Approved (fine). Go on with step 1."
    assert approved.details["sourceToolName"] == "propose_plan"
    assert approved.details["sourceResultDetails"] == {"approved": True}
    assert (await session.pending()).standing_handler == ""
    assert (await session.resolve("apply", "go")).text == NOTHING


@pytest.mark.req("PREV-12")
async def test_a_handler_answers_only_while_nothing_is_queued_and_for_its_session_alone(at: Bench) -> None:
    session = at.agent.session("s")
    await session.call("propose_plan", {"steps": ["one"]})
    await session.call("push", {})

    assert (await session.resolve("apply", "go")).text == "applied 1"
    assert (await session.resolve("apply", "go")).text == "Approved (go). Go on with step 1."
    assert (await at.agent.session("other").resolve("apply", "go")).text == NOTHING
