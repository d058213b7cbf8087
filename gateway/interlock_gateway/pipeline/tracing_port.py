"""What the pipeline says to whoever traces calls (OBS-2), and what it does when nobody does."""

import asyncio
from contextlib import AbstractContextManager
from enum import StrEnum
from types import TracebackType
from typing import Protocol, Self

from interlock_gateway.core.trace import TraceContext
from interlock_gateway.errors import RequestError


class Step(StrEnum):
    """The parts of a call that have spans of their own, named as their spans are."""

    TURN = "interlock.turn"
    FACTS = "interlock.facts"
    DECIDE = "interlock.decide"
    INTERCEPT = "interlock.intercept"
    ASK = "interlock.ask"
    PREVIEW = "interlock.preview"
    JOURNAL = "interlock.journal"
    AUDIT = "interlock.audit"
    DISPATCH = "interlock.dispatch"
    UNDO = "interlock.undo"
    RESULT = "interlock.result"


class StepSpan(Protocol):
    """One step under way."""

    @property
    def context(self) -> TraceContext | None:
        """What is passed on from inside the step; `None` when there is no trace."""
        ...

    def failed(self, kind: str, status: str = "") -> None:
        """It did not go well: a word of a closed set, and the gRPC status when there was one."""
        ...


class CallTrace(Protocol):
    """The trace of one call, from beginning to answer. Nothing here raises, waits or keeps a value of the call."""

    @property
    def context(self) -> TraceContext | None:
        """What is passed on from the call, and what others link to; `None` when there is no trace."""
        ...

    @property
    def exemplar(self) -> str:
        """The trace's id when the call is recorded, so that it can be found there; else empty."""
        ...

    def step(self, step: Step) -> AbstractContextManager[StepSpan]:
        """A step of the call: everything inside the block."""
        ...

    def abandoned(self, why: str) -> None:
        """The call ended without an answer of its own: a word of a closed set."""
        ...


class Untraced:
    """A call that nobody traces. What its caller sent of a trace is passed on as it came."""

    __slots__ = ("context",)
    exemplar = ""

    def __init__(self, context: TraceContext | None = None) -> None:
        self.context = context

    def step(self, step: Step) -> "Untraced":
        """Itself: a step costs nothing."""
        del step
        return self

    def failed(self, kind: str, status: str = "") -> None:
        """Nobody is told."""

    def abandoned(self, why: str) -> None:
        """Nobody is told."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        return


UNTRACED = Untraced()


def word_for(error: BaseException) -> str:
    """What a span says of an exception: a word of a closed set. Its message may hold what the call held."""
    if isinstance(error, RequestError):
        return error.fault.value
    return "cancelled" if isinstance(error, asyncio.CancelledError) else type(error).__name__
