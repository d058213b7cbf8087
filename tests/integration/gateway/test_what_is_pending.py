"""`ListPending` says all that is known about an action that waits (PREV-1, PREV-7)."""

from pathlib import Path

import grpc.aio
import pytest
from gateway_bench import Bench, Ledger, bench
from interlock.journal import PendingAction
from interlock.v1.gateway_service_pb2 import ListPendingRequest, ListPendingResponse


async def top(at: Bench) -> PendingAction:
    return (await at.agent.session("s").pending()).actions[0]


@pytest.mark.req("PREV-1")
async def test_a_pending_action_shows_its_preview_and_the_decision_that_asked_for_it(at: Bench) -> None:
    previewed = await at.agent.session("s").call("replace_value", {"value": "second"})

    listed = await top(at)

    assert listed.preview == previewed.preview
    assert listed.preview is not None
    assert listed.preview.preview == "- first\n+ second"
    assert listed.decision_id == previewed.decision.decision_id
    assert listed.last_error == ""


@pytest.mark.req("PREV-7", "PREV-13")
async def test_why_the_last_apply_came_to_nothing_is_kept_across_a_restart(socket_directory: Path) -> None:
    async with bench(socket_directory, ledger=Ledger(fail_apply="tool")) as before:
        session = before.agent.session("s")
        await session.call("replace_value", {"value": "second"})
        await session.resolve("apply", "try")
        assert (await top(before)).last_error == "the tool says no"
        before.ledger.fail_apply = "crash"
        await session.resolve("apply", "try again")
        assert (await top(before)).last_error.startswith("Apply failed: ")
        assert "secret internals" not in (await top(before)).last_error
    async with bench(socket_directory) as after:
        kept = await top(after)
        assert kept.last_error.startswith("Apply failed: ")
        assert kept.preview is not None


@pytest.mark.req("PREV-11")
async def test_an_action_that_a_provider_pushed_has_no_preview_and_no_digest_of_an_input(at: Bench) -> None:
    pushed = await at.agent.session("s").call("propose", {"plan": "p"})

    async with grpc.aio.insecure_channel(at.gateway.endpoints.agents[0]) as channel:
        ask = channel.unary_unary(
            "/interlock.v1.GatewayService/ListPending",
            request_serializer=ListPendingRequest.SerializeToString,
            response_deserializer=ListPendingResponse.FromString,
        )
        (listed,) = (await ask(ListPendingRequest(session_id="s"))).pending

    assert (listed.provider_pushed, listed.input_digest, listed.HasField("preview")) == (True, "", False)
    assert listed.decision_id == pushed.decision.decision_id
