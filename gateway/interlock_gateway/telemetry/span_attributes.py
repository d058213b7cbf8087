"""What spans say of a call: who, which tool, what was decided, what came of it. Never what was asked or answered.

Names that OpenTelemetry has are taken from its conventions for generative AI, for MCP and for gRPC; the others begin
with `interlock.`.
"""

from typing import TypeAlias

from interlock_gateway.core.call import CallResult, CallStatus
from interlock_gateway.core.decision import Decision
from interlock_gateway.pipeline.run import CallRun

Attribute: TypeAlias = str | int | float | bool | tuple[str, ...]

MOST_RULES = 16
"""Reasons of one decision whose rules are named."""
LONGEST = 256
"""The most of one text, in characters: ids come from clients, names of rules from policies."""
EXECUTE_TOOL = "execute_tool"
TOOLS_CALL = "tools/call"
TOOL_ERROR = "tool_error"
_UNWELL = frozenset({CallStatus.FAILED, CallStatus.OUTCOME_UNKNOWN})


def attributes_of(run: CallRun, result: CallResult | None, error: str) -> dict[str, Attribute]:
    """What the span of a call says; without `result` of one that ended without an answer, because of `error`."""
    attributes: dict[str, Attribute] = {
        "gen_ai.tool.call.id": run.call_id[:LONGEST],
        "interlock.session.id": run.session_id[:LONGEST],
        "interlock.decision.id": run.decision_id,
        "interlock.principal.kind": run.principal.kind,
        "interlock.call.kind": run.kind.value,
    }
    if run.request.mcp_revision:
        attributes["mcp.method.name"] = run.request.mcp_method or TOOLS_CALL
        attributes["mcp.protocol.version"] = run.request.mcp_revision
    if not run.dry:
        attributes["gen_ai.operation.name"] = EXECUTE_TOOL
    if run.tool is not None:
        attributes["gen_ai.tool.name"] = run.tool.name
        attributes["interlock.provider"] = run.tool.provider
        attributes["interlock.effect"] = run.tool.classification.effect.value
    if result is not None:
        attributes["interlock.outcome"] = result.status.value
        _add_result(attributes, result)
    if run.decision is not None:
        _add_decision(attributes, run.decision)
    elif result is not None and result.decision is not None:
        if run.applying is None:
            attributes["interlock.repeated"] = True  # the answer to an earlier call of that id
        _add_decision(attributes, result.decision)
    _add_people(attributes, run)
    if run.undoes:
        attributes["interlock.undoes"] = run.undoes
    if error:
        attributes["error.type"] = error
    return attributes


def error_of(result: CallResult) -> str:
    """The `error.type` of an answer; empty for one that is none. A denial by policy is what was wanted."""
    if result.status in _UNWELL:
        return result.status.value
    if result.status is CallStatus.DENIED and result.decision is not None:
        code = result.decision.reasons[0].code if result.decision.reasons else ""
        return code[:LONGEST] if code.startswith("gateway_error.") else ""
    return TOOL_ERROR if result.status is CallStatus.COMPLETED and result.is_error else ""


def rpc_attributes(method: str, address: str, status: str) -> dict[str, Attribute]:
    """What the span of an RPC to a provider at `address` says; `status` is the gRPC code's name, empty for OK."""
    attributes: dict[str, Attribute] = {
        "rpc.system.name": "grpc",
        "rpc.method": method,
        "rpc.response.status_code": status or "OK",
    }
    if address.startswith("unix:"):
        return attributes | {"server.address": address.removeprefix("unix:"), "network.transport": "unix"}
    return attributes | _place(address)


def mcp_attributes(address: str) -> dict[str, Attribute]:
    """What the span of `tools/call` at an MCP server says; `address` is a URL, or the command that was started."""
    attributes: dict[str, Attribute] = {"mcp.method.name": TOOLS_CALL}
    scheme, mark, rest = address.partition("://")
    if not mark or scheme not in {"http", "https"}:
        return attributes | {"network.transport": "pipe"}
    return attributes | {"network.transport": "tcp"} | _place(rest.partition("/")[0])


def _place(address: str) -> dict[str, Attribute]:
    host, mark, port = address.rpartition(":")
    if not (mark and port.isdigit()):
        return {"server.address": address.strip("[]")}
    return {"server.address": host.strip("[]"), "server.port": int(port)}


def _add_result(attributes: dict[str, Attribute], result: CallResult) -> None:
    if result.truncated:
        attributes["interlock.truncated"] = True
    if result.redactions:
        attributes["interlock.redactions"] = result.redactions
    if result.pending is not None:
        attributes["interlock.pending.id"] = result.pending.pending_id


def _add_decision(attributes: dict[str, Attribute], decision: Decision) -> None:
    attributes["interlock.decision.id"] = decision.decision_id
    attributes["interlock.verdict"] = decision.verdict.value
    attributes["interlock.policy.revision"] = decision.policy_revision
    attributes["interlock.policy.profile"] = decision.profile
    rules = tuple(reason.rule[:LONGEST] for reason in decision.reasons[:MOST_RULES])
    if rules:
        attributes["interlock.rules"] = rules


def _add_people(attributes: dict[str, Attribute], run: CallRun) -> None:
    if run.checkpoint is not None:
        attributes["interlock.checkpoint.id"] = run.checkpoint.checkpoint_id
    if run.resuming is not None:
        attributes["interlock.checkpoint.wait_s"] = max(0.0, run.received_at - run.resuming.created_at)
