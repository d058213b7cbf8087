"""An MCP server behind another gateway, as a provider: what it is sent is told to that gateway, and so is the result.

A call is let through in the answer to one RPC, and its result comes with another. Between the two it is under way here
as it would be with any provider: in the journal, in its session's order, with a deadline.
"""

import asyncio
from contextvars import ContextVar
from dataclasses import dataclass, field

from interlock_gateway.core.operation import UndoInfo
from interlock_gateway.core.outcome import DryRun, Invocation, Rendering, Resolution, ToolOutcome
from interlock_gateway.errors import OutcomeUnknownError, ProviderDownError, ProviderFailedError
from interlock_gateway.providers.kept import Described, ProviderKind
from interlock_gateway.providers.port import EventSink, ignore_events

NO_RESULT = "no result came through the MCP gateway in time; whether the call took effect is not known"


def _future() -> "asyncio.Future[bytes]":
    return asyncio.get_running_loop().create_future()


def _outcome() -> "asyncio.Future[ToolOutcome]":
    return asyncio.get_running_loop().create_future()


@dataclass(slots=True, eq=False)
class OpenCall:
    """A call between its request and its result. `number` is a secret between the two gateways."""

    number: str
    principal_id: str
    session_id: str
    provider: str
    method: str
    tool: str
    let_through: "asyncio.Future[bytes]" = field(default_factory=_future)
    """Set once the call may be sent, with its input."""
    outcome: "asyncio.Future[ToolOutcome]" = field(default_factory=_outcome)
    """Set once its result is there; cancelled once its time is over."""

    def awaits(self, principal_id: str, session_id: str, provider: str, method: str) -> bool:
        """Whether a result of this kind may be its own, and is still waited for."""
        about = (self.principal_id, self.session_id, self.provider, self.method)
        if about != (principal_id, session_id, provider, method):
            return False
        return self.let_through.done() and not self.outcome.done()


ASKED_ABOUT: ContextVar[OpenCall | None] = ContextVar("extmcp_call", default=None)
"""The call that is decided about, for whatever is done for it."""


class ProxiedProvider:
    """The gateway's side of one MCP server of another gateway."""

    kind = ProviderKind.ATTACHED
    address = ""

    def __init__(self, name: str, answer_s: float) -> None:
        self.name = name
        self._answer_s = answer_s
        self.in_flight = 0

    async def ready(self, deadline_s: float) -> None:
        """Return: it is asked for no connection."""
        del deadline_s

    async def execute(self, invocation: Invocation, on_event: EventSink = ignore_events) -> ToolOutcome:
        """Let the call through, and wait for its result."""
        del on_event
        call = ASKED_ABOUT.get()
        about = (self.name, invocation.session_id, invocation.tool)
        if call is None or call.let_through.done() or (call.provider, call.session_id, call.tool) != about:
            if call is not None and call.outcome.done() and call.let_through.done():
                # A read is asked for twice when it failed, and was let through once.
                if call.outcome.cancelled():
                    raise OutcomeUnknownError(NO_RESULT)
                return await call.outcome
            raise ProviderDownError(f"tools of {self.name} are called through its MCP gateway alone; nothing was run")
        call.let_through.set_result(invocation.input)
        self.in_flight += 1
        try:
            async with asyncio.timeout(min(self._answer_s, invocation.deadline_s)):
                return await call.outcome
        except TimeoutError:
            raise OutcomeUnknownError(NO_RESULT) from None
        finally:
            self.in_flight -= 1

    async def dry_run(self, invocation: Invocation) -> DryRun:  # noqa: ARG002 - the port's
        """Nothing can be previewed."""
        raise self._unable()

    async def render_call(self, invocation: Invocation) -> Rendering:  # noqa: ARG002 - the port's
        """It has no words for people."""
        raise self._unable()

    async def render_result(self, invocation: Invocation, outcome: ToolOutcome) -> Rendering:  # noqa: ARG002 - the port's
        """It has no words for people."""
        raise self._unable()

    async def generate_undo(self, invocation: Invocation, outcome: ToolOutcome) -> UndoInfo | None:  # noqa: ARG002 - the port's
        """It knows of no undo."""
        raise self._unable()

    async def apply_pending(self, resolution: Resolution) -> ToolOutcome:  # noqa: ARG002 - the port's
        """It pushes nothing."""
        raise self._unable()

    async def reject_pending(self, resolution: Resolution) -> ToolOutcome | None:  # noqa: ARG002 - the port's
        """It pushes nothing."""
        raise self._unable()

    async def describe(self, timeout_s: float) -> Described:  # noqa: ARG002 - the port's
        """Nobody keeps it: what it has is known from the lists that pass."""
        raise self._unable()

    async def until_lost(self) -> bool:
        """Wait for ever: it has no connection."""
        return await asyncio.get_running_loop().create_future()  # type: ignore[no-any-return]  # it never has a result

    async def pause(self, most_s: float) -> None:
        """Return."""

    def mark_described(self) -> None:
        """Nothing changes."""

    def mark_lost(self) -> None:
        """Nothing changes."""

    def retire(self) -> None:
        """Nothing is to be closed."""

    async def close(self) -> None:
        """Nothing is to be closed."""

    def _unable(self) -> ProviderFailedError:
        return ProviderFailedError(f"{self.name} is reached through its MCP gateway, which cannot be asked for that")
