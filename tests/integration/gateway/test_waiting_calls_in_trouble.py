"""Calls that wait for a person while something goes wrong: nothing runs that must not, twice, or in nobody's name."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from asked_people import Person, asking, person
from gateway_bench import Bench, Ledger, bench, ledger_tools, provided
from interlock import CallStatus
from interlock.errors import InterlockError
from interlock.provider import Tool, tool
from interlock_gateway.approvals.desk import ApprovalDesk
from interlock_gateway.config import LimitsConfig
from interlock_gateway.core.checkpoint import ApproverDecision, CheckpointState
from interlock_gateway.core.decision import DecisionError, GatewayErrorCode
from interlock_gateway.pipeline.ports import StateUnavailableError
from interlock_gateway.pipeline.resumptions import requester
from waiting import eventually

X = {"what": "x"}


@pytest.fixture
async def bob(at: Bench) -> AsyncIterator[Person]:
    async with person(at.gateway) as someone:
        yield someone


async def state(at: Bench, checkpoint_id: str) -> CheckpointState:
    checkpoint = await at.gateway.rooms.store.checkpoints.get_checkpoint(checkpoint_id)
    assert checkpoint is not None
    return checkpoint.state


async def hung_up(call: "asyncio.Task[object]") -> None:
    call.cancel()
    await asyncio.gather(call, return_exceptions=True)


@pytest.mark.req("CHK-4")
@pytest.mark.parametrize("name", ["wreck", "echo"])
async def test_a_call_that_is_hung_up_on_asks_nobody_any_more(socket_directory: Path, name: str) -> None:
    """One that changes something, and one that only reads and is asked about all the same."""
    async with (
        bench(socket_directory, policy=asking(socket_directory, "echo")) as at,
        person(at.gateway) as bob,
    ):
        arguments = X if name == "wreck" else {"text": "x"}
        call = asyncio.create_task(at.agent.session("s").call(name, arguments, call_id="c", timeout=60))
        asked = await bob.asked()
        await hung_up(call)
        await eventually(lambda: at.gateway.idle() and len(at.gateway.rooms.pipeline.held) == 0)

        assert await state(at, asked.checkpoint_id) is CheckpointState.WITHDRAWN
        record = await at.gateway.rooms.store.calls.find_call("s", "c")
        assert record is not None
        assert record.status is not None
        assert record.status.value == "denied"
    assert at.ledger.ran == []


@pytest.mark.req("CHK-4")
async def test_a_call_that_is_hung_up_on_before_it_waits_asks_nobody(
    at: Bench, bob: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    asking_now, go_on = asyncio.Event(), asyncio.Event()
    can_ask = ApprovalDesk.can_ask

    async def slowly(desk: ApprovalDesk, *of: tuple[str, ...]) -> bool:
        asking_now.set()
        await go_on.wait()
        return await can_ask(desk, *of)  # type: ignore[arg-type]  # handed on as it came

    monkeypatch.setattr(ApprovalDesk, "can_ask", slowly)
    call = asyncio.create_task(at.agent.session("s").call("wreck", X, timeout=60))
    await asyncio.wait_for(asking_now.wait(), 20)
    await hung_up(call)
    await eventually(lambda: at.gateway.rooms.pipeline.in_flight == 0)
    go_on.set()
    asked = await bob.asked()
    await eventually(at.gateway.idle)

    assert await state(at, asked.checkpoint_id) is CheckpointState.WITHDRAWN
    assert at.ledger.ran == []


@pytest.mark.req("CHK-4")
async def test_of_several_who_hold_one_call_open_the_last_to_go_withdraws_it(at: Bench, bob: Person) -> None:
    calls = [asyncio.create_task(at.agent.session("s").call("wreck", X, call_id="c", timeout=60)) for _ in range(2)]
    asked = await bob.asked()
    await eventually(lambda: len(at.gateway.rooms.pipeline.held) == 2)
    await hung_up(calls[0])
    await eventually(lambda: len(at.gateway.rooms.pipeline.held) == 1)
    assert await state(at, asked.checkpoint_id) is CheckpointState.OPEN
    await bob.approves(asked)
    assert (await calls[1]).text == "gone"
    assert at.ledger.names() == ["wreck"]


@pytest.mark.req("PIPE-12", "REL-1", "CHK-3")
async def test_an_approval_is_not_lost_while_receipts_cannot_be_written(
    at: Bench, bob: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = at.agent.session("s")
    await session.call("wreck", X, call_id="c", checkpoint_mode="detach")
    asked = await bob.approves_the_next()
    with monkeypatch.context() as patched:
        patched.setattr(type(at.gateway.rooms.audit), "healthy", property(lambda _: False))
        with pytest.raises(InterlockError):
            await session.call("wreck", X, call_id="c", checkpoint_mode="detach", timeout=3)
        assert at.ledger.ran == []
        assert await state(at, asked.checkpoint_id) is CheckpointState.APPROVED
    assert (await session.call("wreck", X, call_id="c", checkpoint_mode="detach")).text == "gone"
    assert at.ledger.names() == ["wreck"]


@pytest.mark.req("REL-1", "CHK-5")
async def test_an_approval_is_not_lost_while_policy_cannot_be_asked_and_runs_nothing_meanwhile(
    at: Bench, bob: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def broken(_input: bytes) -> bytes:
        raise DecisionError(GatewayErrorCode.POLICY_TIMEOUT, "broken on purpose")

    session = at.agent.session("s")
    await session.call("wreck", X, call_id="c", checkpoint_mode="detach")
    asked = await bob.approves_the_next()
    with monkeypatch.context() as patched:
        patched.setattr(at.gateway.rooms.engine, "evaluate", broken)
        for _ in range(2):
            refused = await session.call("wreck", X, call_id="c", checkpoint_mode="detach")
            assert refused.status is CallStatus.DENIED
            assert refused.decision is not None
            assert refused.decision.reasons[0].code == "gateway_error.policy_timeout"
        assert at.ledger.ran == []
        assert await state(at, asked.checkpoint_id) is CheckpointState.APPROVED
    assert (await session.call("wreck", X, call_id="c", checkpoint_mode="detach")).text == "gone"


@pytest.mark.req("REL-1", "CHK-1")
async def test_a_checkpoint_that_cannot_be_kept_is_a_denial(
    at: Bench, bob: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def down(*_: object, **__: object) -> None:
        raise StateUnavailableError("gone for a moment")

    monkeypatch.setattr(at.gateway.rooms.store.checkpoints, "open_checkpoint", down)
    result = await at.agent.session("s").call("wreck", X)
    assert result.status is CallStatus.DENIED
    assert result.decision is not None
    assert result.decision.reasons[0].code == "gateway_error.state_unavailable"
    assert bob.seen.empty()
    assert at.ledger.ran == []


@pytest.mark.req("REL-1", "CHK-2")
async def test_when_nobody_knows_whether_anybody_can_be_asked_the_call_is_denied(
    at: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def unknown(*_: object) -> bool:
        raise StateUnavailableError("gone for a moment")

    monkeypatch.setattr(ApprovalDesk, "can_ask", unknown)
    result = await at.agent.session("s").call("wreck", X)
    assert result.status is CallStatus.DENIED
    assert at.ledger.ran == []


@pytest.mark.req("CHK-3", "REL-2", "TOOL-5")
async def test_a_tool_whose_definition_changed_does_not_run_under_the_old_approval(socket_directory: Path) -> None:
    def changed(ledger: Ledger) -> list[Tool[..., Any]]:
        @tool(destructive=True)
        def wreck(what: str) -> str:
            """Destroy even more."""
            ledger.ran.append(("wreck", what))
            return "gone"

        return [wreck]

    async with bench(socket_directory) as at, person(at.gateway) as bob:
        session = at.agent.session("s")
        await session.call("wreck", X, call_id="c", checkpoint_mode="detach")
        await bob.approves_the_next()
        await at.provider.stop(0)
        async with provided(socket_directory, changed(at.ledger)):
            await eventually(lambda: (found := at.gateway.tool("wreck")) is not None and bool(found.changes))
            result = await session.call("wreck", X, call_id="c", checkpoint_mode="detach")
            assert result.status is CallStatus.DENIED
    assert at.ledger.ran == []


@pytest.mark.req("CHK-7", "REL-2")
async def test_what_an_approver_writes_goes_through_every_gate(socket_directory: Path) -> None:
    """The confidence gate, the schema and policy hold for an edited input as for any other."""

    def doubtful(ledger: Ledger) -> list[Tool[..., Any]]:
        @tool(destructive=True, min_confidence=70)
        def doubt(what: str) -> str:
            """Destroy, when sure."""
            ledger.ran.append(("doubt", what))
            return "gone"

        return [*ledger_tools(ledger), doubt]

    async with bench(socket_directory, tools=doubtful) as at, person(at.gateway) as bob:
        sure = {"what": "x", "_flyto_confidence": 90}
        call = asyncio.create_task(at.agent.session("s").call("doubt", sure))
        asked = await bob.asked()
        assert b"_flyto_confidence" not in asked.shown_input
        await bob.says(ApproverDecision.EDIT, asked, edited_input=b'{"what":"y","_flyto_confidence":3}')
        result = await call
        assert result.status is CallStatus.DENIED
        assert "confidence 3 below required 70" in result.text
        call = asyncio.create_task(at.agent.session("s").call("doubt", sure))
        await bob.says(ApproverDecision.EDIT, await bob.asked(), edited_input=b'{"what":"y"}')
        assert (await call).text == "gone"
    assert at.ledger.ran == [("doubt", "y")]


@pytest.mark.req("PIPE-9", "PIPE-10", "CHK-3")
async def test_a_call_that_only_reads_is_journaled_when_people_are_asked_about_it(socket_directory: Path) -> None:
    async with (
        bench(socket_directory, policy=asking(socket_directory, "echo")) as at,
        person(at.gateway) as bob,
    ):
        session = at.agent.session("s")
        calls = [asyncio.create_task(session.call("echo", {"text": "x"}, call_id="c")) for _ in range(3)]
        await bob.approves_the_next()
        assert {(await call).text for call in calls} == {"x"}
        assert (await session.call("echo", {"text": "x"}, call_id="c")).text == "x"
        assert [one.call_id for one in await session.operations()] == ["c"]
        with pytest.raises(InterlockError):
            await session.call("echo", {"text": "y"}, call_id="c")
    assert at.ledger.ran == [("echo", "x")]


@pytest.mark.req("REL-8", "CHK-4")
async def test_no_more_calls_are_held_open_than_may_be(socket_directory: Path) -> None:
    limits = LimitsConfig(max_waiting_calls=2)
    async with bench(socket_directory, limits=limits) as at, person(at.gateway) as bob:
        session = at.agent.session("s")
        calls = [asyncio.create_task(session.call("wreck", X)) for _ in range(2)]
        asked = [await bob.asked() for _ in range(2)]
        await eventually(lambda: len(at.gateway.rooms.pipeline.held) == 2)
        with pytest.raises(InterlockError):
            await session.call("wreck", X, timeout=2)
        assert (await session.call("wreck", X, checkpoint_mode="detach")).status is CallStatus.AWAITING_CHECKPOINT
        for checkpoint in asked:
            await bob.approves(checkpoint)
        assert [(await call).text for call in calls] == ["gone", "gone"]
    assert len(at.ledger.ran) == 2


@pytest.mark.req("CHK-4", "PIPE-8")
async def test_many_calls_that_wait_hold_nobody_up(at: Bench, bob: Person) -> None:
    session = at.agent.session("s")
    calls = [asyncio.create_task(session.call("wreck", {"what": str(n)})) for n in range(50)]
    asked = [await bob.asked() for _ in calls]
    assert (await session.call("echo", {"text": "x"})).text == "x"
    await asyncio.gather(*(bob.approves(checkpoint) for checkpoint in asked))
    assert {(await call).text for call in calls} == {"gone"}
    assert len(at.ledger.ran) == 51


@pytest.mark.req("CHK-4", "CHK-9")
async def test_who_waits_goes_on_with_a_call_when_another_leaves_before_its_turn(at: Bench, bob: Person) -> None:
    first = asyncio.create_task(at.agent.session("s").call("wreck", X, call_id="c", timeout=60))
    asked = await bob.asked()
    await eventually(lambda: len(at.gateway.rooms.pipeline.held) == 1)
    live = at.gateway.rooms.parts.sessions.in_memory("s")
    assert live is not None
    await live.turnstile.acquire(shared=False)
    await bob.approves(asked)
    await eventually(lambda: "c" in live.running)
    under_way = len(at.gateway.rooms.parts.tasks)
    waiting = asyncio.create_task(at.gateway.rooms.pipeline.held.wait(requester(asked)))
    await eventually(lambda: len(at.gateway.rooms.parts.tasks) > under_way)  # it waits for the first one's answer
    await hung_up(first)
    live.turnstile.release(shared=False)
    assert await waiting
    assert at.ledger.names() == ["wreck"]
