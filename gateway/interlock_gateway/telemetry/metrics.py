"""Prometheus metrics (OBS-1): prefix `interlock_`, base units, labels bounded by what is registered or enumerated."""

from collections.abc import Callable
from functools import lru_cache
from typing import TypeAlias

from prometheus_client import CollectorRegistry, Counter, Histogram, Info
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.registry import Collector

from interlock_gateway.audit.log import AuditLog
from interlock_gateway.core.call import CallResult
from interlock_gateway.core.decision import Verdict
from interlock_gateway.core.rollback import RollbackOutcome
from interlock_gateway.core.tool import UNKNOWN_TOOL, Effect
from interlock_gateway.pipeline.run import CallRun
from interlock_gateway.results.process import ProcessingReport

MAX_RULES = 500
"""Distinct `rule` labels kept; further ones are counted as `other`."""

_LATENCY_S = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 60.0)
_PATIENCE_S = (1.0, 5.0, 15.0, 60.0, 300.0, 900.0, 3600.0, 14_400.0, 86_400.0)
_FAST_S = (0.00005, 0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5)


_Family: TypeAlias = GaugeMetricFamily | CounterMetricFamily


def _ignore(_run: CallRun, _result: CallResult) -> None:
    return


class Metrics:
    """Every metric of one gateway, on a registry of its own."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self.registry = registry
        self._calls = Counter(
            "interlock_calls", "Calls that ended.", ("tool", "effect", "verdict", "status"), registry=registry
        )
        self._destructive = Counter(
            "interlock_destructive_calls",
            "Calls of destructive or undeclared tools that ended, by what came of them.",
            ("tool", "principal_kind", "outcome"),
            registry=registry,
        )
        self._decisions = Counter(
            "interlock_decisions", "Reasons given by decisions.", ("rule", "verdict"), registry=registry
        )
        self._decide = Histogram(
            "interlock_decision_seconds", "Time to facts and decision.", buckets=_FAST_S, registry=registry
        )
        self._dispatch = Histogram(
            "interlock_dispatch_seconds", "Time that providers took.", ("tool",), buckets=_LATENCY_S, registry=registry
        )
        self._added = Histogram(
            "interlock_added_latency_seconds",
            "Time that a call spent in the gateway and not in its provider.",
            buckets=_LATENCY_S,
            registry=registry,
        )
        self._truncations = Counter("interlock_truncated_results", "Results shortened.", ("tool",), registry=registry)
        self._artifact_bytes = Counter("interlock_artifact_bytes", "Bytes stored as artifacts.", registry=registry)
        self._artifacts = Counter("interlock_artifacts", "Results stored as artifacts.", registry=registry)
        self._redactions = Counter(
            "interlock_redactions", "Secrets and fields masked in results.", ("kind",), registry=registry
        )
        self._not_stored = Counter(
            "interlock_artifact_failures", "Results too large to return that could not be stored.", registry=registry
        )
        self._undo = Counter(
            "interlock_undo", "Operations that rollbacks came to, by what was done.", ("outcome",), registry=registry
        )
        self._references = Counter(
            "interlock_references",
            "References of prompts, by what they refer to and what became of them.",
            ("kind", "outcome"),
            registry=registry,
        )
        self.pending_actions = 0
        self.watch("interlock_pending_actions", "Previewed changes that wait.", lambda: {(): self.pending_actions})
        self.open_checkpoints = 0
        self.watch("interlock_open_checkpoints", "Calls that people are asked about.", self._count_open)
        self._checkpoint_wait = Histogram(
            "interlock_checkpoint_wait_seconds",
            "Time from a checkpoint's opening to its end.",
            ("outcome",),
            buckets=_PATIENCE_S,
            registry=registry,
        )
        self._policy = Info("interlock_policy", "The active policy.", registry=registry)
        self._reloads = Counter("interlock_policy_reloads", "Policy reloads.", ("outcome",), registry=registry)
        self._shadow = Counter(
            "interlock_shadow_decisions",
            "Calls that the candidate policy decided about, by both verdicts and by whether it differs.",
            ("active", "candidate", "differs"),
            registry=registry,
        )
        self._shadow_skips = Counter(
            "interlock_shadow_skipped",
            "Calls that the candidate policy did not decide about.",
            ("why",),
            registry=registry,
        )
        self.on_call_ended: Callable[[CallRun, CallResult], None] = _ignore
        self._call_counter = lru_cache(maxsize=4096)(self._calls.labels)
        self._dispatch_of = lru_cache(maxsize=1024)(self._dispatch.labels)
        self._rule_counter = lru_cache(maxsize=2048)(self._decisions.labels)
        self._rules: set[str] = set()

    def call_ended(self, run: CallRun, result: CallResult) -> None:
        """Count a call that has its answer."""
        tool = run.tool.name if run.tool is not None else UNKNOWN_TOOL
        effect = run.tool.classification.effect if run.tool is not None else Effect.UNDECLARED
        verdict = run.decision.verdict if run.decision is not None else Verdict.DENY
        self._call_counter(tool, effect, verdict, result.status).inc()
        if effect in (Effect.DESTRUCTIVE, Effect.UNDECLARED) and run.tool is not None:
            self._destructive.labels(tool, run.principal.kind, result.status.value).inc()
        self._count_reasons(run)
        self._time(run, tool)
        self._count_result(tool, result)
        self.on_call_ended(run, result)

    def call_evaluated(self, run: CallRun) -> None:
        """Count a decision that nothing followed from: it is no call that ended."""
        self._count_reasons(run)
        self._decide.observe(run.decide_s)

    def result_processed(self, report: ProcessingReport) -> None:
        """Count what was masked in a result, and what was stored of it."""
        for kind, count in report.redactions.items():
            self._redactions.labels(kind).inc(count)
        for artifact in report.artifacts:
            self._artifacts.inc()
            self._artifact_bytes.inc(artifact.total_bytes)
        if report.store_failure:
            self._not_stored.inc()

    def watch_audit(self, log: AuditLog) -> None:
        """Show how far the audit log is behind, and what it could not take."""
        self.watch("interlock_audit_backlog", "Receipts that wait to be written.", lambda: {(): log.backlog})
        self.watch(
            "interlock_audit_receipts",
            "Receipts since the start, by what became of them.",
            lambda: {
                ("written",): log.stats.written,
                ("refused",): log.stats.refused,
                ("dropped",): log.stats.dropped,
                ("unwritable",): log.stats.unwritable,
            },
            "outcome",
        )

    def undo_ended(self, outcome: RollbackOutcome) -> None:
        """Count what a rollback did with one operation."""
        self._undo.labels(outcome).inc()

    def reference_ended(self, kind: str, outcome: str) -> None:
        """Count a reference that was resolved, or what is the matter with it."""
        self._references.labels(kind, outcome).inc()

    def pending_changed(self, change: int) -> None:
        """There are `change` more pending actions than before."""
        self.pending_actions += change

    def checkpoint_ended(self, outcome: str, waited_s: float) -> None:
        """A checkpoint has ended, so long after it was opened."""
        self._checkpoint_wait.labels(outcome).observe(waited_s)

    def policy_active(self, *, revision: str, profile: str, engine: str) -> None:
        """Say which policy decides."""
        self._policy.info({"revision": revision, "profile": profile, "engine": engine})

    def policy_reloaded(self, *, accepted: bool) -> None:
        """Count a reload."""
        self._reloads.labels("accepted" if accepted else "refused").inc()

    def watch_policy(self, activated_at: Callable[[], float | None], from_disk: Callable[[], bool]) -> None:
        """Show since when the active policy is in force, and whether it is one from disk in place of its source's."""
        self.watch(
            "interlock_policy_activated_timestamp_seconds",
            "Unix time since which the active policy is in force; absent while there is none.",
            lambda: {} if (at := activated_at()) is None else {(): at},
        )
        text = "Whether the last good bundle on disk decides, because its source could not be used."
        self.watch("interlock_policy_from_disk", text, lambda: {(): float(from_disk())})

    def shadow_evaluated(self, active: str, candidate: str, *, differs: bool) -> None:
        """Count a call that the candidate decided about."""
        self._shadow.labels(active, candidate, "yes" if differs else "no").inc()

    def shadow_skipped(self, why: str) -> None:
        """Count a call that the candidate did not decide about."""
        self._shadow_skips.labels(why).inc()

    def watch_providers(self, connected: Callable[[], dict[str, bool]]) -> None:
        """Show which providers can be called."""
        text = "Whether a provider can be called."
        self.watch("interlock_provider_up", text, lambda: _by_name(connected()), "provider")

    def watch_calls(self, in_flight: Callable[[], int]) -> None:
        """Show how many calls are under way."""
        self.watch("interlock_calls_in_flight", "Calls under way.", lambda: {(): in_flight()})

    def watch_exemptions(self, count: Callable[[], dict[tuple[str, ...], float]]) -> None:
        """Show how many exemptions the policies in force have, by how they stand."""
        self.watch(
            "interlock_policy_exemptions", "Exemptions of the active policy, by how they stand.", count, "standing"
        )

    def watch(self, name: str, text: str, read: Callable[[], dict[tuple[str, ...], float]], *labels: str) -> None:
        """Add a gauge that is read when it is scraped: a value for each tuple of label values."""
        self.registry.register(_Watched(name, text, labels, read))

    def watch_total(self, name: str, text: str, read: Callable[[], dict[tuple[str, ...], float]], *labels: str) -> None:
        """Add a counter that is kept elsewhere and read when it is scraped."""
        self.registry.register(_Watched(name, text, labels, read, CounterMetricFamily))

    def _count_open(self) -> dict[tuple[str, ...], float]:
        return {(): self.open_checkpoints}

    def _count_reasons(self, run: CallRun) -> None:
        if run.decision is None:
            return
        for reason in run.decision.reasons:
            self._rule_counter(self._rule_label(reason.rule), run.decision.verdict).inc()

    def _time(self, run: CallRun, tool: str) -> None:
        self._decide.observe(run.decide_s)
        if run.dispatch_s is not None:
            self._dispatch_of(tool).observe(run.dispatch_s)
        self._added.observe(max(0.0, run.total_s - (run.dispatch_s or 0.0)))

    def _count_result(self, tool: str, result: CallResult) -> None:
        if result.truncated:
            self._truncations.labels(tool).inc()

    def _rule_label(self, rule: str) -> str:
        if rule in self._rules:
            return rule
        if len(self._rules) >= MAX_RULES:
            return "other"
        self._rules.add(rule)
        return rule


def _by_name(values: dict[str, bool]) -> dict[tuple[str, ...], float]:
    return {(name,): float(value) for name, value in values.items()}


class _Watched(Collector):
    """A gauge, or a counter, whose values are asked for at scrape time."""

    def __init__(
        self,
        name: str,
        text: str,
        labels: tuple[str, ...],
        read: Callable[[], dict[tuple[str, ...], float]],
        family: "type[_Family]" = GaugeMetricFamily,
    ) -> None:
        self._family = family
        self._name = name
        self._text = text
        self._labels = labels
        self._read = read

    def collect(self) -> "list[_Family]":
        """It as it stands."""
        family = self._family(self._name, self._text, labels=self._labels)
        for values, number in self._read().items():
            family.add_metric(list(values), number)
        return [family]

    def describe(self) -> "list[_Family]":
        """Its name, without asking for values."""
        return [self._family(self._name, self._text, labels=self._labels)]
