"""The judge of crashes finds what must never be: each kind of fault, put into evidence of a crash that went well."""

from dataclasses import replace
from pathlib import Path

import pytest
from crash_judge import Answer, Effect, Evidence, Fault, Told, judged
from crash_records import Receipts, Stored

CALL, UNDO = ("s", "c"), ("s", "undo:o:1")
DONE = Answer("completed", text="noted k")
UNKNOWN = Answer("outcome_unknown", is_error=True, text="not known")
NOTE = Effect("note", "k", *CALL, journal="intended", audit=True)
UNNOTE = Effect("unnote", "k", *UNDO, journal="intended", audit=True)


def evidence() -> Evidence:
    """A call that was answered, then a crash, after which all is well."""
    stored = Stored(calls={CALL: "completed"}, operations={CALL: ("o", "done")})
    receipts = Receipts(Path(), intents={CALL}, statuses={CALL: ["completed"]})
    told = Told(*CALL, "note", "k", first=DONE, again=DONE)
    return Evidence([told], [NOTE], 1, stored, stored, receipts, serving_after_s=1.0)


def cut_off() -> Evidence:
    """A call that took effect and was not answered before the crash; it is unknown."""
    found = evidence()
    stored = Stored(calls={CALL: "outcome_unknown"}, operations={CALL: ("o", "outcome_unknown")})
    found.found = found.left = stored
    found.told = [Told(*CALL, "note", "k", again=UNKNOWN)]
    return found


def faults(found: Evidence) -> set[Fault]:
    return {finding.fault for finding in judged(found)}


@pytest.mark.req("REL-4")
def test_a_crash_that_lost_nothing_has_no_fault() -> None:
    assert not judged(evidence())
    assert not judged(cut_off())


@pytest.mark.req("REL-4")
@pytest.mark.parametrize("effect", [replace(NOTE, journal=""), replace(NOTE, audit=False)])
def test_an_effect_that_came_before_its_intent_is_found(effect: Effect) -> None:
    assert faults(replace(evidence(), effects=[effect])) == {Fault.NO_INTENT}


@pytest.mark.req("REL-4")
def test_an_intent_that_is_gone_after_the_crash_is_found() -> None:
    without = evidence()
    without.receipts = Receipts(Path(), statuses={CALL: ["completed"]})
    assert faults(without) == {Fault.NO_INTENT}
    assert Fault.NO_INTENT in faults(replace(evidence(), left=Stored(calls={CALL: "completed"})))


@pytest.mark.req("REL-4")
def test_a_rigged_ledger_with_a_second_effect_is_found() -> None:
    assert faults(replace(evidence(), effects=[NOTE, NOTE])) == {Fault.TWICE}
    elsewhere = replace(NOTE, call_id="another")
    assert Fault.TWICE in faults(replace(evidence(), effects=[NOTE, elsewhere]))


@pytest.mark.req("REL-4")
@pytest.mark.parametrize("again", [UNKNOWN, Answer("completed", text="another"), Answer("denied", is_error=True)])
def test_an_answer_that_is_another_one_after_the_crash_is_found(again: Answer) -> None:
    changed = evidence()
    changed.told[0].again = again
    assert Fault.LOST in faults(changed)


@pytest.mark.req("REL-4")
def test_an_answer_that_is_not_in_the_journal_or_has_no_receipt_is_found() -> None:
    empty = Stored()
    assert faults(replace(evidence(), found=empty)) == {Fault.LOST}
    without = evidence()
    without.receipts = Receipts(Path(), intents={CALL})
    assert faults(without) == {Fault.LOST}


@pytest.mark.req("REL-4")
def test_a_lost_preview_a_lost_approval_and_a_lost_undo_are_found() -> None:
    previewed = Answer("preview", pending_id="p")
    gone = Evidence([Told("s", "p", "put", "k", previewed, previewed)], receipts=Receipts(Path()))
    assert faults(gone) == {Fault.LOST}
    assert faults(replace(evidence(), approved={"a"})) == {Fault.LOST}
    assert faults(replace(evidence(), undone={"o"})) == {Fault.LOST}


@pytest.mark.req("REL-4")
def test_an_undo_that_took_effect_and_is_not_in_the_journal_is_found() -> None:
    taken_back = evidence()
    taken_back.effects.append(UNNOTE)
    taken_back.left.operations[UNDO] = ("u", "done")
    assert taken_back.receipts is not None
    taken_back.receipts.intents.add(UNDO)
    assert faults(taken_back) == {Fault.UNTRUE}
    taken_back.left.operations[CALL] = ("o", "undone")
    assert not judged(taken_back)


@pytest.mark.req("REL-4")
def test_an_answer_that_claims_too_much_or_too_little_is_found() -> None:
    assert Fault.UNTRUE in faults(replace(evidence(), effects=[], before=0))
    denied = cut_off()
    denied.told[0].again = Answer("denied", is_error=True)
    assert faults(denied) == {Fault.UNTRUE, Fault.HIDDEN}


@pytest.mark.req("REL-4")
@pytest.mark.parametrize(
    "found",
    [
        Stored(calls={CALL: "dispatching"}),
        Stored(operations={CALL: ("o", "intended")}),
        Stored(operations={CALL: ("o", "undoing")}),
        Stored(pending={"p": "applying"}),
    ],
)
def test_what_is_left_as_if_it_were_still_under_way_is_found(found: Stored) -> None:
    assert Fault.HIDDEN in faults(replace(cut_off(), found=found))


@pytest.mark.req("REL-4")
def test_an_unknown_outcome_that_is_answered_as_known_is_found() -> None:
    sure = cut_off()
    sure.told[0].again = DONE
    assert faults(sure) == {Fault.HIDDEN}
    silent = cut_off()
    silent.told[0].again = None
    assert faults(silent) == {Fault.HIDDEN}


@pytest.mark.req("REL-4")
def test_receipts_that_do_not_verify_and_a_slow_start_are_found() -> None:
    assert faults(replace(evidence(), receipts_problem="line 3")) == {Fault.RECEIPTS}
    assert faults(replace(evidence(), serving_after_s=5.1)) == {Fault.SLOW}
