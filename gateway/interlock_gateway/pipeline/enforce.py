"""What each verdict leads to (PIPE-2). A profile that only observes lets everything through but gateway errors."""

from enum import StrEnum

from interlock_gateway.core.decision import Decision, Verdict

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


def is_gateway_error(decision: Decision) -> bool:
    """Whether the gateway itself denied because it could not decide."""
    return any(reason.code.startswith("gateway_error.") for reason in decision.reasons)
