"""A real Prometheus that keeps exemplars keeps the gateway's (OBS-2)."""

import asyncio
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from interlock import Gateway
from interlock.tracing import trace_context
from interlock_gateway.app import running
from interlock_gateway.config import Config, PolicyConfig, ServerConfig, StateConfig
from interlock_gateway.config_telemetry import MetricsConfig, TracingConfig
from otlp_collector import collecting
from prometheus_server import Prometheus, running_prometheus
from waiting import eventually_so

TRACE = "0af7651916cd43dd8448eb211c80319c"
SERIES = "interlock_dispatch_seconds_bucket"


@pytest.mark.req("OBS-2")
async def test_prometheus_leads_from_a_bucket_to_the_trace_of_a_call_in_it(
    socket_directory: Path, tmp_path: Path, program: Callable[[str], Path]
) -> None:
    prometheus_program = program("prometheus")
    with collecting() as collector:
        config = Config(
            state=StateConfig(dir=socket_directory / "state"),
            server=ServerConfig(listen=("unix:{state}/agent.sock",)),
            metrics=MetricsConfig(listen="127.0.0.1:0"),
            policy=PolicyConfig(timeout_s=5.0, watch=False, workers=1),
            tracing=TracingConfig(endpoint=collector.endpoint),
        )
        async with running(config) as gateway, Gateway(gateway.endpoints.agents[0]) as agent:
            with trace_context(f"00-{TRACE}-b7ad6b7169203331-01"):
                await agent.session("s-1").call("search_tools", {"query": "anything"})
            await asyncio.to_thread(_scrape, prometheus_program, tmp_path, gateway.endpoints.metrics)


def _scrape(program: Path, directory: Path, target: str) -> None:
    with running_prometheus(program, directory, [target], scrape_s=0.2, features=["exemplar-storage"]) as prometheus:
        asyncio.run(eventually_so(lambda: _kept(prometheus)))


async def _kept(prometheus: Prometheus) -> bool:
    found = prometheus.exemplars(SERIES, time.time() - 300, time.time())
    return {one["labels"]["trace_id"] for series in found for one in series["exemplars"]} == {TRACE}
