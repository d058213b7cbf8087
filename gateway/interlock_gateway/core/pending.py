"""Pending actions: previewed changes that wait for `resolve` (PREV-1 to PREV-14)."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import TypeAlias

from interlock_gateway.core.jsonvalue import FrozenJsonObject
from interlock_gateway.core.machine import StateMachine
from interlock_gateway.core.outcome import Preview

REMINDER = (
    "<system-reminder>\n"
    "This is a preview. Call the `resolve` tool to apply or discard these changes.\n"
    "</system-reminder>"
)
NOTHING_PENDING = "No pending action to resolve. Nothing to apply or discard."
STORE_UNAVAILABLE = "Pending action store unavailable for custom tools in this runtime."


class PendingState(StrEnum):
    """Where a pending action stands."""

    PENDING = "pending"
    APPLYING = "applying"
    APPLIED = "applied"
    DISCARDED = "discarded"
    EXPIRED = "expired"
    OUTCOME_UNKNOWN = "outcome_unknown"


PENDING_MACHINE: StateMachine[PendingState] = StateMachine(
    "pending action",
    {
        PendingState.PENDING: frozenset({PendingState.APPLYING, PendingState.DISCARDED, PendingState.EXPIRED}),
        PendingState.APPLYING: frozenset({PendingState.APPLIED, PendingState.PENDING, PendingState.OUTCOME_UNKNOWN}),
        # An operator or the agent says what happened (PREV-14).
        PendingState.OUTCOME_UNKNOWN: frozenset({PendingState.APPLIED, PendingState.DISCARDED}),
    },
)


class ResolveAction(StrEnum):
    """What the agent wants done with the top pending action (PREV-3)."""

    APPLY = "apply"
    DISCARD = "discard"


class PendingOrigin(StrEnum):
    """Who made it: a preview by the gateway, or the provider pushing its own (PREV-11)."""

    PREVIEW = "preview"
    PROVIDER = "provider"


@dataclass(frozen=True, slots=True)
class ResolutionNote:
    """What was asked for a pending action, and why: for receipts, and for the details of the answer (AUD-1, PREV-9).

    `action` is `apply` or `discard`, `extra` `None` when none was given. From `pending_id` on it says what that is
    about, empty as long as nothing was found; `input_sha256` is the digest of the input that was previewed.
    """

    action: str
    reason: str
    extra: FrozenJsonObject | None = None
    pending_id: str = ""
    label: str = ""
    source_tool: str = ""
    tool: str = ""
    input_sha256: str = ""

    def about(self, action: "PendingAction") -> "ResolutionNote":
        """The same about `action`."""
        return replace(
            self,
            pending_id=action.pending_id,
            label=action.label,
            source_tool=action.source_tool,
            tool=action.tool,
            input_sha256=action.digest,
        )


@dataclass(frozen=True, slots=True)
class PendingAction:
    """One previewed change. `input` is what would be executed, byte for byte; times are Unix seconds.

    `source_tool` is the name shown to people; `tool` is the registered tool that made it, which policy is asked about.
    `state_token` identifies the state that was previewed (PREV-5); `token` is the provider's own handle for an
    action it pushed itself (PREV-11); `pin` is the definition's hash when it was previewed. `operation_id` is the
    operation that applying it undoes, empty for all but compensations. `preview` is what applying would do, as it may
    be shown; `None` when a provider pushed the action. `decision_id` is the decision about the call that left it,
    `traceparent` its span, `last_error` why the last apply came to nothing.
    """

    pending_id: str
    session_id: str
    call_id: str
    origin: PendingOrigin
    source_tool: str
    provider: str
    label: str
    input: bytes
    workdir: str
    digest: str
    pin: str
    created_at: float
    expires_at: float
    tool: str = ""
    sequence: int = 0
    state: PendingState = PendingState.PENDING
    state_token: str = ""
    token: str = ""
    has_reject: bool = False
    details: FrozenJsonObject | None = None
    labels: FrozenJsonObject = field(default_factory=dict)
    operation_id: str = ""
    preview: Preview | None = None
    decision_id: str = ""
    traceparent: str = ""
    last_error: str = ""


Later: TypeAlias = Callable[[PendingAction], bool]
"""Whether an action that is over is better ended later, or by another replica. It is asked on any thread."""


def at_once(_: PendingAction) -> bool:
    """Nothing is left for later."""
    return False
