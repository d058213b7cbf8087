"""What can be the matter with an OPA server, and what each comes to: the one place where it becomes a code (ENG-3)."""

from collections.abc import Mapping
from enum import StrEnum

from interlock_gateway.core.decision import DecisionError, GatewayErrorCode


class Trouble(StrEnum):
    """Why an OPA server gave no usable answer: also the label of the metric."""

    UNREACHABLE = "unreachable"
    """There is no connection to be had, or it ended before an answer began."""
    CUT_OFF = "cut_off"
    """The answer ended before its end."""
    TIMEOUT = "timeout"
    """It did not answer in time."""
    NOT_ALLOWED = "not_allowed"
    """It does not know the gateway, or does not let it ask."""
    REDIRECTED = "redirected"
    """It wants the gateway to ask elsewhere."""
    FAILING = "failing"
    """It says that it cannot answer now."""
    UNEXPECTED = "unexpected"
    """It answers with a status that OPA's API does not have there."""
    TOO_LARGE = "too_large"
    """Its answer is larger than the limit."""
    MALFORMED = "malformed"
    """Its answer is not what OPA's API promises."""
    NO_POLICY = "no_policy"
    """It answers, and has not the policies that were to decide."""
    NOT_ACCEPTED = "not_accepted"
    """It answers with policies that the gateway has not accepted."""
    REJECTED = "rejected"
    """It does not take the policies."""


CODES: Mapping[Trouble, GatewayErrorCode] = {
    Trouble.UNREACHABLE: GatewayErrorCode.POLICY_UNAVAILABLE,
    Trouble.CUT_OFF: GatewayErrorCode.POLICY_UNAVAILABLE,
    Trouble.TIMEOUT: GatewayErrorCode.POLICY_TIMEOUT,
    Trouble.NOT_ALLOWED: GatewayErrorCode.POLICY_UNAVAILABLE,
    Trouble.REDIRECTED: GatewayErrorCode.POLICY_UNAVAILABLE,
    Trouble.FAILING: GatewayErrorCode.POLICY_UNAVAILABLE,
    Trouble.UNEXPECTED: GatewayErrorCode.POLICY_UNAVAILABLE,
    Trouble.TOO_LARGE: GatewayErrorCode.POLICY_MALFORMED,
    Trouble.MALFORMED: GatewayErrorCode.POLICY_MALFORMED,
    Trouble.NO_POLICY: GatewayErrorCode.POLICY_UNAVAILABLE,
    Trouble.NOT_ACCEPTED: GatewayErrorCode.POLICY_UNAVAILABLE,
    Trouble.REJECTED: GatewayErrorCode.POLICY_UNAVAILABLE,
}

_SAID: Mapping[GatewayErrorCode, str] = {
    GatewayErrorCode.POLICY_UNAVAILABLE: "the policy server cannot be asked about this call",
    GatewayErrorCode.POLICY_TIMEOUT: "the policy server did not decide in time",
    GatewayErrorCode.POLICY_MALFORMED: "the policy server's answer is not a decision",
}


class OpaFaultError(Exception):
    """An OPA server gave no usable answer. `words` are for operators; they hold neither token nor input."""

    def __init__(self, trouble: Trouble, words: str) -> None:
        super().__init__(words)
        self.trouble = trouble
        self.words = words

    def as_denial(self) -> DecisionError:
        """The same as the error that denies a call; what it says names no host."""
        code = CODES[self.trouble]
        return DecisionError(code, _SAID[code])
