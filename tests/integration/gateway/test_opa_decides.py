"""A gateway whose decisions an OPA server makes: what agents and operators see, also while it is not there."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from gateway_bench import Bench, bench
from interlock import CallStatus
from interlock_gateway.app import running
from interlock_gateway.config import Config, PolicyConfig, StateConfig
from interlock_gateway.config_opa import OpaBreakerConfig, OpaConfig
from interlock_gateway.errors import ConfigError
from interlock_gateway.policy.bundle import PolicyBundle
from interlock_gateway.policy.bundles.building import packed, policy_files
from interlock_gateway.policy.loader import read_bundle
from opa_process import OpaProcess, running_opa
from scraping import samples_in, scraped, value
from waiting import eventually

EVERY_KIND = {
    "read": ("echo", {"text": "x"}),
    "change": ("set_value", {"value": "x"}),
    "preview": ("replace_value", {"value": "x"}),
    "checkpoint": ("wreck", {"what": "x"}),
}
BREAKER = OpaBreakerConfig(failures=3, retry_s=0.05, longest_retry_s=0.2)


@pytest.fixture
def opa(program: Any, socket_directory: Path) -> Iterator[OpaProcess]:
    """A server without policies."""
    with running_opa(program("opa"), f"unix:{socket_directory}/opa.sock") as server:
        yield server


def asking(opa: OpaProcess, **more: Any) -> PolicyConfig:
    settings = {"timeout_s": 10.0, "breaker": BREAKER, **more}
    return PolicyConfig(engine="opa", opa=OpaConfig(url=opa.url, **settings), watch_s=0.05)


async def state_of(at: Bench, kind: str = "read") -> CallStatus:
    return (await at.agent.session("s").call(*EVERY_KIND[kind])).status


@pytest.mark.req("ENG-1", "LIFE-7")
async def test_calls_are_decided_by_opa_with_the_policies_that_the_gateway_brought(
    opa: OpaProcess, socket_directory: Path
) -> None:
    async with bench(socket_directory, policy=asking(opa)) as at:
        assert at.gateway.state().serving
        assert at.gateway.endpoints.policy_revision == read_bundle().revision
        result = await at.agent.session("s").call("echo", {"text": "hello"})
        assert result.status is CallStatus.COMPLETED
        assert result.decision.policy_revision == read_bundle().revision
        assert await state_of(at, "preview") is CallStatus.PREVIEW
        assert len(await asyncio.to_thread(opa.policies)) > 1
        samples = samples_in(await scraped(at))
        assert value(samples, "interlock_policy_info", engine="opa", profile="standard") == 1
        assert value(samples, "interlock_policy_server_breaker", state="closed") == 1
        assert value(samples, "interlock_policy_server_answers_total", outcome="ok") >= 2


@pytest.mark.req("ENG-3", "REL-1", "LIFE-7")
async def test_without_opa_nothing_runs_and_all_say_so_until_it_is_back(
    opa: OpaProcess, socket_directory: Path
) -> None:
    async with bench(socket_directory, policy=asking(opa, timeout_s=0.5)) as at:
        await asyncio.to_thread(opa.stop)
        for kind, (name, arguments) in EVERY_KIND.items():
            result = await at.agent.session(kind).call(name, arguments)
            assert result.status is CallStatus.DENIED
            assert result.decision.reasons[0].code == "gateway_error.policy_unavailable"
        assert at.ledger.ran == []
        await eventually(lambda: not at.gateway.state().serving)
        (policy,) = (part for part in at.gateway.state().components if part.name == "policy")
        assert not policy.healthy
        assert "no connection" in policy.message
        samples = samples_in(await scraped(at))
        assert value(samples, "interlock_policy_server_breaker", state="closed") == 0
        assert value(samples, "interlock_policy_server_breaker_opened_total") == 1
        await asyncio.to_thread(opa.start)
        await eventually(lambda: at.gateway.state().serving)
        assert await state_of(at) is CallStatus.COMPLETED


@pytest.mark.req("ENG-3", "REL-1")
async def test_an_opa_that_hangs_denies_in_time_and_is_asked_again_when_it_goes_on(
    opa: OpaProcess, socket_directory: Path
) -> None:
    async with bench(socket_directory, policy=asking(opa, timeout_s=0.5)) as at:
        opa.freeze()
        loop = asyncio.get_running_loop()
        began = loop.time()
        results = await asyncio.gather(*(at.agent.session(str(n)).call("echo", {"text": "x"}) for n in range(20)))
        assert loop.time() - began < 5, "one after another they would take ten seconds"
        codes = {result.decision.reasons[0].code for result in results}
        assert codes <= {"gateway_error.policy_timeout", "gateway_error.policy_unavailable"}
        assert at.ledger.ran == []
        opa.thaw()
        await eventually(lambda: at.gateway.rooms.engine.ready)
        assert await state_of(at) is CallStatus.COMPLETED


@pytest.mark.req("ENG-3", "LIFE-7")
async def test_a_gateway_starts_before_its_opa_and_serves_once_that_is_there(
    opa: OpaProcess, socket_directory: Path
) -> None:
    await asyncio.to_thread(opa.stop)
    async with bench(socket_directory, policy=asking(opa)) as at:
        assert not at.gateway.state().serving
        assert await state_of(at) is CallStatus.DENIED
        await asyncio.to_thread(opa.start)
        await eventually(lambda: at.gateway.state().serving)
        assert await state_of(at) is CallStatus.COMPLETED


@pytest.mark.req("LIFE-3", "ENG-1")
async def test_a_reload_brings_changed_policies_to_opa(opa: OpaProcess, socket_directory: Path) -> None:
    overlay = socket_directory / "own"
    (overlay / "custom").mkdir(parents=True)
    (overlay / "data.yaml").write_text("settings: {}\n")
    policy = asking(opa).model_copy(update={"overlays": (overlay,)})
    async with bench(socket_directory, policy=policy) as at:
        assert await state_of(at) is CallStatus.COMPLETED
        (overlay / "custom" / "nothing.rego").write_text(NOTHING)
        outcome = await at.gateway.rooms.policy.reload()
        assert outcome.accepted, outcome.problems
        result = await at.agent.session("s").call("echo", {"text": "x"})
        assert result.status is CallStatus.DENIED
        assert [reason.code for reason in result.decision.reasons] == ["closed"]
        assert result.decision.policy_revision == outcome.revision


NOTHING = """package interlock.custom

findings contains {"verdict": "deny", "code": "closed", "message": "closed today", "rule": "custom/closed"}
"""


@pytest.mark.req("ENG-1", "LIFE-3")
async def test_a_bundle_that_opa_loads_itself_decides_and_is_shown_by_its_revision(
    program: Any, socket_directory: Path
) -> None:
    first, second = read_bundle(), read_bundle(profile="strict")
    place = socket_directory / "bundle.tar.gz"
    write(place, first)
    url = f"unix:{socket_directory}/opa.sock"
    with running_opa(program("opa"), url, "--bundle", str(place)) as opa:
        async with bench(socket_directory, policy=asking(opa, policies="bundle")) as at:
            assert at.gateway.endpoints.policy_revision == first.revision
            result = await at.agent.session("s").call("echo", {"text": "x"})
            assert result.status is CallStatus.COMPLETED
            assert result.decision.policy_revision == first.revision
            write(place, second, sequence=2)
            await asyncio.to_thread(opa.stop)
            await asyncio.to_thread(opa.start)
            await eventually(lambda: at.gateway.rooms.engine.revision == second.revision)
            result = await at.agent.session("s").call("echo", {"text": "x"})
            assert result.decision.policy_revision == second.revision
            assert at.gateway.state().profile == "strict"
            samples = samples_in(await scraped(at))
            assert value(samples, "interlock_policy_info", revision=second.revision, profile="strict") == 1


@pytest.mark.req("ENG-3", "LIFE-7")
async def test_an_opa_without_a_bundle_denies_and_is_not_given_one(opa: OpaProcess, socket_directory: Path) -> None:
    async with bench(socket_directory, policy=asking(opa, policies="bundle")) as at:
        result = await at.agent.session("s").call("echo", {"text": "x"})
        assert result.decision.reasons[0].code == "gateway_error.policy_unavailable"
        assert not at.gateway.state().serving
        assert await asyncio.to_thread(opa.policies) == []


def write(place: Path, bundle: PolicyBundle, sequence: int = 1) -> None:
    place.write_bytes(packed(policy_files(bundle, sequence=sequence)))


async def test_certificates_that_cannot_be_read_end_the_start_with_a_sentence(socket_directory: Path) -> None:
    opa = OpaConfig(url="https://127.0.0.1:1", ca_file=socket_directory / "nothing.pem")
    config = Config(state=StateConfig(dir=socket_directory / "state"), policy=PolicyConfig(engine="opa", opa=opa))
    with pytest.raises(ConfigError, match="certificates for OPA cannot be used"):
        async with running(config):
            pass
