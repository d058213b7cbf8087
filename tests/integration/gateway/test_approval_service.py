"""Approvers over gRPC, with credentials of their own: look, watch, decide (CHK-6, CHK-7, CHK-8, CHK-10)."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import grpc
import grpc.aio
import pytest
from access_table import asked
from asked_people import asking
from gateway_bench import Bench, bench
from interlock import CallStatus, Gateway, Session
from interlock.admin import Approvals
from interlock.errors import GatewayUnavailableError, RequestError
from interlock.v1 import approval_service_pb2 as pb
from interlock.v1 import checkpoint_pb2
from interlock.v1.decision_pb2 import Verdict
from interlock_gateway.config import IdentityConfig, PolicyConfig, TokenConfig
from interlock_gateway.core.session import Role
from interlock_gateway.identity.authenticate import new_token
from waiting import eventually

TOKENS = {name: new_token() for name in ("agent", "alice", "bob", "two-faced")}
APPROVER = (Role.APPROVER,)
IDENTITY = IdentityConfig(
    tokens=(
        TokenConfig(principal="agent", sha256=TOKENS["agent"][1], groups=("dba", "ops")),
        TokenConfig(principal="alice", sha256=TOKENS["alice"][1], roles=APPROVER, groups=("dba",)),
        TokenConfig(principal="bob", sha256=TOKENS["bob"][1], roles=APPROVER, groups=("ops",)),
        # A person who runs an agent under their own name.
        TokenConfig(principal="agent", sha256=TOKENS["two-faced"][1], roles=APPROVER, groups=("dba",)),
    )
)
OPENED = {pb.CHECKPOINT_EVENT_OPENED, pb.CHECKPOINT_EVENT_ALREADY_OPEN}


@dataclass
class Office:
    """A gateway on TCP, with an agent and approvers who come with tokens."""

    at: Bench
    agent: Gateway
    alice: Approvals
    bob: Approvals
    local: Approvals

    def calling(self, session: Session, what: str = "x", **more: Any) -> "asyncio.Task[Any]":
        return asyncio.create_task(session.call("wreck", {"what": what}, **more))

    async def watching(self, approver: Approvals) -> AsyncIterator[pb.WatchCheckpointsResponse]:
        """A watch that the gateway knows of."""
        watches = self.at.gateway.rooms.approvals.watches
        before = len(watches)
        watch = approver.watch()
        assert (await anext(watch)).event == pb.CHECKPOINT_EVENT_KEEPALIVE
        assert len(watches) > before
        return watch


async def opened(events: AsyncIterator[pb.WatchCheckpointsResponse]) -> checkpoint_pb2.Checkpoint:
    async for told in events:
        if told.event in OPENED:
            return told.checkpoint
    raise AssertionError("the watch has ended")


@asynccontextmanager
async def office(directory: Path, policy: PolicyConfig | None = None) -> AsyncIterator[Office]:
    async with AsyncExitStack() as stack:
        changes: dict[str, Any] = {"policy": policy} if policy is not None else {}
        at = await stack.enter_async_context(bench(directory, identity=IDENTITY, **changes))
        tcp, operators = at.gateway.endpoints.agents[1], at.gateway.endpoints.operators[0]
        made = {
            name: await stack.enter_async_context(Gateway(tcp, token=TOKENS[name][0]))
            for name in ("agent", "alice", "bob")
        }
        local = await stack.enter_async_context(Gateway(operators))
        yield Office(at, made["agent"], Approvals(made["alice"]), Approvals(made["bob"]), Approvals(local))


@pytest.fixture
async def here(socket_directory: Path) -> AsyncIterator[Office]:
    async with office(socket_directory) as made:
        yield made


@pytest.mark.req("CHK-1", "CHK-8")
async def test_a_watch_tells_of_a_call_and_an_approval_lets_it_run(here: Office) -> None:
    events = await here.watching(here.alice)
    call = here.calling(here.agent.session("s"))
    shown = await opened(events)
    assert (shown.tool, shown.requester.id, json.loads(shown.input)) == ("wreck", "agent", {"what": "x"})
    assert shown.decision.reasons
    assert shown.decision.classification.effect != 0
    assert shown.expires_at.seconds > shown.created_at.seconds
    after = await here.alice.approve(shown.checkpoint_id, "looks right", call_digest=shown.call_digest)
    assert after.state == checkpoint_pb2.CHECKPOINT_STATE_APPROVED
    assert (await call).status is CallStatus.COMPLETED
    told = await anext(events)
    assert told.event == pb.CHECKPOINT_EVENT_CLOSED
    assert [(one.approver.id, one.reason, one.channel) for one in told.checkpoint.answers] == [
        ("alice", "looks right", "grpc")
    ]


@pytest.mark.req("CHK-2")
async def test_a_watch_that_is_closed_leaves_nobody_to_ask(here: Office) -> None:
    events = await here.watching(here.alice)
    call = here.calling(here.agent.session("s"))
    await here.alice.deny((await opened(events)).checkpoint_id, "no")
    await call
    await events.aclose()  # type: ignore[attr-defined]  # an async generator
    await eventually(lambda: len(here.at.gateway.rooms.approvals.watches) == 0)
    result = await here.agent.session("s").call("wreck", {"what": "y"})
    assert result.text == "checkpoint required but no approval handler is registered"


@pytest.mark.req("CHK-6", "CHK-8")
async def test_the_operators_socket_approves_too(here: Office) -> None:
    events = await here.watching(here.local)
    call = here.calling(here.agent.session("s"))
    after = await here.local.approve((await opened(events)).checkpoint_id)
    assert [one.approver.id for one in after.answers] == ["local-operator"]
    assert (await call).status is CallStatus.COMPLETED


@pytest.mark.req("CHK-10")
async def test_an_approver_sees_what_ran_before_without_its_secrets(here: Office) -> None:
    events = await here.watching(here.alice)
    session = here.agent.session("s")
    secret = "ghp_" + "a1B2" * 9
    await session.call("set_value", {"value": f"before {secret}\u202e"})
    await session.call("echo", {"text": f"read {secret}"})
    await session.call("careful", {"text": "not sure"})
    await session.call("echo", {"text": "x" * 5000})
    call = here.calling(session)
    checkpoint_id = (await opened(events)).checkpoint_id
    shown = await here.alice.checkpoint(checkpoint_id)
    words = {"VERDICT_DENY": "deny", "VERDICT_ALLOW": "allow"}
    assert [(one.tool, words[Verdict.Name(one.verdict)], one.status) for one in shown.history] == [
        ("echo", "allow", "completed"),
        ("careful", "deny", "denied"),
        ("echo", "allow", "completed"),
        ("set_value", "allow", "done"),
    ]
    summaries = [one.summary for one in shown.history]
    assert summaries[0] == "an input of 5011 bytes"
    assert "not sure" in summaries[1]
    assert "before" in summaries[3]
    assert not [one for one in summaries if secret in one or "\u202e" in one]
    await here.alice.deny(checkpoint_id, "no")
    await call


@pytest.mark.req("CHK-7")
async def test_an_edit_runs_in_place_of_the_call_and_its_difference_is_kept(here: Office) -> None:
    events = await here.watching(here.alice)
    call = here.calling(here.agent.session("s"), "everything", call_id="c")
    shown = await opened(events)
    after = await here.alice.edit(shown.checkpoint_id, {"what": "a little"}, "less", call_digest=shown.call_digest)
    assert '-  "what": "everything"' in after.answers[0].edit_difference
    assert (await call).status is CallStatus.COMPLETED
    assert here.at.ledger.ran == [("wreck", "a little")]


@pytest.mark.req("CHK-7")
async def test_what_an_answer_lacks_is_named(here: Office) -> None:
    events = await here.watching(here.alice)
    call = here.calling(here.agent.session("s"))
    shown = await opened(events)
    wrong = [
        (here.alice.deny(shown.checkpoint_id, ""), "INVALID_FIELD"),
        (here.alice.edit(shown.checkpoint_id, "[]"), "INVALID_FIELD"),
        (here.alice.edit(shown.checkpoint_id, '{"a":1,"a":2}'), "INVALID_FIELD"),
        (here.alice.respond(shown.checkpoint_id, "x" * 20_000), "TOO_LARGE"),
        (here.alice.approve(shown.checkpoint_id, call_digest="0" * 64), "STALE_CONFIRMATION"),
        (here.alice.approve("chk-unknown"), "CHECKPOINT_NOT_FOUND"),
    ]
    for answer, reason in wrong:
        with pytest.raises(RequestError) as caught:
            await answer
        assert caught.value.reason == reason
    assert (await here.alice.checkpoint(shown.checkpoint_id)).state == checkpoint_pb2.CHECKPOINT_STATE_OPEN
    await here.alice.respond(shown.checkpoint_id, "not now")
    assert (await call).text == "not now"
    with pytest.raises(RequestError) as caught:
        await here.bob.approve(shown.checkpoint_id)
    assert caught.value.reason == "CHECKPOINT_NOT_OPEN"


@pytest.mark.req("CHK-6")
async def test_groups_come_from_credentials_and_decide_who_sees_and_answers(socket_directory: Path) -> None:
    async with office(socket_directory, asking(socket_directory, "echo", approvers=["dba"])) as here:
        events = await here.watching(here.alice)
        session = here.agent.session("s")
        call = asyncio.create_task(session.call("echo", {"text": "x"}))
        shown = await opened(events)
        assert list(shown.approver_groups) == ["dba"]
        assert await here.bob.checkpoints() == []
        for attempt in (here.bob.checkpoint(shown.checkpoint_id), here.bob.approve(shown.checkpoint_id)):
            with pytest.raises(RequestError) as caught:
                await attempt
            assert caught.value.reason == "APPROVER_GROUP_REQUIRED"
            assert caught.value.metadata["required_groups"] == "dba"
        assert [one.checkpoint_id for one in await here.alice.checkpoints()] == [shown.checkpoint_id]
        await here.alice.approve(shown.checkpoint_id)
        assert (await call).text == "x"
        consumed = await here.alice.checkpoints(states=[checkpoint_pb2.CHECKPOINT_STATE_CONSUMED])
        assert [one.checkpoint_id for one in consumed] == [shown.checkpoint_id]


async def test_a_list_comes_in_pages_by_expiry(here: Office) -> None:
    events = await here.watching(here.alice)
    session = here.agent.session("s")
    for number in range(5):
        await session.call("wreck", {"what": str(number)}, checkpoint_mode="detach")
    del events
    async with grpc.aio.insecure_channel(here.at.gateway.endpoints.operators[0]) as channel:
        listing: Any = channel.unary_unary("/interlock.v1.ApprovalService/ListCheckpoints")
        found: list[str] = []
        token = ""
        for size in (2, 2, 1):
            request = pb.ListCheckpointsRequest(page_size=2, page_token=token)
            page = pb.ListCheckpointsResponse.FromString(await listing(request.SerializeToString()))
            assert len(page.checkpoints) == size
            found += [one.call_id for one in page.checkpoints]
            token = page.next_page_token
        assert (len(set(found)), token) == (5, "")
        for bad in ("x", "/", "0x1p+0/", "0x1p1000000/a", "nan/a", "inf/a"):
            request = pb.ListCheckpointsRequest(page_token=bad)
            ended = await asked(channel, "/interlock.v1.ApprovalService/ListCheckpoints", request.SerializeToString())
            assert ended.reason == "INVALID_PAGE_TOKEN", bad


@pytest.mark.req("CHK-6", "REL-2")
async def test_no_credential_of_an_agent_decides_its_checkpoint(here: Office) -> None:
    """0 of 1,000: by every address and credential an agent can have, in every way that there is to answer."""
    events = await here.watching(here.alice)
    session = here.agent.session("s")
    call = here.calling(session, call_id="c")
    shown = await opened(events)
    endpoints = here.at.gateway.endpoints
    ways = [
        (endpoints.agents[1], TOKENS["agent"][0]),
        (endpoints.agents[1], TOKENS["two-faced"][0]),
        (endpoints.agents[1], ""),
        (endpoints.agents[0], ""),
        (endpoints.agents[0], TOKENS["alice"][0]),
    ]
    answers = [
        {"decision": checkpoint_pb2.CHECKPOINT_DECISION_APPROVE, "reason": "approved by alice"},
        {"decision": checkpoint_pb2.CHECKPOINT_DECISION_DENY, "reason": "no"},
        {"decision": checkpoint_pb2.CHECKPOINT_DECISION_EDIT, "edited_input": b'{"what":"y"}'},
        {"decision": checkpoint_pb2.CHECKPOINT_DECISION_RESPOND, "response": "approved"},
    ]
    path = "/interlock.v1.ApprovalService/DecideCheckpoint"
    tried = 0
    for address, token in ways:
        async with grpc.aio.insecure_channel(address) as channel:
            for number in range(200):
                fields: Any = answers[number % 4]
                request = pb.DecideCheckpointRequest(checkpoint_id=shown.checkpoint_id, **fields)
                ended = await asked(channel, path, request.SerializeToString(), token=token)
                assert ended.code in {
                    grpc.StatusCode.PERMISSION_DENIED,
                    grpc.StatusCode.UNAUTHENTICATED,
                    grpc.StatusCode.UNIMPLEMENTED,
                }
                tried += 1
    assert tried == 1000
    kept = await here.alice.checkpoint(shown.checkpoint_id)
    assert (kept.state, len(kept.answers)) == (checkpoint_pb2.CHECKPOINT_STATE_OPEN, 0)
    assert here.at.ledger.ran == []
    await here.alice.deny(shown.checkpoint_id, "no")
    assert (await call).status is CallStatus.DENIED


@pytest.mark.req("CHK-2", "REL-2")
async def test_an_agents_own_name_watching_makes_nobody_to_ask(here: Office) -> None:
    tcp = here.at.gateway.endpoints.agents[1]
    async with Gateway(tcp, token=TOKENS["two-faced"][0]) as own:
        events = await here.watching(Approvals(own))
        result = await here.agent.session("s").call("wreck", {"what": "x"})
        assert result.text == "checkpoint required but no approval handler is registered"
        await events.aclose()  # type: ignore[attr-defined]  # an async generator


async def test_a_drain_ends_watches_at_once_and_tells_them_to_go_elsewhere(socket_directory: Path) -> None:
    async with AsyncExitStack() as stack:
        here = await stack.enter_async_context(office(socket_directory))
        # A watch of the SDK would begin again elsewhere; with a deadline it says how it ended.
        watch = here.alice.watch(timeout=30)
        assert (await anext(watch)).event == pb.CHECKPOINT_EVENT_KEEPALIVE
        ended = asyncio.create_task(anext(watch))
        drained = asyncio.create_task(here.at.gateway.drain())
        with pytest.raises(GatewayUnavailableError):
            await ended
        await asyncio.wait_for(drained, 5)
