"""Previews over MCP, and applies that people are asked about (PREV-1, PREV-6)."""

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from interlock_gateway.approvals.answers import Said
from interlock_gateway.config import PolicyConfig
from interlock_gateway.core.checkpoint import ApproverDecision, CheckpointState
from interlock_gateway.core.session import Principal, Role
from mcp import Client
from mcp_bench import McpBench, mcp_bench, text_of
from people_at_clients import APPROVE, DENY, PEOPLE, Person

MODES = ("legacy", "2026-07-28")
BOB = Principal("bob", "token", frozenset({Role.APPROVER}), ())
APPLY = {"action": "apply", "reason": "looks right"}
RULE = """package interlock.custom

findings contains {
	"verdict": "checkpoint",
	"code": "ask",
	"message": "people are asked",
	"rule": "custom/apply",
} if {
	input.call.phase == "apply"
}
"""


@pytest.fixture
async def asking(socket_directory: Path) -> AsyncIterator[McpBench]:
    """A gateway whose policy asks people when what was previewed is applied."""
    custom = socket_directory / "overlay" / "custom"
    custom.mkdir(parents=True)
    (custom / "apply.rego").write_text(RULE)
    policy = PolicyConfig(overlays=(socket_directory / "overlay",))
    async with mcp_bench(socket_directory, mcp=PEOPLE, policy=policy) as made:
        yield made


async def previewed(client: Client, value: str = "b") -> str:
    return text_of(await client.call_tool("replace_value", {"value": value}))


@pytest.mark.req("MCP-1", "PREV-1", "PREV-6")
@pytest.mark.parametrize("mode", MODES)
async def test_what_was_previewed_is_applied_when_the_person_at_the_client_approves(
    asking: McpBench, mode: str
) -> None:
    alice = Person([DENY, APPROVE])
    async with asking.over_http(mode, elicitation_callback=alice) as client:
        preview = await previewed(client)
        denied = await client.call_tool("resolve", APPLY)
        applied = await client.call_tool("resolve", {**APPLY, "extra": {"ticket": 7}})

    assert "- first\n+ b" in preview
    assert "Call the `resolve` tool to apply or discard" in preview
    assert denied.is_error
    assert "not today" in text_of(denied)
    assert (text_of(applied), applied.is_error) == ("now b", False)
    assert asking.at.ledger.ran == [("replace_value", "b")]
    assert "Apply: replace first by b" in alice.asked[0].message


@pytest.mark.req("MCP-1", "PREV-6", "CHK-4")
@pytest.mark.parametrize("mode", MODES)
async def test_an_apply_that_waits_is_gone_on_with_by_the_same_resolve_and_applied_once(
    asking: McpBench, mode: str
) -> None:
    rooms = asking.at.gateway.rooms
    watch: Any = rooms.approvals.desk.watch(BOB, ())
    await anext(watch)
    async with asking.over_http(mode) as client:
        await previewed(client)
        first, again = [await client.call_tool("resolve", APPLY) for _ in range(2)]
        (one,) = await rooms.store.checkpoints.list_checkpoints((CheckpointState.OPEN,), 10)
        await rooms.approvals.desk.decide(BOB, Said(one.checkpoint_id, ApproverDecision.APPROVE))
        applied = await client.call_tool("resolve", APPLY)
        nothing = await client.call_tool("resolve", APPLY)
    await watch.aclose()

    assert all("make this very call again" in text_of(answer) for answer in (first, again))
    assert text_of(applied) == "now b"
    assert "No pending action to resolve" in text_of(nothing)
    assert asking.at.ledger.ran == [("replace_value", "b")]
    assert json.loads(one.resolve_input)["reason"] == "looks right"
