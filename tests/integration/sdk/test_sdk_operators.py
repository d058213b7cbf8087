"""The clients of operators and approvers: each method is sent as the contract says, by both kinds of client."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeAlias

import grpc
import pytest
from google.protobuf.message import Message
from interlock import Gateway, SyncGateway, errors
from interlock.admin import Admin, Approvals, SyncAdmin, SyncApprovals
from interlock.v1 import admin_service_pb2 as admin
from interlock.v1 import approval_service_pb2 as approval
from interlock.v1 import checkpoint_pb2, gateway_status_pb2, receipt_pb2, registry_pb2, session_pb2

SERVICES = (admin.DESCRIPTOR.services_by_name["AdminService"], approval.DESCRIPTOR.services_by_name["ApprovalService"])
PIN = registry_pb2.ToolPin(tool="deploy", hash="1b4f")
FILTER = receipt_pb2.ReceiptFilter(tool="deploy")
OPEN, CLOSED = session_pb2.SESSION_STATE_OPEN, session_pb2.SESSION_STATE_CLOSED


class Canned(grpc.GenericRpcHandler):
    """Answers each method with what it was given for it, and keeps the requests."""

    def __init__(self) -> None:
        self.answers: dict[str, list[Message]] = {}
        self.requests: list[Message] = []

    def service(self, handler_call_details: grpc.HandlerCallDetails) -> Any:
        service, _, name = handler_call_details.method.lstrip("/").partition("/")
        found = next(one for one in SERVICES if one.full_name == service).methods_by_name[name]
        module = admin if "Admin" in service else approval
        request, make = getattr(module, found.input_type.name), grpc.unary_unary_rpc_method_handler

        def handle(asked: Message, _context: Any) -> Any:
            self.requests.append(asked)
            answers = self.answers[name]
            return iter(answers) if found.server_streaming else answers.pop(0)

        if found.server_streaming:
            make = grpc.unary_stream_rpc_method_handler
        return make(handle, request.FromString, lambda message: message.SerializeToString())


@pytest.fixture
def canned() -> Canned:
    return Canned()


@pytest.fixture
def address(canned: Canned) -> Iterator[str]:
    server = grpc.server(ThreadPoolExecutor(2), options=(("grpc.so_reuseport", 0),))
    server.add_generic_rpc_handlers((canned,))
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    yield f"127.0.0.1:{port}"
    server.stop(None).wait()


def checkpoint(state: Any = checkpoint_pb2.CHECKPOINT_STATE_OPEN) -> checkpoint_pb2.Checkpoint:
    return checkpoint_pb2.Checkpoint(checkpoint_id="k-1", state=state)


def decided(**fields: Any) -> approval.DecideCheckpointRequest:
    return approval.DecideCheckpointRequest(checkpoint_id="k-1", **fields)


STATUS = gateway_status_pb2.GatewayStatus(version="1")
TOOL = registry_pb2.ProviderTool(name="deploy")
DECISION = checkpoint_pb2.CheckpointDecision

Row: TypeAlias = tuple[str, str, tuple[Any, ...], dict[str, Any], Message, Message]

UNARY: list[Row] = [
    ("status", "GetStatus", (), {}, admin.GetStatusRequest(), admin.GetStatusResponse(status=STATUS)),
    ("policy_status", "GetPolicyStatus", (), {}, admin.GetPolicyStatusRequest(), admin.GetPolicyStatusResponse()),
    (
        "reload_policy",
        "ReloadPolicy",
        (),
        {"check_only": True},
        admin.ReloadPolicyRequest(check_only=True),
        admin.ReloadPolicyResponse(),
    ),
    (
        "set_shadow_policy",
        "SetShadowPolicy",
        ("next",),
        {},
        admin.SetShadowPolicyRequest(source="next"),
        admin.SetShadowPolicyResponse(),
    ),
    (
        "shadow_differences",
        "ListShadowDifferences",
        (7,),
        {},
        admin.ListShadowDifferencesRequest(page_size=7),
        admin.ListShadowDifferencesResponse(),
    ),
    (
        "register_provider",
        "RegisterProvider",
        (registry_pb2.ProviderSpec(name="files"),),
        {},
        admin.RegisterProviderRequest(spec=registry_pb2.ProviderSpec(name="files")),
        admin.RegisterProviderResponse(),
    ),
    (
        "unregister_provider",
        "UnregisterProvider",
        ("files",),
        {},
        admin.UnregisterProviderRequest(provider="files"),
        admin.UnregisterProviderResponse(removed_tools=3),
    ),
    (
        "confirm_provider_tools",
        "ConfirmProviderTools",
        ("files", {"deploy": "1b4f"}, "read them"),
        {},
        admin.ConfirmProviderToolsRequest(provider="files", pins=[PIN], reason="read them"),
        admin.ConfirmProviderToolsResponse(tools=[TOOL]),
    ),
    (
        "approve_tool_change",
        "ApproveToolChange",
        ("files", "deploy", "1b4f", "read it"),
        {},
        admin.ApproveToolChangeRequest(provider="files", pin=PIN, reason="read it"),
        admin.ApproveToolChangeResponse(tool=TOOL),
    ),
    (
        "session_report",
        "GetSessionReport",
        ("s-1",),
        {},
        admin.GetSessionReportRequest(session_id="s-1"),
        admin.GetSessionReportResponse(),
    ),
    (
        "checkpoint",
        "GetCheckpoint",
        ("k-1",),
        {},
        approval.GetCheckpointRequest(checkpoint_id="k-1"),
        approval.GetCheckpointResponse(checkpoint=checkpoint()),
    ),
    (
        "approve",
        "DecideCheckpoint",
        ("k-1",),
        {"call_digest": "ab"},
        decided(decision=DECISION.CHECKPOINT_DECISION_APPROVE, call_digest="ab"),
        approval.DecideCheckpointResponse(checkpoint=checkpoint()),
    ),
    (
        "deny",
        "DecideCheckpoint",
        ("k-1", "no"),
        {},
        decided(decision=DECISION.CHECKPOINT_DECISION_DENY, reason="no"),
        approval.DecideCheckpointResponse(checkpoint=checkpoint()),
    ),
    (
        "edit",
        "DecideCheckpoint",
        ("k-1", {"a": 1}, "smaller"),
        {},
        decided(decision=DECISION.CHECKPOINT_DECISION_EDIT, reason="smaller", edited_input=b'{"a":1}'),
        approval.DecideCheckpointResponse(checkpoint=checkpoint()),
    ),
    (
        "respond",
        "DecideCheckpoint",
        ("k-1", "ask Ann"),
        {},
        decided(decision=DECISION.CHECKPOINT_DECISION_RESPOND, response="ask Ann"),
        approval.DecideCheckpointResponse(checkpoint=checkpoint()),
    ),
]


@pytest.mark.req("SDK-1")
@pytest.mark.parametrize("row", UNARY, ids=[one[0] for one in UNARY])
async def test_a_method_sends_its_request_and_hands_out_the_answer(canned: Canned, address: str, row: Row) -> None:
    method, name, args, kwargs, request, answer = row
    canned.answers[name] = [answer, answer]
    async with Gateway(address) as gateway:
        client: Any = Admin(gateway) if hasattr(Admin, method) else Approvals(gateway)
        first = await getattr(client, method)(*args, **kwargs)
    with SyncGateway(address) as sync_gateway:
        sync_client: Any = SyncAdmin(sync_gateway) if hasattr(SyncAdmin, method) else SyncApprovals(sync_gateway)
        second = getattr(sync_client, method)(*args, **kwargs)
    assert canned.requests == [request, request]
    assert first == second
    values = [value for _, value in answer.ListFields()]
    assert first == answer or not values or first in values or first == list(values[0])


@pytest.mark.req("SDK-1")
async def test_listings_are_read_to_their_last_page(canned: Canned, address: str) -> None:
    info = registry_pb2.ProviderInfo
    canned.answers = {
        "ListProviders": [
            admin.ListProvidersResponse(providers=[info(name="a")], next_page_token="2"),
            admin.ListProvidersResponse(providers=[info(name="b")]),
        ],
        "ListProviderTools": [admin.ListProviderToolsResponse(tools=[TOOL])],
        "ListSessions": [admin.ListSessionsResponse(sessions=[session_pb2.Session(session_id="s-1")])],
        "ListCheckpoints": [approval.ListCheckpointsResponse(checkpoints=[checkpoint()])],
    }
    async with Gateway(address) as gateway:
        operator, approver = Admin(gateway), Approvals(gateway)
        assert [one.name for one in await operator.providers()] == ["a", "b"]
        assert [one.name for one in await operator.provider_tools("files")] == ["deploy"]
        found = await operator.sessions(principal_id="p", states=[OPEN, CLOSED], labels={"a": "b"})
        assert [one.session_id for one in found] == ["s-1"]
        assert [one.checkpoint_id for one in await approver.checkpoints(session_id="s-1")] == ["k-1"]
    assert canned.requests[1] == admin.ListProvidersRequest(page_size=500, page_token="2")
    assert canned.requests[3] == admin.ListSessionsRequest(
        principal_id="p", states=[OPEN, CLOSED], labels={"a": "b"}, page_size=500
    )


@pytest.mark.req("SDK-1")
async def test_streams_are_handed_on_as_they_come(canned: Canned, address: str) -> None:
    receipt = receipt_pb2.Receipt(decision_id="d-1")
    piece = admin.ExportReceiptsResponse(file_name="1.jsonl", data=b"{}", end_of_file=True)
    event = approval.WatchCheckpointsResponse(event=approval.CHECKPOINT_EVENT_OPENED, checkpoint=checkpoint())
    canned.answers = {
        "QueryReceipts": [admin.QueryReceiptsResponse(receipt=receipt)],
        "ExportReceipts": [piece],
        "WatchCheckpoints": [event],
    }
    async with Gateway(address) as gateway:
        found = [one async for one in Admin(gateway).receipts(FILTER, max_receipts=5, newest_first=True)]
        assert found == [receipt]
        assert [one async for one in Admin(gateway).export_receipts(FILTER)] == [piece]
        assert [one async for one in Approvals(gateway).watch(groups=["dba"], timeout=20)] == [event]
    with SyncGateway(address) as sync_gateway:
        assert list(SyncAdmin(sync_gateway).receipts(follow=True, timeout=20)) == [receipt]
        assert list(SyncApprovals(sync_gateway).watch()) == [event]
    assert canned.requests[0] == admin.QueryReceiptsRequest(filter=FILTER, max_receipts=5, newest_first=True)
    assert canned.requests[2] == approval.WatchCheckpointsRequest(groups=["dba"])


@pytest.mark.req("SDK-1")
async def test_a_blank_response_is_refused_before_it_is_sent(canned: Canned, address: str) -> None:
    async with Gateway(address) as gateway:
        with pytest.raises(errors.InvalidRequestError, match="response"):
            await Approvals(gateway).respond("k-1", " ")
    assert canned.requests == []
