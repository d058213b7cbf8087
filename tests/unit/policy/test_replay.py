"""Replay: recorded decisions under other policies, in processes that may hang or die (LIFE-6)."""

from pathlib import Path
from typing import Any

import pytest
from engine_bundles import bundle
from interlock_gateway.audit.receipt import ReceiptKind
from interlock_gateway.cli.replay_view import as_json
from interlock_gateway.policy.bundle import PolicyBundle
from interlock_gateway.policy.replay import crew
from interlock_gateway.policy.replay.comparing import Change, Direction
from interlock_gateway.policy.replay.crew import ReplayError
from interlock_gateway.policy.replay.period import Period
from interlock_gateway.policy.replay.running import Plan, Progress, replay
from interlock_gateway.policy.replay.tally import Tally
from recorded_decisions import Call, said, write_log

pytestmark = pytest.mark.req("LIFE-6")

# Decides as the input says: what is `now` is the answer; a call may also make it loop, crash or say nothing.
DECIDING = """\
package interlock

decision := input.call.input.now if input.call.input.now

decision := {"verdict": "allow", "notes": [sprintf("%d", [steps])]} if input.call.input.loop

decision := {"verdict": "allow", "notes": [sprintf("%d", [count(bomb)])]} if input.call.input.bomb

digits := numbers.range(1, 3000)

steps := count([1 | some a in digits; some b in digits; some c in digits; a * b == c])

bomb := {[a, b, c] | some a in digits; some b in digits; some c in digits}
"""
ALLOWED = said("allow", "a/allows")
DENIED = said("deny", "b/denies")


@pytest.fixture
def candidate() -> PolicyBundle:
    """Policies that say what the call says."""
    return bundle(DECIDING)


def replayed(directory: Path, candidate: PolicyBundle, *calls: Call, **more: Any) -> Tally:
    return replay(Plan(write_log(directory, calls), candidate, processes=1, **more))


def only(tally: Tally) -> Change:
    (found,) = tally.changes
    return found


def test_what_is_decided_alike_does_not_change(tmp_path: Path, candidate: PolicyBundle) -> None:
    call = Call(ALLOWED, {"now": {**ALLOWED, "notes": ["another note"]}})
    tally = replayed(tmp_path, candidate, call, call)
    assert tally.decisions == 2
    assert not tally.changes
    assert tally.tools["look"] == {"same": 2}


@pytest.mark.parametrize(
    ("before", "after", "direction", "rules"),
    [
        (DENIED, ALLOWED, Direction.LOOSENED, (("b/denies",), ("a/allows",))),
        (ALLOWED, DENIED, Direction.TIGHTENED, (("a/allows",), ("b/denies",))),
        (said("preview", "p/p"), said("checkpoint", "p/p"), Direction.TIGHTENED, (("p/p",), ("p/p",))),
        (said("reflect", "r/r"), said("checkpoint", "r/r"), Direction.LOOSENED, (("r/r",), ("r/r",))),
        (DENIED, said("deny", "c/too"), Direction.OTHER, (("b/denies",), ("c/too",))),
    ],
)
def test_a_change_has_a_direction_and_the_rules_behind_it(
    tmp_path: Path, before: Any, after: Any, direction: Direction, rules: tuple[tuple[str, ...], tuple[str, ...]]
) -> None:
    candidate = bundle(DECIDING)
    found = only(replayed(tmp_path, candidate, Call(before, {"now": after})))
    assert found == Change(direction, before["verdict"], after["verdict"], *rules, duties=False)


@pytest.mark.parametrize(
    ("before", "after", "direction"),
    [
        ({"redact": ["/a"]}, {}, Direction.LOOSENED),
        ({}, {"redact": ["/a"]}, Direction.TIGHTENED),
        ({"max_result_bytes": 10}, {"max_result_bytes": 20}, Direction.LOOSENED),
        ({}, {"timeout_s": 20}, Direction.TIGHTENED),
        ({"quorum": 2}, {}, Direction.LOOSENED),
        ({}, {"quorum": 2}, Direction.TIGHTENED),
        ({"approvers": ["a"]}, {"approvers": ["a", "b"]}, Direction.LOOSENED),
        ({"approvers": ["a"]}, {}, Direction.LOOSENED),
        ({"approvers": ["a", "b"]}, {"approvers": ["a"]}, Direction.TIGHTENED),
        ({"redact": ["/a"]}, {"redact": ["/b"]}, Direction.LOOSENED),
        ({"set": {"a": 1}}, {"set": {"a": 2}}, Direction.LOOSENED),
    ],
)
def test_obligations_are_compared_by_what_they_keep_from_happening(
    tmp_path: Path, candidate: PolicyBundle, before: Any, after: Any, direction: Direction
) -> None:
    call = Call(said("allow", "a/allows", obligations=before), {"now": said("allow", "a/allows", obligations=after)})
    found = only(replayed(tmp_path, candidate, call))
    assert (found.direction, found.duties) == (direction, True)


def test_changes_are_counted_by_rule_tool_and_principal_with_the_first_as_examples(
    tmp_path: Path, candidate: PolicyBundle
) -> None:
    loosened = [Call(DENIED, {"now": ALLOWED}, tool="bash", principal=f"agent-{n % 2}") for n in range(8)]
    same = [Call(ALLOWED, {"now": ALLOWED}, tool="look") for _ in range(4)]
    tally = replayed(tmp_path, candidate, *loosened, *same)
    assert tally.changed(Direction.LOOSENED) == 8
    assert tally.tools == {"bash": {"loosened": 8}, "look": {"same": 4}}
    assert tally.principals == {"agent-0": {"loosened": 4}, "agent-1": {"loosened": 4, "same": 4}}
    (seen,) = tally.changes.values()
    assert [one.decision_id for one in seen.examples] == [f"decision-{n}" for n in range(5)]


def test_what_policy_did_not_decide_is_left_out_and_counted(tmp_path: Path, candidate: PolicyBundle) -> None:
    failed = {"verdict": "deny", "reasons": [{"code": "gateway_error.internal", "message": "", "rule": "gateway"}]}
    stopped = {"verdict": "deny", "reasons": [{"code": "x", "message": "", "rule": "interceptor/one"}]}
    calls = [
        Call(failed, {"now": ALLOWED}),
        Call(stopped, {"now": ALLOWED}),
        Call(DENIED, {"now": ALLOWED}, asked=False),
        Call(ALLOWED, {"now": ALLOWED}),
    ]
    tally = replayed(tmp_path, candidate, *calls)
    assert (tally.by_gateway, tally.without_input, tally.decisions) == (2, 1, 1)
    assert not tally.changes


def test_lines_that_cannot_be_read_are_counted(tmp_path: Path, candidate: PolicyBundle) -> None:
    log = write_log(tmp_path, [Call(ALLOWED, {"now": ALLOWED})] * 2)
    (segment,) = log.glob("receipts-*.jsonl")
    first, second, *rest = segment.read_bytes().splitlines(keepends=True)
    broken = [b'{"v":1,"sequence":9,', b"\xff\x00\n", second.replace(b'"decision_id"', b'"decision"')]
    segment.write_bytes(b"".join([first, *broken, second, *rest]))
    tally = replay(Plan(log, candidate, processes=1))
    assert (tally.unreadable, tally.decisions) == (2, 2)
    assert as_json(tally, Plan(log, candidate))["left_out"]["unreadable"] == 2


def test_a_call_that_nobody_could_be_asked_about_is_compared_with_what_policy_wanted(
    tmp_path: Path, candidate: PolicyBundle
) -> None:
    before = said("deny", "c/asks")
    before["reasons"] = [{"code": "checkpoint_unavailable", "message": "", "rule": "gateway"}, *before["reasons"]]
    asks = said("checkpoint", "c/asks", obligations={"quorum": 2})
    tally = replayed(tmp_path, candidate, Call(before, {"now": asks}), Call(before, {"now": ALLOWED}))
    assert tally.decisions == 2
    found = only(tally)
    assert (found.direction, found.before, found.after) == (Direction.LOOSENED, "checkpoint", "allow")


def test_a_call_is_replayed_once_and_by_its_intent_only_when_a_crash_left_nothing_else(
    tmp_path: Path, candidate: PolicyBundle
) -> None:
    intent = Call(DENIED, {"now": ALLOWED}, kind=ReceiptKind.INTENT, id="done")
    receipt = Call(DENIED, {"now": ALLOWED}, id="done")
    cut_off = Call(DENIED, {"now": ALLOWED}, kind=ReceiptKind.INTENT, id="cut-off")
    tally = replayed(tmp_path, candidate, cut_off, intent, receipt)
    assert tally.decisions == 2


def test_only_the_period_is_replayed(tmp_path: Path, candidate: PolicyBundle) -> None:
    calls = [Call(ALLOWED, {"now": ALLOWED}, time=1_780_000_000.0 + 86_400 * day) for day in range(4)]
    tally = replayed(tmp_path, candidate, *calls, period=Period("2026-05-29", "2026-05-31"))
    assert tally.decisions == 2


def test_inputs_that_are_masked_or_left_out_are_counted_apart(tmp_path: Path, candidate: PolicyBundle) -> None:
    secret = "ghp_" + "x1Y2z3A4b5C6d7E8f9G0h1I2j3K4l5M6n7O8"
    calls = [
        Call(ALLOWED, {"now": DENIED, "text": "x" * 5000}),
        Call(ALLOWED, {"now": DENIED, "token": secret}),
        Call(ALLOWED, {"now": DENIED}),
    ]
    tally = replayed(tmp_path, candidate, *calls)
    assert (tally.decisions, tally.partial) == (3, 2)
    assert sum(seen.partial for seen in tally.changes.values()) == 2


def test_a_decision_that_its_own_policies_do_not_reproduce_is_no_change(tmp_path: Path) -> None:
    now = bundle('package interlock\n\ndecision := {"verdict": "deny", "reasons": [{"code": "n", "rule": "n/now"}]}\n')
    revision = now.revision
    calls = [Call(ALLOWED, {}, revision=revision), Call(ALLOWED, {}, revision="another")]
    tally = replayed(tmp_path, now, *calls, baseline=now)
    assert tally.not_reproduced == 1
    assert [seen.count for seen in tally.changes.values()] == [1]
    assert tally.revisions == {revision: 1, "another": 1}


@pytest.mark.parametrize(("always", "counted"), [(False, 0), (True, 1)])
def test_what_stays_the_same_by_accident_is_found_when_it_is_asked_for(
    tmp_path: Path, always: bool, counted: int
) -> None:
    denies = '{"verdict": "deny", "reasons": [{"code": "denies", "rule": "b/denies"}]}'
    now = bundle('package interlock\n\ndecision := {"verdict": "allow"}\n')
    candidate = bundle(f"package interlock\n\ndecision := {denies}\n")
    call = Call(DENIED, {}, revision=now.revision)
    tally = replayed(tmp_path, candidate, call, baseline=now, always=always)
    assert tally.not_reproduced == counted
    assert len(tally.changes) == counted


@pytest.mark.parametrize(("does", "code"), [("loop", "policy_timeout"), ("bomb", "policy_crashed")])
def test_a_policy_that_hangs_or_dies_costs_one_decision(
    tmp_path: Path, candidate: PolicyBundle, does: str, code: str
) -> None:
    good = [Call(ALLOWED, {"now": ALLOWED}) for _ in range(3)]
    limits = {"seconds": 0.3} if does == "loop" else {"seconds": 20.0, "memory_bytes": 64 * 1024 * 1024}
    tally = replayed(tmp_path, candidate, good[0], Call(ALLOWED, {does: True}), *good[1:], **limits)
    assert tally.decisions == 4
    assert tally.failed == {code: 1}
    found = only(tally)
    assert (found.after, found.gained) == ("deny", (f"gateway_error.{code}",))


@pytest.mark.parametrize(("answer", "code"), [({"verdict": "perhaps"}, "policy_malformed"), (None, "policy_undefined")])
def test_a_candidate_without_a_decision_denies(tmp_path: Path, candidate: PolicyBundle, answer: Any, code: str) -> None:
    tally = replayed(tmp_path, candidate, Call(ALLOWED, {"now": answer} if answer else {}))
    assert tally.failed == {code: 1}
    assert only(tally).direction is Direction.TIGHTENED


def test_a_candidate_that_keeps_dying_is_given_up(
    tmp_path: Path, candidate: PolicyBundle, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(crew, "MOST_DEATHS", 1)
    with pytest.raises(ReplayError, match="policy_timeout"):
        replayed(tmp_path, candidate, *(Call(ALLOWED, {"loop": n}) for n in range(1, 4)), seconds=0.1)


def test_policies_that_do_not_load_are_told(tmp_path: Path) -> None:
    with pytest.raises(ReplayError, match="cannot be loaded"):
        replayed(tmp_path, bundle("package interlock\n\ndecision := {"), Call(ALLOWED, {}))


def test_segments_and_processes_are_as_many_as_there_are(tmp_path: Path, candidate: PolicyBundle) -> None:
    calls = [Call(ALLOWED, {"now": ALLOWED if n % 3 else DENIED}, tool=f"tool-{n % 5}") for n in range(300)]
    directory = write_log(tmp_path, calls, segment_bytes=20_000)
    assert len(list(directory.glob("receipts-*"))) > 5
    seen: list[tuple[int, int]] = []

    def told(progress: Progress) -> None:
        seen.append((progress.read_bytes, progress.total_bytes))

    one = replay(Plan(directory, candidate, processes=1), told)
    two = replay(Plan(directory, candidate, processes=2))
    assert one == two
    assert one.decisions == 300
    assert seen[-1][0] == seen[-1][1]


def test_what_is_counted_is_bounded_however_many_names_there_are() -> None:
    tally = Tally()
    for number in range(3000):
        other = Tally()
        other.tools = {f"tool-{number}": other.revisions.__class__({"same": 1})}
        tally.add(other)
    assert len(tally.tools) == 2001
    assert sum(counts["same"] for counts in tally.tools.values()) == 3000
