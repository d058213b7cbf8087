"""What the core needs of a provider, whatever it speaks (contract.md, ToolProviderService)."""

from collections.abc import Callable
from typing import Protocol

from interlock_gateway.core.operation import UndoInfo
from interlock_gateway.core.outcome import DryRun, Invocation, Rendering, Resolution, ToolEvent, ToolOutcome

EventSink = Callable[[ToolEvent], None]


def ignore_events(_event: ToolEvent) -> None:
    """Drop a progress or output event: nobody is listening."""


class Provider(Protocol):
    """A process that hosts tools.

    Every method raises `ProviderDownError` (nothing was sent), `ProviderFailedError` (the provider says it failed)
    or `OutcomeUnknownError` (it was sent and no answer came), and hands cancellation on to the provider.
    """

    @property
    def name(self) -> str:
        """The provider's name in this gateway."""
        ...

    async def ready(self, deadline_s: float) -> None:
        """Return when it can be called and what it describes is known; `deadline_s` is the most this may take.

        After a provider was lost, that means: once it is back and has described itself anew (TOOL-5).
        """
        ...

    async def execute(self, invocation: Invocation, on_event: EventSink = ignore_events) -> ToolOutcome:
        """Run the tool."""
        ...

    async def dry_run(self, invocation: Invocation) -> DryRun:
        """Say what the call would do; nothing is changed."""
        ...

    async def render_call(self, invocation: Invocation) -> Rendering:
        """What a person should read about the call before it runs; `ProviderFailedError` when it has no words."""
        ...

    async def render_result(self, invocation: Invocation, outcome: ToolOutcome) -> Rendering:
        """What a person should read about the call's result; `ProviderFailedError` when it has no words."""
        ...

    async def generate_undo(self, invocation: Invocation, outcome: ToolOutcome) -> UndoInfo | None:
        """Say how what just ran would be undone (UNDO-1)."""
        ...

    async def apply_pending(self, resolution: Resolution) -> ToolOutcome:
        """Apply an action the provider pushed itself (PREV-11), or answer as a standing handler (PREV-12)."""
        ...

    async def reject_pending(self, resolution: Resolution) -> ToolOutcome | None:
        """Discard it; `None` when the provider has nothing to say."""
        ...
