"""The flows of operators and approvers. They hand out the contract's own messages (`interlock.v1`)."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TypeVar

from interlock._encode import invalid, json_field
from interlock._flow import Flow, Items, Method, Rest, ask, each, pages
from interlock.calls import Json
from interlock.errors import GatewayUnavailableError
from interlock.v1 import admin_service_pb2 as admin
from interlock.v1 import approval_service_pb2 as approval
from interlock.v1 import (
    checkpoint_pb2,
    gateway_status_pb2,
    policy_pb2,
    receipt_pb2,
    registry_pb2,
    session_pb2,
    session_report_pb2,
)

M = TypeVar("M")

_ADMIN = "/interlock.v1.AdminService"
_APPROVAL = "/interlock.v1.ApprovalService"

GET_STATUS = Method(f"{_ADMIN}/GetStatus", admin.GetStatusResponse, repeatable=True)
GET_POLICY_STATUS = Method(f"{_ADMIN}/GetPolicyStatus", admin.GetPolicyStatusResponse, repeatable=True)
RELOAD_POLICY = Method(f"{_ADMIN}/ReloadPolicy", admin.ReloadPolicyResponse)
SET_SHADOW_POLICY = Method(f"{_ADMIN}/SetShadowPolicy", admin.SetShadowPolicyResponse)
LIST_SHADOW_DIFFERENCES = Method(
    f"{_ADMIN}/ListShadowDifferences", admin.ListShadowDifferencesResponse, repeatable=True
)
LIST_PROVIDERS = Method(f"{_ADMIN}/ListProviders", admin.ListProvidersResponse, repeatable=True)
REGISTER_PROVIDER = Method(f"{_ADMIN}/RegisterProvider", admin.RegisterProviderResponse)
UNREGISTER_PROVIDER = Method(f"{_ADMIN}/UnregisterProvider", admin.UnregisterProviderResponse)
LIST_PROVIDER_TOOLS = Method(f"{_ADMIN}/ListProviderTools", admin.ListProviderToolsResponse, repeatable=True)
CONFIRM_PROVIDER_TOOLS = Method(f"{_ADMIN}/ConfirmProviderTools", admin.ConfirmProviderToolsResponse)
APPROVE_TOOL_CHANGE = Method(f"{_ADMIN}/ApproveToolChange", admin.ApproveToolChangeResponse)
LIST_SESSIONS = Method(f"{_ADMIN}/ListSessions", admin.ListSessionsResponse, repeatable=True)
GET_SESSION_REPORT = Method(f"{_ADMIN}/GetSessionReport", admin.GetSessionReportResponse, repeatable=True)
QUERY_RECEIPTS = Method(f"{_ADMIN}/QueryReceipts", admin.QueryReceiptsResponse)
EXPORT_RECEIPTS = Method(f"{_ADMIN}/ExportReceipts", admin.ExportReceiptsResponse)
LIST_CHECKPOINTS = Method(
    f"{_APPROVAL}/ListCheckpoints", approval.ListCheckpointsResponse, repeatable=True, patient=True
)
GET_CHECKPOINT = Method(f"{_APPROVAL}/GetCheckpoint", approval.GetCheckpointResponse, repeatable=True, patient=True)
WATCH_CHECKPOINTS = Method(f"{_APPROVAL}/WatchCheckpoints", approval.WatchCheckpointsResponse, repeatable=True)
# A decision that was taken is not open any more: asking twice answers CHECKPOINT_NOT_OPEN, which would mislead.
DECIDE_CHECKPOINT = Method(f"{_APPROVAL}/DecideCheckpoint", approval.DecideCheckpointResponse, patient=True)
# How often a watch that the gateway has left is begun again, and how many seconds apart.
_WATCH_TRIES, _WATCH_PAUSE = 12, 5.0


@dataclass(frozen=True, slots=True)
class OperatorCore:
    """What an operator's client is without its driver: the default deadline of its requests in seconds."""

    timeout: float


def status(core: OperatorCore) -> Flow[gateway_status_pb2.GatewayStatus]:
    """How the gateway is doing."""
    return (yield from ask(GET_STATUS, admin.GetStatusRequest(), core.timeout)).status


def policy_status(core: OperatorCore) -> Flow[policy_pb2.PolicyStatus]:
    """Which policies are in force."""
    return (yield from ask(GET_POLICY_STATUS, admin.GetPolicyStatusRequest(), core.timeout)).policy


def reload_policy(
    core: OperatorCore, *, check_only: bool = False, allow_older: bool = False
) -> Flow[admin.ReloadPolicyResponse]:
    """Load the policies again; a refused one is a normal answer, and the last good one stays."""
    request = admin.ReloadPolicyRequest(check_only=check_only, allow_older=allow_older)
    return (yield from ask(RELOAD_POLICY, request, core.timeout))


def set_shadow_policy(core: OperatorCore, source: str = "") -> Flow[admin.SetShadowPolicyResponse]:
    """Set the candidate policy that is evaluated beside the active one; without a source, clear it."""
    return (yield from ask(SET_SHADOW_POLICY, admin.SetShadowPolicyRequest(source=source), core.timeout))


def shadow_differences(core: OperatorCore, limit: int = 0) -> Flow[list[policy_pb2.ShadowDifference]]:
    """Calls that the candidate would have decided otherwise, latest first; at most `limit`, or a page of 50."""
    request = admin.ListShadowDifferencesRequest(page_size=limit)
    return list((yield from ask(LIST_SHADOW_DIFFERENCES, request, core.timeout)).differences)


def providers(core: OperatorCore) -> Flow[list[registry_pb2.ProviderInfo]]:
    """The providers as they stand."""
    answers = yield from pages(LIST_PROVIDERS, admin.ListProvidersRequest(), core.timeout)
    return [one for answer in answers for one in answer.providers]


def register_provider(core: OperatorCore, spec: registry_pb2.ProviderSpec) -> Flow[registry_pb2.ProviderInfo]:
    """Connect a provider at run time."""
    return (yield from ask(REGISTER_PROVIDER, admin.RegisterProviderRequest(spec=spec), core.timeout)).provider


def unregister_provider(core: OperatorCore, provider: str) -> Flow[int]:
    """Let a provider go; how many tools went with it."""
    request = admin.UnregisterProviderRequest(provider=provider)
    return (yield from ask(UNREGISTER_PROVIDER, request, core.timeout)).removed_tools


def provider_tools(core: OperatorCore, provider: str) -> Flow[list[registry_pb2.ProviderTool]]:
    """A provider's tools with their pins."""
    request = admin.ListProviderToolsRequest(provider=provider)
    answers = yield from pages(LIST_PROVIDER_TOOLS, request, core.timeout)
    return [one for answer in answers for one in answer.tools]


def confirm_provider_tools(
    core: OperatorCore, provider: str, pins: Mapping[str, str], reason: str
) -> Flow[list[registry_pb2.ProviderTool]]:
    """Confirm what a provider declares: of each tool the hash of the definition that was looked at (TOOL-3)."""
    request = admin.ConfirmProviderToolsRequest(
        provider=provider,
        pins=[registry_pb2.ToolPin(tool=tool, hash=value) for tool, value in pins.items()],
        reason=reason,
    )
    return list((yield from ask(CONFIRM_PROVIDER_TOOLS, request, core.timeout)).tools)


def approve_tool_change(
    core: OperatorCore, provider: str, tool: str, current_hash: str, reason: str
) -> Flow[registry_pb2.ProviderTool]:
    """Take a tool's changed definition out of quarantine, by the hash of what was looked at (TOOL-5)."""
    request = admin.ApproveToolChangeRequest(
        provider=provider, pin=registry_pb2.ToolPin(tool=tool, hash=current_hash), reason=reason
    )
    return (yield from ask(APPROVE_TOOL_CHANGE, request, core.timeout)).tool


def sessions(
    core: OperatorCore,
    *,
    principal_id: str = "",
    states: Iterable[session_pb2.SessionState] = (),
    labels: Mapping[str, str] | None = None,
) -> Flow[list[session_pb2.Session]]:
    """The sessions, of one principal, in these states, with these labels, or all."""
    request = admin.ListSessionsRequest(principal_id=principal_id, states=states, labels=labels or {})
    answers = yield from pages(LIST_SESSIONS, request, core.timeout)
    return [one for answer in answers for one in answer.sessions]


def session_report(core: OperatorCore, session_id: str) -> Flow[session_report_pb2.SessionReport]:
    """What a session did: calls, destructive calls, denials, checkpoints, undo."""
    request = admin.GetSessionReportRequest(session_id=session_id)
    return (yield from ask(GET_SESSION_REPORT, request, core.timeout)).report


def receipts(
    core: OperatorCore,
    filter: receipt_pb2.ReceiptFilter | None = None,  # noqa: A002 -- the contract's name
    *,
    max_receipts: int = 0,
    newest_first: bool = False,
    follow: bool = False,
    timeout: float | None = None,
) -> Items[receipt_pb2.Receipt]:
    """Yield the receipts that match. With `follow` it goes on with new ones, without end unless `timeout` is given.

    No gateway serves it yet: it raises RequestError (UNIMPLEMENTED). `interlock audit query` reads them where they are.
    """
    request = admin.QueryReceiptsRequest(
        filter=filter, max_receipts=max_receipts, newest_first=newest_first, follow=follow
    )
    limit = timeout if timeout is not None or follow else core.timeout
    found: Items[receipt_pb2.Receipt] = each(QUERY_RECEIPTS, request, limit, _receipt)
    yield from found


def export_receipts(
    core: OperatorCore,
    filter: receipt_pb2.ReceiptFilter | None = None,  # noqa: A002 -- the contract's name
    *,
    timeout: float | None = None,
) -> Items[admin.ExportReceiptsResponse]:
    """Yield the files of the audit, piece by piece, one after the other.

    No gateway serves it yet: it raises RequestError (UNIMPLEMENTED). They are in the gateway's `audit.dir`.
    """
    request = admin.ExportReceiptsRequest(filter=filter)
    found: Items[admin.ExportReceiptsResponse] = each(EXPORT_RECEIPTS, request, timeout or core.timeout, _itself)
    yield from found


def checkpoints(
    core: OperatorCore, *, states: Iterable[checkpoint_pb2.CheckpointState] = (), session_id: str = ""
) -> Flow[list[checkpoint_pb2.Checkpoint]]:
    """The checkpoints in these states, or the open ones, by expiry; without history."""
    request = approval.ListCheckpointsRequest(states=states, session_id=session_id)
    answers = yield from pages(LIST_CHECKPOINTS, request, core.timeout)
    return [one for answer in answers for one in answer.checkpoints]


def checkpoint(core: OperatorCore, checkpoint_id: str) -> Flow[checkpoint_pb2.Checkpoint]:
    """One checkpoint: what would happen, why a person is asked, and what ran before."""
    request = approval.GetCheckpointRequest(checkpoint_id=checkpoint_id)
    return (yield from ask(GET_CHECKPOINT, request, core.timeout)).checkpoint


def watch(
    core: OperatorCore, *, groups: Iterable[str] = (), timeout: float | None = None
) -> Items[approval.WatchCheckpointsResponse]:
    """Yield what happens to checkpoints, keepalives included; an open watch is a handler (CHK-2).

    It has no end unless `timeout` is given: when the gateway goes away it is begun again, and tells of those that are
    open once more. Raises GatewayUnavailableError when there is no gateway at first, or for about a minute later on.
    """
    del core
    request = approval.WatchCheckpointsRequest(groups=groups)
    told = failed = 0

    def count(message: approval.WatchCheckpointsResponse) -> approval.WatchCheckpointsResponse:
        nonlocal told
        told += 1
        return message

    while True:
        before = told
        try:
            yield from each(WATCH_CHECKPOINTS, request, timeout, count)
        except GatewayUnavailableError:
            failed = 0 if told > before else failed + 1
            if timeout is not None or not told or failed > _WATCH_TRIES:
                raise
            yield Rest(_WATCH_PAUSE)
        else:
            return


def approve(
    core: OperatorCore, checkpoint_id: str, reason: str = "", *, call_digest: str = ""
) -> Flow[checkpoint_pb2.Checkpoint]:
    """Let the call run as it is; with `call_digest`, only if that is the call which was looked at."""
    return (yield from _decide(core, checkpoint_id, checkpoint_pb2.CHECKPOINT_DECISION_APPROVE, reason, call_digest))


def deny(
    core: OperatorCore, checkpoint_id: str, reason: str, *, call_digest: str = ""
) -> Flow[checkpoint_pb2.Checkpoint]:
    """Refuse the call; the model sees the reason."""
    return (yield from _decide(core, checkpoint_id, checkpoint_pb2.CHECKPOINT_DECISION_DENY, reason, call_digest))


def edit(
    core: OperatorCore,
    checkpoint_id: str,
    input: Json,  # noqa: A002 -- the contract's name
    reason: str = "",
    *,
    call_digest: str = "",
) -> Flow[checkpoint_pb2.Checkpoint]:
    """Let the call run with another input, which goes through the whole pipeline again."""
    edited = json_field("edited_input", input)
    decision = checkpoint_pb2.CHECKPOINT_DECISION_EDIT
    return (yield from _decide(core, checkpoint_id, decision, reason, call_digest, edited_input=edited))


def respond(
    core: OperatorCore, checkpoint_id: str, response: str, reason: str = "", *, call_digest: str = ""
) -> Flow[checkpoint_pb2.Checkpoint]:
    """Give the model this text in place of a result; the call does not run."""
    if not response.strip():
        raise invalid("response", "is blank")
    decision = checkpoint_pb2.CHECKPOINT_DECISION_RESPOND
    return (yield from _decide(core, checkpoint_id, decision, reason, call_digest, response=response))


def _decide(
    core: OperatorCore,
    checkpoint_id: str,
    decision: checkpoint_pb2.CheckpointDecision,
    reason: str,
    call_digest: str,
    *,
    edited_input: bytes = b"",
    response: str = "",
) -> Flow[checkpoint_pb2.Checkpoint]:
    request = approval.DecideCheckpointRequest(
        checkpoint_id=checkpoint_id,
        decision=decision,
        reason=reason,
        call_digest=call_digest,
        edited_input=edited_input,
        response=response,
    )
    return (yield from ask(DECIDE_CHECKPOINT, request, core.timeout)).checkpoint


def _receipt(message: admin.QueryReceiptsResponse) -> receipt_pb2.Receipt:
    return message.receipt


def _itself(message: M) -> M:
    return message
