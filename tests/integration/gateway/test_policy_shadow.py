"""A candidate beside the policies in force: it is compared and recorded, and changes nothing, whatever it does."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from bundle_keys import key_files, signed_bundle, small_files
from gateway_bench import Bench, bench
from interlock import CallStatus, Verdict
from interlock.errors import RequestError
from interlock_gateway.cli.main import app
from interlock_gateway.config import PolicyConfig
from interlock_gateway.config_bundles import BundleConfig, BundleKeyConfig, ShadowConfig
from interlock_gateway.policy.bundles.building import packed
from policy_overlays import operating, status_of, until
from scraping import samples_in, scraped, value
from typer.testing import CliRunner
from waiting import eventually_so

SECRET = "AKIAIOSFODNN7EXAMPLE"
DENIES = """package interlock

decision := {
	"verdict": "deny",
	"reasons": [{"code": "hush", "message": sprintf("not %s", [input.call.input.text]), "rule": "custom/hush"}],
} if input.call.input.text != "fine"

decision := {"verdict": "allow"} if input.call.input.text == "fine"
"""
LOOPS = """package interlock

decision := {"verdict": "deny", "notes": [sprintf("%v", [steps])]}

digits := numbers.range(1, 3000)

steps := count([1 | some a in digits; some b in digits; some c in digits; a * b == c])
"""
CRASHES = "package interlock\n\ndecision := f(input)\n\nf(x) := f([x])\n"
CAPS = 'package interlock\n\ndecision := {"verdict": "allow", "obligations": {"max_result_bytes": 5}}\n'
SAYS_NOTHING = 'package interlock\n\ndecision := {"verdict": "allow"} if input.nothing\n'


def candidate(source: str) -> bytes:
    return packed({**small_files("candidate"), "main.rego": source.encode()})


def shadowing(directory: Path, source: str = "", **changes: Any) -> PolicyConfig:
    """The shipped policies, and a candidate in a bundle's file, if there is one."""
    file = directory / "candidates" / "next.tar.gz"
    file.parent.mkdir(exist_ok=True)
    if source:
        file.write_bytes(candidate(source))
        changes["bundle"] = BundleConfig(url=str(file))
    return PolicyConfig(workers=1, shadow=ShadowConfig(allow=(file.parent,), **changes))


async def evaluator_of(at: Bench) -> Any:
    await until(at, lambda now: bool(now.shadow.revision))
    return at.gateway.rooms.shadow.evaluator


@pytest.mark.req("LIFE-5")
async def test_what_a_candidate_would_decide_otherwise_is_counted_and_recorded_and_enforces_nothing(
    socket_directory: Path,
) -> None:
    async with bench(socket_directory, policy=shadowing(socket_directory, DENIES)) as at:
        evaluator = await evaluator_of(at)
        session = at.agent.session("s")
        results = [await session.call("echo", {"text": text}) for text in ("fine", "other", SECRET)]
        assert [(result.status, result.decision.verdict) for result in results] == [
            (CallStatus.COMPLETED, Verdict.ALLOW)
        ] * 3
        await evaluator.settled()
        shadow = (await status_of(at)).shadow
        assert (shadow.evaluated, shadow.differed, shadow.skipped, shadow.profile) == (3, 2, 0, "standard")
        assert [(one.active, one.candidate, one.count) for one in shadow.differences] == [("allow", "deny", 2)]
        found = samples_in(await scraped(at))
        labels = {"active": "allow", "candidate": "deny", "differs": "yes"}
        assert value(found, "interlock_shadow_decisions_total", **labels) == 2
        assert value(found, "interlock_shadow_decisions_total", differs="no") == 1
        async with operating(at) as admin:
            newest, first = await admin.shadow_differences()
        assert (first.tool, first.session_id, first.call_id) == ("echo", "s", results[1].call_id)
        assert first.decision_id == results[1].decision.decision_id
        assert (first.active.verdict, first.active.reasons[0].code) == ("allow", "read_only")
        assert first.active.revision == results[1].decision.policy_revision != first.candidate.revision
        (reason,) = first.candidate.reasons
        assert (reason.code, reason.rule, reason.message) == ("hush", "custom/hush", "not other")
        assert SECRET not in str(newest)
        assert "[redacted:" in newest.candidate.reasons[0].message
    kept = (socket_directory / "state" / "policy" / "shadow.jsonl").read_text()
    assert len(kept.splitlines()) == 2
    assert SECRET not in kept
    assert json.loads(kept.splitlines()[0])["decision_id"] == first.decision_id
    async with bench(socket_directory, policy=shadowing(socket_directory)) as at, operating(at) as admin:
        assert not (await admin.policy_status()).HasField("shadow")

        async def read_again() -> bool:
            found = [one.call_id for one in await admin.shadow_differences()]
            return found == [newest.call_id, first.call_id]

        await eventually_so(read_again)


@pytest.mark.req("LIFE-5")
async def test_other_obligations_and_no_decision_at_all_are_differences_too(socket_directory: Path) -> None:
    for source, pair, told in (
        (CAPS, ("allow", "allow"), "max_result_bytes"),
        (SAYS_NOTHING, ("allow", "deny"), "gateway_error.policy_undefined"),
    ):
        async with bench(socket_directory, policy=shadowing(socket_directory, source)) as at:
            evaluator = await evaluator_of(at)
            result = await at.agent.session("s").call("echo", {"text": "longer than five"})
            assert result.text == "longer than five"
            await evaluator.settled()
            assert dict(evaluator.figures.differences) == {pair: 1}
            async with operating(at) as admin:
                (found,) = await admin.shadow_differences(1)
            assert told in (*found.candidate.obligations, *(one.code for one in found.candidate.reasons))


@pytest.mark.req("LIFE-5")
@pytest.mark.parametrize(
    ("source", "why", "timeout_s"), [(LOOPS, "policy_timeout", 0.25), (CRASHES, "policy_crashed", 10.0)]
)
async def test_a_candidate_that_loops_or_crashes_hurts_only_itself(
    socket_directory: Path, source: str, why: str, timeout_s: float
) -> None:
    policy = shadowing(socket_directory, source, queue=5, timeout_s=timeout_s)
    async with bench(socket_directory, policy=policy) as at:
        evaluator = await evaluator_of(at)
        active = at.gateway.rooms.engine
        before = active.process_ids
        session = at.agent.session("s")
        results = [await session.call("echo", {"text": str(number)}) for number in range(40)]
        assert {result.decision.verdict for result in results} == {Verdict.ALLOW}
        await evaluator.settled()
        figures = evaluator.figures
        assert figures.evaluated == 0
        assert figures.skips.total() == 40
        # Few were asked about; the others were skipped without a worker being lost for each.
        assert 1 <= figures.skips[why] < 5  # paused after each, and tried again when the pause is over
        assert set(figures.skips) <= {why, "paused", "busy"}
        assert set(before) <= set(active.process_ids)
        found = samples_in(await scraped(at))
        assert value(found, "interlock_shadow_skipped_total") == 40
        at.clock.ahead_s += 1
        assert at.gateway.state().serving


@pytest.mark.req("LIFE-5")
async def test_more_calls_than_its_budget_has_room_for_are_skipped_and_counted(socket_directory: Path) -> None:
    policy = shadowing(socket_directory, DENIES, max_per_s=4.0)
    async with bench(socket_directory, policy=policy) as at:
        evaluator = await evaluator_of(at)
        session = at.agent.session("s")
        for number in range(30):
            await session.call("echo", {"text": str(number)})
        await evaluator.settled()
        figures = evaluator.figures
        assert figures.evaluated + figures.skips["rate"] == 30
        assert 1 <= figures.evaluated < 30


@pytest.mark.req("LIFE-5")
async def test_operators_choose_and_clear_candidates_where_the_configuration_allows(socket_directory: Path) -> None:
    policy = shadowing(socket_directory)
    allowed = socket_directory / "candidates"
    (allowed / "good.tar.gz").write_bytes(candidate(DENIES))
    (allowed / "bad.tar.gz").write_bytes(candidate("package interlock\n\ndecision := {\n"))
    elsewhere = socket_directory / "elsewhere.tar.gz"
    elsewhere.write_bytes(candidate(DENIES))
    (allowed / "link.tar.gz").symlink_to(elsewhere)
    async with bench(socket_directory, policy=policy) as at, operating(at) as admin:
        assert not (await admin.policy_status()).HasField("shadow")
        answer = await admin.set_shadow_policy(str(allowed / "good.tar.gz"))
        assert answer.reload.accepted
        assert answer.policy.shadow.revision == answer.reload.revision != answer.policy.revision
        refused = await admin.set_shadow_policy(str(allowed / "bad.tar.gz"))
        assert not refused.reload.accepted
        assert refused.reload.problems[0].file == "main.rego"
        assert refused.policy.shadow.revision == answer.reload.revision
        for place in (
            elsewhere,
            allowed / "link.tar.gz",
            allowed / ".." / "elsewhere.tar.gz",
            "candidates/good.tar.gz",
        ):
            with pytest.raises(RequestError):
                await admin.set_shadow_policy(str(place))
        missing = await admin.set_shadow_policy(str(allowed / "missing.tar.gz"))
        assert missing.reload.problems[0].code == "bundle_unreachable"
        assert missing.policy.shadow.error == ""
        cleared = await admin.set_shadow_policy()
        assert not cleared.policy.HasField("shadow")
        assert not cleared.HasField("reload")


@pytest.mark.req("LIFE-5")
async def test_a_configured_candidate_that_is_not_fit_says_so_in_status_and_the_gateway_serves(
    socket_directory: Path,
) -> None:
    key = key_files(socket_directory)
    file = socket_directory / "next.tar.gz"
    keys = (BundleKeyConfig(id="k", file=key.public, algorithm="ES256"),)
    shadow = ShadowConfig(bundle=BundleConfig(url=str(file), keys=keys))
    file.write_bytes(packed(small_files("unsigned")))
    policy = PolicyConfig(workers=1, shadow=shadow, watch=True, watch_s=0.05)
    async with bench(socket_directory, policy=policy) as at:
        now = await until(at, lambda now: bool(now.shadow.error))
        assert "not signed" in now.shadow.error
        assert (await at.agent.session("s").call("echo", {"text": "x"})).text == "x"
        file.write_bytes(signed_bundle(small_files("signed"), key.signing()))
        mended = await until(at, lambda now: bool(now.shadow.revision))
        assert mended.shadow.error == ""


@pytest.mark.req("LIFE-5")
async def test_people_set_show_and_clear_a_candidate_from_the_command_line(socket_directory: Path) -> None:
    file = socket_directory / "candidates" / "next.tar.gz"
    async with bench(socket_directory, policy=shadowing(socket_directory)) as at:

        async def interlock(*arguments: str) -> Any:
            address = at.gateway.endpoints.operators[0]
            return await asyncio.to_thread(
                CliRunner().invoke, app, ["policy", *arguments, "--address", address], catch_exceptions=False
            )

        assert "no candidate is set" in (await interlock("shadow", "show")).stdout
        file.write_bytes(b"no bundle")
        refused = await interlock("shadow", "set", str(file))
        assert (refused.exit_code, "bundle_malformed" in refused.stdout) == (1, True)
        file.write_bytes(candidate(DENIES))
        chosen = await interlock("shadow", "set", str(file))
        assert (chosen.exit_code, "evaluated beside" in chosen.stdout) == (0, True)
        shown = ""
        for _ in range(10):  # on a busy machine a candidate's evaluation may be given up
            await at.agent.session("s").call("echo", {"text": "other"})
            await at.gateway.rooms.shadow.evaluator.settled()  # type: ignore[union-attr]  # there is one
            shown = (await interlock("shadow", "show")).stdout
            if "evaluated: 0" not in shown:
                break
        assert "hush (custom/hush)" in shown
        assert "echo" in shown
        found = json.loads((await interlock("shadow", "show", "--output", "json")).stdout)
        assert found["differences"][0]["candidate"]["verdict"] == "deny"
        assert "differed" in (await interlock("status")).stdout
        assert (await interlock("shadow", "clear")).exit_code == 0
        assert "no candidate is set" in (await interlock("shadow", "show")).stdout


@pytest.mark.req("LIFE-5")
async def test_who_asks_for_a_call_later_is_told_what_the_candidate_would_have_decided(socket_directory: Path) -> None:
    async with bench(socket_directory, policy=shadowing(socket_directory, DENIES)) as at:
        evaluator = await evaluator_of(at)
        session = at.agent.session("s")
        for text in ("fine", SECRET):
            result = await session.call("echo", {"text": text}, call_id=text[:4])
            assert result.decision.shadow is None, "nothing waits for the candidate"
        await evaluator.settled()
        fine, hushed = [await session.get_call(call_id) for call_id in ("fine", SECRET[:4])]
        for found in (fine, hushed, await session.wait_call("fine", timeout=5)):
            assert found.result is not None
            assert found.result.decision.verdict is Verdict.ALLOW
            assert found.result.decision.shadow is not None
            assert found.result.decision.shadow.policy_revision == evaluator.bundle.revision
        assert fine.result is not None
        assert hushed.result is not None
        same, other = fine.result.decision.shadow, hushed.result.decision.shadow
        assert same is not None
        assert other is not None
        assert (same.verdict, same.differs) == (Verdict.ALLOW, False)
        assert (other.verdict, other.differs, other.reasons[0].code) == (Verdict.DENY, True, "hush")
        assert SECRET not in other.reasons[0].message
        async with operating(at) as admin:
            await admin.set_shadow_policy()
        cleared = (await session.get_call("fine")).result
        assert cleared is not None
        assert cleared.decision.shadow is None


@pytest.mark.req("LIFE-5")
async def test_only_of_the_last_decisions_it_is_kept_what_the_candidate_says(
    socket_directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("interlock_gateway.policy.shadow.evaluator.OPINIONS_KEPT", 2)
    async with bench(socket_directory, policy=shadowing(socket_directory, CAPS)) as at:
        evaluator = await evaluator_of(at)
        session = at.agent.session("s")
        for call_id in "abc":
            await session.call("echo", {"text": "x"}, call_id=call_id)
        await evaluator.settled()
        found = [(await session.get_call(call_id)).result for call_id in "abc"]
        assert [one is not None and one.decision.shadow is not None for one in found] == [False, True, True]
