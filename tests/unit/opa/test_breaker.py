"""The circuit breaker as a table (ENG-3)."""

import itertools

import pytest
from interlock_gateway.core.machine import UnknownTransitionError
from interlock_gateway.policy.opa.breaker import BREAKER_MACHINE, Breaker, BreakerState

CLOSED, OPEN, HALF_OPEN = BreakerState.CLOSED, BreakerState.OPEN, BreakerState.HALF_OPEN
ALLOWED = {(CLOSED, OPEN), (OPEN, HALF_OPEN), (HALF_OPEN, CLOSED), (HALF_OPEN, OPEN)}


@pytest.mark.req("ENG-3")
@pytest.mark.parametrize(("before", "after"), list(itertools.product(BreakerState, repeat=2)))
def test_the_table_has_these_steps_and_no_others(before: BreakerState, after: BreakerState) -> None:
    if (before, after) in ALLOWED:
        assert BREAKER_MACHINE.step(before, after) is after
    else:
        with pytest.raises(UnknownTransitionError):
            BREAKER_MACHINE.step(before, after)


@pytest.mark.req("ENG-3")
def test_it_opens_after_failures_in_a_row_and_not_before() -> None:
    breaker = Breaker(3, 1.0, 8.0)
    for _ in range(10):
        breaker.failed()
        breaker.failed()
        breaker.succeeded()
    assert breaker.admits
    for _ in range(3):
        breaker.failed()
    assert breaker.state is OPEN
    assert breaker.opened == 1


def test_what_was_asked_before_it_opened_changes_nothing() -> None:
    breaker = Breaker(1, 1.0, 8.0)
    breaker.failed()
    breaker.succeeded()
    breaker.failed()
    assert (breaker.state, breaker.opened, breaker.delay_s) == (OPEN, 1, 1.0)
    breaker.begin_probe()
    breaker.succeeded()
    breaker.failed()
    assert breaker.state is HALF_OPEN


def test_each_failed_probe_doubles_the_wait_up_to_the_longest() -> None:
    breaker = Breaker(1, 1.0, 5.0)
    breaker.failed()
    waits = []
    for _ in range(4):
        waits.append(breaker.delay_s)
        breaker.begin_probe()
        assert not breaker.admits
        breaker.failed(probe=True)
    assert waits == [1.0, 2.0, 4.0, 5.0]
    breaker.begin_probe()
    breaker.succeeded(probe=True)
    assert breaker.admits
    breaker.failed()
    assert breaker.delay_s == 1.0
