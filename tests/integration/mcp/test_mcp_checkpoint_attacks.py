"""Clients that would decide about their own calls: request states forged, foreign, replayed or late (MCP-1)."""

import asyncio
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from gateway_bench import MovableClock
from interlock_gateway.core.checkpoint import CheckpointState
from mcp import Client, MCPError
from mcp_bench import McpBench, mcp_bench, text_of
from mcp_types import ElicitResult, InputRequiredResult
from people_at_clients import APPROVE, DENY, PEOPLE, Person, asking_tools

MODERN = "2026-07-28"
EVERY = (CheckpointState.OPEN, CheckpointState.APPROVED, CheckpointState.DENIED, CheckpointState.CONSUMED)
YES: dict[str, Any] = {"input_responses": {"approval": APPROVE}, "allow_input_required": True}


@pytest.fixture
async def asking(socket_directory: Path) -> AsyncIterator[McpBench]:
    async with mcp_bench(socket_directory, mcp=PEOPLE, tools=asking_tools, clock=MovableClock()) as made:
        yield made


async def drop(client: Client, table: str = "users", tool: str = "drop", **more: Any) -> Any:
    return await client.session.call_tool(tool, {"table": table}, **{"allow_input_required": True, **more})


async def asked(client: Client, table: str = "users") -> str:
    """The request state of a call that waits for the person at the client."""
    first = await drop(client, table)
    assert isinstance(first, InputRequiredResult)
    assert first.request_state is not None
    return first.request_state


async def refused(client: Client, state: str, *args: Any, **more: Any) -> str:
    with pytest.raises(MCPError) as caught:
        await drop(client, *args, request_state=state, **{**YES, **more})
    assert caught.value.error.message == "Invalid or expired requestState"
    return str(caught.value.error.data["reason"])


def able(at: McpBench, **more: Any) -> Any:
    """A client that says that it can ask a person."""
    return at.over_http(MODERN, elicitation_callback=Person([APPROVE]), **more)


@pytest.mark.req("MCP-1", "REL-2")
async def test_no_client_answers_for_a_person_of_whom_the_operator_knows_nothing_in_a_thousand_tries(
    asking: McpBench,
) -> None:
    async with able(asking) as client, able(asking, token=asking.other) as thief:
        state = await asked(client)
        raw = urlsafe_b64decode(state.removeprefix("i1.") + "=" * (-len(state.removeprefix("i1.")) % 4))

        async def attempt(number: int) -> bool:
            flipped = bytearray(raw)
            flipped[number % len(raw)] ^= 1 << (number % 8)
            made_up = "i1." + urlsafe_b64encode(bytes(flipped)).decode().rstrip("=")
            word = (None, state, made_up, state[:-1], "")[number % 5]
            try:
                answer = await drop(thief, **YES, **({} if word is None else {"request_state": word}))
            except MCPError:
                return False
            return not answer.is_error

        gate = asyncio.Semaphore(8)

        async def one(number: int) -> bool:
            async with gate:
                return await attempt(number)

        got_through = sum(await asyncio.gather(*map(one, range(1000))))

    assert got_through == 0
    assert asking.at.ledger.ran == []


@pytest.mark.req("MCP-1", "REL-2")
async def test_a_state_is_good_for_its_own_principal_session_tool_and_input_alone(socket_directory: Path) -> None:
    people = [{"agent": f"agent-{one}", "approver": "alice"} for one in "ab"]
    async with (
        mcp_bench(socket_directory, mcp={"people": people}, tools=asking_tools) as at,
        able(at) as client,
        able(at, token=at.other) as thief,
    ):
        named: dict[str, Any] = {"meta": {"dev.interlock/session": "one"}}
        state = (await drop(client, **named)).request_state
        await refused(client, state, "accounts", **named)
        await refused(client, state, tool="ponder", **named)
        await refused(thief, state)
        await refused(client, state)
        await refused(client, state + "A", **named)
        await refused(client, "v1." + state[3:], **named)
        assert at.at.ledger.ran == []
        assert text_of(await drop(client, request_state=state, **YES, **named)) == "dropped users"


@pytest.mark.req("MCP-1", "REL-2")
async def test_a_state_is_used_once_whatever_it_said_also_when_both_come_at_once(asking: McpBench) -> None:
    async with able(asking) as client:
        state = await asked(client)
        answers = await asyncio.gather(
            *(drop(client, request_state=state, **YES) for _ in range(5)), return_exceptions=True
        )
        assert sum(isinstance(one, MCPError) for one in answers) == 4
        await refused(client, state)
        cancelled = await asked(client, "accounts")
        nothing: dict[str, Any] = {"input_responses": {"approval": ElicitResult(action="cancel")}}
        await drop(client, "accounts", request_state=cancelled, **nothing)
        await refused(client, cancelled, "accounts")

    assert asking.at.ledger.ran == [("drop", "users")]


@pytest.mark.req("MCP-1", "CHK-9")
async def test_of_two_answers_to_one_question_that_race_one_counts(asking: McpBench) -> None:
    async with able(asking) as client:
        states = [await asked(client) for _ in range(2)]
        no: dict[str, Any] = {"input_responses": {"approval": DENY}}
        answers = await asyncio.gather(
            drop(client, request_state=states[0], **YES), drop(client, request_state=states[1], **no)
        )

    (one,) = await asking.at.gateway.rooms.store.checkpoints.list_checkpoints(EVERY, 10)
    assert len(one.answers) == 1
    ran = one.state is CheckpointState.CONSUMED
    assert [text_of(answer) == "dropped users" for answer in answers] == [ran, ran]
    assert asking.at.ledger.ran == ([("drop", "users")] if ran else [])


@pytest.mark.req("MCP-1", "CHK-3")
async def test_an_answer_after_the_checkpoint_has_expired_approves_nothing(asking: McpBench) -> None:
    async with able(asking) as client:
        state = await asked(client)
        asking.at.clock.ahead_s = 7 * 86_400
        await refused(client, state)

    assert asking.at.ledger.ran == []


@pytest.mark.req("MCP-1", "CHK-9")
async def test_a_state_is_good_after_a_restart_and_was_used_before_it_still(socket_directory: Path) -> None:
    arguments: dict[str, Any] = {"mcp": PEOPLE, "tools": asking_tools}
    named: dict[str, Any] = {"meta": {"dev.interlock/session": "kept"}}
    async with mcp_bench(socket_directory, **arguments) as at, able(at) as client:
        kept = (await drop(client, **named)).request_state
        used = (await drop(client, "accounts", **named)).request_state
        await drop(client, "accounts", request_state=used, **YES, **named)
        first, token = at.at.ledger, at.token
    del token
    async with mcp_bench(socket_directory, **arguments) as at, able(at) as client:
        await refused(client, used, "accounts", **named)
        assert text_of(await drop(client, request_state=kept, **YES, **named)) == "dropped users"
        assert at.at.ledger.ran == [("drop", "users")]
    assert first.ran == [("drop", "accounts")]


@pytest.mark.req("MCP-1", "CHK-4")
async def test_a_client_that_says_it_can_ask_and_never_answers_holds_nothing_up(socket_directory: Path) -> None:
    async def never(_context: Any, _params: Any) -> ElicitResult:
        await asyncio.Event().wait()
        return APPROVE

    settings = {**PEOPLE, "ask_s": 0.5}
    async with (
        mcp_bench(socket_directory, mcp=settings, tools=asking_tools) as at,
        at.over_http(elicitation_callback=never) as client,
    ):
        call = asyncio.create_task(client.call_tool("drop", {"table": "users"}))
        assert text_of(await client.call_tool("echo", {"text": "meanwhile"})) == "meanwhile"
        assert "make this very call again" in text_of(await call)
        assert len(at.at.gateway.rooms.pipeline.held) == 0


@pytest.mark.req("MCP-1", "CHK-6")
@pytest.mark.parametrize("mode", ["legacy", MODERN])
async def test_a_form_that_is_accepted_without_the_decision_that_was_asked_for_decides_nothing(
    asking: McpBench, mode: str
) -> None:
    said: list[dict[str, Any]] = [{}, {"decision": "yes"}, {"decision": True}, {"approve": True, "reason": "approve"}]
    person = Person([ElicitResult(action="accept", content=content) for content in said])
    async with asking.over_http(mode, elicitation_callback=person) as client:
        answers = [await client.call_tool("drop", {"table": "users"}) for _ in said]

    assert all("has not decided" in text_of(answer) for answer in answers)
    assert len(person.asked) == len(said)
    assert asking.at.ledger.ran == []


@pytest.mark.req("MCP-1", "CHK-10")
async def test_nobody_approves_an_input_of_which_they_were_not_shown_all(asking: McpBench) -> None:
    person = Person([APPROVE])
    async with asking.over_http(elicitation_callback=person) as client:
        answer = await client.call_tool("drop", {"table": "x" * 5000})

    assert "has not decided" in text_of(answer)
    assert "too long to be shown" in person.asked[0].message
    assert person.asked[0].requested_schema["properties"]["decision"]["enum"] == ["deny"]
    assert asking.at.ledger.ran == []
