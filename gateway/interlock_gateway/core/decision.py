"""Decisions: what policy answers about one call, and how verdicts compare (policy.md, Decision)."""

from dataclasses import dataclass, field
from enum import StrEnum

from interlock_gateway.core.jsonvalue import FrozenJsonObject


class Verdict(StrEnum):
    """What policy decided."""

    ALLOW = "allow"
    PREVIEW = "preview"
    CHECKPOINT = "checkpoint"
    REFLECT = "reflect"
    DENY = "deny"


class GatewayErrorCode(StrEnum):
    """Why the gateway itself denied: the closed set behind `gateway_error.<code>`, also the metric's label.

    Every value is a failure while deciding (contract.md, Errors; PIPE-6); none of them can end in a dispatch.
    """

    POLICY_UNDEFINED = "policy_undefined"
    POLICY_MALFORMED = "policy_malformed"
    POLICY_CONFLICT = "policy_conflict"
    POLICY_TIMEOUT = "policy_timeout"
    POLICY_CRASHED = "policy_crashed"
    POLICY_ERROR = "policy_error"
    POLICY_UNAVAILABLE = "policy_unavailable"
    POLICY_INPUT_TOO_LARGE = "policy_input_too_large"
    OBLIGATION_FAILED = "obligation_failed"
    FACTS_FAILED = "facts_failed"
    STATE_UNAVAILABLE = "state_unavailable"
    AUDIT_UNAVAILABLE = "audit_unavailable"
    INPUT_UNCHECKED = "input_unchecked"
    INTERCEPTOR_FAILED = "interceptor_failed"
    INTERNAL = "internal"


@dataclass(frozen=True, slots=True)
class Reason:
    """Why: a stable code, a sentence for the model, and the rule that said it (`concern/rule`)."""

    code: str
    message: str
    rule: str = ""


@dataclass(frozen=True, slots=True)
class Obligations:
    """What the gateway must do along with a verdict. `None` and empty mean: nothing asked.

    `strip` names top-level input fields to remove; `set_fields` replaces or adds top-level input fields;
    `redact` lists JSON pointers masked in structured results; sizes are bytes, times seconds.
    """

    strip: tuple[str, ...] = ()
    set_fields: FrozenJsonObject = field(default_factory=dict)
    max_result_bytes: int | None = None
    timeout_s: float | None = None
    redact: tuple[str, ...] = ()
    approvers: tuple[str, ...] = ()
    quorum: int | None = None
    expires_s: float | None = None
    escalate_to: tuple[str, ...] = ()
    escalate_after_s: float | None = None
    taint: tuple[str, ...] = ()


NO_OBLIGATIONS = Obligations()
READING = "read_only"
HARMLESS = (READING, "_routine")


@dataclass(frozen=True, slots=True)
class UsedExemption:
    """An exemption that made a decision looser than it would have been (POL-2); `expires_unix_s` is its end."""

    id: str
    rule: str
    scope: str
    reason: str
    owner: str
    expires_unix_s: float


@dataclass(frozen=True, slots=True)
class Decision:
    """One evaluation's answer.

    `policy_revision` and `profile` say which policy gave it, `call_digest` what it is bound to (CHK-3); the digest is
    empty when the call was refused before it was known. `enforced` is false under a profile that only observes (POL-5);
    the gateway's own errors bind all the same. `decided_at` is when it was made, in Unix seconds; 0 when that is not
    known, as of one that was kept by a gateway that did not note it.
    """

    decision_id: str
    verdict: Verdict
    reasons: tuple[Reason, ...]
    obligations: Obligations = NO_OBLIGATIONS
    notes: tuple[str, ...] = ()
    policy_revision: str = ""
    profile: str = ""
    call_digest: str = ""
    enforced: bool = True
    exemptions: tuple[UsedExemption, ...] = ()
    decided_at: float = 0.0

    def bound_to(self, call_digest: str, decided_at: float) -> "Decision":
        """The same decision, about the call with this digest, made at that time."""
        # Not `dataclasses.replace`, which takes twice as long, for every call.
        return Decision(
            self.decision_id,
            self.verdict,
            self.reasons,
            self.obligations,
            self.notes,
            self.policy_revision,
            self.profile,
            call_digest,
            self.enforced,
            self.exemptions,
            decided_at,
        )

    @property
    def harmless(self) -> bool:
        """Whether every rule that allows the call says by its code that it destroys nothing.

        Such codes are `[<class>_]read_only` and `<class>_routine`. A tool that can destroy is often called for less.
        """
        return self._allowed_as(HARMLESS)

    @property
    def only_reads(self) -> bool:
        """Whether every rule that allows the call says by its code, `[<class>_]read_only`, that it changes nothing."""
        return self._allowed_as(READING)

    def _allowed_as(self, endings: str | tuple[str, ...]) -> bool:
        if self.verdict is not Verdict.ALLOW or not self.reasons:
            return False
        return all(reason.code.endswith(endings) for reason in self.reasons)

    @property
    def message(self) -> str:
        """The reasons' sentences, first to last, one line each."""
        return "\n".join(reason.message for reason in self.reasons if reason.message)


class DecisionError(Exception):
    """Deciding failed; the one funnel (`pipeline/decide.py`) turns it into a denial.

    `code` is from the closed set, `message` is safe to show a model: no path of the host, no stack trace.
    """

    def __init__(self, code: GatewayErrorCode, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


def denial_for_failure(
    decision_id: str, code: GatewayErrorCode, message: str, *, revision: str, profile: str
) -> Decision:
    """A denial that says the gateway could not decide, with reason `gateway_error.<code>`."""
    reason = Reason(code=f"gateway_error.{code.value}", message=message, rule="gateway")
    return Decision(
        decision_id=decision_id, verdict=Verdict.DENY, reasons=(reason,), policy_revision=revision, profile=profile
    )
