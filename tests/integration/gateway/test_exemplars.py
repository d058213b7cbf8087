"""Exemplars: from a slow bucket of a histogram to the trace of a call in it (OBS-2)."""

import asyncio
import urllib.request
from pathlib import Path

import pytest
from gateway_bench import Bench, bench
from interlock.tracing import trace_context
from interlock_gateway.config_telemetry import TracingConfig
from otlp_collector import collecting
from prometheus_client.openmetrics.parser import text_string_to_metric_families
from scraping import scraped

SAMPLED = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
UNSAMPLED = "00-11111111111111111111111111111111-2222222222222222-00"
HISTOGRAMS = {"interlock_decision_seconds", "interlock_dispatch_seconds", "interlock_added_latency_seconds"}


async def as_openmetrics(at: Bench) -> tuple[str, str]:
    """The content type of `/metrics` and what it says, to who asks for OpenMetrics."""

    def read() -> tuple[str, str]:
        url = f"http://{at.gateway.endpoints.metrics}/metrics"
        asked = urllib.request.Request(url, headers={"Accept": "application/openmetrics-text; version=1.0.0"})
        with urllib.request.urlopen(asked, timeout=30) as answer:
            return answer.headers["content-type"], answer.read().decode()

    return await asyncio.to_thread(read)


def exemplars_in(text: str) -> dict[str, set[str]]:
    """The traces that each histogram names."""
    found: dict[str, set[str]] = {}
    for family in text_string_to_metric_families(text):  # type: ignore[no-untyped-call]  # the library gives it no types
        for sample in family.samples:
            if sample.exemplar is not None:
                found.setdefault(family.name, set()).add(sample.exemplar.labels["trace_id"])
    return found


@pytest.mark.req("OBS-2")
async def test_latency_histograms_name_the_traces_of_sampled_calls_to_who_reads_openmetrics(
    socket_directory: Path,
) -> None:
    with collecting() as collector:
        async with bench(socket_directory, tracing=TracingConfig(endpoint=collector.endpoint)) as at:
            with trace_context(UNSAMPLED):
                await at.agent.session("s-1").call("echo", {"text": "hello"})
            _, before = await as_openmetrics(at)
            with trace_context(SAMPLED):
                await at.agent.session("s-1").call("echo", {"text": "hello"})
            kind, text = await as_openmetrics(at)
            plain = await scraped(at)

    assert not exemplars_in(before)
    assert kind.startswith("application/openmetrics-text")
    found = exemplars_in(text)
    assert found.keys() == HISTOGRAMS
    assert set.union(*found.values()) == {"0af7651916cd43dd8448eb211c80319c"}
    assert "trace_id" not in plain


@pytest.mark.req("OBS-2")
async def test_without_tracing_there_are_no_exemplars(at: Bench) -> None:
    with trace_context(SAMPLED):
        await at.agent.session("s-1").call("echo", {"text": "hello"})
    _, text = await as_openmetrics(at)
    assert not exemplars_in(text)
