"""Metrics as Prometheus scrapes them (OBS-1)."""

import asyncio
import time
from asyncio.subprocess import PIPE, STDOUT
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from gateway_bench import Bench, Ledger, MovableClock, bench, config_in
from interlock import provider
from interlock_gateway.app import running
from interlock_gateway.config import PendingConfig
from interlock_gateway.config_telemetry import MetricsConfig
from raw_provider import RawProvider, operating, reading, served, spec_of
from scraping import samples_in, scraped, value
from waiting import eventually


async def busy(at: Bench) -> None:
    """Calls of every kind, so that every metric has something to say."""
    session = at.agent.session("s")
    await session.call("echo", {"text": "x"})
    await session.call("echo", {"text": "ghp_" + "a1B2c3D4e5F6" * 3})
    await session.call("echo", {"text": "x\n" * 20_000})
    await session.call("echo", {"text": 3})
    await session.call("set_value", {"value": "b"})
    await session.call("wreck", {"what": "x"})
    await session.call("undeclared", {"text": "x"})
    await session.call("replace_value", {"value": "c"})
    await session.resolve("apply", "yes")
    await session.call("replace_value", {"value": "d"})
    await session.call("nothing", {})


@pytest.mark.req("OBS-1")
async def test_promtool_has_nothing_to_object(at: Bench, program: Callable[[str], Path]) -> None:
    await busy(at)
    promtool = await asyncio.create_subprocess_exec(
        program("promtool"), "check", "metrics", stdin=PIPE, stdout=PIPE, stderr=STDOUT
    )
    said, _ = await promtool.communicate((await scraped(at)).encode())
    assert (promtool.returncode, said) == (0, b"")


@pytest.mark.req("OBS-1")
async def test_calls_are_counted_by_tool_effect_verdict_and_status(at: Bench) -> None:
    await busy(at)
    found = samples_in(await scraped(at))
    calls = "interlock_calls_total"
    expected = {
        ("echo", "read_only", "allow", "completed"): 3,
        ("echo", "read_only", "deny", "denied"): 1,
        ("set_value", "mutating", "allow", "completed"): 1,
        ("wreck", "destructive", "deny", "denied"): 1,
        ("undeclared", "undeclared", "deny", "denied"): 1,
        ("replace_value", "destructive", "preview", "preview"): 2,
        ("replace_value", "destructive", "allow", "completed"): 1,
        ("unknown", "undeclared", "deny", "denied"): 1,
    }
    for (tool, effect, verdict, status), count in expected.items():
        assert value(found, calls, tool=tool, effect=effect, verdict=verdict, status=status) == count, tool
    assert value(found, calls) == sum(expected.values())


@pytest.mark.req("OBS-1")
async def test_destructive_calls_are_counted_by_tool_kind_of_principal_and_outcome(at: Bench) -> None:
    await busy(at)
    found = samples_in(await scraped(at))
    name = "interlock_destructive_calls_total"
    for tool, outcome, count in (
        ("wreck", "denied", 1),
        ("undeclared", "denied", 1),
        ("replace_value", "preview", 2),
        ("replace_value", "completed", 1),
    ):
        assert value(found, name, tool=tool, principal_kind="unix", outcome=outcome) == count
    assert value(found, name) == 5


@pytest.mark.req("OBS-1")
async def test_what_else_happens_is_counted_and_timed(at: Bench) -> None:
    await busy(at)
    await eventually(lambda: at.gateway.rooms.audit.backlog == 0)
    found = samples_in(await scraped(at))
    assert value(found, "interlock_redactions_total", kind="github-token") >= 1
    assert value(found, "interlock_truncated_results_total", tool="echo") == 1
    assert value(found, "interlock_artifacts_total") == 1
    assert value(found, "interlock_artifact_bytes_total") == 40_000
    assert value(found, "interlock_pending_actions") == 1
    assert value(found, "interlock_provider_up", provider="ledger") == 1
    assert value(found, "interlock_calls_in_flight") == 0
    assert value(found, "interlock_audit_backlog") == 0
    assert value(found, "interlock_audit_receipts_total", outcome="written") >= 11
    assert value(found, "interlock_audit_receipts_total", outcome="dropped") == 0
    assert value(found, "interlock_decisions_total", rule="preview/required", verdict="preview") == 2
    assert value(found, "interlock_decisions_total", rule="gateway") >= 3
    assert value(found, "interlock_added_latency_seconds_count") == 11
    assert value(found, "interlock_dispatch_seconds_count", tool="set_value") == 1
    assert value(found, "interlock_decision_seconds_count") == 11
    assert value(found, "interlock_policy_info", revision=at.gateway.endpoints.policy_revision, profile="standard") == 1


@pytest.mark.req("OBS-1")
async def test_labels_hold_nothing_that_a_client_made_up(at: Bench) -> None:
    session = at.agent.session("s")
    before = len(samples_in(await scraped(at)))
    for n in range(1000):
        await session.call(f"made_up_{n}", {})
    text = await scraped(at)
    found = samples_in(text)
    assert value(found, "interlock_calls_total", tool="unknown", status="denied") == 1000
    assert "made_up" not in text
    assert "made_up" not in "".join(f"{name}{labels}" for name, labels in found)
    assert len(found) < before + 60
    report = at.gateway.rooms.parts.sessions.in_memory("s")
    assert report is not None
    assert dict(report.facts.calls_by_tool) == {"unknown": 1000}


@pytest.mark.req("OBS-1", "PREV-13")
async def test_pending_actions_are_counted_across_restarts_and_expiry(socket_directory: Path) -> None:
    clock, ledger = MovableClock(), Ledger()

    async def pending(at: Bench) -> float:
        return value(samples_in(await scraped(at)), "interlock_pending_actions")

    async with bench(socket_directory, ledger=ledger, clock=clock) as at:
        for value_ in ("b", "c", "d"):
            await at.agent.session("s").call("replace_value", {"value": value_})
        await at.agent.session("s").call("propose", {"plan": "p"})
        await at.agent.session("other").call("replace_value", {"value": "e"})
        assert await pending(at) == 5
        await at.agent.session("other").close()
        assert await pending(at) == 4
    async with bench(socket_directory, ledger=ledger, clock=clock) as at, operating(at) as admin:
        assert await pending(at) == 4
        await at.agent.session("s").resolve("discard", "no")
        await at.agent.session("s").resolve("apply", "yes")
        assert await pending(at) == 2
        assert (await admin.status()).pending_actions == 2
        clock.ahead_s += PendingConfig().expires_s + 1
        await eventually(lambda: at.gateway.rooms.metrics.pending_actions == 0)
        assert await pending(at) == 0


@pytest.mark.req("OBS-1")
async def test_a_provider_that_is_gone_is_down(at: Bench) -> None:
    async with served(at.directory, RawProvider(reading("late"))) as server, operating(at) as admin:
        await admin.register_provider(spec_of(server))
        assert value(samples_in(await scraped(at)), "interlock_provider_up") == 2
        await server.stop(0)
        await eventually(lambda: not at.gateway.rooms.directory.connected()["raw"])
        found = samples_in(await scraped(at))
        assert value(found, "interlock_provider_up", provider="raw") == 0
        assert value(found, "interlock_provider_up", provider="ledger") == 1


async def test_metrics_can_be_switched_off(socket_directory: Path) -> None:
    config = config_in(socket_directory, providers=()).model_copy(update={"metrics": MetricsConfig(listen="")})
    async with running(config) as gateway:
        assert gateway.endpoints.metrics == ""


@pytest.mark.req("OBS-1")
async def test_what_the_gateway_adds_holds_neither_its_provider_nor_the_calls_before(socket_directory: Path) -> None:
    held, let_go = asyncio.Event(), asyncio.Event()

    def slow_tools(_ledger: Ledger) -> list[provider.Tool[..., Any]]:
        @provider.tool(destructive=False, reversible=True)
        async def hold() -> str:
            """Wait."""
            held.set()
            await let_go.wait()
            return "held"

        return [hold]

    async with bench(socket_directory, tools=slow_tools) as at:
        calls = [asyncio.create_task(at.agent.session("s").call("hold", {})) for _ in range(3)]
        await eventually(lambda: at.gateway.rooms.pipeline.in_flight == 3 and held.is_set())
        began = time.monotonic()
        await eventually(lambda: time.monotonic() - began > 0.3)
        let_go.set()
        await asyncio.gather(*calls)
        found = samples_in(await scraped(at))
        assert value(found, "interlock_dispatch_seconds_sum") >= 0.3
        assert value(found, "interlock_added_latency_seconds_count") == 3
        assert value(found, "interlock_added_latency_seconds_sum") < 0.3
