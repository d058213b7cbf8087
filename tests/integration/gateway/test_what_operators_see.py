"""What operators see besides metrics: health, status, session reports, policies, and which services there are."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import grpc.aio
import pytest
from gateway_bench import Bench, bench
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc
from interlock import CallStatus
from interlock.errors import NotFoundError
from interlock.v1 import gateway_status_pb2
from interlock_gateway.config import PolicyConfig
from raw_provider import operating
from scraping import samples_in, scraped, value
from waiting import eventually

Answer = health_pb2.HealthCheckResponse
GATEWAY, ADMIN = "interlock.v1.GatewayService", "interlock.v1.AdminService"
HUB = "interlock.v1.ProviderHubService"


async def health_of(at: Bench, service: str = "") -> Any:
    async with grpc.aio.insecure_channel(at.gateway.endpoints.agents[0]) as channel:
        request = health_pb2.HealthCheckRequest(service=service)
        return (await health_pb2_grpc.HealthStub(channel).Check(request, timeout=30)).status


@pytest.fixture(autouse=True)
def _looked_after_often(monkeypatch: pytest.MonkeyPatch) -> None:
    """Health follows its parts at once."""
    monkeypatch.setattr("interlock_gateway.serving.HOUSEKEEPING_S", 0.02)


@pytest.mark.req("LIFE-7")
async def test_a_gateway_with_all_its_parts_serves(at: Bench) -> None:
    for address in (*at.gateway.endpoints.agents, *at.gateway.endpoints.operators):
        async with grpc.aio.insecure_channel(address) as channel:
            stub = health_pb2_grpc.HealthStub(channel)
            for service in ("", GATEWAY, ADMIN):
                assert (await stub.Check(health_pb2.HealthCheckRequest(service=service), timeout=30)).status == 1
            with pytest.raises(grpc.aio.AioRpcError) as unknown:
                await stub.Check(health_pb2.HealthCheckRequest(service="made.up"), timeout=30)
            assert unknown.value.code() is grpc.StatusCode.NOT_FOUND


def break_policy(at: Bench, patch: pytest.MonkeyPatch) -> None:
    patch.setattr("interlock_gateway.policy.embedded.pool.RESPAWN_DELAYS_S", (600.0,))
    for worker in at.gateway.rooms.engine.process_ids:
        os.kill(worker, signal.SIGKILL)


def break_state(at: Bench, patch: pytest.MonkeyPatch) -> None:
    patch.setattr(type(at.gateway.rooms.store), "healthy", property(lambda _: False))


def break_audit(at: Bench, patch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> int:
        raise OSError(28, "No space left on device")

    patch.setattr("interlock_gateway.audit.segments.os.write", full)
    at.gateway.rooms.audit.offer({"kind": "probe"})


@pytest.mark.req("LIFE-7", "OBS-1")
@pytest.mark.parametrize(
    ("part", "breaking", "says"),
    [
        ("policy", break_policy, "no worker with the policy lives"),
        ("state", break_state, "the database cannot be written"),
        ("audit", break_audit, "receipts cannot be written"),
    ],
)
async def test_without_one_of_its_parts_it_does_not_serve_and_status_says_which(
    at: Bench, part: str, breaking: Callable[[Bench, pytest.MonkeyPatch], None], says: str
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        breaking(at, patch)
        await eventually(lambda: not at.gateway.state().serving)
        for service in ("", GATEWAY, ADMIN):
            assert await health_of(at, service) == Answer.NOT_SERVING
        async with operating(at) as admin:
            status = await admin.status()
        failed = {one.name: one.message for one in status.components if one.state != _healthy()}
        assert (failed, status.serving) == ({part: says}, False)
    if part != "policy":  # its workers are waited for as long as was said above
        await eventually(lambda: at.gateway.state().serving)
        assert await health_of(at) == Answer.SERVING


def _healthy() -> Any:
    return gateway_status_pb2.COMPONENT_STATE_HEALTHY


@pytest.mark.req("LIFE-7")
async def test_a_watch_hears_of_a_drain_before_the_connection_ends(at: Bench) -> None:
    async with grpc.aio.insecure_channel(at.gateway.endpoints.agents[0]) as channel:
        watch = health_pb2_grpc.HealthStub(channel).Watch(health_pb2.HealthCheckRequest())
        heard = [(await watch.read()).status]
        draining = asyncio.create_task(at.gateway.drain())
        heard.append((await watch.read()).status)
        await asyncio.wait_for(draining, 3)  # an open watch keeps nobody waiting
    assert heard == [Answer.SERVING, Answer.NOT_SERVING]


async def test_status_tells_how_the_gateway_is(at: Bench) -> None:
    await at.agent.session("s").call("replace_value", {"value": "b"})
    async with operating(at) as admin:
        status = await admin.status()
    assert (status.serving, status.draining, status.profile) == (True, False, "standard")
    assert status.policy_revision == at.gateway.endpoints.policy_revision
    assert (status.open_sessions, status.calls_in_flight, status.pending_actions) == (1, 0, 1)
    assert {one.name for one in status.components} == {"policy", "state", "audit"}
    assert (status.audit_lost, bool(status.version), bool(status.replica)) == (0, True, True)


async def test_a_session_report_adds_up(at: Bench) -> None:
    session = await at.agent.open_session(session_id="s", intent="tidy", labels={"team": "a"})
    for text in ("a", "b"):
        await session.call("echo", {"text": text})
    await session.call("set_value", {"value": "b"})
    await session.call("wreck", {"what": "x"})
    await session.call("nothing", {})
    await session.call("replace_value", {"value": "c"})
    await session.resolve("apply", "yes")
    await session.call("replace_value", {"value": "d"})
    await session.resolve("discard", "no")
    await session.call("replace_value", {"value": "e"})
    async with operating(at) as admin:
        report = await admin.session_report("s")
        (listed,) = await admin.sessions()
        with pytest.raises(NotFoundError):
            await admin.session_report("another")
    assert {one.label: one.count for one in report.calls_by_status} == {
        "completed": 5,
        "denied": 2,
        "preview": 3,
    }
    assert {one.label: one.count for one in report.calls_by_tool} == {
        "echo": 2,
        "set_value": 1,
        "wreck": 1,
        "unknown": 1,
        "replace_value": 4,
        "resolve": 1,
    }
    assert {(one.tool, one.outcome): one.count for one in report.destructive_calls} == {
        ("wreck", "denied"): 1,
        ("replace_value", "preview"): 3,
        ("replace_value", "completed"): 1,
    }
    assert {one.label: one.count for one in report.denials_by_reason} == {
        "checkpoint_unavailable": 1,
        "unknown_tool": 1,
    }
    previews = report.previews
    assert (previews.previewed, previews.applied, previews.discarded, previews.pending) == (3, 1, 1, 1)
    assert (report.undo.operations, report.undo.undoable, report.undo.irreversible) == (2, 1, 1)
    assert (report.calls, report.session.intent, report.session.principal.id) == (10, "tidy", "local-agent")
    assert (listed.session_id, dict(listed.labels)) == ("s", {"team": "a"})


async def reflected(at: Bench, address: str) -> set[str]:
    async with grpc.aio.insecure_channel(address) as channel:
        stub = reflection_pb2_grpc.ServerReflectionStub(channel)
        answers = stub.ServerReflectionInfo(iter([reflection_pb2.ServerReflectionRequest(list_services="")]))
        async for answer in answers:
            return {service.name for service in answer.list_services_response.service}
    raise AssertionError(f"{at} reflected nothing")


async def test_reflection_lists_what_each_listener_serves(at: Bench) -> None:
    always = {"grpc.health.v1.Health", "grpc.reflection.v1alpha.ServerReflection", GATEWAY, HUB}
    assert await reflected(at, at.gateway.endpoints.agents[0]) == always
    people = {ADMIN, "interlock.v1.ApprovalService"}
    assert await reflected(at, at.gateway.endpoints.agents[1]) == {*always, *people}
    assert await reflected(at, at.gateway.endpoints.operators[0]) == {*always, *people}


FROZEN = (
    "# METADATA\n# title: Nothing is read\npackage interlock.custom\n\n"
    'findings contains {"verdict": "deny", "code": "frozen", "message": "frozen", "rule": "custom/frozen"} '
    'if {\n\tinput.tool.name == "echo"\n}\n'
)


@pytest.fixture
async def overlaid(socket_directory: Path) -> AsyncIterator[tuple[Bench, Path]]:
    """A gateway with an overlay that says nothing yet."""
    overlay = socket_directory / "overlay"
    (overlay / "custom").mkdir(parents=True)
    (overlay / "data.yaml").write_text("settings: {}\n")
    async with bench(socket_directory, policy=PolicyConfig(overlays=(overlay,))) as at:
        yield at, overlay


async def test_a_changed_policy_takes_over_without_a_restart(overlaid: tuple[Bench, Path]) -> None:
    at, overlay = overlaid
    session = at.agent.session("s")
    (overlay / "custom" / "frozen.rego").write_text(FROZEN)
    assert (await session.call("echo", {"text": "a"})).text == "a"
    async with operating(at) as admin:
        before = await admin.policy_status()
        checked = await admin.reload_policy(check_only=True)
        assert checked.reload.accepted
        assert checked.policy.revision == before.revision
        assert (await session.call("echo", {"text": "a"})).text == "a"
        answer = await admin.reload_policy()
    assert answer.reload.accepted
    assert answer.policy.revision == answer.reload.revision == checked.reload.revision != before.revision
    denied = await session.call("echo", {"text": "b"})
    assert (denied.status, denied.text) == (CallStatus.DENIED, "frozen")
    assert denied.decision.policy_revision == answer.policy.revision
    found = samples_in(await scraped(at))
    assert value(found, "interlock_policy_reloads_total", outcome="accepted") == 1
    assert value(found, "interlock_policy_info", revision=answer.policy.revision) == 1
    assert value(found, "interlock_policy_info") == 1


BAD = {
    "a syntax error": ("bad.rego", "package interlock.custom\n\nfindings contains {\n", "bad.rego"),
    "a function that is not on the list": (
        "bad.rego",
        'package interlock.custom\n\nfindings contains f if {\n\tf := http.send({"url": "x"})\n}\n',
        "http.send",
    ),
    "another package": ("bad.rego", "package interlock\n\nverdict := 1\n", "interlock.custom"),
    "a test that fails": (
        "bad_test.rego",
        "package interlock.custom_test\n\ntest_nothing_holds if {\n\t1 == 2\n}\n",
        "test_nothing_holds",
    ),
    "an unknown setting": ("../data.yaml", "settings:\n  confidence:\n    minimum: 3\n", "confidence.minimum"),
}


@pytest.mark.parametrize("case", BAD)
async def test_a_bad_policy_is_refused_with_its_place_and_the_last_good_one_stays(
    overlaid: tuple[Bench, Path], case: str
) -> None:
    at, overlay = overlaid
    name, source, words = BAD[case]
    (overlay / "custom" / "frozen.rego").write_text(FROZEN)
    (overlay / "custom" / name).write_text(source)
    async with operating(at) as admin:
        before = await admin.policy_status()
        answer = await admin.reload_policy()
        after = await admin.policy_status()
    assert not answer.reload.accepted
    (problem,) = answer.reload.problems
    assert words in f"{problem.file}:{problem.line}: {problem.message}"
    assert (after.revision, after.last_reload.accepted) == (before.revision, False)
    assert (await at.agent.session("s").call("echo", {"text": "a"})).text == "a"
    assert await health_of(at) == Answer.SERVING
    assert value(samples_in(await scraped(at)), "interlock_policy_reloads_total", outcome="refused") == 1


async def test_calls_never_see_a_moment_without_a_policy_while_it_is_changed(overlaid: tuple[Bench, Path]) -> None:
    at, overlay = overlaid
    session, results = at.agent.session("s"), []
    (overlay / "custom" / "frozen.rego").write_text(FROZEN)
    async with operating(at) as admin:
        reloading = asyncio.create_task(admin.reload_policy())
        while not reloading.done():
            results.append(await session.call("echo", {"text": "a"}))
        results.append(await session.call("echo", {"text": "a"}))
        old, new = results[0].decision.policy_revision, (await reloading).policy.revision
    assert {(result.text, result.decision.policy_revision) for result in results} <= {("a", old), ("frozen", new)}
    assert results[-1].text == "frozen"
