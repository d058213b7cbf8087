"""What each verdict leads to (PIPE-2). A profile that only observes lets everything through but gateway errors."""

from enum import StrEnum

from interlock_gateway.core.decision import NO_OBLIGATIONS, Decision, Obligations, Verdict

NO_HANDLER = "checkpoint required but no approval handler is registered"


class Path(StrEnum):
    """Where a decided call goes next."""

    DISPATCH = "dispatch"
    PREVIEW = "preview"
    CHECKPOINT = "checkpoint"
    REFLECT = "reflect"
    DENY = "deny"


_PATHS = {
    Verdict.ALLOW: Path.DISPATCH,
    Verdict.PREVIEW: Path.PREVIEW,
    Verdict.CHECKPOINT: Path.CHECKPOINT,
    Verdict.REFLECT: Path.REFLECT,
    Verdict.DENY: Path.DENY,
}


def path_for(decision: Decision) -> Path:
    """Where a call goes under its decision (POL-5: `observe` enforces nothing but gateway errors)."""
    if not decision.enforced and not is_gateway_error(decision):
        return Path.DISPATCH
    return _PATHS[decision.verdict]


def binding(decision: Decision, reserved_field: str = "") -> Obligations:
    """What a decision obliges the gateway to do (POL-5).

    A profile that only observes obliges it to nothing that would change a call or its result. The input's reserved
    field is taken away all the same, because no tool knows it (CONF-5), and what the session has seen is noted, because
    later decisions are made from it.
    """
    asked = decision.obligations
    if decision.enforced or asked is NO_OBLIGATIONS:
        return asked
    return Obligations(strip=tuple(name for name in asked.strip if name == reserved_field), taint=asked.taint)


def is_gateway_error(decision: Decision) -> bool:
    """Whether the gateway itself denied because it could not decide."""
    return any(reason.code.startswith("gateway_error.") for reason in decision.reasons)
