"""How two decisions about one call differ, and in which direction."""

from collections.abc import Iterable
from enum import StrEnum
from typing import NamedTuple

from interlock_gateway.core.answer import ActivePolicy
from interlock_gateway.core.decision import Decision, DecisionError, Obligations, Verdict
from interlock_gateway.pipeline.policy_result import read_decision

_STRICTNESS = {
    verdict: place
    for place, verdict in enumerate((Verdict.ALLOW, Verdict.PREVIEW, Verdict.CHECKPOINT, Verdict.REFLECT, Verdict.DENY))
}
_NOBODY = ActivePolicy("", "")
_OF_THE_GATEWAY = "gateway"
_OF_PLUG_INS = "interceptor/"
_NOBODY_TO_ASK = ("checkpoint_unavailable", _OF_THE_GATEWAY)


class Direction(StrEnum):
    """Where a change leads. `OTHER`: to the same verdict for other reasons, or with other obligations.

    `FAILED`: the call was denied, and the candidate has no decision about it, so that it would be denied as well.
    """

    LOOSENED = "loosened"
    TIGHTENED = "tightened"
    FAILED = "failed"
    OTHER = "other"


class Change(NamedTuple):
    """How a decision differs from the one before: verdicts, and the rules that gave one and not the other.

    A rule that gives another verdict for the same reason is in both.
    `duties` says that the obligations differ.
    """

    direction: Direction
    before: str
    after: str
    lost: tuple[str, ...]
    gained: tuple[str, ...]
    duties: bool


class Said(NamedTuple):
    """What counts of a decision when it is compared: messages do not, they name what the call names.

    `obligations` are `None` when they were not recorded.
    """

    verdict: Verdict
    reasons: tuple[tuple[str, str], ...]
    obligations: Obligations | None


def said(raw: bytes) -> Said | None:
    """What policy said in a decision's JSON; `None` when it was the gateway or a plug-in that decided.

    Raises `DecisionError` for what is no decision.
    """
    return of_policy(read_decision(raw, decision_id="", policy=_NOBODY))


def of_policy(decision: Decision) -> Said | None:
    """The same for a decision that was read."""
    reasons = [(one.code, one.rule) for one in decision.reasons]
    own = tuple(sorted(one for one in reasons if one[1] != _OF_THE_GATEWAY and not one[1].startswith(_OF_PLUG_INS)))
    if len(own) == len(reasons):
        return Said(decision.verdict, own, decision.obligations)
    # Policy wanted a person asked, and there was nobody: of what it said the reasons are recorded.
    if own and _NOBODY_TO_ASK in reasons:
        return Said(Verdict.CHECKPOINT, own, None)
    return None


def denied_for(error: DecisionError) -> Said:
    """What the gateway would say when policy has no decision."""
    return Said(Verdict.DENY, ((f"gateway_error.{error.code.value}", _OF_THE_GATEWAY),), Obligations())


def change(before: Said, after: Said) -> Change | None:
    """How `after` differs in what is known of both; `None` when it does not."""
    if before.obligations is None or after.obligations is None:
        before, after = before._replace(obligations=None), after._replace(obligations=None)
    if before == after:
        return None
    duties = before.obligations != after.obligations
    lost, gained = set(before.reasons) - set(after.reasons), set(after.reasons) - set(before.reasons)
    if before.verdict is not after.verdict and not lost and not gained:
        lost = gained = set(after.reasons)
    return Change(
        direction=_direction(before, after),
        before=before.verdict.value,
        after=after.verdict.value,
        lost=_names(lost),
        gained=_names(gained),
        duties=duties,
    )


def _names(reasons: Iterable[tuple[str, str]]) -> tuple[str, ...]:
    """Rules by their names; of the gateway's own reasons, the codes."""
    return tuple(sorted({code if rule in {"", _OF_THE_GATEWAY} else rule for code, rule in reasons}))


def _direction(before: Said, after: Said) -> Direction:
    was, is_now = _STRICTNESS[before.verdict], _STRICTNESS[after.verdict]
    if was != is_now:
        return Direction.LOOSENED if is_now < was else Direction.TIGHTENED
    if before.verdict is Verdict.DENY and any(rule == _OF_THE_GATEWAY for _, rule in after.reasons):
        return Direction.FAILED
    return _of_duties(before.obligations, after.obligations)


def _of_duties(before: Obligations | None, after: Obligations | None) -> Direction:
    """Looser as soon as one of them is: who takes two away and adds one has loosened."""
    if before is None or after is None or before == after:
        return Direction.OTHER
    if any(_looser(before, after)):
        return Direction.LOOSENED
    return Direction.TIGHTENED if any(_looser(after, before)) else Direction.OTHER


def _looser(before: Obligations, after: Obligations) -> Iterable[bool]:
    for lists in ("strip", "redact", "taint"):
        yield bool(set(getattr(before, lists)) - set(getattr(after, lists)))
    for limit in ("max_result_bytes", "timeout_s", "expires_s"):
        yield _above(getattr(after, limit), getattr(before, limit))
    yield _above(before.quorum, after.quorum, absent=1)
    if before.approvers:
        yield not after.approvers or bool(set(after.approvers) - set(before.approvers))
    yield bool(set(after.escalate_to) - set(before.escalate_to))
    yield bool(before.set_fields) and before.set_fields != after.set_fields


def _above(one: float | None, other: float | None, *, absent: float = float("inf")) -> bool:
    return (absent if one is None else one) > (absent if other is None else other)
