"""A gateway in front of an OPA that loads bundles itself: none of them decides before it was checked."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from gateway_bench import Bench, bench
from interlock import CallStatus
from interlock_gateway.config import PolicyConfig
from interlock_gateway.config_opa import OpaConfig
from interlock_gateway.policy.bundle import PolicyBundle, make_bundle
from interlock_gateway.policy.bundles.building import packed, policy_files
from interlock_gateway.policy.loader import shipped_policies
from opa_process import OpaProcess, running_opa
from policy_overlays import operating, status_of, until
from scraping import samples_in, scraped, value
from waiting import eventually, eventually_so

MAIN = """package interlock

decision := {{"verdict": "allow", "reasons": [], "obligations": {{}}, "notes": ["{word}"]}}
"""
EVIL = """package interlock

decision := {"verdict": "allow", "reasons": [], "obligations": {}, "notes": [sprintf("%v", [seen])]}

seen := {"home": opa.runtime().env.HOME, "now": time.now_ns()}
"""


def small(word: str) -> PolicyBundle:
    """Policies that allow everything and say `word`."""
    return made(MAIN.format(word=word))


def made(main: str) -> PolicyBundle:
    sources = {"main.rego": main, "response.rego": (shipped_policies() / "response.rego").read_text()}
    return make_bundle(sources, {"interlock": {"profile": "standard", "settings": {}}}, profile="standard")


class Loading:
    """An OPA that loads one bundle's file when it starts."""

    def __init__(self, opa: OpaProcess, file: Path) -> None:
        self.opa, self.file = opa, file

    @property
    def policy(self) -> PolicyConfig:
        """A gateway that asks it, and has been told to watch nothing."""
        settings = OpaConfig(url=self.opa.url, policies="bundle", timeout_s=10.0)
        return PolicyConfig(engine="opa", opa=settings, watch=False, watch_s=0.05)

    async def swap(self, bundle: PolicyBundle, sequence: int) -> None:
        """Have it hold this one, and the one before no more."""
        await asyncio.to_thread(self._swap, bundle, sequence)

    def _swap(self, bundle: PolicyBundle, sequence: int) -> None:
        self.opa.stop()
        self.file.write_bytes(packed(policy_files(bundle, sequence=sequence)))
        self.opa.start()


@contextmanager
def loading(program: Any, directory: Path, bundle: PolicyBundle, sequence: int) -> Iterator[Loading]:
    file = directory / "bundle.tar.gz"
    file.write_bytes(packed(policy_files(bundle, sequence=sequence)))
    with running_opa(program("opa"), f"unix:{directory}/opa.sock", "--bundle", str(file)) as opa:
        yield Loading(opa, file)


@pytest.fixture
def first(program: Any, socket_directory: Path) -> Iterator[Loading]:
    with loading(program, socket_directory, small("first"), 5) as opa:
        yield opa


async def called(at: Bench) -> tuple[CallStatus, list[str]]:
    result = await at.agent.session("s").call("echo", {"text": "x"})
    return result.status, list(result.decision.notes)


async def says(at: Bench, word: str) -> None:
    """Wait until policies decide that say `word`."""

    async def so() -> bool:
        return await called(at) == (CallStatus.COMPLETED, [word])

    await eventually_so(so)


@pytest.mark.req("ENG-5", "LIFE-3", "LIFE-7")
async def test_a_bundle_that_reads_the_environment_is_refused_with_its_place_and_a_good_one_ends_that(
    first: Loading, socket_directory: Path
) -> None:
    async with bench(socket_directory, policy=first.policy) as at:
        assert await called(at) == (CallStatus.COMPLETED, ["first"])
        status = await status_of(at)
        assert (status.revision, status.bundle_sequence) == (small("first").revision, 5)
        await first.swap(made(EVIL), 6)
        status = await until(at, lambda found: bool(found.last_reload.problems))
        (problem,) = status.last_reload.problems
        assert (problem.file, problem.line) == ("main.rego", 5)
        assert "opa.runtime" in problem.message
        assert (await called(at))[0] is CallStatus.DENIED
        await eventually(lambda: not at.gateway.state().serving)
        status = await status_of(at)
        assert not status.engine_healthy
        assert "main.rego:5" in status.engine_error
        samples = samples_in(await scraped(at))
        assert value(samples, "interlock_policy_last_reload_accepted") == 0
        assert value(samples, "interlock_policy_reloads_total", outcome="refused") == 1
        assert value(samples, "interlock_policy_server_answers_total", outcome="not_accepted") >= 1
        at.ledger.ran.clear()
        await first.swap(small("good"), 6)
        await says(at, "good")


@pytest.mark.req("ENG-5", "LIFE-7")
async def test_a_gateway_that_starts_with_such_a_bundle_serves_nothing(program: Any, socket_directory: Path) -> None:
    with loading(program, socket_directory, made(EVIL), 1) as opa:
        async with bench(socket_directory, policy=opa.policy) as at:
            assert not at.gateway.state().serving
            assert (await called(at))[0] is CallStatus.DENIED
            status = await status_of(at)
            assert status.revision == ""
            assert [problem.line for problem in status.last_reload.problems] == [5]


@pytest.mark.req("SEC-6", "LIFE-3")
async def test_an_older_bundle_decides_nothing_also_after_a_restart_until_an_operator_says_so(
    first: Loading, socket_directory: Path
) -> None:
    async with bench(socket_directory, policy=first.policy) as at:
        assert await called(at) == (CallStatus.COMPLETED, ["first"])
    await first.swap(small("older"), 4)
    async with bench(socket_directory, policy=first.policy) as at:
        assert (await called(at))[0] is CallStatus.DENIED
        assert [problem.code for problem in (await status_of(at)).last_reload.problems] == ["bundle_older"]
        async with operating(at) as admin:
            outcome = await admin.reload_policy(allow_older=True)
        assert outcome.reload.accepted
        assert await called(at) == (CallStatus.COMPLETED, ["older"])


@pytest.mark.req("ENG-1")
async def test_what_an_operator_has_taken_over_decides_unchecked_and_is_shown_so(
    program: Any, socket_directory: Path
) -> None:
    with loading(program, socket_directory, made(EVIL), 1) as opa:
        unchecked = opa.policy.opa.model_copy(update={"accept_unchecked_policies": True})
        async with bench(socket_directory, policy=opa.policy.model_copy(update={"opa": unchecked})) as at:
            assert (await called(at))[0] is CallStatus.COMPLETED
            (source,) = (await status_of(at)).sources
            assert "not checked: policy.opa.accept_unchecked_policies" in source
