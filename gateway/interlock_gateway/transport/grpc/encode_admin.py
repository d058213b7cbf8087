"""From our own types to the protos: what operators are shown."""

from collections import Counter
from collections.abc import Callable

from interlock.v1 import (
    admin_service_pb2,
    gateway_status_pb2,
    policy_pb2,
    registry_pb2,
    session_pb2,
    session_report_pb2,
)

from interlock_gateway.core.jsonvalue import JsonValue
from interlock_gateway.core.operation import UNKNOWN_STATES, OperationState
from interlock_gateway.core.session import Session, WantedSessions, label_texts
from interlock_gateway.core.tool import PinState, classify
from interlock_gateway.core.visible import visible_line
from interlock_gateway.operate.census import Counted
from interlock_gateway.operate.policy_keeper import PolicyKeeper, Reload
from interlock_gateway.operate.report import SessionSummary
from interlock_gateway.operate.session_counts import SessionCounts
from interlock_gateway.operate.status import Component, GatewayState
from interlock_gateway.policy.standing import loaded_exemptions
from interlock_gateway.providers.directory import Connection
from interlock_gateway.providers.kept import ProviderKind
from interlock_gateway.providers.mcp.provider import McpProvider
from interlock_gateway.registry.pins import Pin
from interlock_gateway.registry.registered import RegisteredTool
from interlock_gateway.transport.grpc.encode import classification, duration, json_bytes, timestamp
from interlock_gateway.transport.grpc.encode_tool import pin_state, tool_definition

LONGEST_LINE = 300
"""Characters of a line that a server wrote."""
_KINDS = {
    ProviderKind.GRPC: registry_pb2.PROVIDER_KIND_GRPC,
    ProviderKind.ATTACHED: registry_pb2.PROVIDER_KIND_ATTACHED,
    ProviderKind.MCP_HTTP: registry_pb2.PROVIDER_KIND_MCP_HTTP,
    ProviderKind.MCP_STDIO: registry_pb2.PROVIDER_KIND_MCP_STDIO,
}


def policy_reload(outcome: Reload) -> policy_pb2.PolicyReload:
    """What came of loading a policy."""
    return policy_pb2.PolicyReload(
        accepted=outcome.accepted,
        revision=outcome.revision,
        problems=[
            policy_pb2.PolicyProblem(file=problem.file, line=problem.line, code=problem.code, message=problem.message)
            for problem in outcome.problems
        ],
        time=timestamp(outcome.at),
    )


def policy_status(keeper: PolicyKeeper, shadow: policy_pb2.ShadowStatus | None, now: float) -> policy_pb2.PolicyStatus:
    """The policy in force at that Unix time, with the candidate beside it."""
    bundle, origin = keeper.bundle, keeper.origin.status
    modules = bundle.modules if bundle is not None else ()
    return policy_pb2.PolicyStatus(
        revision=keeper.engine.revision,
        engine=keeper.config.engine,
        profile=keeper.engine.profile,
        sources=origin.sources,
        activated_at=timestamp(keeper.activated_at),
        rules=sum("/rules/" in f"/{path}" or "/custom/" in f"/{path}" for path, _ in modules),
        signature_verified=origin.verified,
        last_reload=policy_reload(keeper.last_reload) if keeper.last_reload is not None else None,
        engine_healthy=keeper.engine.ready,
        engine_error=keeper.engine.trouble,
        source_error=origin.problem,
        from_disk=origin.from_disk,
        bundle_sequence=origin.sequence,
        shadow=shadow,
        exemptions=sum(one.expires_at > now for one in loaded_exemptions(bundle)) if bundle is not None else 0,
    )


def status(state: GatewayState, counted: Counted) -> gateway_status_pb2.GatewayStatus:
    """How the gateway is, and what there is over all replicas."""
    return gateway_status_pb2.GatewayStatus(
        version=state.version,
        replica=state.replica,
        started_at=timestamp(state.started_at),
        serving=state.serving,
        draining=state.draining,
        profile=state.profile,
        policy_revision=state.policy_revision,
        components=[_component(component) for component in state.components],
        open_sessions=counted.open_sessions,
        calls_in_flight=state.calls_in_flight,
        pending_actions=counted.pending_actions,
        open_checkpoints=counted.open_checkpoints,
        checkpoint_handlers=counted.checkpoint_handlers,
        audit_backlog=state.audit_backlog,
        audit_lost=state.audit_lost,
    )


def _component(component: Component) -> gateway_status_pb2.ComponentStatus:
    healthy = gateway_status_pb2.COMPONENT_STATE_HEALTHY
    state = healthy if component.healthy else gateway_status_pb2.COMPONENT_STATE_FAILED
    return gateway_status_pb2.ComponentStatus(name=component.name, state=state, message=component.message)


def wanted_sessions(request: admin_service_pb2.ListSessionsRequest) -> WantedSessions:
    """Which sessions are asked for."""
    states = request.states or (session_pb2.SESSION_STATE_OPEN, session_pb2.SESSION_STATE_CLOSED)
    return WantedSessions(
        owner=request.principal_id,
        open=session_pb2.SESSION_STATE_OPEN in states,
        closed=session_pb2.SESSION_STATE_CLOSED in states,
        labels=dict(request.labels),
    )


def _session_state(record: Session) -> session_pb2.SessionState:
    return session_pb2.SESSION_STATE_OPEN if record.is_open else session_pb2.SESSION_STATE_CLOSED


def session_record(record: Session, deferred_threshold: int, counts: SessionCounts) -> session_pb2.Session:
    """A session as it is kept, with what it did; the threshold is the one in force."""
    facts = counts.facts
    message = session_pb2.Session(
        session_id=record.session_id,
        intent=record.intent,
        labels=label_texts(record.labels),
        tools=record.tools,
        workspace_roots=record.roots,
        state=_session_state(record),
        opened_at=timestamp(record.opened_at),
        last_call_at=timestamp(facts.last_call_at or None),
        closed_at=timestamp(record.closed_at),
        calls=facts.calls,
        destructive_calls=facts.destructive_calls,
        pending_actions=counts.pending,
        taints=sorted(facts.taints),
        activated_tools=record.activated,
        always_loaded_tools=record.always_loaded,
        deferred_threshold=deferred_threshold,
    )
    owner = message.principal
    owner.id, owner.kind = record.owner, record.owner_kind
    owner.roles.extend(record.owner_roles)
    return message


def session_report(summary: SessionSummary, deferred_threshold: int, now: float) -> session_report_pb2.SessionReport:
    """What one session did."""
    facts = summary.facts
    session = session_record(summary.session, deferred_threshold, SessionCounts(facts, summary.pending))
    destructive = [
        session_report_pb2.DestructiveCallCount(tool=tool, outcome=outcome, count=count)
        for (tool, outcome), count in facts.destructive_outcomes.most_common()
        if count > 0
    ]
    return session_report_pb2.SessionReport(
        session=session,
        calls=facts.calls,
        calls_by_status=_counts(facts.calls_by_status),
        calls_by_tool=_counts(facts.calls_by_tool),
        destructive_calls=destructive,
        denials_by_reason=_counts(facts.denials),
        checkpoints=session_report_pb2.CheckpointCounts(
            opened=facts.checkpoints["opened"],
            approved=facts.checkpoints["approved"],
            denied=facts.checkpoints["denied"],
            edited=facts.checkpoints["edited"],
            responded=facts.checkpoints["responded"],
            expired=facts.checkpoints["expired"],
            withdrawn=facts.checkpoints["withdrawn"],
            open=summary.open_checkpoints,
        ),
        previews=session_report_pb2.PreviewCounts(
            previewed=facts.previews["previewed"],
            applied=facts.previews["applied"],
            discarded=facts.previews["discarded"],
            expired=facts.previews["expired"],
            outcome_unknown=facts.previews["outcome_unknown"],
            pending=summary.pending,
        ),
        undo=session_report_pb2.UndoCounts(
            operations=summary.operations.total(),
            undoable=summary.undoable,
            irreversible=summary.irreversible,
            only_read=summary.only_read,
            undone=summary.operations[OperationState.UNDONE],
            undo_failed=summary.operations[OperationState.UNDO_FAILED],
            outcome_unknown=sum(summary.operations[state] for state in UNKNOWN_STATES),
        ),
        generated_at=timestamp(now),
    )


def _counts(counted: "Counter[str]") -> list[session_report_pb2.LabelledCount]:
    return [
        session_report_pb2.LabelledCount(label=label, count=count)
        for label, count in counted.most_common()
        if count > 0
    ]


def provider_info(
    connection: Connection, tools: tuple[RegisteredTool, ...], redact: Callable[[str], str], now: float
) -> registry_pb2.ProviderInfo:
    """A provider and the state of its connection at that Unix time, without what `redact` knows for a secret."""
    spec = connection.spec
    connected = connection.connected_since is not None
    state = registry_pb2.PROVIDER_STATE_READY if connected else registry_pb2.PROVIDER_STATE_UNREACHABLE
    if not connected and not connection.last_error:
        state = registry_pb2.PROVIDER_STATE_CONNECTING
    floor = spec.is_floored
    return registry_pb2.ProviderInfo(
        name=spec.name,
        kind=_KINDS[connection.provider.kind],
        state=state,
        trust=registry_pb2.PROVIDER_TRUST_FLOOR if floor else registry_pb2.PROVIDER_TRUST_DECLARED,
        pins=registry_pb2.PIN_MODE_FOLLOW if spec.pins == "follow" else registry_pb2.PIN_MODE_QUARANTINE,
        version=connection.version,
        tools=len(tools),
        changed_tools=sum(tool.pin_state is PinState.CHANGED for tool in tools),
        unconfirmed_tools=sum(tool.pin_state is PinState.UNCONFIRMED for tool in tools),
        last_error=_last_error(connection, redact),
        connected_since=timestamp(connection.connected_since),
        calls_in_flight=connection.provider.in_flight,
        configured=connection.configured,
        warnings=connection.problems,
        retry_after=duration(None if connection.retry_at is None else max(0.0, connection.retry_at - now)),
    )


def _last_error(connection: Connection, redact: Callable[[str], str]) -> str:
    """Why it cannot be called, and what a server that the gateway runs wrote last: nothing that moves a terminal."""
    provider = connection.provider
    words = provider.last_words if connection.last_error and isinstance(provider, McpProvider) else ()
    if not words:
        return connection.last_error
    # Cut last: half of a secret is not known for one.
    shown = " / ".join(visible_line(redact(line))[:LONGEST_LINE] for line in words)
    return f"{connection.last_error}. It wrote last: {shown}"


def provider_tool(tool: RegisteredTool, accepted: Pin | None) -> registry_pb2.ProviderTool:
    """A tool as declared and as it holds, with its pin; `accepted` is the pin when a person accepted it."""
    return registry_pb2.ProviderTool(
        name=tool.name,
        declared=tool_definition(tool.declared),
        declared_classification=classification(classify(tool.declared)),
        effective=tool_definition(tool.definition),
        effective_classification=classification(tool.classification),
        pin_state=pin_state(tool),
        pinned_hash=tool.pinned_sha256,
        current_hash=tool.sha256,
        differences=[
            registry_pb2.ToolDifference(
                field=change.field, before=_unless_absent(change.before), after=_unless_absent(change.after)
            )
            for change in tool.changes
        ],
        confirmed_by=accepted.approved_by if accepted is not None else "",
        confirmed_at=timestamp(accepted.pinned_at) if accepted is not None else None,
    )


def _unless_absent(value: JsonValue) -> bytes:
    return json_bytes(value) if value is not None else b""
