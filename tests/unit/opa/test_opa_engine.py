"""The engine `opa` with a real OPA: what it decides, and how policies come to be there (ENG-1, LIFE-3)."""

import asyncio
import json

import pytest
from asked_opa import ASK, PATIENT, STRICT, HeldClock, asking, does, failure, said, saying, unix
from interlock_gateway.core.answer import ActivePolicy
from interlock_gateway.core.decision import GatewayErrorCode
from interlock_gateway.policy.engine import PolicyEngine, PolicyUnavailableError
from interlock_gateway.policy.opa.delivery import STALE_S
from interlock_gateway.policy.opa.engine import OpaEngine
from interlock_gateway.policy.opa.placing import place
from opa_process import OpaProcess
from waiting import a_moment, eventually, eventually_so


@pytest.mark.req("ENG-1")
async def test_an_input_is_answered_with_the_decision_document_and_its_policy(opa: OpaProcess) -> None:
    bundle = saying("hello")
    async with asking(unix(opa.url), bundle) as engine:
        promised: PolicyEngine = engine
        answer = await promised.evaluate(ASK)
        assert json.loads(answer.document) == {"verdict": "allow", "said": "hello"}
        assert answer.policy == promised.active == ActivePolicy(bundle.revision, "standard")
        assert promised.ready
        assert promised.trouble == ""
        assert (promised.revision, promised.profile) == (bundle.revision, "standard")


@pytest.mark.req("PIPE-6", "REL-1", "ENG-3")
@pytest.mark.parametrize(
    ("document", "code"),
    [
        (b"{}", GatewayErrorCode.POLICY_UNDEFINED),
        (b'{"do": "conflict"}', GatewayErrorCode.POLICY_CONFLICT),
        (b"not json", GatewayErrorCode.POLICY_ERROR),
        (b'{"do": "answer"} {', GatewayErrorCode.POLICY_ERROR),
        (b"\xff\xfe", GatewayErrorCode.POLICY_ERROR),
        (b"", GatewayErrorCode.POLICY_ERROR),
        (b'{"do": "talk"}', GatewayErrorCode.POLICY_MALFORMED),
    ],
)
async def test_no_single_decision_is_an_error_with_its_code_and_the_next_call_is_fine(
    opa: OpaProcess, document: bytes, code: GatewayErrorCode
) -> None:
    async with asking(unix(opa.url)) as engine:
        assert await failure(engine, document) is code
        assert await said(engine) == "hello"


@pytest.mark.req("REL-7")
async def test_a_policy_that_loops_is_denied_in_time_and_others_go_on(opa: OpaProcess) -> None:
    async with asking(unix(opa.url), bounds=STRICT) as engine:
        loop = asyncio.get_running_loop()
        began = loop.time()
        runaway = asyncio.create_task(failure(engine, b'{"do": "loop"}'))
        assert await said(engine) == "hello"
        assert await runaway is GatewayErrorCode.POLICY_TIMEOUT
        assert loop.time() - began < STRICT.timeout_s + 5
        assert engine.ready


@pytest.mark.req("REL-7", "ENG-3")
async def test_opa_stops_evaluating_what_nobody_waits_for_any_more(opa: OpaProcess) -> None:
    async with asking(unix(opa.url), bounds=STRICT) as engine:
        assert await failure(engine, b'{"do": "loop"}') is GatewayErrorCode.POLICY_TIMEOUT

        async def idle() -> bool:
            before = opa.ticks
            for _ in range(20):
                await a_moment()
            return opa.ticks - before <= 2

        await eventually_so(idle)


async def test_an_input_of_megabytes_is_decided_and_one_too_large_refused(opa: OpaProcess) -> None:
    async with asking(unix(opa.url)) as engine:
        document = json.dumps({"do": "measure", "filler": "x" * 3_000_000}).encode()
        assert json.loads((await engine.evaluate(document)).document)["size"] == 3_000_000
        assert await failure(engine, b" " * (1 << 23) + b" ") is GatewayErrorCode.POLICY_INPUT_TOO_LARGE


@pytest.mark.req("LIFE-3")
async def test_a_new_bundle_takes_over_in_one_step_and_no_call_is_without_a_policy(opa: OpaProcess) -> None:
    words = {saying(word).revision: word for word in ("first", "second", "third")}
    seen = set()
    async with asking(unix(opa.url), saying("first")) as engine:

        async def keep_asking() -> None:
            while True:
                answer = await engine.evaluate(ASK)
                assert json.loads(answer.document)["said"] == words[answer.policy.revision]
                seen.add(answer.policy.revision)

        callers = [asyncio.create_task(keep_asking()) for _ in range(5)]
        for word in ("second", "third"):
            await engine.replace(saying(word))
            assert engine.revision == saying(word).revision
            assert await said(engine) == word
        assert not any(caller.done() for caller in callers)
        for caller in callers:
            caller.cancel()
        await asyncio.gather(*callers, return_exceptions=True)
    assert len(seen) >= 2


@pytest.mark.req("LIFE-3")
async def test_a_bundle_that_opa_does_not_take_is_refused_and_the_last_good_one_stays(opa: OpaProcess) -> None:
    async with asking(unix(opa.url)) as engine:
        before = engine.active
        with pytest.raises(PolicyUnavailableError, match=r"more\.rego:3:6: undefined function"):
            await engine.replace(saying("bad", **{"more.rego": "package interlock.more\n\nx := nothing_like_it(1)\n"}))
        assert engine.active == before
        assert await said(engine) == "hello"


async def test_a_start_with_a_bundle_that_opa_does_not_take_fails(opa: OpaProcess) -> None:
    bundle = saying("bad", **{"more.rego": "package interlock.more\n\nx := nothing_like_it(1)\n"})
    with pytest.raises(PolicyUnavailableError, match="OPA does not take the policies"):
        async with asking(unix(opa.url), bundle):
            pass


async def test_packages_that_call_each_other_in_a_circle_come_and_go(opa: OpaProcess) -> None:
    knot = {
        "one.rego": """package interlock.one

import data.interlock.two

calls(x, _) := two.called(x)

called([x, _], "{(") := x if { x } else := [
	x,
]

called({"a": x}, `)
(`) := x
""",
        "two.rego": """package interlock.two

import data.interlock.one

called(x) := x

calls(x) := one.called([x, 1], "{(")
""",
    }
    clock = HeldClock()
    async with asking(unix(opa.url), saying("knotted", **knot), clock=clock) as engine:
        assert await said(engine) == "knotted"
        await does(opa.stop)
        await does(opa.start)
        assert await said(engine) == "knotted"
        await engine.replace(saying("plain"))
        clock.ahead_s = STALE_S + 1

        async def only_plain() -> bool:
            await engine.look()  # a look of its own accord may have been under way since before
            return set(await does(opa.policies)) == set(place(saying("plain")).ids)

        await eventually_so(only_plain)


@pytest.mark.req("ENG-3")
async def test_an_opa_that_was_started_again_is_given_the_policies_again(opa: OpaProcess) -> None:
    async with asking(unix(opa.url)) as engine:
        await does(opa.stop)
        await does(opa.start)
        assert await does(opa.policies) == []
        assert await said(engine) == "hello"


@pytest.mark.req("ENG-3")
async def test_an_opa_that_comes_later_is_given_the_policies_then(opa: OpaProcess) -> None:
    await does(opa.stop)
    async with asking(unix(opa.url)) as engine:
        assert not engine.ready
        assert "no connection" in engine.trouble
        assert await failure(engine) is GatewayErrorCode.POLICY_UNAVAILABLE
        await does(opa.start)
        await eventually(lambda: engine.ready)
        assert await said(engine) == "hello"


async def test_gateways_with_different_policies_share_an_opa(opa: OpaProcess) -> None:
    async with asking(unix(opa.url), saying("one")) as one, asking(unix(opa.url), saying("other")) as other:
        assert [await said(one), await said(other), await said(one)] == ["one", "other", "one"]
        await other.replace(saying("one"))
        assert [await said(one), await said(other)] == ["one", "one"]


@pytest.mark.req("ENG-3", "REL-1")
async def test_policies_that_are_not_all_there_decide_nothing_and_are_brought_again(opa: OpaProcess) -> None:
    bundle = saying("hello")
    placed = place(bundle)
    async with asking(unix(opa.url), bundle) as engine:
        for name in (placed.entry[0], placed.modules[0][0]):
            await does(opa.ask, "DELETE", f"/v1/policies/{name}")
            assert await said(engine) == "hello"
        await does(opa.ask, "DELETE", f"/v1/data/{placed.data_path}")
        assert await said(engine) == "hello"
        await does(opa.ask, "PUT", f"/v1/policies/{placed.modules[0][0]}", b"package elsewhere\n")
        assert await said(engine) == "hello"
        others = f'package interlock_pushed.{placed.name}.interlock.terms\n\nanswer(_) := "answer"\n'
        await does(opa.ask, "PUT", f"/v1/policies/{placed.modules[1][0]}", others.encode())
        assert await failure(engine, b"{}") is GatewayErrorCode.POLICY_UNDEFINED
        assert await said(engine) == "hello"


async def test_an_operators_own_policies_are_left_alone(opa: OpaProcess) -> None:
    await does(opa.ask, "PUT", "/v1/policies/mine", b"package mine\n\nx := 1\n")
    await does(opa.ask, "PUT", "/v1/data/interlock", {"settings": "mine"})
    async with asking(unix(opa.url)) as engine:
        await engine.replace(saying("other"))
        assert "mine" in await does(opa.policies)
        assert (await does(opa.ask, "GET", "/v1/data/interlock"))["result"] == {"settings": "mine"}


async def test_what_no_gateway_uses_any_more_is_deleted_after_an_hour(opa: OpaProcess) -> None:
    clock = HeldClock()
    old, new = place(saying("old")), place(saying("new"))
    async with asking(unix(opa.url), saying("old"), clock=clock) as engine:
        await engine.replace(saying("new"))
        await engine.look()
        assert {*old.ids, *new.ids} == set(await does(opa.policies))
        clock.ahead_s = STALE_S + 1
        await engine.look()
        assert set(await does(opa.policies)) == set(new.ids)
        assert "result" not in await does(opa.ask, "GET", f"/v1/data/{old.data_path}")
        assert list((await does(opa.ask, "GET", "/v1/data/interlock_pushed_index"))["result"]) == [new.name]
        assert await said(engine) == "new"


async def test_what_a_busy_gateway_uses_is_kept_also_when_it_is_asked_all_the_time(opa: OpaProcess) -> None:
    clock, later = HeldClock(), HeldClock()
    async with asking(unix(opa.url), saying("busy"), clock=clock) as busy:
        clock.ahead_s = later.ahead_s = STALE_S + 1

        async def asked_on() -> bool:
            await said(busy)
            index = (await does(opa.ask, "GET", f"/v1/data/interlock_pushed_index/{place(saying('busy')).name}"))[
                "result"
            ]
            return bool(index["used_at"] > clock.now() - 60)

        await eventually_so(asked_on)
        async with asking(unix(opa.url), saying("other"), clock=later) as other:
            await other.look()
            assert set(place(saying("busy")).ids) <= set(await does(opa.policies))


async def test_an_index_that_somebody_else_wrote_deletes_nothing_of_theirs(opa: OpaProcess) -> None:
    clock = HeldClock()
    name = "r" + 24 * "0"
    await does(opa.ask, "PUT", "/v1/policies/mine", b"package mine\n\nx := 1\n")
    modules = ["mine", "../policies/mine", f"interlock/{name}/../../mine", 7]
    strange = {name: {"modules": modules, "used_at": 0}, "mine": {"modules": ["mine"], "used_at": 0}, "r1": "no"}
    await does(opa.ask, "PUT", "/v1/data/interlock_pushed_index", strange)
    async with asking(unix(opa.url), clock=clock) as engine:
        await engine.look()
        assert "mine" in await does(opa.policies)
        assert await said(engine) == "hello"


async def test_a_closed_engine_decides_nothing(opa: OpaProcess) -> None:
    async with asking(unix(opa.url)) as engine:
        pass
    assert not engine.ready
    assert await failure(engine) is GatewayErrorCode.POLICY_UNAVAILABLE
    with pytest.raises(PolicyUnavailableError):
        await engine.replace(saying("other"))


async def test_an_engine_without_a_bundle_denies_until_there_is_one(opa: OpaProcess) -> None:
    engine = OpaEngine(unix(opa.url), PATIENT, HeldClock(), bundle=None, max_input_bytes=1 << 20)
    await engine.start()
    try:
        assert not engine.ready
        assert engine.revision == ""
        assert await failure(engine) is GatewayErrorCode.POLICY_UNAVAILABLE
        await engine.replace(saying("hello"))
        assert engine.ready
        assert await said(engine) == "hello"
    finally:
        await engine.close()
