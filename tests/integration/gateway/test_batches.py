"""Several calls in one request (BATCH-1, BATCH-2), over a real gateway's sockets."""

import asyncio
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import grpc
import pytest
from asked_people import person
from gateway_bench import Bench, bench
from interlock import Call, CallResult, CallStatus
from interlock.calls import Json
from interlock.errors import InterlockError, NotAuthorizedError, RequestError
from interlock.provider import Tool, tool
from interlock_gateway.config import LimitsConfig
from waiting import eventually


@dataclass
class Stage:
    """Tools that say when they begin, and end when they are let go."""

    events: list[str] = field(default_factory=list)
    gates: dict[str, asyncio.Event] = field(default_factory=dict)
    under_way: int = 0
    most_at_once: int = 0
    cancelled: list[str] = field(default_factory=list)

    def let(self, *names: str) -> None:
        for name in names:
            self.gates.setdefault(name, asyncio.Event()).set()

    async def play(self, name: str) -> str:
        self.events.append(f"begin {name}")
        self.under_way += 1
        self.most_at_once = max(self.most_at_once, self.under_way)
        try:
            await self.gates.setdefault(name, asyncio.Event()).wait()
        except asyncio.CancelledError:
            self.cancelled.append(name)
            raise
        finally:
            self.under_way -= 1
        self.events.append(f"end {name}")
        return name

    def tools(self) -> list[Tool[..., Any]]:
        @tool(read_only=True, concurrency_safe=True)
        async def beside(name: str) -> str:
            """Run beside others."""
            return await self.play(name)

        @tool(destructive=False, reversible=True)
        async def alone(name: str) -> str:
            """Run alone."""
            return await self.play(name)

        @tool(read_only=True, concurrency_safe=True)
        async def broken() -> str:
            """Break."""
            raise RuntimeError("secret internals")

        return [beside, alone, broken]


def staged(directory: Path, stage: Stage, **config: Any) -> Any:
    return bench(directory, tools=lambda _: stage.tools(), **config)


def beside(*names: str) -> list[Call | tuple[str, Json]]:
    return [("beside", {"name": name}) for name in names]


def alone(*names: str) -> list[Call | tuple[str, Json]]:
    return [("alone", {"name": name}) for name in names]


def texts(outcomes: Any) -> list[str]:
    return [one.text if isinstance(one, CallResult) else one.reason for one in outcomes]


@pytest.mark.req("BATCH-1")
async def test_safe_neighbours_run_side_by_side_and_every_other_call_alone(socket_directory: Path) -> None:
    stage = Stage()
    async with staged(socket_directory, stage) as at:
        calls = [*beside("a", "b"), *alone("c", "d"), *beside("e", "f")]
        running = asyncio.create_task(at.agent.session("s").batch(calls))
        await eventually(lambda: sorted(stage.events) == ["begin a", "begin b"])
        stage.let("b")
        await eventually(lambda: "end b" in stage.events)
        assert "begin c" not in stage.events
        stage.let("a")
        await eventually(lambda: stage.events[-1] == "begin c")
        stage.let("d", "e", "f", "c")
        assert texts(await running) == ["a", "b", "c", "d", "e", "f"]
    assert stage.events[3:8] == ["end a", "begin c", "end c", "begin d", "end d"]


@pytest.mark.req("BATCH-1")
async def test_results_come_as_they_finish_each_with_its_index_once(socket_directory: Path) -> None:
    stage = Stage()
    async with staged(socket_directory, stage) as at:
        came: list[tuple[int, str]] = []
        stage.let("c")
        async for index, outcome in at.agent.session("s").stream_batch(beside("a", "b", "c")):
            assert isinstance(outcome, CallResult)
            came.append((index, outcome.text))
            stage.let({"c": "b", "b": "a", "a": ""}[outcome.text])
    assert came == [(2, "c"), (1, "b"), (0, "a")]


@pytest.mark.req("BATCH-1")
@pytest.mark.parametrize(("asked", "cap", "most"), [(0, 32, 10), (3, 32, 3), (30, 4, 4), (0, 2, 2)])
async def test_no_more_run_side_by_side_than_asked_and_than_the_gateway_lets(
    socket_directory: Path, asked: int, cap: int, most: int
) -> None:
    stage = Stage()
    names = [str(n) for n in range(25)]
    async with staged(socket_directory, stage, limits=LimitsConfig(max_batch_parallel=cap)) as at:
        running = asyncio.create_task(at.agent.session("s").batch(beside(*names), max_parallel=asked))
        await eventually(lambda: stage.under_way == most)
        stage.let(*names)
        assert texts(await running) == names
    assert stage.most_at_once == most


@pytest.mark.req("BATCH-1", "PIPE-8")
async def test_a_batch_takes_turns_with_the_sessions_other_calls(socket_directory: Path) -> None:
    stage = Stage()
    async with staged(socket_directory, stage) as at:
        session = at.agent.session("s")
        batch = asyncio.create_task(session.batch([*alone("a", "b"), *beside("c")]))
        await eventually(lambda: stage.events == ["begin a"])
        other = asyncio.create_task(session.call("alone", {"name": "other"}))
        turnstile = at.gateway.rooms.parts.sessions.in_memory("s").turnstile
        await eventually(lambda: turnstile.ahead() == 1)
        stage.let("a", "b", "c", "other")
        assert texts(await batch) == ["a", "b", "c"]
        assert (await other).text == "other"
    begun = [event for event in stage.events if event.startswith("begin")]
    assert begun == ["begin a", "begin other", "begin b", "begin c"]


@pytest.mark.req("BATCH-1")
async def test_two_batches_of_one_session_neither_deadlock_nor_starve_each_other(socket_directory: Path) -> None:
    stage = Stage()
    first = [*beside("a", "b"), *alone("c"), *beside("d")] * 3
    second = [*alone("e"), *beside("f", "g"), *alone("h")] * 3
    stage.let(*"abcdefgh")
    async with staged(socket_directory, stage) as at:
        session = at.agent.session("s")
        both = await asyncio.wait_for(asyncio.gather(session.batch(first), session.batch(second)), 30)
    assert [texts(one) for one in both] == [list("abcd") * 3, list("efgh") * 3]


@pytest.mark.req("BATCH-2")
async def test_a_failure_or_a_denial_stops_no_other_call(socket_directory: Path) -> None:
    stage = Stage()
    stage.let("a", "b", "c")
    calls: list[Call | tuple[str, Json]] = [
        *alone("a"),
        ("broken", {}),
        ("no_such_tool", {}),
        ("alone", {"nam": "x"}),
        *alone("b"),
        Call(tool="t" * 200),
        *beside("c"),
    ]
    async with staged(socket_directory, stage) as at:
        outcomes = await at.agent.session("s").batch(calls)
    results = [one for one in outcomes if isinstance(one, CallResult)]
    assert [one.status for one in results] == [
        CallStatus.COMPLETED,
        CallStatus.FAILED,
        CallStatus.DENIED,
        CallStatus.DENIED,
        CallStatus.COMPLETED,
        CallStatus.COMPLETED,
    ]
    refused = outcomes[5]
    assert isinstance(refused, RequestError)
    assert (refused.code, refused.reason) == (grpc.StatusCode.INVALID_ARGUMENT, "INVALID_FIELD")
    assert refused.metadata == {"field": "calls[5].tool"}
    assert [event for event in stage.events if event.startswith("end")] == ["end a", "end b", "end c"]


@pytest.mark.req("BATCH-2")
@pytest.mark.parametrize(
    "stopper",
    [("broken", {}), ("no_such_tool", {}), Call(tool="t" * 200), ("alone", {"nam": "x"})],
    ids=["failed", "denied", "malformed", "bad arguments"],
)
async def test_with_stop_on_error_those_not_begun_are_said_to_be(socket_directory: Path, stopper: Any) -> None:
    stage = Stage()
    stage.let("a", "b", "c")
    async with staged(socket_directory, stage) as at:
        outcomes = await at.agent.session("s").batch(
            [*alone("a"), stopper, *alone("b"), *beside("c")], stop_on_error=True
        )
    assert isinstance(outcomes[0], CallResult)
    assert outcomes[0].ok
    for outcome in outcomes[2:]:
        assert isinstance(outcome, RequestError)
        assert (outcome.code, outcome.reason) == (grpc.StatusCode.ABORTED, "BATCH_STOPPED")
        assert outcome.metadata == {"stopped_by_index": "1"}
    assert stage.events == ["begin a", "end a"]


@pytest.mark.req("BATCH-2")
async def test_with_stop_on_error_a_preview_stops_what_would_build_on_it(at: Bench) -> None:
    calls: list[Call | tuple[str, Json]] = [
        ("replace_value", {"value": "new"}),
        ("set_value", {"value": "on top"}),
    ]
    first, second = await at.agent.session("s").batch(calls, stop_on_error=True)
    assert isinstance(first, CallResult)
    assert first.status is CallStatus.PREVIEW
    assert isinstance(second, RequestError)
    assert at.ledger.ran == []


@pytest.mark.req("BATCH-2")
async def test_cancelling_a_batch_cancels_all_of_it(socket_directory: Path) -> None:
    stage = Stage()
    async with staged(socket_directory, stage) as at:
        session = at.agent.session("s")
        running = asyncio.create_task(session.batch([*beside("a", "b"), *alone("c"), *beside("d")]))
        await eventually(lambda: stage.under_way == 2)
        running.cancel()
        await eventually(lambda: sorted(stage.cancelled) == ["a", "b"])
        await asyncio.gather(running, return_exceptions=True)
        await eventually(at.gateway.idle)
        assert sorted(stage.events) == ["begin a", "begin b"]
        stage.let("e")
        assert (await session.call("alone", {"name": "e"})).text == "e"


@pytest.mark.req("BATCH-2", "PIPE-7")
async def test_a_batchs_deadline_ends_all_of_it(socket_directory: Path) -> None:
    stage = Stage()
    async with staged(socket_directory, stage) as at:
        with pytest.raises(RequestError) as late:
            await at.agent.session("s").batch([*alone("a"), *alone("b")], timeout=0.5)
        assert late.value.code is grpc.StatusCode.DEADLINE_EXCEEDED
        await eventually(at.gateway.idle)
    assert stage.events == ["begin a"]


@pytest.mark.req("BATCH-1", "PIPE-10")
async def test_a_batch_that_is_asked_again_runs_nothing_again(at: Bench) -> None:
    calls = [Call(tool="set_value", input={"value": str(n)}, call_id=f"c{n}") for n in range(3)]
    session = at.agent.session("s")
    first, second = await session.batch(calls), await session.batch(calls)
    assert texts(first) == texts(second) == ["was first", "was 0", "was 1"]
    assert at.ledger.names() == ["set_value"] * 3
    changed = [Call(tool="set_value", input={"value": "other"}, call_id="c0"), Call(tool="echo", input={"text": "x"})]
    refused, went_on = await session.batch(changed)
    assert isinstance(refused, RequestError)
    assert refused.reason == "CALL_ID_REUSED"
    assert isinstance(went_on, CallResult)


@pytest.mark.req("BATCH-1")
async def test_a_batch_that_makes_no_sense_as_a_whole_begins_nothing(at: Bench) -> None:
    session = at.agent.session("s")
    echo = Call(tool="echo", input={"text": "x"}, call_id="same")
    too_many: list[Call | tuple[str, Json]] = [("echo", {"text": "x"})] * 101
    twice: list[Call | tuple[str, Json]] = [echo, echo]
    for calls in (too_many, twice):
        with pytest.raises(RequestError) as refused:
            await session.batch(calls)
        assert refused.value.reason == "INVALID_FIELD"
    assert at.ledger.ran == []
    assert await session.batch([]) == []
    assert len(await session.batch([("echo", {"text": "x"})] * 100)) == 100


@pytest.mark.req("BATCH-1", "AUTH-2")
async def test_a_batch_is_of_one_open_session_of_the_callers(at: Bench) -> None:
    from interlock.v1 import gateway_service_pb2 as pb
    from interlock.v1 import gateway_service_pb2_grpc as rpc

    async with at.agent.connection.open_async() as channel:
        stub = rpc.GatewayServiceStub(channel)
        request = pb.CallBatchRequest(session_id="s")
        request.calls.add(session_id="s", tool="echo", input=b'{"text":"a"}')
        request.calls.add(tool="echo", input=b'{"text":"b"}')
        assert len([answer async for answer in stub.CallBatch(request, timeout=10)]) == 2
        request.calls.add(session_id="t", tool="echo", input=b'{"text":"c"}')
        with pytest.raises(grpc.aio.AioRpcError, match="session id of a batch's call is empty or the batch's"):
            [answer async for answer in stub.CallBatch(request, timeout=10)]
    assert sorted(text for _, text in at.ledger.ran) == ["a", "b"]
    session = at.agent.session("s")
    await session.close()
    with pytest.raises(InterlockError) as closed:
        await session.batch([("echo", {"text": "x"})])
    assert not isinstance(closed.value, NotAuthorizedError)
    assert closed.value.reason == "SESSION_CLOSED"  # type: ignore[attr-defined]  # it is the gateway's refusal


WAITS: list[Call | tuple[str, Json]] = [
    ("set_value", {"value": "one"}),
    ("wreck", {"what": "x"}),
    ("echo", {"text": "meanwhile"}),
    ("set_value", {"value": "two"}),
]


@pytest.mark.req("BATCH-2", "PIPE-8")
async def test_a_call_that_waits_for_a_person_holds_up_nothing_behind_it(at: Bench) -> None:
    async with person(at.gateway) as bob:
        outcomes: dict[int, CallResult] = {}
        async for index, outcome in at.agent.session("s").stream_batch(WAITS):
            assert isinstance(outcome, CallResult)
            outcomes[index] = outcome
            if len(outcomes) == 3:
                assert 1 not in outcomes
                await bob.approves(await bob.asked())
    assert list(outcomes)[-1] == 1
    assert [outcomes[n].text for n in range(4)] == ["was first", "gone", "meanwhile", "was one"]
    assert [name for name, _ in at.ledger.ran] == ["set_value", "echo", "set_value", "wreck"]


@pytest.mark.req("BATCH-2")
async def test_with_stop_on_error_a_call_that_waits_stops_the_rest_and_still_runs_when_approved(at: Bench) -> None:
    async with person(at.gateway) as bob:
        running = asyncio.create_task(at.agent.session("s").batch(WAITS, stop_on_error=True))
        await bob.approves(await bob.asked())
        outcomes = await running
    assert texts(outcomes) == ["was first", "gone", "BATCH_STOPPED", "BATCH_STOPPED"]
    assert at.ledger.names() == ["set_value", "wreck"]


@pytest.mark.req("BATCH-2", "CHK-4")
async def test_cancelling_a_batch_withdraws_what_people_were_asked(at: Bench) -> None:
    async with person(at.gateway) as bob:
        running = asyncio.create_task(at.agent.session("s").batch(WAITS))
        asked = await bob.asked()
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        await eventually(lambda: len(at.gateway.rooms.pipeline.held) == 0)
        await eventually(at.gateway.idle)
        kept = await at.gateway.rooms.store.checkpoints.get_checkpoint(asked.checkpoint_id)
        assert kept is not None
        assert kept.state.value == "withdrawn"
    assert "wreck" not in at.ledger.names()


@pytest.mark.req("BATCH-2", "CHK-4")
async def test_a_detached_call_of_a_batch_is_answered_at_once_and_picked_up_later(at: Bench) -> None:
    async with person(at.gateway) as bob:
        session = at.agent.session("s")
        detached = Call(tool="wreck", input={"what": "x"}, call_id="c", checkpoint_mode="detach")
        outcomes = await session.batch([detached, ("echo", {"text": "on"})])
        assert isinstance(outcomes[0], CallResult)
        assert outcomes[0].status is CallStatus.AWAITING_CHECKPOINT
        assert texts(outcomes[1:]) == ["on"]
        await bob.approves_the_next()
        (again,) = await session.batch([detached])
        assert isinstance(again, CallResult)
        assert again.text == "gone"
