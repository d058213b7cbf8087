"""What a candidate would have decided otherwise, as it is compared, kept and read again."""

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

from pydantic import TypeAdapter, ValidationError

from interlock_gateway.core.decision import NO_OBLIGATIONS, Decision, Obligations, Reason

MAX_REASONS = 20
MAX_TEXT = 500


@dataclass(frozen=True, slots=True)
class Subject:
    """The call that was decided about. `time` is Unix seconds."""

    time: float
    session_id: str
    call_id: str
    tool: str
    principal: str


@dataclass(frozen=True, slots=True)
class ShadowReason:
    """A reason, its text masked and cut."""

    code: str
    message: str
    rule: str


@dataclass(frozen=True, slots=True)
class ShadowVerdict:
    """One of two decisions: its verdict, why, the names of its obligations, and the policy's revision."""

    verdict: str
    reasons: tuple[ShadowReason, ...]
    obligations: tuple[str, ...]
    revision: str


@dataclass(frozen=True, slots=True)
class Difference:
    """A call, what was decided about it, and what the candidate would have decided."""

    decision_id: str
    subject: Subject
    active: ShadowVerdict
    candidate: ShadowVerdict

    def line(self) -> bytes:
        """One line of JSON."""
        return json.dumps(asdict(self), ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace") + b"\n"


_DIFFERENCE = TypeAdapter(Difference)


def read_line(line: bytes) -> Difference | None:
    """What a line says; `None` for one that was cut off, or is of another time."""
    try:
        return _DIFFERENCE.validate_json(line)
    except ValidationError:
        return None


def differ(active: Decision, candidate: Decision) -> bool:
    """Whether something else would have come of the call: another verdict, or other obligations."""
    return active.verdict is not candidate.verdict or _asked(active.obligations) != _asked(candidate.obligations)


def difference(subject: Subject, active: Decision, candidate: Decision, mask: Callable[[str], str]) -> Difference:
    """The record of two decisions about one call; `mask` takes secrets out of texts."""
    return Difference(active.decision_id, subject, _verdict(active, mask), _verdict(candidate, mask))


def shown(decision: Decision, mask: Callable[[str], str]) -> Decision:
    """A decision with its reasons as they are recorded: so many, so long, and without secrets."""
    return replace(decision, reasons=tuple(Reason(one.code, one.message, one.rule) for one in _reasons(decision, mask)))


def _reasons(decision: Decision, mask: Callable[[str], str]) -> tuple[ShadowReason, ...]:
    return tuple(
        ShadowReason(mask(one.code[:MAX_TEXT]), mask(one.message[:MAX_TEXT]), mask(one.rule[:MAX_TEXT]))
        for one in decision.reasons[:MAX_REASONS]
    )


def _verdict(decision: Decision, mask: Callable[[str], str]) -> ShadowVerdict:
    reasons = _reasons(decision, mask)
    return ShadowVerdict(decision.verdict.value, reasons, _names(decision.obligations), decision.policy_revision)


def _names(obligations: Obligations) -> tuple[str, ...]:
    asked = _asked(obligations)
    return tuple(name for name in sorted(asked) if asked[name] != getattr(NO_OBLIGATIONS, name))


def _asked(obligations: Obligations) -> dict[str, Any]:
    return {one.name: getattr(obligations, one.name) for one in fields(obligations)}
