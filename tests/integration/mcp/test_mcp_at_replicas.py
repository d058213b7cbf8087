"""Calls over MCP that wait for a person, at two gateways on one database (CHK-9, STATE-2)."""

import asyncio
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, MCPError
from mcp_bench import socket_transport, text_of
from mcp_types import InputRequiredResult
from people_at_clients import APPROVE, Person
from postgres_server import PostgresServer
from two_gateways import two_gateways

MODERN = "2026-07-28"
IN_ONE: dict[str, Any] = {"meta": {"dev.interlock/session": "one"}, "allow_input_required": True}


@pytest.mark.req("MCP-1", "CHK-9", "STATE-2")
async def test_a_state_made_at_one_is_good_at_the_other_once_and_the_same_call_is_picked_up_there(
    socket_directory: Path, postgres: PostgresServer
) -> None:
    people = "[{agent: local-agent, approver: alice}]"
    more = {"INTERLOCK__MCP__PEOPLE": people, "INTERLOCK__MCP__HOLD_S": "0.3"}
    async with AsyncExitStack() as stack:
        url = stack.enter_context(postgres.database())
        two = await stack.enter_async_context(two_gateways(socket_directory, url, **more))
        one, other = [
            await stack.enter_async_context(
                Client(
                    socket_transport(f"{socket_directory}/{name}/mcp.sock"),
                    mode=MODERN,
                    elicitation_callback=Person([APPROVE]),
                )
            )
            for name in ("one", "other")
        ]
        asked = await one.session.call_tool("wreck", {"what": "a"}, **IN_ONE)
        assert isinstance(asked, InputRequiredResult)
        again: dict[str, Any] = {"input_responses": {"approval": APPROVE}, "request_state": asked.request_state}
        answers = await asyncio.gather(
            *(client.session.call_tool("wreck", {"what": "a"}, **again, **IN_ONE) for client in (other, one, other)),
            return_exceptions=True,
        )
        done = [one for one in answers if not isinstance(one, MCPError)]

        waits = await one.session.call_tool("wreck", {"what": "b"}, **IN_ONE)
        same = await other.session.call_tool("wreck", {"what": "b"}, **IN_ONE)
        assert isinstance(waits, InputRequiredResult)
        assert isinstance(same, InputRequiredResult)
        more_answers: dict[str, Any] = {"input_responses": {"approval": APPROVE}, "request_state": same.request_state}
        picked_up = await one.session.call_tool("wreck", {"what": "b"}, **more_answers, **IN_ONE)

    assert [text_of(answer) for answer in done] == ["a is gone"]
    assert text_of(picked_up) == "b is gone"
    assert two.ledger.ran == [("wreck", "a"), ("wreck", "b")]
