"""What the pipeline asks of plug-ins, and tells them (PIPE-13)."""

from dataclasses import dataclass
from typing import Protocol

from interlock_gateway.core.call import CallResult
from interlock_gateway.core.decision import Reason
from interlock_gateway.pipeline.run import CallRun


@dataclass(frozen=True, slots=True)
class Intercepted:
    """What the interceptors say: why the call is denied, or what the model reads behind its result."""

    messages: tuple[str, ...] = ()
    denied: Reason | None = None


class Interceptors(Protocol):
    """The configured interceptors."""

    async def ask(self, run: CallRun) -> Intercepted:
        """What they say about a decided call whose input is made and checked. Whatever fails is a denial."""
        ...


class Hooks(Protocol):
    """The configured hooks. Telling them raises nothing, waits for nothing, and gives nothing back."""

    def received(self, run: CallRun) -> None:
        """A call is there, and waits for its turn."""
        ...

    def decided(self, run: CallRun) -> None:
        """It is decided what becomes of it."""
        ...

    def dispatched(self, run: CallRun) -> None:
        """It is being sent to its provider."""
        ...

    def ended(self, run: CallRun, result: CallResult) -> None:
        """It has its answer."""
        ...
