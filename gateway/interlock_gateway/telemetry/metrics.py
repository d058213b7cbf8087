"""Prometheus metrics (OBS-1): prefix `interlock_`, base units, labels bounded by what is registered or enumerated.

What is counted as it happens is here and in `call_metrics.py`; what is read when it is scraped, in `surroundings.py`.
"""

from collections.abc import Callable

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, Info, disable_created_metrics
from prometheus_client.core import CounterMetricFamily

from interlock_gateway.core.call import CallResult
from interlock_gateway.core.rollback import RollbackOutcome
from interlock_gateway.pipeline.run import CallRun
from interlock_gateway.results.process import ProcessingReport
from interlock_gateway.telemetry.call_metrics import CallMetrics
from interlock_gateway.telemetry.labels import BoundedLabel
from interlock_gateway.telemetry.watched import Read, Watched

MAX_SECRET_KINDS = 200
_SKIPS = ("busy", "paused", "rate", "too_large")
_ENDINGS = ("approved", "edited", "denied", "responded", "expired", "withdrawn")
_PATIENCE_S = (1.0, 5.0, 15.0, 60.0, 300.0, 900.0, 3600.0, 14_400.0, 86_400.0)


def _ignore(_run: CallRun, _result: CallResult) -> None:
    return


class Metrics:
    """Every metric of one gateway, on a registry of its own."""

    def __init__(self, registry: CollectorRegistry) -> None:
        # A second series for each counter, which says when it was first seen: Prometheus knows that.
        disable_created_metrics()  # type: ignore[no-untyped-call]  # the library gives it no types
        self.registry = registry
        self._calls = CallMetrics(registry)
        self.on_call_ended: Callable[[CallRun, CallResult], None] = _ignore
        self._make_results()
        self._make_people()
        self._make_policy()

    def _make_results(self) -> None:
        registry = self.registry
        self._artifact_bytes = Counter("interlock_artifact_bytes", "Bytes stored as artifacts.", registry=registry)
        self._artifacts = Counter("interlock_artifacts", "Results stored as artifacts.", registry=registry)
        self._not_stored = Counter(
            "interlock_artifact_failures", "Results too large to return that could not be stored.", registry=registry
        )
        self._redactions = Counter(
            "interlock_redactions", "Secrets and fields masked in results.", ("kind",), registry=registry
        )
        self._secret_kind = BoundedLabel(MAX_SECRET_KINDS)
        self._undo = Counter(
            "interlock_undo", "Operations that rollbacks came to, by what was done.", ("outcome",), registry=registry
        )
        for outcome in RollbackOutcome:
            self._undo.labels(outcome)
        self._references = Counter(
            "interlock_references",
            "References of prompts, by what they refer to and what became of them.",
            ("kind", "outcome"),
            registry=registry,
        )

    def _make_people(self) -> None:
        self.pending_actions = 0
        self.watch("interlock_pending_actions", "Previewed changes that wait.", lambda: {(): self.pending_actions})
        self.open_checkpoints = 0
        self.watch(
            "interlock_open_checkpoints", "Calls that people are asked about.", lambda: {(): self.open_checkpoints}
        )
        self.checkpoint_expiry: float | None = None
        self.watch(
            "interlock_checkpoint_expiry_timestamp_seconds",
            "Unix time when the next open checkpoint expires; absent while none is open.",
            lambda: {} if (at := self.checkpoint_expiry) is None else {(): at},
        )
        self._checkpoint_wait = Histogram(
            "interlock_checkpoint_wait_seconds",
            "Time from a checkpoint's opening to its end.",
            ("outcome",),
            buckets=_PATIENCE_S,
            registry=self.registry,
        )
        for outcome in _ENDINGS:
            self._checkpoint_wait.labels(outcome)

    def _make_policy(self) -> None:
        registry = self.registry
        self._policy = Info("interlock_policy", "The active policy.", registry=registry)
        self._reloads = Counter("interlock_policy_reloads", "Policy reloads.", ("outcome",), registry=registry)
        for outcome in ("accepted", "refused"):
            self._reloads.labels(outcome)
        self._reload_good = Gauge(
            "interlock_policy_last_reload_accepted",
            "Whether the policies that were offered last were taken; 1 until others are offered.",
            registry=registry,
        )
        self._reload_good.set(1)
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
        for why in _SKIPS:
            self._shadow_skips.labels(why)

    def call_ended(self, run: CallRun, result: CallResult) -> None:
        """Count a call that has its answer."""
        self._calls.ended(run, result)
        self.on_call_ended(run, result)

    def call_evaluated(self, run: CallRun) -> None:
        """Count a decision that nothing followed from: it is no call that ended."""
        self._calls.evaluated(run)

    def result_processed(self, report: ProcessingReport) -> None:
        """Count what was masked in a result, and what was stored of it."""
        for kind, count in report.redactions.items():
            self._redactions.labels(self._secret_kind(kind)).inc(count)
        for artifact in report.artifacts:
            self._artifacts.inc()
            self._artifact_bytes.inc(artifact.total_bytes)
        if report.store_failure:
            self._not_stored.inc()

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
        self._reload_good.set(accepted)

    def shadow_evaluated(self, active: str, candidate: str, *, differs: bool) -> None:
        """Count a call that the candidate decided about."""
        self._shadow.labels(active, candidate, "yes" if differs else "no").inc()

    def shadow_skipped(self, why: str) -> None:
        """Count a call that the candidate did not decide about."""
        self._shadow_skips.labels(why).inc()

    def watch(self, name: str, text: str, read: Read, *labels: str) -> None:
        """Add a gauge that is read when it is scraped: a value for each tuple of label values."""
        self.registry.register(Watched(name, text, labels, read))

    def watch_total(self, name: str, text: str, read: Read, *labels: str) -> None:
        """Add a counter that is kept elsewhere and read when it is scraped."""
        self.registry.register(Watched(name, text, labels, read, CounterMetricFamily))
