"""What operators see of a gateway that is in trouble, as Prometheus gets it (OBS-1)."""

import time
from pathlib import Path

import grpc
import grpc.aio
import pytest
from access_table import asked
from asked_people import asking, person
from gateway_bench import Bench, bench
from interlock.v1 import gateway_service_pb2
from interlock_gateway.config import PolicyConfig
from interlock_gateway.core.decision import GatewayErrorCode, denial_for_failure
from interlock_gateway.pipeline.run import CallRun
from interlock_gateway.pipeline.tracing_port import UNTRACED
from policy_overlays import denying, overlay_in
from raw_provider import operating
from scraping import samples_in, scraped, value
from waiting import eventually


async def read(at: Bench, name: str, **labels: str) -> float:
    return value(samples_in(await scraped(at)), name, **labels)


@pytest.mark.req("OBS-1")
async def test_rpcs_are_counted_by_method_and_code_and_refusals_by_reason(at: Bench) -> None:
    await at.agent.session("s").call("echo", {"text": "x"})
    address = at.gateway.endpoints.agents[0]
    async with grpc.aio.insecure_channel(address) as channel:
        opened = gateway_service_pb2.CloseSessionRequest(session_id="nobody").SerializeToString()
        await asked(channel, "/interlock.v1.GatewayService/CloseSession", opened)
        for number in range(50):
            await asked(channel, f"/interlock.v1.GatewayService/MadeUp{number}", b"")
    found = samples_in(await scraped(at))
    assert value(found, "interlock_rpcs_total", method="GatewayService/CallTool", code="OK") == 1
    assert value(found, "interlock_rpcs_total", method="GatewayService/CloseSession", code="NOT_FOUND") == 1
    assert value(found, "interlock_refused_requests_total", reason="session_not_found") == 1
    assert value(found, "interlock_refused_requests_total", reason="overloaded") == 0
    assert not [labels for name, labels in found if name == "interlock_rpcs_total" and "MadeUp" in str(labels)]


@pytest.mark.req("OBS-1")
async def test_what_alerts_look_at_is_there_before_anything_happened(at: Bench) -> None:
    found = samples_in(await scraped(at))
    there = {name for name, _ in found}
    for name in (
        "interlock_added_latency_seconds_count",
        "interlock_gateway_errors_total",
        "interlock_refused_requests_total",
        "interlock_outcome_unknown_total",
        "interlock_undo_total",
        "interlock_artifact_failures_total",
        "interlock_checkpoint_wait_seconds_count",
        "interlock_policy_last_reload_accepted",
        "interlock_shadow_skipped_total",
    ):
        assert name in there
        if name != "interlock_policy_last_reload_accepted":
            assert value(found, name) == 0
    assert value(found, "interlock_serving") == 1
    assert value(found, "interlock_component_healthy") == 3
    assert value(found, "interlock_state_lease_held") == 1
    assert value(found, "interlock_audit_lag_seconds") < 5
    assert value(found, "interlock_policy_workers") == 2
    assert value(found, "interlock_processes", process="policy") == 2
    assert value(found, "interlock_build_info") == 1


@pytest.mark.req("OBS-1")
async def test_a_part_that_does_not_work_shows(at: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(type(at.gateway.rooms.audit), "healthy", property(lambda _: False))
    await eventually(lambda: not at.gateway.serving)
    found = samples_in(await scraped(at))
    assert value(found, "interlock_component_healthy", component="audit") == 0
    assert value(found, "interlock_component_healthy", component="policy") == 1
    assert value(found, "interlock_serving") == 0


@pytest.mark.req("OBS-1")
async def test_a_refused_reload_shows_until_policies_are_taken_again(socket_directory: Path) -> None:
    overlay = overlay_in(socket_directory, denying("no"))
    async with bench(socket_directory, policy=PolicyConfig(overlays=(overlay,))) as at, operating(at) as admin:
        assert await read(at, "interlock_policy_last_reload_accepted") == 1
        overlay_in(socket_directory, "package interlock.custom\n\nfindings contains {")
        await admin.reload_policy()
        assert await read(at, "interlock_policy_last_reload_accepted") == 0
        assert await read(at, "interlock_policy_reloads_total", outcome="refused") == 1
        overlay_in(socket_directory, denying("no"))
        await admin.reload_policy()
        assert await read(at, "interlock_policy_last_reload_accepted") == 1


@pytest.mark.req("OBS-1")
async def test_the_next_expiry_shows_while_a_checkpoint_is_open(socket_directory: Path) -> None:
    policy = asking(socket_directory, "wreck")
    async with bench(socket_directory, policy=policy) as at, person(at.gateway) as bob:
        await at.agent.session("s").call("wreck", {"what": "x"}, checkpoint_mode="detach")
        await eventually(lambda: at.gateway.rooms.metrics.open_checkpoints == 1)
        assert await read(at, "interlock_checkpoint_expiry_timestamp_seconds") > time.time()
        await bob.approves_the_next()
        await eventually(lambda: at.gateway.rooms.metrics.open_checkpoints == 0)
        found = samples_in(await scraped(at))
        assert not [name for name, _ in found if name == "interlock_checkpoint_expiry_timestamp_seconds"]


@pytest.mark.req("OBS-1")
async def test_gateway_errors_are_counted_by_their_code_from_the_closed_set(at: Bench) -> None:
    run = object.__new__(CallRun)
    run.decision = denial_for_failure("d", GatewayErrorCode.POLICY_TIMEOUT, "slow", revision="r", profile="p")
    run.decide_s, run.trace = 0.1, UNTRACED
    at.gateway.rooms.metrics.call_evaluated(run)
    assert await read(at, "interlock_gateway_errors_total", code="policy_timeout") == 1
    assert await read(at, "interlock_gateway_errors_total") == 1


@pytest.mark.req("OBS-1")
async def test_how_full_the_disks_are_is_shown_and_how_much_of_that_is_receipts(at: Bench) -> None:
    def receipts() -> int:
        return sum(path.stat().st_size for path in (at.directory / "state" / "audit").glob("receipts-*.jsonl"))

    await at.agent.session("s").call("set_value", {"value": "b"})
    before = receipts()
    found = samples_in(await scraped(at))
    for directory in ("state", "audit"):
        for what in ("free", "used"):
            assert value(found, f"interlock_disk_{what}_bytes", directory=directory) > 0
    assert 0 < before <= value(found, "interlock_audit_stored_bytes") <= receipts()
