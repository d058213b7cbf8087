"""How late the event loop is (OBS-1)."""

import asyncio
import time

import pytest
from interlock_gateway.telemetry import loop_lag
from interlock_gateway.telemetry.loop_lag import LoopLag
from prometheus_client import CollectorRegistry
from waiting import eventually


@pytest.mark.req("OBS-1")
async def test_whatever_keeps_the_loop_busy_shows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loop_lag, "EVERY_S", 0.01)
    registry = CollectorRegistry()
    watching = asyncio.create_task(LoopLag(registry).run())
    await asyncio.sleep(0)
    until = time.monotonic() + 0.2
    while time.monotonic() < until:
        pass
    await eventually(lambda: (registry.get_sample_value("interlock_loop_lag_seconds_sum") or 0) >= 0.15)
    watching.cancel()
    await asyncio.wait([watching])
