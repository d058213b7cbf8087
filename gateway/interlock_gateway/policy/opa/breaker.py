"""The circuit breaker: an OPA server that fails is left alone, and tried by one question at a time (ENG-3)."""

from enum import StrEnum

from interlock_gateway.core.machine import StateMachine


class BreakerState(StrEnum):
    """Whether calls may ask the server."""

    CLOSED = "closed"
    """It answers: calls ask."""
    OPEN = "open"
    """It failed too often: calls are denied at once."""
    HALF_OPEN = "half_open"
    """It is being tried with a question of the gateway's own; calls are still denied."""


BREAKER_MACHINE: StateMachine[BreakerState] = StateMachine(
    "policy breaker",
    {
        BreakerState.CLOSED: frozenset({BreakerState.OPEN}),
        BreakerState.OPEN: frozenset({BreakerState.HALF_OPEN}),
        BreakerState.HALF_OPEN: frozenset({BreakerState.CLOSED, BreakerState.OPEN}),
    },
)


class Breaker:
    """Counts failures in a row. Whoever probes calls `begin_probe`, then `succeeded` or `failed`.

    What is told of calls that were asked before it opened changes nothing: they say how the server was.
    """

    def __init__(self, failures: int, retry_s: float, longest_retry_s: float) -> None:
        self.state = BreakerState.CLOSED
        self.opened = 0
        self._most = failures
        self._in_a_row = 0
        self._first_s, self._longest_s = retry_s, longest_retry_s
        self._delay_s = retry_s

    @property
    def admits(self) -> bool:
        """Whether a call may ask."""
        return self.state is BreakerState.CLOSED

    @property
    def delay_s(self) -> float:
        """How long to leave an open one alone."""
        return self._delay_s

    def begin_probe(self) -> None:
        """The one question that tries the server is asked now. Only an open breaker is probed."""
        self.state = BREAKER_MACHINE.step(self.state, BreakerState.HALF_OPEN)

    def succeeded(self, *, probe: bool = False) -> None:
        """An answer came."""
        if probe and self.state is BreakerState.HALF_OPEN:
            self.state = BREAKER_MACHINE.step(self.state, BreakerState.CLOSED)
            self._delay_s = self._first_s
        if self.state is BreakerState.CLOSED:
            self._in_a_row = 0

    def failed(self, *, probe: bool = False) -> None:
        """No usable answer came."""
        if probe and self.state is BreakerState.HALF_OPEN:
            self.state = BREAKER_MACHINE.step(self.state, BreakerState.OPEN)
            self._delay_s = min(2 * self._delay_s, self._longest_s)
        elif self.state is BreakerState.CLOSED:
            self._in_a_row += 1
            if self._in_a_row >= self._most:
                self.state = BREAKER_MACHINE.step(self.state, BreakerState.OPEN)
                self.opened += 1
                self._in_a_row = 0
