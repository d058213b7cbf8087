"""Calls that wait for people, over MCP: asked at the client, waited for, picked up by the same call again."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from gateway_bench import MovableClock
from interlock_gateway.approvals.answers import Said
from interlock_gateway.config import PolicyConfig
from interlock_gateway.core.checkpoint import ApproverDecision, Checkpoint, CheckpointState
from interlock_gateway.core.session import Principal, Role
from mcp import Client
from mcp_bench import McpBench, mcp_bench, meta_of, text_of
from mcp_types import ElicitResult
from people_at_clients import APPROVE, DENY, GATES, PEOPLE, Person, asking_tools
from waiting import eventually

MODES = ("legacy", "2026-07-28")
EVERY = (CheckpointState.OPEN, CheckpointState.APPROVED, CheckpointState.DENIED, CheckpointState.CONSUMED)
BOB = Principal("bob", "token", frozenset({Role.APPROVER}), ("dba",))


@pytest.fixture
async def asking(socket_directory: Path) -> AsyncIterator[McpBench]:
    """A gateway that lets a person answer at the client of `agent-a`."""
    async with mcp_bench(socket_directory, mcp=PEOPLE, tools=asking_tools, clock=MovableClock()) as made:
        yield made


async def checkpoints(at: McpBench) -> tuple[Checkpoint, ...]:
    return await at.at.gateway.rooms.store.checkpoints.list_checkpoints(EVERY, 100)


async def decide(at: McpBench, decision: ApproverDecision, reason: str = "") -> None:
    """As Bob, who is asked elsewhere."""
    (one,) = await at.at.gateway.rooms.store.checkpoints.list_checkpoints((CheckpointState.OPEN,), 10)
    await at.at.gateway.rooms.approvals.desk.decide(BOB, Said(one.checkpoint_id, decision, reason))


def noting(waits: asyncio.Event) -> Any:
    """Hears that a call waits for a person."""

    async def heard(_progress: float, _total: float | None, _message: str | None) -> None:
        waits.set()

    return heard


async def watched(at: McpBench) -> Any:
    """Somebody who watches, so that there is somebody to ask."""
    watch = at.at.gateway.rooms.approvals.desk.watch(BOB, ())
    await anext(watch)
    return watch


async def drop(client: Client, table: str = "users", **more: Any) -> Any:
    return await client.call_tool("drop", {"table": table}, **more)


@pytest.mark.req("MCP-1", "CHK-8")
@pytest.mark.parametrize("mode", MODES)
async def test_the_person_at_the_client_approves_and_the_call_runs(asking: McpBench, mode: str) -> None:
    alice = Person([APPROVE])
    async with asking.over_http(mode, elicitation_callback=alice) as client:
        answer = await drop(client)

    assert (text_of(answer), answer.is_error) == ("dropped users", False)
    assert asking.at.ledger.ran == [("drop", "users")]
    (one,) = await checkpoints(asking)
    assert one.state is CheckpointState.CONSUMED
    assert [(said.approver, said.channel) for said in one.answers] == [("alice", "mcp")]
    assert '    {\n      "table": "users"\n    }' in alice.asked[0].message


@pytest.mark.req("MCP-1", "CHK-7")
@pytest.mark.parametrize("mode", MODES)
async def test_what_the_person_denies_does_not_run_and_the_model_reads_why(asking: McpBench, mode: str) -> None:
    async with asking.over_socket(mode, elicitation_callback=Person([DENY])) as client:
        # The operator's socket is the default agent's, for whose client nobody was named.
        assert "no approval handler" in text_of(await drop(client))
    async with asking.over_http(mode, elicitation_callback=Person([DENY])) as client:
        answer = await drop(client)

    assert answer.is_error
    assert "not today" in text_of(answer)
    assert asking.at.ledger.ran == []


@pytest.mark.req("MCP-1", "CHK-7")
@pytest.mark.parametrize("mode", MODES)
async def test_to_decline_is_a_no_and_to_cancel_leaves_the_question_open(asking: McpBench, mode: str) -> None:
    cancel, decline = ElicitResult(action="cancel"), ElicitResult(action="decline")
    async with asking.over_http(mode, elicitation_callback=Person([cancel, decline])) as client:
        waits, denied = await drop(client), await drop(client)

    assert "make this very call again" in text_of(waits)
    assert "has not decided" in text_of(waits)
    assert not waits.is_error
    assert denied.is_error
    assert "declined" in text_of(denied)
    assert [one.state for one in await checkpoints(asking)] == [CheckpointState.DENIED]
    assert asking.at.ledger.ran == []


@pytest.mark.req("MCP-1", "CHK-4")
@pytest.mark.parametrize("mode", MODES)
async def test_a_client_that_cannot_ask_is_told_what_to_do_and_the_same_call_again_has_the_outcome(
    asking: McpBench, mode: str
) -> None:
    watch = await watched(asking)
    async with asking.over_http(mode) as client:
        first, again = await drop(client), await drop(client)
        await decide(asking, ApproverDecision.APPROVE)
        done = await drop(client)
        another = await drop(client)
        assert len(await checkpoints(asking)) == 2

    assert "A person has to decide about this call" in text_of(first)
    assert "make this very call again" in text_of(again)
    assert text_of(done) == "dropped users"
    assert "A person has to decide" in text_of(another)
    assert asking.at.ledger.ran == [("drop", "users")]
    await watch.aclose()


@pytest.mark.req("MCP-1", "CHK-4")
async def test_a_call_that_is_held_open_goes_on_when_people_elsewhere_decide(socket_directory: Path) -> None:
    settings = {**PEOPLE, "hold_s": 30}
    async with mcp_bench(socket_directory, mcp=settings, tools=asking_tools) as at:
        watch = await watched(at)
        told: list[Any] = []

        async def heard(progress: float, _total: float | None, message: str | None) -> None:
            told.append((progress, message))
            if len(told) == 1:
                await decide(at, ApproverDecision.DENY, "no such table")

        async with at.over_http() as client:
            answer = await drop(client, progress_callback=heard)
        await watch.aclose()

    assert "no such table" in text_of(answer)
    assert told[0][1] == "A person has to decide about this call."


@pytest.mark.req("MCP-1", "CHK-4", "PIPE-10")
@pytest.mark.parametrize("named", [False, True])
async def test_calls_that_look_the_same_are_one_while_a_person_decides_unless_they_have_ids_of_their_own(
    socket_directory: Path, named: bool
) -> None:
    async with mcp_bench(socket_directory, mcp={**PEOPLE, "hold_s": 30}, tools=asking_tools) as at:
        watch = await watched(at)
        metas: list[Any] = [{"dev.interlock/call_id": f"call-{one}"} if named else None for one in range(2)]
        async with at.over_http() as client, asyncio.timeout(20):
            waiting: list[asyncio.Event] = [asyncio.Event(), asyncio.Event()]
            calls = [
                asyncio.create_task(drop(client, meta=meta, progress_callback=noting(waits)))
                for meta, waits in zip(metas, waiting, strict=True)
            ]
            for waits in waiting:
                await waits.wait()
            for one in await at.at.gateway.rooms.store.checkpoints.list_checkpoints((CheckpointState.OPEN,), 10):
                said = Said(one.checkpoint_id, ApproverDecision.APPROVE, "")
                await at.at.gateway.rooms.approvals.desk.decide(BOB, said)
            answers = [await call for call in calls]
        await watch.aclose()
        assert len(await checkpoints(at)) == 1 + named
    assert {text_of(one) for one in answers} == {"dropped users"}
    assert len({meta_of(one)["dev.interlock/call_id"] for one in answers}) == 1 + named
    assert len(at.at.ledger.ran) == 1 + named


@pytest.mark.req("MCP-1", "CHK-9")
async def test_somebody_elsewhere_decides_while_the_person_at_the_client_is_asked(asking: McpBench) -> None:
    shown, put_away = asyncio.Event(), asyncio.Event()

    async def slow(_context: Any, _params: Any) -> ElicitResult:
        shown.set()
        try:
            await asyncio.Event().wait()
        finally:
            put_away.set()
        return APPROVE

    async with asking.over_http(elicitation_callback=slow) as client:
        call = asyncio.create_task(drop(client))
        await shown.wait()
        await decide(asking, ApproverDecision.DENY, "I was faster")
        answer = await call
        async with asyncio.timeout(5):
            await put_away.wait()

    assert "I was faster" in text_of(answer)
    assert asking.at.ledger.ran == []


@pytest.mark.req("MCP-1", "CHK-2")
async def test_without_people_named_and_with_nobody_watching_the_call_is_denied_at_once(asking: McpBench) -> None:
    eager = Person([APPROVE])
    async with asking.over_http(token=asking.other, elicitation_callback=eager) as client:
        answer = await drop(client)

    assert answer.is_error
    assert "checkpoint required but no approval handler is registered" in text_of(answer)
    assert eager.asked == []


async def forever(shown: asyncio.Event) -> ElicitResult:
    shown.set()
    await asyncio.Event().wait()
    return APPROVE


@pytest.mark.req("MCP-1", "CHK-4")
async def test_a_call_that_its_client_gives_up_is_asked_about_still_and_runs_only_when_it_is_made_again(
    asking: McpBench,
) -> None:
    shown = asyncio.Event()

    async def slow(_context: Any, _params: Any) -> ElicitResult:
        return await forever(shown)

    async with asking.over_http(elicitation_callback=slow) as client:
        call = asyncio.create_task(drop(client))
        await shown.wait()
        call.cancel()
        await eventually(lambda: len(asking.at.gateway.rooms.pipeline.held) == 0)
        await decide(asking, ApproverDecision.APPROVE)
        assert asking.at.ledger.ran == []
        again = await drop(client)

    assert text_of(again) == "dropped users"
    assert asking.at.ledger.ran == [("drop", "users")]


@pytest.mark.req("MCP-1", "CHK-9")
async def test_a_client_that_dies_while_its_person_is_asked_leaves_nothing_behind_but_the_question(
    asking: McpBench,
) -> None:
    shown = asyncio.Event()

    async def slow(_context: Any, _params: Any) -> ElicitResult:
        return await forever(shown)

    async def lives() -> None:
        async with asking.over_http(elicitation_callback=slow) as client:
            await drop(client)

    life = asyncio.create_task(lives())
    await shown.wait()
    life.cancel()
    await asyncio.gather(life, return_exceptions=True)

    pipeline = asking.at.gateway.rooms.pipeline
    await eventually(lambda: len(pipeline.held) == 0 and pipeline.in_flight == 0)
    # Its session ends with it, and so does what waits in it.
    assert {one.state for one in await checkpoints(asking)} <= {CheckpointState.OPEN}
    assert asking.at.ledger.ran == []


@pytest.mark.req("MCP-1", "CHK-7")
async def test_what_an_approver_elsewhere_edits_or_says_is_what_the_client_gets(asking: McpBench) -> None:
    watch = await watched(asking)
    desk, store = asking.at.gateway.rooms.approvals.desk, asking.at.gateway.rooms.store.checkpoints
    async with asking.over_http() as client:
        await drop(client)
        (one,) = await store.list_checkpoints((CheckpointState.OPEN,), 10)
        edit = Said(one.checkpoint_id, ApproverDecision.EDIT, "only the old one", edited_input=b'{"table":"old_users"}')
        await desk.decide(BOB, edit)
        edited = await drop(client)
        await drop(client, "accounts")
        (one,) = await store.list_checkpoints((CheckpointState.OPEN,), 10)
        await desk.decide(BOB, Said(one.checkpoint_id, ApproverDecision.RESPOND, "", response="ask me on Monday"))
        answered = await drop(client, "accounts")
    await watch.aclose()

    assert text_of(edited) == "dropped old_users"
    assert (text_of(answered), answered.is_error) == ("ask me on Monday", False)
    assert asking.at.ledger.ran == [("drop", "old_users")]


@pytest.mark.req("MCP-1", "CHK-3")
@pytest.mark.parametrize("mode", MODES)
async def test_a_call_that_its_client_gives_up_while_it_runs_is_gone_on_with_and_runs_once(
    asking: McpBench, mode: str
) -> None:
    gate = GATES[f"{mode}-index"]
    alice, arguments = Person([APPROVE]), {"index": f"{mode}-index"}
    async with asking.over_http(mode, elicitation_callback=alice) as client:
        call = asyncio.create_task(client.call_tool("rebuild", arguments))
        await eventually(lambda: len(asking.at.ledger.ran) == 1)
        call.cancel()
        again = asyncio.create_task(client.call_tool("rebuild", arguments))
        await eventually(lambda: asking.at.gateway.rooms.pipeline.in_flight == 2)
        gate.set()
        answer = await again

    assert text_of(answer) == f"rebuilt {mode}-index"
    assert len(asking.at.ledger.ran) == 1
    assert len(alice.asked) == 1


@pytest.mark.req("MCP-1", "CHK-3", "CHK-5")
@pytest.mark.parametrize("mode", MODES)
async def test_an_answer_under_policies_that_are_not_in_force_any_more_runs_nothing_and_is_asked_for_anew(
    socket_directory: Path, mode: str
) -> None:
    custom = socket_directory / "overlay" / "custom"
    custom.mkdir(parents=True)
    (custom.parent / "data.yaml").write_text("settings: {}\n")
    policy = PolicyConfig(overlays=(socket_directory / "overlay",))
    async with mcp_bench(socket_directory, mcp=PEOPLE, tools=asking_tools, policy=policy) as at:

        async def meanwhile(_context: Any, _params: Any) -> ElicitResult:
            note = custom / "note.rego"
            if not note.exists():
                note.write_text("package interlock.custom\n\nunused := 1\n")
                assert (await at.at.gateway.rooms.policy.reload()).accepted
            return APPROVE

        async with at.over_http(mode, elicitation_callback=meanwhile) as client:
            anew, done = await drop(client), await drop(client)
        found = await checkpoints(at)

    assert "has to be decided anew" in text_of(anew)
    assert text_of(done) == "dropped users"
    assert at.at.ledger.ran == [("drop", "users")]
    assert [one.state for one in found].count(CheckpointState.CONSUMED) == 1


@pytest.mark.req("MCP-1", "PIPE-12")
@pytest.mark.parametrize("mode", MODES)
async def test_the_same_call_again_is_told_of_the_decision_that_has_a_receipt(asking: McpBench, mode: str) -> None:
    watch = await watched(asking)
    async with asking.over_http(mode) as client:
        first, again = [meta_of(await drop(client)) for _ in range(2)]
    await watch.aclose()

    assert first["dev.interlock/call_id"] == again["dev.interlock/call_id"]
    assert first["dev.interlock/decision"]["id"] == again["dev.interlock/decision"]["id"]
