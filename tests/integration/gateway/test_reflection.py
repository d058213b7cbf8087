"""Reverse thinking (flows.md, REV-1 to REV-4): an agent challenges its own call before it goes on."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, cast

import pytest
from asked_people import asking, person
from gateway_bench import Bench, Ledger, bench, ledger_tools
from interlock import CallStatus
from interlock.calls import Deliverable
from interlock.provider import Tool, tool
from interlock_gateway.audit.read import read_records

THOUGHT: dict[str, Any] = {
    "hidden_assumptions": ["nobody else sets the value"],
    "failure_scenarios": ["it is lost"],
    "verdict": "proceed",
    "verdict_reason": "it can be set back",
}


def thoughtful(ledger: Ledger) -> list[Tool[..., Any]]:
    @tool(destructive=False, reversible=True, requires_reverse_thinking=True)
    def ponder(value: str) -> str:
        """Do it after some thought."""
        ledger.ran.append(("ponder", value))
        return f"did {value}"

    @tool(destructive=False, reversible=True, requires_reverse_thinking=True, requires_checkpoint=True)
    def both(value: str) -> str:
        """Do it after some thought, and with leave."""
        ledger.ran.append(("both", value))
        return f"did {value}"

    return [*ledger_tools(ledger), ponder, both]


def thought(**changes: Any) -> Deliverable:
    return Deliverable(**{**THOUGHT, **changes})


@pytest.fixture
async def thinking(socket_directory: Path) -> AsyncIterator[Bench]:
    async with bench(socket_directory, tools=thoughtful) as made:
        yield made


@pytest.mark.req("REV-1")
async def test_a_call_that_needs_reverse_thinking_is_answered_with_the_form_to_fill_in(thinking: Bench) -> None:
    result = await thinking.agent.session("s").call("ponder", {"value": "b"})

    assert result.status is CallStatus.REFLECTION_REQUIRED
    assert result.reflection is not None
    assert result.decision is not None
    assert result.reflection.call_digest == result.decision.call_digest
    assert set(result.reflection.schema["required"]) == set(THOUGHT)
    assert "deliverable" in result.reflection.instructions
    assert thinking.ledger.ran == []


@pytest.mark.req("REV-1", "REV-2")
async def test_the_same_call_with_a_deliverable_goes_on(thinking: Bench) -> None:
    session = thinking.agent.session("s")
    asked = await session.call("ponder", {"value": "b"}, call_id="c")
    assert asked.status is CallStatus.REFLECTION_REQUIRED

    result = await session.call("ponder", {"value": "b"}, call_id="c", deliverable=thought())

    assert (result.status, result.text) == (CallStatus.COMPLETED, "did b")
    again = await session.call("ponder", {"value": "b"}, call_id="c")
    assert again.text == "did b"
    assert thinking.ledger.names() == ["ponder"]


@pytest.mark.req("REV-1")
@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"hidden_assumptions": []}, "hidden_assumptions needs at least one entry"),
        ({"hidden_assumptions": ["a", "  "]}, "none that is blank"),
        ({"failure_scenarios": []}, "failure_scenarios needs at least one entry"),
        ({"verdict_reason": " \n"}, "verdict_reason is missing or blank"),
        ({"failure_scenarios": ["x" * 70_000]}, "more than 65536 bytes"),
    ],
)
async def test_a_deliverable_that_is_not_whole_is_refused_and_can_be_mended(
    thinking: Bench, changes: dict[str, Any], words: str
) -> None:
    session = thinking.agent.session("s")
    refused = await session.call("ponder", {"value": "b"}, call_id="c", deliverable=thought(**changes))
    assert (refused.status, refused.is_error) == (CallStatus.REFLECTION_REQUIRED, True)
    assert words in refused.text
    assert thinking.ledger.ran == []

    mended = await session.call("ponder", {"value": "b"}, call_id="c", deliverable=thought())
    assert mended.status is CallStatus.COMPLETED


@pytest.mark.req("REV-2")
@pytest.mark.parametrize(("verdict", "code"), [("revise", "reflection_revised"), ("abort", "reflection_aborted")])
async def test_revise_and_abort_end_the_call_as_the_agents_own_choice(thinking: Bench, verdict: str, code: str) -> None:
    session = thinking.agent.session("s")
    for name, call_input in (("ponder", {"value": "b"}), ("echo", {"text": "x"})):
        result = await session.call(name, call_input, deliverable=thought(verdict=verdict, verdict_reason="too risky"))
        assert result.status is CallStatus.DENIED
        assert "too risky" in result.text
        assert result.decision is not None
        assert [reason.code for reason in result.decision.reasons] == [code]
    assert thinking.ledger.ran == []


@pytest.mark.req("REV-3")
async def test_a_deliverable_is_kept_with_the_call_and_in_its_receipt(socket_directory: Path) -> None:
    async with bench(socket_directory, tools=thoughtful) as at:
        result = await at.agent.session("s").call("ponder", {"value": "b"}, call_id="c", deliverable=thought())
        kept = await at.gateway.rooms.store.journal.operation_of_call("s", "c")
    assert kept is not None
    assert result.decision is not None
    assert kept.deliverable == THOUGHT
    assert kept.digest == result.decision.call_digest
    (receipt,) = (
        cast("dict[str, Any]", one.record)
        for one in read_records(socket_directory / "state" / "audit")
        if one.kind == "receipt" and one.record.get("call_id") == "c"
    )
    assert receipt["digest"] == kept.digest
    assert receipt["input"]["call"]["deliverable"] == THOUGHT


@pytest.mark.req("REV-3", "REV-4")
async def test_approvers_see_the_deliverable_which_comes_first_by_default(socket_directory: Path) -> None:
    async with bench(socket_directory, tools=thoughtful) as at, person(at.gateway) as bob:
        session = at.agent.session("s")
        asked = await session.call("both", {"value": "b"})
        assert asked.status is CallStatus.REFLECTION_REQUIRED

        call = asyncio.create_task(session.call("both", {"value": "b"}, deliverable=thought()))
        checkpoint = await bob.asked()
        assert checkpoint.deliverable == THOUGHT
        await bob.approves(checkpoint)
        assert (await call).status is CallStatus.COMPLETED


@pytest.mark.req("REV-4")
async def test_the_order_is_policy_and_an_approval_waits_for_the_agent_to_think(socket_directory: Path) -> None:
    later = asking(socket_directory, "nothing")
    data = {"settings": {"reflection": {"order": "after_checkpoint"}}}
    (socket_directory / "overlay" / "data.yaml").write_text(json.dumps(data))
    async with bench(socket_directory, tools=thoughtful, policy=later) as at, person(at.gateway) as bob:
        session = at.agent.session("s")
        call = asyncio.create_task(session.call("both", {"value": "b"}, call_id="c"))
        checkpoint = await bob.approves_the_next()
        asked = await call
        assert asked.status is CallStatus.REFLECTION_REQUIRED
        assert at.ledger.ran == []

        result = await session.call("both", {"value": "b"}, call_id="c", deliverable=thought())

        assert result.status is CallStatus.COMPLETED
        assert result.checkpoint is not None
        assert result.checkpoint.checkpoint_id == checkpoint.checkpoint_id
        assert at.ledger.names() == ["both"]
