"""Calls that have ended, as much of them as is counted."""

from types import SimpleNamespace
from typing import cast

from interlock_gateway.core.call import CallKind, CallResult, CallStatus
from interlock_gateway.core.decision import Decision, Reason, Verdict
from interlock_gateway.core.tool import Effect
from interlock_gateway.pipeline.run import CallRun
from interlock_gateway.pipeline.tracing_port import UNTRACED

RESULT = CallResult("c", CallStatus.DENIED)


def run_of(tool: str | None, *, kind: str = "unix", rule: str = "r/r", asked: str = "") -> CallRun:
    """As much of a call as is counted; `tool` is a registered one, `asked` a name that nobody has."""
    registered = SimpleNamespace(name=tool, classification=SimpleNamespace(effect=Effect.DESTRUCTIVE))
    decision = Decision("d", Verdict.DENY, (Reason("denied", "no", rule),))
    return cast(
        "CallRun",
        SimpleNamespace(
            tool=registered if tool is not None else None,
            tool_name=tool or asked,
            decision=decision,
            principal=SimpleNamespace(kind=kind, id=f"principal-{asked}"),
            kind=CallKind.CALL,
            decide_s=0.001,
            dispatch_s=0.001,
            total_s=0.01,
            elsewhere_s=0.0,
            trace=UNTRACED,
        ),
    )
