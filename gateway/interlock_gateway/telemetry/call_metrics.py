"""What is counted and timed of each call (OBS-1)."""

from functools import lru_cache

from prometheus_client import CollectorRegistry, Counter, Histogram

from interlock_gateway.core.call import CallKind, CallResult, CallStatus
from interlock_gateway.core.decision import GatewayErrorCode, Verdict
from interlock_gateway.core.tool import UNKNOWN_TOOL, Effect
from interlock_gateway.pipeline.run import CallRun
from interlock_gateway.pipeline.tallying import destroys
from interlock_gateway.telemetry.labels import BoundedLabel

MAX_RULES = 500
"""Distinct `rule` labels kept; further ones are counted as `other`."""
MAX_TOOLS = 500
"""Distinct `tool` labels kept, of tools that were called; further ones are counted as `other`."""
MAX_PRINCIPAL_KINDS = 16
_GATEWAY_ERROR = "gateway_error."
_CODES = frozenset(code.value for code in GatewayErrorCode)

_LATENCY_S = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 60.0)
_FAST_S = (0.00005, 0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5)


class CallMetrics:
    """Counts and times calls. Series that alerts look at are there from the start, at zero: a first one is news."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._calls = Counter(
            "interlock_calls", "Calls that ended.", ("tool", "effect", "verdict", "status"), registry=registry
        )
        self._destructive = Counter(
            "interlock_destructive_calls",
            "Calls of destructive or undeclared tools that ended, but for those let through as reading or as routine.",
            ("tool", "principal_kind", "outcome"),
            registry=registry,
        )
        self._decisions = Counter(
            "interlock_decisions", "Reasons given by decisions.", ("rule", "verdict"), registry=registry
        )
        self._gateway_errors = Counter(
            "interlock_gateway_errors",
            "Calls that the gateway itself denied, because it could not decide or keep its promises.",
            ("code",),
            registry=registry,
        )
        self._unknown = Counter(
            "interlock_outcome_unknown",
            "Calls of which nobody knows whether they took effect, by what kind of call it was.",
            ("kind",),
            registry=registry,
        )
        self._decide = Histogram(
            "interlock_decision_seconds", "Time to facts and decision.", buckets=_FAST_S, registry=registry
        )
        self._dispatch = Histogram(
            "interlock_dispatch_seconds", "Time that providers took.", ("tool",), buckets=_LATENCY_S, registry=registry
        )
        self._added = Histogram(
            "interlock_added_latency_seconds",
            "Time that the gateway added to a call: not its provider's, nor that behind other calls of its session.",
            buckets=_LATENCY_S,
            registry=registry,
        )
        self._truncations = Counter("interlock_truncated_results", "Results shortened.", ("tool",), registry=registry)
        for code in GatewayErrorCode:
            self._gateway_errors.labels(code)
        for kind in CallKind:
            self._unknown.labels(kind)
        self._call_counter = lru_cache(maxsize=4096)(self._calls.labels)
        self._dispatch_of = lru_cache(maxsize=1024)(self._dispatch.labels)
        self._rule_counter = lru_cache(maxsize=2048)(self._decisions.labels)
        self._rule, self._tool = BoundedLabel(MAX_RULES), BoundedLabel(MAX_TOOLS)
        self._principal_kind = BoundedLabel(MAX_PRINCIPAL_KINDS)

    def ended(self, run: CallRun, result: CallResult) -> None:
        """Count a call that has its answer."""
        tool = self._tool(run.tool.name) if run.tool is not None else UNKNOWN_TOOL
        effect = run.tool.classification.effect if run.tool is not None else Effect.UNDECLARED
        verdict = run.decision.verdict if run.decision is not None else Verdict.DENY
        self._call_counter(tool, effect, verdict, result.status).inc()
        if destroys(run):
            kind = self._principal_kind(run.principal.kind)
            self._destructive.labels(tool, kind, result.status.value).inc()
        if result.status is CallStatus.OUTCOME_UNKNOWN:
            self._unknown.labels(run.kind).inc()
        if result.truncated:
            self._truncations.labels(tool).inc()
        self._count_reasons(run)
        self._time(run, tool)

    def evaluated(self, run: CallRun) -> None:
        """Count a decision that nothing followed from: it is no call that ended."""
        self._count_reasons(run)
        self._decide.observe(run.decide_s, _exemplar(run))

    def _count_reasons(self, run: CallRun) -> None:
        if run.decision is None:
            return
        for reason in run.decision.reasons:
            self._rule_counter(self._rule(reason.rule), run.decision.verdict).inc()
            if reason.code.startswith(_GATEWAY_ERROR):
                code = reason.code.removeprefix(_GATEWAY_ERROR)
                self._gateway_errors.labels(code if code in _CODES else GatewayErrorCode.INTERNAL).inc()

    def _time(self, run: CallRun, tool: str) -> None:
        exemplar = _exemplar(run)
        self._decide.observe(run.decide_s, exemplar)
        if run.dispatch_s is not None:
            self._dispatch_of(tool).observe(run.dispatch_s, exemplar)
        self._added.observe(max(0.0, run.total_s - (run.dispatch_s or 0.0) - run.elsewhere_s), exemplar)


def _exemplar(run: CallRun) -> dict[str, str] | None:
    """The trace in which to look a call up, of a call that is recorded (OBS-2)."""
    return {"trace_id": run.trace.exemplar} if run.trace.exemplar else None
