"""The stream of an attached provider: numbers, windows, what was sent and what was not (contract.md, PIPE-7)."""

import asyncio
import random
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import pytest
from interlock.v1 import provider_hub_service_pb2 as hub
from interlock.v1 import tool_provider_service_pb2 as rpc
from interlock_gateway.core.trace import TraceContext
from interlock_gateway.errors import RequestError, RequestFault
from interlock_gateway.http2.status import Status, StatusError
from interlock_gateway.providers.attached.link import MAX_WINDOW, QUEUED_BYTES, FrameLink

PATIENCE_S = 10.0


@dataclass
class Wire:
    """A link, and what it has sent."""

    link: FrameLink
    sent: list[hub.AttachResponse] = field(default_factory=list)
    more: asyncio.Event = field(default_factory=asyncio.Event)
    reading: bool = True
    resumed: asyncio.Event = field(default_factory=asyncio.Event)
    ended: "asyncio.Task[None] | None" = None

    async def run(self) -> None:
        async for frame in self.link.frames():
            self.sent.append(frame)
            self.more.set()
            while not self.reading:
                self.resumed.clear()
                await self.resumed.wait()

    async def until(self, count: int) -> list[hub.AttachResponse]:
        async with asyncio.timeout(PATIENCE_S):
            while len(self.sent) < count:
                self.more.clear()
                await self.more.wait()
        return self.sent

    def read(self, *, on: bool) -> None:
        self.reading = on
        self.resumed.set()


@pytest.fixture
async def wire() -> AsyncIterator[Wire]:
    made = Wire(FrameLink())
    made.ended = asyncio.create_task(made.run())
    yield made
    made.read(on=True)
    made.link.close()
    with suppress(RequestError):
        await made.ended


def asked(wire: Wire, timeout_s: float = PATIENCE_S, **more: Any) -> "asyncio.Task[Any]":
    return asyncio.create_task(wire.link.ask("execute", rpc.ExecuteRequest(), timeout_s, **more))


def answer(wire: Wire, request_id: int, text: str = "") -> None:
    wire.link.take(hub.AttachRequest(request_id=request_id, execute={"result": {"output": text}}))


async def refused(task: "asyncio.Task[Any]") -> StatusError:
    with pytest.raises(StatusError) as caught:
        await asyncio.wait_for(task, PATIENCE_S)
    return caught.value


@pytest.mark.req("SDK-1")
async def test_requests_are_numbered_and_carry_their_time_and_trace(wire: Wire) -> None:
    trace = TraceContext("0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331", 1, "a=b")
    first, second = asked(wire, 5.0, trace=trace), asked(wire)
    one, two = await wire.until(2)
    assert (one.request_id, two.request_id) == (1, 2)
    assert 0 < one.timeout.ToMilliseconds() <= 5000
    assert dict(one.metadata) == {"traceparent": trace.traceparent, "tracestate": "a=b"}
    answer(wire, 2, "two")
    answer(wire, 1, "one")
    assert [(await task).result.output for task in (first, second)] == ["one", "two"]


@pytest.mark.req("SDK-1", "PIPE-7")
async def test_what_was_not_taken_off_the_link_was_not_sent(wire: Wire) -> None:
    wire.read(on=False)
    first = asked(wire)
    await wire.until(1)
    waiting = asked(wire, 0.05)
    error = await refused(waiting)
    assert (error.status, error.unsent) == (Status.UNAVAILABLE, True)
    third = asked(wire)
    await asyncio.sleep(0)
    wire.link.close()
    assert (await refused(first)).unsent is False
    assert (await refused(third)).unsent is True
    wire.read(on=True)
    assert wire.ended is not None
    await wire.ended
    assert [one.request_id for one in wire.sent] == [1]


@pytest.mark.req("SDK-1")
async def test_what_waits_for_a_provider_that_does_not_read_is_bounded(wire: Wire) -> None:
    wire.read(on=False)
    asked(wire)
    await wire.until(1)
    large = rpc.ExecuteRequest(invocation={"input": b"x" * (QUEUED_BYTES // 2)})
    tasks = [asyncio.create_task(wire.link.ask("execute", large, 0.2)) for _ in range(8)]
    errors = [await refused(task) for task in tasks]
    assert all(error.unsent for error in errors)


@pytest.mark.req("SDK-1", "PIPE-7")
async def test_a_sent_request_that_runs_out_of_time_is_cancelled_and_its_place_is_free(wire: Wire) -> None:
    wire.link.take(hub.AttachRequest(window=1))
    error = await refused(asked(wire, 0.05))
    assert (error.status, error.unsent) == (Status.DEADLINE_EXCEEDED, False)
    following = asked(wire)
    sent = await wire.until(3)
    assert (sent[1].request_id, sent[1].cancel.reason) == (1, "the deadline passed")
    answer(wire, 1, "late")
    answer(wire, 2, "in time")
    assert (await following).result.output == "in time"


@pytest.mark.req("SDK-1")
async def test_errors_keep_their_code_and_impossible_ones_are_none(wire: Wire) -> None:
    for code, status in ((12, Status.UNIMPLEMENTED), (99, Status.UNKNOWN), (0, Status.INTERNAL)):
        task = asked(wire)
        sent = await wire.until(len(wire.sent) + 1)
        wire.link.take(hub.AttachRequest(request_id=sent[-1].request_id, error={"code": code, "message": "no"}))
        assert (await refused(task)).status is status


@pytest.mark.req("SDK-1", "SEC-2")
async def test_an_answer_to_what_was_never_asked_or_not_yet_sent_is_refused(wire: Wire) -> None:
    for request_id in (0, 1, 2**63):
        with pytest.raises(RequestError, match="no request"):
            answer(wire, request_id)
    wire.read(on=False)
    asked(wire)
    await wire.until(1)
    guessed = asked(wire, 1.0)
    await asyncio.sleep(0)
    with pytest.raises(RequestError, match="no request 2"):
        answer(wire, 2)
    guessed.cancel()


@pytest.mark.req("SDK-1", "SEC-2")
async def test_a_window_is_never_larger_than_the_gateways_own(wire: Wire) -> None:
    wire.link.take(hub.AttachRequest(window=2**32 - 1))
    tasks = [asked(wire) for _ in range(MAX_WINDOW + 20)]
    await wire.until(MAX_WINDOW)
    await asyncio.sleep(0)
    assert len(wire.sent) == MAX_WINDOW
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


@pytest.mark.req("SDK-1", "REL-9")
async def test_a_drain_says_goodbye_after_the_last_answer_and_takes_nothing_new(wire: Wire) -> None:
    first = asked(wire)
    await wire.until(1)
    draining = asyncio.create_task(wire.link.drain(2.0))
    await asyncio.sleep(0)
    assert (await refused(asked(wire))).unsent is True
    answer(wire, 1, "done")
    assert (await first).result.output == "done"
    await asyncio.wait_for(draining, PATIENCE_S)
    sent = await wire.until(2)
    assert sent[1].drain.grace.ToSeconds() == 2


@pytest.mark.req("SDK-1")
async def test_the_error_that_ends_a_link_is_what_the_stream_ends_with(wire: Wire) -> None:
    wire.link.close(RequestError(RequestFault.UNAUTHENTICATED, "over"))
    assert wire.ended is not None
    with pytest.raises(RequestError, match="over"):
        await wire.ended
    wire.ended = asyncio.create_task(asyncio.sleep(0))


@pytest.mark.req("SDK-1", "PIPE-7")
@pytest.mark.parametrize("seed", range(20))
async def test_whatever_happens_in_whatever_order_each_request_ends_once_and_no_place_is_lost(
    wire: Wire, seed: int
) -> None:
    dice = random.Random(seed)
    window = dice.randrange(1, 5)
    wire.link.take(hub.AttachRequest(window=window))
    tasks: list[asyncio.Task[Any]] = []
    answered: set[int] = set()
    for _ in range(200):
        match dice.randrange(5):
            case 0 | 1:
                tasks.append(asked(wire, dice.choice((0.001, PATIENCE_S))))
            case 2 if tasks:
                dice.choice(tasks).cancel()
            case 3:
                for one in wire.sent:
                    if one.WhichOneof("frame") == "execute" and one.request_id not in answered:
                        answered.add(one.request_id)
                        answer(wire, one.request_id)
                        break
            case _:
                window = dice.randrange(1, 5)
                wire.link.take(hub.AttachRequest(window=window))
        await asyncio.sleep(0)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    numbers = [one.request_id for one in wire.sent if one.WhichOneof("frame") == "execute"]
    assert numbers == sorted(set(numbers))
    wire.link.take(hub.AttachRequest(window=1))
    last = asked(wire)
    before = len(wire.sent)
    sent = await wire.until(before + 1)
    answer(wire, sent[-1].request_id, "still works")
    assert (await asyncio.wait_for(last, PATIENCE_S)).result.output == "still works"
