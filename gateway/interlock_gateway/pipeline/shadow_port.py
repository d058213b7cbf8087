"""What the pipeline tells of its decisions to whoever compares them with another policy's (LIFE-5)."""

from typing import Protocol

from interlock_gateway.pipeline.run import CallRun


class Shadow(Protocol):
    """Is told of each decision after it was made; changes nothing, and returns at once."""

    def decided(self, run: CallRun) -> None:
        """Policy has decided about a call."""
        ...
