"""Which role may call which RPC (AUTH-2). An RPC that is not in the table is nobody's."""

from interlock_gateway.core.session import Principal, Role
from interlock_gateway.errors import RequestError, RequestFault

_AGENT = frozenset({Role.AGENT})
_APPROVER = frozenset({Role.APPROVER})
_OPERATOR = frozenset({Role.OPERATOR})
_READER = frozenset({Role.OPERATOR, Role.AUDITOR})

ACCESS: dict[str, frozenset[Role]] = {
    **{
        f"/interlock.v1.GatewayService/{rpc}": _AGENT
        for rpc in (
            "OpenSession",
            "CloseSession",
            "ListTools",
            "SearchTools",
            "ActivateTools",
            "Evaluate",
            "CallTool",
            "StreamTool",
            "CallBatch",
            "GetCall",
            "WaitCall",
            "Rollback",
            "ListOperations",
            "SettleOperation",
            "ResolveReferences",
        )
    },
    # Operators say what came of an apply of unknown outcome, and nothing else; see `pipeline.settle_pending` (PREV-14).
    **{f"/interlock.v1.GatewayService/{rpc}": _AGENT | _OPERATOR for rpc in ("Resolve", "ListPending")},
    # Tools that an agent brings along are there for its own sessions; see `providers.attached.hub`.
    "/interlock.v1.ProviderHubService/Attach": _AGENT | frozenset({Role.PROVIDER}),
    # Artifacts belong to the session that made them, and operators may read them (ART-1).
    **{
        f"/interlock.v1.GatewayService/{rpc}": _AGENT | _OPERATOR
        for rpc in ("ReadArtifact", "SearchArtifact", "StatArtifact")
    },
    # Approvers, and never an agent's credential, whatever else it may do (CHK-6); see `approvals.handlers`.
    **{
        f"/interlock.v1.ApprovalService/{rpc}": _APPROVER
        for rpc in ("ListCheckpoints", "GetCheckpoint", "WatchCheckpoints", "DecideCheckpoint")
    },
    **{
        f"/interlock.v1.AdminService/{rpc}": _READER
        for rpc in (
            "GetStatus",
            "GetPolicyStatus",
            "ListShadowDifferences",
            "ListProviders",
            "ListProviderTools",
            "ListSessions",
            "GetSessionReport",
        )
    },
    **{
        f"/interlock.v1.AdminService/{rpc}": _OPERATOR
        for rpc in (
            "ReloadPolicy",
            "SetShadowPolicy",
            "RegisterProvider",
            "UnregisterProvider",
            "ConfirmProviderTools",
            "ApproveToolChange",
        )
    },
}


def check_access(principal: Principal, method: str) -> None:
    """Raise `RequestError` unless `principal` holds a role that may call `method`."""
    allowed = ACCESS.get(method, frozenset())
    if not (allowed & principal.roles):
        needed = ", ".join(sorted(role.value for role in allowed)) or "nobody"
        raise RequestError(RequestFault.ROLE_MISSING, f"this method is for: {needed}")
