"""However many names somebody makes up, the series stay few (OBS-1)."""

from collections.abc import Callable
from typing import Any

import pytest
from call_rows import RESULT, run_of
from interlock_gateway.core.call import CallKind
from interlock_gateway.results.process import ProcessingReport
from interlock_gateway.telemetry.call_metrics import MAX_PRINCIPAL_KINDS, MAX_RULES, MAX_TOOLS
from interlock_gateway.telemetry.labels import BoundedLabel
from interlock_gateway.telemetry.metrics import MAX_SECRET_KINDS, Metrics
from interlock_gateway.telemetry.surroundings import MAX_PROVIDERS, watch_providers
from prometheus_client import CollectorRegistry


def series(metrics: Metrics, of: Callable[[Any], bool] = lambda _: True) -> int:
    return sum(1 for family in metrics.registry.collect() for sample in family.samples if of(sample))


def labels(metrics: Metrics, name: str) -> set[str]:
    return {
        value
        for family in metrics.registry.collect()
        for sample in family.samples
        for label, value in sample.labels.items()
        if label == name
    }


@pytest.fixture
def metrics() -> Metrics:
    return Metrics(CollectorRegistry())


@pytest.mark.req("OBS-1")
def test_a_hundred_thousand_names_that_nobody_has_are_one_series(metrics: Metrics) -> None:
    metrics.call_ended(run_of(None, asked="first"), RESULT)
    before = series(metrics)
    for number in range(100_000):
        metrics.call_ended(run_of(None, asked=f"made-up-{number}"), RESULT)
    assert series(metrics) == before
    assert labels(metrics, "tool") == {"unknown"}


@pytest.mark.req("OBS-1")
def test_tools_of_a_provider_that_registers_thousands_share_the_series_of_others(metrics: Metrics) -> None:
    for number in range(5_000):
        metrics.call_ended(run_of(f"tool-{number}"), RESULT)
    assert len(labels(metrics, "tool")) == MAX_TOOLS + 1
    assert "other" in labels(metrics, "tool")
    counted = sum(
        sample.value
        for family in metrics.registry.collect()
        for sample in family.samples
        if sample.name == "interlock_calls_total"
    )
    assert counted == 5_000
    full = series(metrics)
    metrics.call_ended(run_of("one-more"), RESULT)
    assert series(metrics) == full


@pytest.mark.req("OBS-1")
def test_kinds_of_principals_rules_and_secrets_that_somebody_makes_up_are_bounded(metrics: Metrics) -> None:
    for number in range(2_000):
        metrics.call_ended(run_of("tool", kind=f"forged-{number}", rule=f"made/up_{number}"), RESULT)
        metrics.result_processed(ProcessingReport({f"kind-{number}": 1}, (), ""))
    assert len(labels(metrics, "principal_kind")) == MAX_PRINCIPAL_KINDS + 1
    assert len(labels(metrics, "rule")) == MAX_RULES + 1
    assert len(labels(metrics, "kind") - set(CallKind)) == MAX_SECRET_KINDS + 1
    assert series(metrics) < 1_500


@pytest.mark.req("OBS-1")
def test_nobody_is_named_in_a_label(metrics: Metrics) -> None:
    metrics.call_ended(run_of("tool", asked="mallory"), RESULT)
    shown = {value for family in metrics.registry.collect() for one in family.samples for value in one.labels.values()}
    assert not [value for value in shown if "mallory" in value]


@pytest.mark.req("OBS-1")
def test_of_too_many_providers_those_that_are_down_are_shown(metrics: Metrics) -> None:
    watch_providers(metrics, lambda: {f"p{number}": number % 50 != 0 for number in range(5_000)})
    shown = {
        sample.labels["provider"]: sample.value
        for family in metrics.registry.collect()
        for sample in family.samples
        if sample.name == "interlock_provider_up"
    }
    assert len(shown) == MAX_PROVIDERS
    assert sum(value == 0 for value in shown.values()) == 100


def test_a_value_keeps_its_label_whatever_comes_later() -> None:
    label = BoundedLabel(2)
    assert [label(value) for value in ("a", "b", "c", "a", "c")] == ["a", "b", "other", "a", "other"]
