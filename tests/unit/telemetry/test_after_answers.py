"""Calls are counted behind their answers, and none is lost or counted twice for it."""

import asyncio

import pytest
from call_rows import RESULT, run_of
from interlock_gateway.core.call import CallResult
from interlock_gateway.core.rollback import RollbackOutcome
from interlock_gateway.pipeline.run import CallRun
from interlock_gateway.telemetry.after_answers import AfterAnswers
from interlock_gateway.telemetry.metrics import Metrics
from prometheus_client import CollectorRegistry


class Stumbling(Metrics):
    """Cannot count the first call that it is told of."""

    stumbled = False

    def call_ended(self, run: CallRun, result: CallResult) -> None:
        if not self.stumbled:
            self.stumbled = True
            raise ValueError("the first one")
        super().call_ended(run, result)


@pytest.mark.req("OBS-1")
async def test_a_call_is_counted_behind_what_its_turn_of_the_loop_sends() -> None:
    metrics = Metrics(CollectorRegistry())
    observer = AfterAnswers(metrics)
    seen: list[float] = []

    def answer() -> None:
        observer.call_ended(run_of("reader"), RESULT)
        asyncio.get_running_loop().call_soon(lambda: seen.append(calls(metrics)))

    asyncio.get_running_loop().call_soon(answer)
    await until_idle()
    assert seen == [0.0], "it was counted before its answer could leave"
    assert calls(metrics) == 1.0


@pytest.mark.req("OBS-1")
async def test_every_call_of_a_turn_is_counted_once() -> None:
    metrics = Metrics(CollectorRegistry())
    observer = AfterAnswers(metrics)
    for _ in range(3):
        for _ in range(5):
            observer.call_ended(run_of("reader"), RESULT)
        await until_idle()
    assert calls(metrics) == 15.0


async def test_one_that_cannot_be_counted_keeps_no_other_from_being_counted() -> None:
    metrics = Stumbling(CollectorRegistry())
    observer = AfterAnswers(metrics)
    said: list[object] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: said.append(context["exception"]))
    for _ in range(3):
        observer.call_ended(run_of("reader"), RESULT)
    await until_idle()
    observer.call_ended(run_of("reader"), RESULT)
    await until_idle()
    assert [str(one) for one in said] == ["the first one"]
    assert calls(metrics) == 3.0


def test_what_is_not_the_end_of_a_call_is_told_at_once() -> None:
    metrics = Metrics(CollectorRegistry())
    observer = AfterAnswers(metrics)
    observer.pending_changed(2)
    observer.undo_ended(RollbackOutcome.UNDONE)
    observer.checkpoint_ended("approved", 1.0)
    assert metrics.registry.get_sample_value("interlock_pending_actions") == 2.0
    assert metrics.registry.get_sample_value("interlock_undo_total", {"outcome": "undone"}) == 1.0
    waited = metrics.registry.get_sample_value("interlock_checkpoint_wait_seconds_count", {"outcome": "approved"})
    assert waited == 1.0


def calls(metrics: Metrics) -> float:
    """How many calls are counted."""
    samples = (sample for family in metrics.registry.collect() for sample in family.samples)
    return sum(sample.value for sample in samples if sample.name == "interlock_calls_total")


async def until_idle() -> None:
    """Let everything run that is due."""
    for _ in range(4):
        await asyncio.sleep(0)
