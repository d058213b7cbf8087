"""Attachments that break, lag, lie or flood: what becomes of calls, and of everybody else (contract.md, PIPE-7)."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import grpc
import pytest
from attaching import PATIENCE_S, Agents, RawAttachment, agents, description, result
from interlock import Gateway as Client
from interlock.errors import DeadlineExceededError
from interlock.results import CallResult, CallStatus
from interlock_gateway.config import Front
from interlock_gateway.config_attached import AttachedConfig, AttachedProviderConfig
from waiting import eventually

Code = grpc.StatusCode
BELIEVED = AttachedConfig(providers=(AttachedProviderConfig(principal="alice", trust="declared"),))
CHANGES = {"metadata": {"destructive": False}, "capability": {"reversible": True}}


@pytest.fixture(params=Front)
async def at(request: pytest.FixtureRequest, socket_directory: Path) -> AsyncIterator[Agents]:
    """A gateway with each of the fronts, which believes alice."""
    async with agents(socket_directory, request.param, attached=BELIEVED) as made:
        yield made


@pytest.fixture
async def alice(at: Agents) -> AsyncIterator[Client]:
    async with at.client("alice") as client:
        yield client


@pytest.fixture
async def raw(at: Agents) -> AsyncIterator[RawAttachment]:
    async with RawAttachment(at.address, at.tokens["alice"]) as made:
        yield made


def begun(client: Client, tool: str, **options: Any) -> "asyncio.Task[CallResult]":
    return asyncio.create_task(client.session(options.pop("session", "s")).call(tool, {}, **options))


@pytest.mark.req("PIPE-9", "SDK-1")
async def test_a_change_whose_stream_dies_is_of_unknown_outcome_and_a_read_failed(
    at: Agents, alice: Client, raw: RawAttachment
) -> None:
    told = description("look")
    told.tools.add(name="change", **CHANGES)
    await raw.send(description=told)
    assert list((await raw.next()).welcome.accepted_tools) == ["look", "change"]
    look, change = begun(alice, "look", session="a"), begun(alice, "change", session="b")
    assert {(await raw.next()).WhichOneof("frame") for _ in range(2)} == {"execute"}
    raw.call.cancel()
    assert (await change).status is CallStatus.OUTCOME_UNKNOWN
    assert (await look).status is CallStatus.FAILED
    await eventually(lambda: at.bench.gateway.tool("look", "alice") is None)
    assert "There is no tool named" in (await begun(alice, "look")).text


@pytest.mark.req("PIPE-7", "SDK-1")
async def test_calls_wait_for_a_place_in_the_window_and_in_vain_are_not_sent(
    at: Agents, alice: Client, raw: RawAttachment
) -> None:
    await raw.attach("look", window=1)
    first = begun(alice, "look", session="a")
    sent = await raw.next()
    assert 0 < sent.timeout.ToSeconds() <= 120
    late = begun(alice, "look", session="b", timeout=1)
    second = begun(alice, "look", session="c")
    with pytest.raises(DeadlineExceededError):
        await late
    # The gateway counts from when the call arrived, and gives up a moment after its client.
    await eventually(lambda: at.bench.gateway.rooms.pipeline.in_flight == 2)
    await raw.send(request_id=sent.request_id, execute=result("first"))
    then = await raw.next()
    assert then.execute.invocation.session_id == "c"
    await raw.send(request_id=then.request_id, execute=result("second"))
    assert [(await first).text, (await second).text] == ["first", "second"]
    await raw.send(window=0)
    paused = begun(alice, "look", session="d")
    await raw.send(window=2)
    resumed = await raw.next()
    await raw.send(request_id=resumed.request_id, execute=result("resumed"))
    assert (await paused).text == "resumed"


@pytest.mark.req("SDK-1")
async def test_a_request_that_nobody_waits_for_is_cancelled_and_its_answer_passed_over(
    alice: Client, raw: RawAttachment
) -> None:
    await raw.attach("look", window=1)
    call = begun(alice, "look")
    asked = await raw.next()
    call.cancel()
    cancelled = await raw.next()
    assert (cancelled.request_id, cancelled.cancel.reason) == (asked.request_id, "the caller has gone")
    await raw.send(request_id=asked.request_id, execute=result("too late"))
    again = begun(alice, "look")
    following = await raw.next()
    await raw.send(request_id=following.request_id, execute=result("once"))
    await raw.send(request_id=following.request_id, execute=result("twice"))
    assert (await again).text == "once"


@pytest.mark.req("SDK-1", "SEC-2")
@pytest.mark.parametrize(
    "frame",
    [
        {"raw": b"\xff\xff\xff\xff"},
        {"request_id": 7, "execute": result("to nothing")},
        {"execute": result("to nothing")},
    ],
    ids=["no protobuf", "an answer to nothing", "an answer without a number"],
)
async def test_what_cannot_be_ends_the_stream(raw: RawAttachment, frame: dict[str, Any]) -> None:
    await raw.attach("look")
    await raw.send(**frame)
    assert (await raw.ended())[0] is Code.INVALID_ARGUMENT


@pytest.mark.req("SDK-1", "SEC-2")
async def test_what_is_no_description_or_none_that_can_be_is_not_let_in(at: Agents) -> None:
    token = at.tokens["alice"]
    bad_name = description("look", name="../../etc")
    large = description("look")
    large.tools[0].description = "x" * 1_100_000
    for frame, code in (
        ({"window": 3}, Code.INVALID_ARGUMENT),
        ({"description": description("look"), "request_id": 1}, Code.INVALID_ARGUMENT),
        ({"description": bad_name}, Code.INVALID_ARGUMENT),
        ({"description": large}, Code.RESOURCE_EXHAUSTED),
        ({"raw": b"\x22" + b"\xff" * 30}, Code.INVALID_ARGUMENT),
    ):
        async with RawAttachment(at.address, token) as raw:
            await raw.send(**frame)
            assert (await raw.ended())[0] is code, frame
    async with RawAttachment(at.address, "ilk_" + "A" * 43) as raw:
        assert (await raw.ended())[0] is Code.UNAUTHENTICATED


@pytest.mark.req("SDK-1", "SEC-2")
async def test_a_frame_that_is_too_large_ends_the_stream(alice: Client, raw: RawAttachment) -> None:
    told = description()
    told.tools.add(name="change", **CHANGES)
    await raw.send(description=told)
    await raw.next()
    call = begun(alice, "change")
    asked = await raw.next()
    await raw.send(request_id=asked.request_id, execute=result("x" * (17 * 1024 * 1024)))
    assert (await call).status is CallStatus.OUTCOME_UNKNOWN
    assert (await raw.ended())[0] is Code.RESOURCE_EXHAUSTED


@pytest.mark.req("SDK-1", "SEC-2")
async def test_an_answer_of_another_kind_is_no_answer(alice: Client, raw: RawAttachment) -> None:
    told = description()
    told.tools.add(name="change", **CHANGES)
    await raw.send(description=told)
    await raw.next()
    call = begun(alice, "change")
    asked = await raw.next()
    await raw.send(request_id=asked.request_id, dry_run={"preview": "nothing"})
    assert (await call).status is CallStatus.OUTCOME_UNKNOWN


@pytest.mark.req("SDK-1", "SEC-2")
async def test_a_flood_of_frames_holds_nobody_up(at: Agents, alice: Client, raw: RawAttachment) -> None:
    await raw.attach("look")
    call = begun(alice, "look")
    asked = await raw.next()
    stop = asyncio.Event()

    async def flood() -> None:
        while not stop.is_set():
            await raw.send(request_id=asked.request_id, execute={"output": {"text": "x" * 1000}})

    flooding = asyncio.create_task(flood())
    async with at.client("bob") as bob:
        for _ in range(20):
            assert (await bob.session("b").call("echo", {"text": "hi"}, timeout=PATIENCE_S)).text == "hi"
    stop.set()
    await flooding
    await raw.send(request_id=asked.request_id, execute=result("after all"))
    assert (await call).text == "after all"


@pytest.mark.req("TOOL-5", "SDK-1")
async def test_a_provider_tells_unasked_what_has_changed(at: Agents, alice: Client, raw: RawAttachment) -> None:
    await raw.attach("look")
    await raw.send(description=description("look", "more"))
    await eventually(lambda: at.bench.gateway.tool("more", "alice") is not None)
    call = begun(alice, "more")
    asked = await raw.next()
    await raw.send(request_id=asked.request_id, execute=result("more"))
    assert (await call).text == "more"


@pytest.mark.req("SDK-1")
async def test_who_does_not_answer_loses_the_name_to_who_comes_next(at: Agents, alice: Client) -> None:
    token = at.tokens["alice"]
    async with RawAttachment(at.address, token) as silent, RawAttachment(at.address, token) as second:
        await silent.attach("look")
        welcome = await second.attach("look")
        assert (welcome.provider, list(welcome.accepted_tools)) == ("alice/raw", ["look"])
        assert (await silent.next()).WhichOneof("frame") == "describe"
        call = begun(alice, "look")
        asked = await second.next()
        await second.send(request_id=asked.request_id, execute=result("second"))
        assert (await call).text == "second"


@pytest.mark.req("REL-9", "SDK-1")
async def test_a_drain_waits_for_what_is_under_way_and_then_says_goodbye(socket_directory: Path) -> None:
    async with (
        agents(socket_directory, attached=BELIEVED) as at,
        at.client("alice") as alice,
        RawAttachment(at.address, at.tokens["alice"]) as raw,
    ):
        await raw.attach("look")
        call = begun(alice, "look")
        asked = await raw.next()
        draining = asyncio.create_task(at.bench.gateway.drain())
        await eventually(lambda: at.bench.gateway.rooms.pipeline.draining)
        await raw.send(request_id=asked.request_id, execute=result("to its end"))
        assert (await call).text == "to its end"
        goodbye = await raw.next()
        assert goodbye.WhichOneof("frame") == "drain"
        assert (await raw.ended())[0] is Code.OK
        await draining
