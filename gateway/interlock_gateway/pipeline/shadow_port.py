"""What the pipeline tells of its decisions to whoever compares them with another policy's (LIFE-5)."""

from dataclasses import dataclass
from typing import Protocol

from interlock_gateway.core.decision import Decision
from interlock_gateway.pipeline.run import CallRun


@dataclass(frozen=True, slots=True)
class ShadowOpinion:
    """What the other policy would have decided, without secrets in its reasons; whether something else had come of it.

    `differs` looks at verdict and obligations, and not at reasons.
    """

    decision: Decision
    differs: bool


class Shadow(Protocol):
    """Is told of each decision after it was made; changes nothing, and returns at once."""

    def decided(self, run: CallRun) -> None:
        """Policy has decided about a call."""
        ...

    def opinion(self, decision_id: str) -> ShadowOpinion | None:
        """What it would have decided, of a decision of late; `None` of others, and while it has not said."""
        ...
