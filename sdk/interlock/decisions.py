"""What policy decided about a call."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

__all__ = ["Classification", "Decision", "Effect", "Exemption", "Obligations", "Reason", "ShadowDecision", "Verdict"]


class Verdict(StrEnum):
    """What policy decided. `UNKNOWN` is a verdict this SDK does not know, and never means allowed."""

    UNKNOWN = "unknown"
    ALLOW = "allow"
    DENY = "deny"
    PREVIEW = "preview"
    CHECKPOINT = "checkpoint"
    REFLECT = "reflect"


class Effect(StrEnum):
    """What a tool's metadata says it does. `UNKNOWN` is to be treated as `UNDECLARED`."""

    UNKNOWN = "unknown"
    READ_ONLY = "read_only"
    MUTATING = "mutating"
    DESTRUCTIVE = "destructive"
    UNDECLARED = "undeclared"


@dataclass(frozen=True, slots=True)
class Reason:
    """Why a verdict is what it is: a stable word, a sentence for the model, and the rule, empty for the gateway."""

    code: str
    message: str = ""
    rule: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Classification:
    """How policy sees a tool. The safety level is 2 when it can be previewed, 1 when undone, 0 when neither."""

    effect: Effect = Effect.UNKNOWN
    safety_level: int = 0
    audit_operation: str = ""
    open_world: bool = False
    external_effect: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Obligations:
    """What whoever enforces a verdict has to do along with it. `strip` and the keys of `set` are JSON Pointers."""

    strip: tuple[str, ...] = ()
    set: Mapping[str, Any] = field(default_factory=dict)
    max_result_bytes: int | None = None
    timeout: timedelta | None = None
    redact: tuple[str, ...] = ()
    approvers: tuple[str, ...] = ()
    quorum: int = 0
    expires: timedelta | None = None
    taint: tuple[str, ...] = ()
    escalate_to: tuple[str, ...] = ()
    escalate_after: timedelta | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Exemption:
    """An exemption that made a decision looser than it would have been, and who answers for it.

    `scope` is "everything", or JSON as the operator wrote it.
    """

    id: str
    rule: str
    scope: str
    reason: str
    owner: str
    expires_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ShadowDecision:
    """What a candidate policy would have decided; it enforces nothing.

    Nothing waits for it, so only `get_call` and `wait_call` tell it, of calls that were decided of late.
    """

    verdict: Verdict
    reasons: tuple[Reason, ...] = ()
    policy_revision: str = ""
    differs: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """What policy decided about one call, with what is needed to look it up again."""

    decision_id: str = ""
    verdict: Verdict = Verdict.UNKNOWN
    reasons: tuple[Reason, ...] = ()
    classification: Classification = field(default_factory=Classification)
    obligations: Obligations = field(default_factory=Obligations)
    policy_revision: str = ""
    shadow: ShadowDecision | None = None
    profile: str = ""
    notes: tuple[str, ...] = ()
    observe_only: bool = False
    call_digest: str = ""
    decided_at: datetime | None = None
    exemptions: tuple[Exemption, ...] = ()

    @property
    def allowed(self) -> bool:
        """Whether policy said allow, and nothing else; the obligations still have to be fulfilled."""
        return self.verdict is Verdict.ALLOW
