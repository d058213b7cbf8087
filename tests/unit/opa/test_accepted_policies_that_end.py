"""What was accepted of an OPA's own policies decides as long as it is known to be what OPA has (SEC-6, ENG-3)."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from asked_opa import HeldClock, failure, said, saying, unix
from broken_opa import answered
from interlock_gateway.core.answer import ActivePolicy
from interlock_gateway.core.decision import GatewayErrorCode
from interlock_gateway.policy.engine import PolicyUnavailableError
from interlock_gateway.policy.opa.origin import HELD_S, READ_AGAIN_S
from interlock_gateway.policy.opa.reading import MOST_BYTES
from interlock_gateway.policy.opa.source import BundleSource
from interlock_gateway.policy.settings import PolicySourceError
from loaded_policies import Reading, data_of, policies, put, put_word, reading
from opa_between import Between, between, to
from opa_process import OpaProcess

UNAVAILABLE = GatewayErrorCode.POLICY_UNAVAILABLE
READS = "GET /v1/data/interlock"
FAULTS = {
    "404": answered({}, "404 Not Found"),
    "405": answered({}, "405 Method Not Allowed"),
    "500": answered({"code": "internal_error"}, "500 Internal Server Error"),
    "too large": f"HTTP/1.1 200 OK\r\nContent-Length: {MOST_BYTES + 1}\r\n\r\n".encode(),
    "no JSON": answered(b'{"result": {'),
    "cut off": answered({"result": {}})[:-1],
}
REACHES_OUT = "package interlock.more\n\nnow := time.now_ns()\n"


@asynccontextmanager
async def accepted(opa: OpaProcess, directory: Path, kept: Path) -> AsyncIterator[tuple[Reading, Between]]:
    """Policies that say `hello`, in force, and what stands in between."""
    await put_word(opa, "hello")
    path = directory / "between.sock"
    async with between(path, opa.path) as way, reading(opa, kept, unix(path)) as at:
        await at.watched().look()
        assert await said(at.engine) == "hello"
        yield at, way


@pytest.mark.req("ENG-3", "LIFE-3")
@pytest.mark.parametrize("status", ["401 Unauthorized", "403 Forbidden", "407 Proxy Authentication Required"])
async def test_an_opa_that_lets_itself_be_read_again_decides_again_by_itself(
    opa: OpaProcess, socket_directory: Path, tmp_path: Path, status: str
) -> None:
    await put_word(opa, "hello")
    path = socket_directory / "between.sock"
    async with between(path, opa.path) as way, reading(opa, tmp_path, unix(path)) as at:
        watch = at.watched()
        await watch.look()
        assert await said(at.engine) == "hello"
        way.instead = to("POST /v1/data/interlock/response/policy", answered({}, status))
        await watch.look()
        assert await failure(at.engine) is UNAVAILABLE
        way.instead = to("GET /v1/policies", answered({}, status))
        await watch.look()
        assert await failure(at.engine) is UNAVAILABLE
        assert status[:3] in at.engine.trouble
        way.instead = to("", b"")
        await watch.look()
        assert await said(at.engine) == "hello"
        assert at.engine.ready


@pytest.mark.req("SEC-6", "ENG-3")
@pytest.mark.parametrize("fault", FAULTS)
async def test_what_cannot_be_read_again_decides_no_more_after_a_while_and_again_when_it_can(
    opa: OpaProcess, socket_directory: Path, tmp_path: Path, fault: str
) -> None:
    await put_word(opa, "hello")
    path = socket_directory / "between.sock"
    async with between(path, opa.path) as way, reading(opa, tmp_path, unix(path)) as at:
        watch = at.watched()
        await watch.look()
        way.instead = to(READS, FAULTS[fault])
        at.clock.ahead_s += READ_AGAIN_S
        await watch.look()
        assert await said(at.engine) == "hello", "one answer that fails is no reason"
        at.clock.ahead_s += HELD_S - READ_AGAIN_S
        await watch.look()
        assert await failure(at.engine) is UNAVAILABLE
        assert not at.engine.ready
        assert "not read for 120 s" in at.engine.trouble
        way.instead = to("", b"")
        await watch.look()
        assert await said(at.engine) == "hello"
        assert at.engine.ready


@pytest.mark.req("SEC-6", "ENG-3")
async def test_it_ends_also_when_nobody_comes_to_look(opa: OpaProcess, tmp_path: Path) -> None:
    await put_word(opa, "hello")
    async with reading(opa, tmp_path) as at:
        watch = at.watched()
        await watch.look()
        assert await said(at.engine) == "hello"
        at.clock.ahead_s += HELD_S
        assert await failure(at.engine) is UNAVAILABLE
        assert "could not read again for too long" in at.engine.trouble
        await watch.look()
        assert await said(at.engine) == "hello"


@pytest.mark.req("SEC-6")
async def test_an_opa_that_does_not_answer_who_reads_is_believed_no_longer_than_that(
    opa: OpaProcess, socket_directory: Path, tmp_path: Path
) -> None:
    async def never(asked: str) -> bytes | None:
        if asked == READS:
            await asyncio.Event().wait()
        return None

    await put_word(opa, "hello")
    path = socket_directory / "between.sock"
    async with between(path, opa.path) as way, reading(opa, tmp_path, unix(path)) as at:
        watch = at.watched()
        await watch.look()
        way.instead = never
        at.clock.ahead_s += READ_AGAIN_S
        looking = asyncio.create_task(watch.look())
        assert await said(at.engine) == "hello"
        at.clock.ahead_s += HELD_S - READ_AGAIN_S
        assert await failure(at.engine) is UNAVAILABLE
        looking.cancel()
        await asyncio.gather(looking, return_exceptions=True)
        way.instead = to("", b"")
        await watch.look()
        assert await said(at.engine) == "hello"


@pytest.mark.req("SEC-6", "ENG-5")
async def test_policies_that_keep_themselves_from_being_read_gain_no_more_time_by_it(
    opa: OpaProcess, tmp_path: Path
) -> None:
    revision = await put_word(opa, "honest")
    async with reading(opa, tmp_path) as at:
        watch = at.watched()
        await watch.look()
        twice = "package interlock.more\n\nx := 1\n\nx := 2 if not input.do\n"
        liars = policies("liar", more_rego=twice)
        await put(opa, liars, data_of("liar", liars, revision=revision))
        at.clock.ahead_s += HELD_S
        await watch.look()
        assert await failure(at.engine) is UNAVAILABLE
        assert "fails when it is asked without an input" in at.engine.trouble
        await watch.look()
        assert await failure(at.engine) is UNAVAILABLE
        await put_word(opa, "honest")
        await watch.look()
        assert await said(at.engine) == "honest"


@pytest.mark.req("SEC-6", "ENG-5")
async def test_policies_that_call_themselves_otherwise_to_calls_than_to_who_looks_decide_nothing(
    opa: OpaProcess, tmp_path: Path
) -> None:
    revision = await put_word(opa, "honest")
    async with reading(opa, tmp_path) as at:
        watch = at.watched()
        await watch.look()
        evil = policies("evil", more_rego=REACHES_OUT)
        evil["response.rego"] = (
            'package interlock\n\nresponse := {"decision": decision, "policy": policy}\n\n'
            'policy := {"revision": "other", "profile": "standard", "enforced": true} if not input.do\n\n'
            f'policy := {{"revision": "{revision}", "profile": "standard", "enforced": true}} if input.do\n'
        )
        await put(opa, evil, data_of("evil", evil))
        await watch.look()
        assert await failure(at.engine) is UNAVAILABLE
        await watch.look()
        assert await failure(at.engine) is UNAVAILABLE


@pytest.mark.req("SEC-6", "ENG-5")
async def test_what_was_accepted_ends_when_opa_has_another_name_also_if_that_cannot_be_read(
    opa: OpaProcess, socket_directory: Path, tmp_path: Path
) -> None:
    async with accepted(opa, socket_directory, tmp_path) as (at, way):
        way.instead = to(READS, FAULTS["500"])
        await put_word(opa, "other")
        with pytest.raises(PolicySourceError, match="500"):
            await at.origin.look()
        assert not at.engine.ready
        await put_word(opa, "hello")
        assert await failure(at.engine) is UNAVAILABLE


@pytest.mark.req("SEC-6", "ENG-5")
async def test_what_was_accepted_ends_as_soon_as_something_else_was_read_under_its_name(
    opa: OpaProcess, tmp_path: Path
) -> None:
    revision = await put_word(opa, "honest")
    async with reading(opa, tmp_path) as at:
        await at.watched().look()
        assert await said(at.engine) == "honest"
        liars = policies("liar")
        await put(opa, liars, data_of("liar", liars, revision=revision))
        at.clock.ahead_s += READ_AGAIN_S
        await at.origin.look()
        assert await failure(at.engine) is UNAVAILABLE, "it is not checked yet"


@pytest.mark.req("SEC-6", "LIFE-3")
async def test_a_reload_takes_nothing_that_may_not_be_read_any_more(
    opa: OpaProcess, socket_directory: Path, tmp_path: Path
) -> None:
    async with accepted(opa, socket_directory, tmp_path) as (at, way):
        bundle = await at.origin.load()
        way.instead = to("POST /v1/data/interlock/response/policy", answered({}, "403 Forbidden"))
        with pytest.raises(PolicySourceError, match="403"):
            await at.origin.look()
        with pytest.raises(PolicyUnavailableError, match="while they were checked"):
            await at.engine.replace(bundle)
        (problem,) = await at.take()
        assert "403" in problem.message
        assert await failure(at.engine) is UNAVAILABLE


@pytest.mark.req("SEC-6", "ENG-3")
async def test_what_was_asked_before_policies_were_accepted_is_asked_again(
    opa: OpaProcess, socket_directory: Path, tmp_path: Path
) -> None:
    revision = await put_word(opa, "honest")
    lie = {
        "decision": {"verdict": "allow", "said": "liar"},
        "policy": {"revision": revision, "profile": "standard", "enforced": True},
    }
    asked, may_answer = asyncio.Event(), asyncio.Event()

    async def lying_once(heard: str) -> bytes | None:
        if heard != "POST /v1/data/interlock/response" or asked.is_set():
            return None
        asked.set()
        await may_answer.wait()
        return answered({"result": lie}, "200 OK", "Connection: close")

    path = socket_directory / "between.sock"
    async with between(path, opa.path) as way, reading(opa, tmp_path, unix(path)) as at:
        way.instead = lying_once
        call = asyncio.create_task(said(at.engine))
        await asked.wait()
        assert await at.look_and_take() == ()
        may_answer.set()
        assert await call == "honest"


async def test_an_offer_counts_until_it_ends_and_no_name_counts_that_was_not_offered() -> None:
    clock = HeldClock()
    source = BundleSource(clock)
    bundle = saying("a")
    with pytest.raises(PolicyUnavailableError):
        await source.replace(bundle)
    source.offer(bundle.policy, clock.monotonic() + 10.0)
    with pytest.raises(PolicyUnavailableError):
        await source.replace(saying("b"))
    clock.ahead_s += 10.0
    with pytest.raises(PolicyUnavailableError):
        await source.replace(bundle)
    assert not source.hold(clock.monotonic() + 10.0), "what ended is not brought back by reading it"
    source.offer(bundle.policy, clock.monotonic() + 10.0)
    await source.replace(bundle)
    assert source.expected == bundle.policy
    source.offer(ActivePolicy("b", "p"), clock.monotonic() + 10.0)
    assert source.expected is None, "OPA has another"
