"""How many values each label may have, and what bounds them: no label holds what a client made up (OBS-1)."""

from dataclasses import dataclass

from interlock_gateway.artifacts.admission import Limit
from interlock_gateway.artifacts.index import RemovalReason
from interlock_gateway.core.call import CallKind, CallStatus
from interlock_gateway.core.decision import GatewayErrorCode, Verdict
from interlock_gateway.core.rollback import RollbackOutcome
from interlock_gateway.core.tool import Effect, PinState
from interlock_gateway.errors import RequestFault
from interlock_gateway.identity.refusals import Refusal
from interlock_gateway.policy.opa.breaker import BreakerState
from interlock_gateway.policy.standing import Standing
from interlock_gateway.telemetry.call_metrics import MAX_PRINCIPAL_KINDS, MAX_RULES, MAX_TOOLS
from interlock_gateway.telemetry.metrics import MAX_SECRET_KINDS
from interlock_gateway.telemetry.surroundings import MAX_PROVIDERS
from metrics_in_code import Metric


@dataclass(frozen=True, slots=True)
class Bound:
    """The most values that a label has, and which they are; `most` is 0 where the configuration is the bound."""

    most: int
    values: str


_TOOLS = Bound(
    MAX_TOOLS + 2, "registered tools, the first 500 that were called; `other` for later ones, `unknown` for no tool"
)
BOUNDS = {
    "active": Bound(len(Verdict), "verdicts"),
    "candidate": Bound(len(Verdict), "verdicts"),
    "code": Bound(17, "gRPC status codes"),
    "component": Bound(3, "`policy`, `state`, `audit`"),
    "directory": Bound(2, "`state`, `audit`"),
    "differs": Bound(2, "`yes`, `no`"),
    "effect": Bound(len(Effect), "`read_only`, `mutating`, `destructive`, `undeclared`; a tool has one"),
    "engine": Bound(1, "`embedded` or `opa`"),
    "hook": Bound(0, "the configured hooks"),
    "interceptor": Bound(0, "the configured interceptors"),
    "issuer": Bound(0, "the configured issuers"),
    "kind": Bound(MAX_SECRET_KINDS + 1, "kinds of secrets that are looked for, and `policy`"),
    "lane": Bound(2, "`read`, `write`"),
    "limit": Bound(len(Limit), "`session`, `principal`, `total`"),
    "method": Bound(64, "served RPCs, by service and name, and methods of MCP"),
    "outcome": Bound(len(RollbackOutcome), "what may come of it, a closed set"),
    "pin": Bound(len(PinState), "`pinned`, `changed`, `unconfirmed`"),
    "principal_kind": Bound(MAX_PRINCIPAL_KINDS + 1, "how callers are authenticated; never who they are"),
    "process": Bound(5, "`gateway`, `policy`, `inputs`, `schemas`, `candidate`"),
    "profile": Bound(1, "the active profile"),
    "provider": Bound(MAX_PROVIDERS, "configured and registered providers; those that are down come first"),
    "reason": Bound(len(RequestFault), "the reasons of errors, a closed set"),
    "revision": Bound(1, "the active policy's revision"),
    "rule": Bound(
        MAX_RULES + 1, "the first 500 rules that decided; `other` for later ones, `gateway` for the gateway itself"
    ),
    "stage": Bound(2, "`asking`, `waiting`"),
    "standing": Bound(len(Standing), "`in_force`, `expiring`, `expired`"),
    "state": Bound(len(BreakerState), "states of the breaker"),
    "status": Bound(len(CallStatus), "statuses of calls"),
    "tool": _TOOLS,
    "transport": Bound(2, "`socket`, `http`"),
    "verdict": Bound(len(Verdict), "verdicts"),
    "version": Bound(1, "the gateway's version"),
    "webhook": Bound(0, "the configured webhooks"),
    "why": Bound(20, "`busy`, `paused`, `rate`, `too_large`, and codes of the gateway's errors"),
}
# Where a label means something else.
OF_METRIC = {
    ("interlock_gateway_errors", "code"): Bound(len(GatewayErrorCode), "codes behind `gateway_error.`"),
    ("interlock_callers_refused", "reason"): Bound(len(Refusal), "why a caller is nobody known, a closed set"),
    ("interlock_outcome_unknown", "kind"): Bound(len(CallKind), "kinds of calls"),
    ("interlock_references", "kind"): Bound(2, "`file`, `artifact`"),
    ("interlock_references", "outcome"): Bound(16, "`resolved`, and what may be the matter"),
    ("interlock_policy_server_answers", "outcome"): Bound(24, "`ok`, and codes of troubles"),
    ("interlock_artifacts_removed", "reason"): Bound(len(RemovalReason), "why artifacts are removed, a closed set"),
    ("interlock_artifact_removed_bytes", "reason"): Bound(
        len(RemovalReason), "why artifacts are removed, a closed set"
    ),
}


def bound_of(metric: Metric, label: str) -> Bound:
    """The bound of one of a metric's labels. Raises `KeyError` for a label that nobody has bounded."""
    return OF_METRIC.get((metric.name, label)) or BOUNDS[label]
