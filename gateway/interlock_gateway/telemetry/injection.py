"""Metrics of the injection webhook, a process of its own (OBS-1)."""

from collections.abc import Callable

from prometheus_client import CollectorRegistry, Counter, Gauge


class InjectionMetrics:
    """What became of the pods it was asked about, and how long its certificate still holds."""

    def __init__(self, certificate_left_s: Callable[[], float]) -> None:
        self.registry = CollectorRegistry()
        self._reviews = Counter(
            "interlock_injection_reviews",
            "Reviews by what came of them: injected, already, left_alone, not_asked, refused or failed.",
            ["outcome"],
            registry=self.registry,
        )
        Gauge(
            "interlock_injection_certificate_remaining_seconds",
            "How long the webhook's certificate still holds; below zero it has ended, and the API server refuses it.",
            registry=self.registry,
        ).set_function(certificate_left_s)

    def reviewed(self, outcome: str) -> None:
        """Count a review."""
        self._reviews.labels(outcome).inc()
