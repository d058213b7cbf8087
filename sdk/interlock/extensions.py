"""Plug-ins of a gateway: interceptors, which may stop a call that policy allowed, and hooks, which only watch.

A plug-in is a Python package that is installed beside the gateway. It names what it offers in its entry points, in the
group `interlock.interceptors` or `interlock.hooks`: a callable that takes the settings of the gateway's configuration
and gives an `Interceptor` or a `Hook`. The gateway loads what its configuration names, and nothing else.

A plug-in runs inside the gateway's process, on its event loop: what blocks there blocks every call.
"""

import json
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType
from typing import Any, Literal, TypeAlias

__all__ = [
    "Call",
    "CallEvent",
    "Cancel",
    "Continue",
    "ContinueWith",
    "Event",
    "Hook",
    "Interceptor",
    "Moment",
    "Outcome",
    "RecordEvent",
]

Kind: TypeAlias = Literal["call", "apply", "undo", "edit"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A call that policy allowed and that is about to be sent, to look at: nothing in it can be changed.

    `kind` is `call`, or why else it is made: to `apply` a preview, to `undo` an operation, as an `edit` by an approver.
    `input` is the JSON text that the tool will get, byte for byte. `effect` is `read_only`, `mutating`, `destructive`
    or `undeclared`. `checkpoint_id` is set when people approved it.
    """

    session_id: str
    call_id: str
    tool: str
    provider: str
    kind: Kind
    principal: str
    groups: tuple[str, ...] = ()
    input: bytes
    workdir: str = ""
    intent: str = ""
    labels: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    effect: str
    safety_level: int
    audit_operation: str
    decision_id: str
    policy_revision: str
    call_digest: str
    checkpoint_id: str = ""

    def arguments(self) -> dict[str, Any]:
        """The input as Python values: a copy, read anew each time."""
        values: dict[str, Any] = json.loads(self.input)
        return values


@dataclass(frozen=True, slots=True)
class Continue:
    """The call goes on as it is."""


@dataclass(frozen=True, slots=True)
class Cancel:
    """The call is denied, and nothing is sent. The model reads the reason, of which 4,096 characters are kept."""

    reason: str


@dataclass(frozen=True, slots=True)
class ContinueWith:
    """The call goes on, and the model reads these texts right after its result: 1 to 16, none blank.

    Each holds at most 4,096 characters.
    """

    messages: Sequence[str]


Outcome: TypeAlias = Continue | Cancel | ContinueWith


class Interceptor(ABC):
    """Looks at calls that policy allowed, before they are sent, and may stop them. It can allow nothing."""

    @abstractmethod
    async def before_call(self, call: Call) -> Outcome:
        """What becomes of the call. An exception, a late answer or anything else than an outcome denies it."""

    async def close(self) -> None:  # noqa: B027 -- most have nothing to close
        """The gateway ends, and asks nothing more."""


class Moment(StrEnum):
    """How far a call has come."""

    RECEIVED = "received"
    DECIDED = "decided"
    DISPATCHED = "dispatched"
    ENDED = "ended"


@dataclass(frozen=True, slots=True, kw_only=True)
class CallEvent:
    """A call has come so far. Times are Unix seconds; what is not known yet is empty.

    `tool` is the name that was asked for while there is no such tool; `provider` is empty then. `verdict` and `reasons`
    (codes) are what was decided, `status` what the answer says, `elapsed_s` the time since the gateway had the call. A
    call that waits for people ends twice: with the status `awaiting_checkpoint`, and when it has gone on.
    """

    moment: Moment
    at: float
    session_id: str
    call_id: str
    decision_id: str
    tool: str
    provider: str
    kind: Kind
    principal: str
    verdict: str = ""
    reasons: tuple[str, ...] = ()
    status: str = ""
    is_error: bool = False
    elapsed_s: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordEvent:
    """A session's pending actions have changed, or a checkpoint, here or at another replica.

    It says which, never how. `record_id` is the checkpoint's; it is empty for pending actions.
    """

    record: Literal["pending", "checkpoint"]
    at: float
    session_id: str
    record_id: str = ""


Event: TypeAlias = CallEvent | RecordEvent


class Hook(ABC):
    """Is told what happens, one event after the other, beside the calls: none waits for it.

    What it returns is nobody's. An exception, or an event that takes too long, is counted and logged; events that come
    while too many wait are dropped and counted.
    """

    @abstractmethod
    async def on_event(self, event: Event) -> None:
        """Something has happened."""

    async def close(self) -> None:  # noqa: B027 -- most have nothing to close
        """The gateway ends, and tells nothing more."""
