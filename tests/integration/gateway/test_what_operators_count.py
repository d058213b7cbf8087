"""What operators are told is what there is: over the whole gateway, and of each session in a list."""

import time
from pathlib import Path
from typing import Any

import grpc
import pytest
from asked_people import person
from gateway_bench import Bench, bench
from interlock import _operator_flows
from interlock.errors import RequestError
from interlock.v1 import admin_service_pb2, gateway_status_pb2, session_pb2
from interlock_gateway.config import ApprovalsConfig, DeferredConfig, WebhookConfig
from interlock_gateway.pipeline.ports import StateUnavailableError
from interlock_gateway.transport.grpc.admin_service import AdminRpcs
from raw_provider import operating
from webhook_reach import APPROVERS


async def status_of(at: Bench) -> gateway_status_pb2.GatewayStatus:
    async with operating(at) as admin:
        return await admin.status()


def counts_in(status: gateway_status_pb2.GatewayStatus) -> tuple[int, int, int, int]:
    return status.open_sessions, status.pending_actions, status.open_checkpoints, status.checkpoint_handlers


@pytest.mark.req("CHK-2", "LIFE-7")
async def test_status_counts_what_waits_and_who_can_be_asked(at: Bench) -> None:
    assert counts_in(await status_of(at)) == (0, 0, 0, 0)
    async with person(at.gateway) as bob:
        for name in ("s", "t"):
            await at.agent.session(name).call("replace_value", {"value": name})
            await at.agent.session(name).call("wreck", {"what": name}, checkpoint_mode="detach")
        async with person(at.gateway, "carol"):
            assert counts_in(await status_of(at)) == (2, 2, 2, 2)
        await bob.approves(await bob.asked())
        assert counts_in(await status_of(at)) == (2, 2, 1, 1)
    await at.agent.session("t").close()
    assert counts_in(await status_of(at))[:2] == (1, 1)


@pytest.mark.req("REL-3", "LIFE-7")
async def test_status_is_told_when_the_database_says_nothing(at: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    await at.agent.session("s").call("echo", {"text": "x"})
    assert (await status_of(at)).open_sessions == 1

    async def fail() -> int:
        raise StateUnavailableError("the database is gone")

    monkeypatch.setattr(at.gateway.rooms.store.sessions, "count_open", fail)
    status = await status_of(at)
    assert (status.open_sessions, status.replica) == (1, at.gateway.rooms.parts.settings.replica)


@pytest.mark.req("AUTH-2")
async def test_a_listed_session_says_what_it_did_and_whose_it_is(socket_directory: Path) -> None:
    async with bench(socket_directory, deferred=DeferredConfig(threshold=40)) as at:
        await at.agent.open_session(session_id="idle")
        session = await at.agent.open_session(session_id="s", always_loaded_tools=["echo"])
        began = time.time()
        await session.call("echo", {"text": "a"})
        async with person(at.gateway) as bob:
            detached = await session.call("wreck", {"what": "x"}, call_id="w", checkpoint_mode="detach")
            await bob.approves_the_next()
            assert (await session.wait_call("w", timeout=20)).result != detached
        await session.call("replace_value", {"value": "b"})
        live = at.gateway.rooms.parts.sessions.in_memory("s")
        assert live is not None
        await at.gateway.rooms.parts.sessions.taint(live, ("untrusted",))
        async with operating(at) as admin:
            listed, idle = await admin.sessions()
            reported = (await admin.session_report("s")).session
        assert (listed.calls, listed.destructive_calls, listed.pending_actions) == (3, 1, 1)
        assert list(listed.taints) + list(listed.always_loaded_tools) == ["untrusted", "echo"]
        assert (listed.deferred_threshold, listed.principal.kind) == (40, "unix")
        assert list(listed.principal.roles) == ["agent"]
        assert began - 0.001 <= listed.last_call_at.ToNanoseconds() / 1e9 <= time.time()
        assert reported == listed
        assert (idle.calls, idle.HasField("last_call_at"), idle.deferred_threshold) == (0, False, 40)


async def test_no_page_of_wanted_sessions_is_empty_and_the_last_one_has_no_token(socket_directory: Path) -> None:
    async with bench(socket_directory) as at:
        for number in range(9):
            await at.agent.open_session(session_id=f"s{number}", labels={"team": "blue" if number in {0, 4} else "red"})
        await at.agent.session("s4").close()
        pages = [await paged(at, labels={"team": "blue"}), await paged(at, states=[session_pb2.SESSION_STATE_CLOSED])]
    assert pages == [[["s4"], ["s0"]], [["s4"]]]


async def paged(at: Bench, **wanted: Any) -> list[list[str]]:
    """The ids on each page of one."""
    pages: list[list[str]] = []
    request = admin_service_pb2.ListSessionsRequest(page_size=1, **wanted)
    async with grpc.aio.insecure_channel(at.gateway.endpoints.operators[0]) as channel:
        listing: Any = channel.unary_unary("/interlock.v1.AdminService/ListSessions")
        while not pages or request.page_token:
            raw = await listing(request.SerializeToString(), timeout=20)
            answer = admin_service_pb2.ListSessionsResponse.FromString(raw)
            pages.append([session.session_id for session in answer.sessions])
            request.page_token = answer.next_page_token
    return pages


async def test_a_listed_session_says_the_same_after_a_restart(socket_directory: Path) -> None:
    async with bench(socket_directory) as at:
        session = at.agent.session("s")
        await session.call("echo", {"text": "a"})
        await session.call("replace_value", {"value": "b"})
        async with operating(at) as admin:
            (before,) = await admin.sessions()
    async with bench(socket_directory) as at, operating(at) as admin:
        (after,) = await admin.sessions()
    assert (after, before.calls) == (before, 2)


async def test_a_webhook_is_one_way_to_people_however_many_they_are(socket_directory: Path) -> None:
    webhook = WebhookConfig(name="tickets", url="http://127.0.0.1:9/x", secret="s" * 32, approvers=APPROVERS)
    approvals = ApprovalsConfig(webhooks=(webhook,))
    async with bench(socket_directory, approvals=approvals) as at:
        assert (await status_of(at)).checkpoint_handlers == 1


async def test_what_is_not_served_yet_is_said_not_to_be(at: Bench) -> None:
    served = AdminRpcs(at.gateway._admin_parts()).rpcs()
    methods = admin_service_pb2.DESCRIPTOR.services_by_name["AdminService"].methods_by_name
    assert set(methods) - set(served) == {"QueryReceipts", "ExportReceipts"}
    async with operating(at) as admin:
        for asked in (admin.receipts(), admin.export_receipts()):
            with pytest.raises(RequestError) as refused:
                await anext(asked)
            assert refused.value.code is grpc.StatusCode.UNIMPLEMENTED
    for flow in (_operator_flows.receipts, _operator_flows.export_receipts):
        assert "No gateway serves it yet: it raises RequestError (UNIMPLEMENTED)" in str(flow.__doc__)
    assert ".receipts(" not in (Path(__file__).parents[3] / "docs" / "sdk.md").read_text("utf-8")
