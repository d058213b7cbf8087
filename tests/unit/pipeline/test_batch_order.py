"""Which calls of a batch may be begun when one of them waits for a person (BATCH-2)."""

import asyncio
from typing import Any, cast

import pytest
from interlock_gateway.core.call import CallRequest, CallResult, CallStatus
from interlock_gateway.core.outcome import ToolEvent, WaitingEvent
from interlock_gateway.core.session import Principal
from interlock_gateway.errors import RequestError, RequestFault
from interlock_gateway.pipeline.batch import BatchRequest, run_batch
from interlock_gateway.pipeline.core import CallPipeline
from interlock_gateway.pipeline.parts import Parts

AGENT = Principal("agent", "unix", frozenset())


class Core:
    """A core whose calls named "ask" wait for a person until they are let go; everything else is done at once."""

    def __init__(self) -> None:
        self.begun: list[str] = []
        self.let = asyncio.Event()

    async def handle(self, _principal: Principal, request: CallRequest, on_event: Any) -> CallResult:
        self.begun.append(request.call_id)
        if request.tool == "ask":
            events: tuple[ToolEvent, ...] = (WaitingEvent(3), WaitingEvent(checkpoint_id="k"))
            for event in events:
                on_event(event)
            await self.let.wait()
        if request.tool == "bug":
            raise ZeroDivisionError
        return CallResult(request.call_id, CallStatus.COMPLETED)


class Everything:
    """Rooms of which a batch needs next to nothing: no tool is known, so every call is alone."""

    def __getattr__(self, _name: str) -> Any:
        return self

    def find(self, _name: str, _owner: str = "") -> None:
        return None

    async def admit(self, *_: object) -> "Everything":
        return self

    max_batch_parallel = 10


def batch(core: Core, *tools: str, stop_on_error: bool = False) -> Any:
    calls = tuple(CallRequest("s", f"{tool}{n}", tool, b"{}") for n, tool in enumerate(tools))
    request = BatchRequest("s", calls, stop_on_error=stop_on_error)
    return run_batch(cast("Parts", Everything()), cast("CallPipeline", core), AGENT, request)


@pytest.mark.req("BATCH-2")
async def test_a_call_that_waits_for_a_person_lets_the_later_ones_go_on() -> None:
    core = Core()
    answers = batch(core, "a", "ask", "b", "c")
    first = [await asyncio.wait_for(anext(answers), 30) for _ in range(3)]
    assert [answer.index for answer in first] == [0, 2, 3]
    core.let.set()
    assert [answer.index async for answer in answers] == [1]


@pytest.mark.req("BATCH-2")
async def test_with_stop_on_error_waiting_for_a_person_stops_what_is_behind_it() -> None:
    core = Core()
    answers = batch(core, "a", "ask", "b", stop_on_error=True)
    first = [await asyncio.wait_for(anext(answers), 30) for _ in range(2)]
    assert [answer.index for answer in first] == [0, 2]
    stopped = first[1].outcome
    assert isinstance(stopped, RequestError)
    assert stopped.fault is RequestFault.BATCH_STOPPED
    core.let.set()
    assert [answer.index async for answer in answers] == [1]
    assert core.begun == ["a0", "ask1"]


@pytest.mark.req("BATCH-2")
async def test_a_mistake_of_the_gateway_in_one_call_is_that_calls_alone() -> None:
    outcomes = [answer async for answer in batch(Core(), "a", "bug", "b")]
    assert [type(answer.outcome) for answer in outcomes] == [CallResult, ZeroDivisionError, CallResult]


@pytest.mark.req("BATCH-2")
async def test_leaving_early_cancels_what_waits_and_begins_nothing_more() -> None:
    core = Core()
    answers = batch(core, "ask", "ask", "b")
    assert (await asyncio.wait_for(anext(answers), 30)).index == 2
    await answers.aclose()
    await asyncio.sleep(0)
    assert all(task is asyncio.current_task() or task.done() or task.cancelling() for task in asyncio.all_tasks())
