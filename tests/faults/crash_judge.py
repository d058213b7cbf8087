"""What counts as a fault after a crash (REL-4): what happened, what is on disk and what clients were told, compared."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum

from crash_records import CallKey, Receipts, Stored

SERVING_AGAIN_S = 5.0
READING = frozenset({"look", "browse"})
_MOVING_STATES = frozenset({"intended", "undoing"})


class Fault(StrEnum):
    """What must never be."""

    NO_INTENT = "an effect without a durable intent"
    LOST = "an acknowledged result is lost"
    TWICE = "an effect twice"
    UNTRUE = "an answer does not say what happened"
    HIDDEN = "what is not known is not called unknown"
    RECEIPTS = "the receipts do not verify"
    SLOW = "not serving again in time"


@dataclass(frozen=True, slots=True)
class Effect:
    """One line of the provider's ledger: what really happened, and what could be seen of its intent then."""

    tool: str
    key: str
    session_id: str
    call_id: str
    journal: str | None
    audit: bool

    @property
    def call(self) -> CallKey:
        """The call it was an effect of."""
        return self.session_id, self.call_id


@dataclass(frozen=True, slots=True)
class Answer:
    """What a client was told."""

    status: str
    is_error: bool = False
    text: str = ""
    pending_id: str = ""


@dataclass(slots=True)
class Told:
    """One call: its answer before the crash, if there was one, and what the same call was answered after it."""

    session_id: str
    call_id: str
    tool: str
    key: str
    first: Answer | None = None
    again: Answer | None = None
    problem: str = ""

    @property
    def call(self) -> CallKey:
        """The call."""
        return self.session_id, self.call_id


@dataclass
class Evidence:
    """Everything about one crash.

    The first `before` of `effects` were there when the gateway served again; then the database was as `found`, and
    after all calls were repeated as `left`. `approved` are the checkpoints and `undone` the operations of which
    somebody was told so before the crash.
    """

    told: list[Told] = field(default_factory=list)
    effects: list[Effect] = field(default_factory=list)
    before: int = 0
    found: Stored = field(default_factory=Stored)
    left: Stored = field(default_factory=Stored)
    receipts: Receipts | None = None
    approved: set[str] = field(default_factory=set)
    undone: set[str] = field(default_factory=set)
    receipts_problem: str = ""
    serving_after_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Finding:
    """One fault."""

    fault: Fault
    what: str


def judged(evidence: Evidence) -> list[Finding]:
    """Every fault that the evidence shows."""
    return [
        *(Finding(Fault.NO_INTENT, what) for what in _without_intent(evidence)),
        *(Finding(Fault.TWICE, what) for what in _twice(evidence)),
        *(Finding(Fault.LOST, what) for what in (*_answers_lost(evidence), *_other_words_lost(evidence))),
        *(Finding(Fault.UNTRUE, what) for what in _untrue(evidence)),
        *(Finding(Fault.HIDDEN, what) for what in (*_under_way(evidence), *_hidden(evidence))),
        *([Finding(Fault.RECEIPTS, evidence.receipts_problem)] if evidence.receipts_problem else []),
        *(Finding(Fault.SLOW, what) for what in _slow(evidence)),
    ]


def _without_intent(evidence: Evidence) -> Iterator[str]:
    intents = evidence.receipts.intents if evidence.receipts is not None else set()
    for effect in evidence.effects:
        if effect.journal == "" or effect.call not in evidence.left.operations:
            yield f"{effect.tool} {effect.key}: none in the journal"
        if not effect.audit or effect.call not in intents:
            yield f"{effect.tool} {effect.key}: none among the receipts"


def _twice(evidence: Evidence) -> Iterator[str]:
    by_key = Counter((effect.tool, effect.key) for effect in evidence.effects)
    by_call = Counter(effect.call for effect in evidence.effects)
    for what, count in (*by_key.items(), *by_call.items()):
        if count > 1:
            yield f"{what[0]} {what[1]}: {count} times"


def _answers_lost(evidence: Evidence) -> Iterator[str]:
    statuses = evidence.receipts.statuses if evidence.receipts is not None else {}
    found = evidence.found
    answered = [told for told in evidence.told if told.first is not None and told.tool not in READING]
    for told in answered:
        assert told.first is not None
        if told.again != told.first:
            yield f"{told.tool} {told.key}: first {told.first}, then {told.again} {told.problem}"
        if told.first.pending_id and told.first.pending_id not in found.pending:
            yield f"{told.tool} {told.key}: its preview is gone"
    for told in answered:
        if told.first is not None and _says_it_ran(told.first):
            if found.calls.get(told.call) != "completed" or told.call not in found.operations:
                yield f"{told.tool} {told.key}: not in the journal"
            if "completed" not in statuses.get(told.call, ()):
                yield f"{told.tool} {told.key}: it has no receipt"


def _other_words_lost(evidence: Evidence) -> Iterator[str]:
    for checkpoint in evidence.approved:
        if evidence.found.checkpoints.get(checkpoint, "open") == "open":
            yield f"the approval of checkpoint {checkpoint}"
    states = dict(evidence.left.operations.values())
    for operation in evidence.undone:
        if states.get(operation) != "undone":
            yield f"the undo of operation {operation}, which is {states.get(operation)}"


def _untrue(evidence: Evidence) -> Iterator[str]:
    by_call = Counter(effect.call for effect in evidence.effects)
    for told in evidence.told:
        if told.tool in READING or told.again is None:
            continue
        if _says_it_ran(told.again) and not by_call[told.call]:
            yield f"{told.tool} {told.key}: it is said to have run"
        if told.again.status in ("denied", "failed", "preview") and by_call[told.call]:
            yield f"{told.tool} {told.key}: it is said not to have run"
    back = Counter(effect.key for effect in evidence.effects if effect.tool == "unnote")
    keys = {effect.call: effect.key for effect in evidence.effects if effect.tool in ("note", "scribe")}
    for call, (_, state) in evidence.left.operations.items():
        if call in keys and (state == "undone") != bool(back[keys[call]]):
            yield f"{keys[call]} is {state}, and was taken back {back[keys[call]]} times"


def _under_way(evidence: Evidence) -> Iterator[str]:
    """What looks as if it still went on, though nobody does it."""
    for call, (_, state) in evidence.found.operations.items():
        if state in _MOVING_STATES:
            yield f"operation of {call} is still {state}"
    for call, state in evidence.found.calls.items():
        if state == "dispatching":
            yield f"call {call} is still dispatching"
    for pending, state in evidence.found.pending.items():
        if state == "applying":
            yield f"pending action {pending} is still being applied"


def _hidden(evidence: Evidence) -> Iterator[str]:
    happened = {effect.call for effect in evidence.effects[: evidence.before]}
    for told in evidence.told:
        if told.tool in READING:
            continue
        if told.again is None:
            yield f"{told.tool} {told.key}: not answered again: {told.problem}"
        elif evidence.found.calls.get(told.call) == "outcome_unknown" and told.again.status != "outcome_unknown":
            yield f"{told.tool} {told.key}: unknown, and answered {told.again}"
        elif told.call in happened and told.again.status not in ("completed", "outcome_unknown"):
            yield f"{told.tool} {told.key}: it ran, and is answered {told.again}"


def _slow(evidence: Evidence) -> Iterator[str]:
    if evidence.serving_after_s > SERVING_AGAIN_S:
        yield f"{evidence.serving_after_s:.1f} s"


def _says_it_ran(answer: Answer) -> bool:
    return answer.status == "completed" and not answer.is_error
