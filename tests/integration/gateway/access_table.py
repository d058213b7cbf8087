"""Every RPC of the contract, and who may call it: written out by hand, and held against the protos and the gateway."""

from collections.abc import Iterator
from typing import Any

import grpc
import grpc.aio
from google.protobuf import message_factory
from google.protobuf.descriptor import MethodDescriptor
from google.rpc.error_details_pb2 import ErrorInfo
from google.rpc.status_pb2 import Status
from interlock.v1 import admin_service_pb2, approval_service_pb2, gateway_service_pb2, provider_hub_service_pb2
from interlock_gateway.core.session import Role

FILES = (gateway_service_pb2, admin_service_pb2, approval_service_pb2, provider_hub_service_pb2)
DETAILS_KEY = "grpc-status-details-bin"

AGENT = {Role.AGENT}
READER = {Role.AGENT, Role.OPERATOR}
APPROVER = {Role.APPROVER}
OPERATOR = {Role.OPERATOR}
AUDITOR = {Role.OPERATOR, Role.AUDITOR}
NOBODY: set[Role] = set()
"""It is in the contract, and this gateway does not serve it."""

TABLE: dict[str, set[Role]] = {
    "GatewayService/OpenSession": AGENT,
    "GatewayService/CloseSession": AGENT,
    "GatewayService/ListTools": AGENT,
    "GatewayService/SearchTools": AGENT,
    "GatewayService/ActivateTools": AGENT,
    "GatewayService/Evaluate": AGENT,
    "GatewayService/CallTool": AGENT,
    "GatewayService/StreamTool": AGENT,
    "GatewayService/CallBatch": AGENT,
    "GatewayService/GetCall": AGENT,
    "GatewayService/WaitCall": AGENT,
    "GatewayService/Resolve": AGENT,
    "GatewayService/ListPending": AGENT,
    "GatewayService/Rollback": AGENT,
    "GatewayService/ListOperations": AGENT,
    "GatewayService/SettleOperation": AGENT,
    "GatewayService/ReadArtifact": READER,
    "GatewayService/SearchArtifact": READER,
    "GatewayService/StatArtifact": READER,
    "GatewayService/ResolveReferences": AGENT,
    "AdminService/GetStatus": AUDITOR,
    "AdminService/GetPolicyStatus": AUDITOR,
    "AdminService/ReloadPolicy": OPERATOR,
    "AdminService/SetShadowPolicy": OPERATOR,
    "AdminService/ListShadowDifferences": AUDITOR,
    "AdminService/ListProviders": AUDITOR,
    "AdminService/RegisterProvider": OPERATOR,
    "AdminService/UnregisterProvider": OPERATOR,
    "AdminService/ListProviderTools": AUDITOR,
    "AdminService/ConfirmProviderTools": OPERATOR,
    "AdminService/ApproveToolChange": OPERATOR,
    "AdminService/ListSessions": AUDITOR,
    "AdminService/GetSessionReport": AUDITOR,
    "AdminService/QueryReceipts": NOBODY,
    "AdminService/ExportReceipts": NOBODY,
    "ApprovalService/ListCheckpoints": APPROVER,
    "ApprovalService/GetCheckpoint": APPROVER,
    "ApprovalService/WatchCheckpoints": APPROVER,
    "ApprovalService/DecideCheckpoint": APPROVER,
    "ProviderHubService/Attach": NOBODY,
}


def methods() -> Iterator[MethodDescriptor]:
    """Every RPC of the services that a gateway may serve, from the protos."""
    for file in FILES:
        for service in file.DESCRIPTOR.services_by_name.values():
            yield from service.methods


def row_of(method: MethodDescriptor) -> str:
    return f"{method.containing_service.name}/{method.name}"


def request_of(method: MethodDescriptor, session_id: str, uri: str) -> Any:
    """A request that is about that session, or that artifact, as far as the RPC is about one."""
    request: Any = message_factory.GetMessageClass(method.input_type)()
    if "session_id" in request.DESCRIPTOR.fields_by_name:
        request.session_id = session_id
    if "uri" in request.DESCRIPTOR.fields_by_name:
        request.uri = uri
    if "call" in request.DESCRIPTOR.fields_by_name:
        request.call.session_id, request.call.tool, request.call.input = session_id, "echo", b'{"text":"x"}'
    if row_of(method) == "GatewayService/Resolve":
        request.action, request.reason = 2, "no"
    if row_of(method) == "GatewayService/Rollback":
        request.count = 1
    if row_of(method) == "GatewayService/SettleOperation":
        request.effect, request.reason = 1, "seen"
    if row_of(method) == "GatewayService/SearchArtifact":
        request.literal = "x"
    return request


class Refusal:
    """What a call ended with: its code, and the reason in its ErrorInfo; code OK when it was served."""

    def __init__(self, error: grpc.aio.AioRpcError | None) -> None:
        self.code = error.code() if error is not None else grpc.StatusCode.OK
        self.message = error.details() or "" if error is not None else ""
        self.info = ErrorInfo()
        self.details: list[Any] = []
        for key, value in (error.trailing_metadata() or ()) if error is not None else ():
            if key == DETAILS_KEY and isinstance(value, bytes):
                self.read(value)

    def read(self, raw: bytes) -> None:
        """Take in an encoded `google.rpc.Status`, whose first detail is the ErrorInfo."""
        self.details = list(Status.FromString(raw).details)
        self.details[0].Unpack(self.info)

    @property
    def reason(self) -> str:
        return str(self.info.reason)


async def asked(
    channel: grpc.aio.Channel, path: str, request: bytes, *, token: str = "", streaming: bool = False, **headers: str
) -> Refusal:
    """Call an RPC by its path with these bytes, and say how it ended."""
    # A watch that is let in has no end of its own.
    patience_s = 0.5 if "/Watch" in path else 10
    metadata = [*headers.items(), *([("authorization", f"Bearer {token}")] if token else [])]
    try:
        if streaming:
            stream: Any = channel.unary_stream(path)
            async for _ in stream(request, metadata=metadata, timeout=patience_s):
                pass
        else:
            unary: Any = channel.unary_unary(path)
            await unary(request, metadata=metadata, timeout=patience_s)
    except grpc.aio.AioRpcError as error:
        return Refusal(error)
    return Refusal(None)
