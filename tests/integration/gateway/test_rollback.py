"""Rollback (flows.md, UNDO-1 to UNDO-5), by what the provider really did."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from gateway_bench import Bench, Ledger, bench
from interlock import Session
from interlock.errors import RequestError
from interlock.journal import OperationState, RollbackLine, RollbackOutcome
from interlock.provider import Tool, tool
from interlock_gateway.audit.read import read_records
from rolling_back import found, outcomes, put, rolled_back, shelved
from scraping import samples_in, scraped, value
from undoable_tools import Shelf, undoable_tools
from waiting import eventually


@pytest.fixture
async def at(socket_directory: Path) -> AsyncIterator[tuple[Bench, Shelf]]:
    async with shelved(socket_directory) as made:
        yield made


@pytest.mark.req("UNDO-2")
async def test_a_rollback_undoes_newest_first_and_says_so_line_by_line(at: tuple[Bench, Shelf]) -> None:
    bench_, shelf = at
    shelf.values["a"] = "old a"
    session = bench_.agent.session("s")
    await put(session, "a", "b", "a2")

    lines = await rolled_back(session, since_call_id="put-a")

    assert outcomes(lines) == [("put-a2", "undone", 2), ("put-b", "undone", 1), ("put-a", "undone", 0)]
    assert shelf.undone == ["a2", "b", "a"]
    assert shelf.values == {"a": "old a"}
    last = lines[-1]
    assert last.message == "Undone: put a back"
    assert last.result is not None
    assert last.result.text == "a is back"
    assert last.operation == await found(session, "put-a")
    assert last.operation.state is OperationState.UNDONE
    assert last.operation.undone_at is not None
    assert last.operation.decision_id
    compensation = await found(session, last.operation.undo_call_id)
    assert (compensation.undoes_operation_id, compensation.tool) == (last.operation.operation_id, "take_back")


@pytest.mark.req("UNDO-2")
async def test_a_count_is_of_operations_that_are_still_to_be_undone(at: tuple[Bench, Shelf]) -> None:
    bench_, shelf = at
    session = bench_.agent.session("s")
    await put(session, "a", "b", "c")

    assert outcomes(await rolled_back(session, count=1)) == [("put-c", "undone", 0)]
    assert outcomes(await rolled_back(session, count=1)) == [("put-b", "undone", 0)]
    assert outcomes(await rolled_back(session, count=9)) == [("put-a", "undone", 0)]
    assert outcomes(await rolled_back(session, count=9)) == []
    assert shelf.undone == ["c", "b", "a"]


@pytest.mark.req("UNDO-2", "UNDO-4")
async def test_an_operation_names_the_last_to_undo_and_what_was_undone_before_stays(at: tuple[Bench, Shelf]) -> None:
    bench_, shelf = at
    session = bench_.agent.session("s")
    await put(session, "a", "b", "c")
    target = (await found(session, "put-b")).operation_id
    await rolled_back(session, count=1)

    lines = await rolled_back(session, last_operation_id=target)

    assert outcomes(lines) == [("put-c", "already_undone", 1), ("put-b", "undone", 0)]
    assert shelf.undone == ["c", "b"]
    assert shelf.values == {"a": "new a"}


@pytest.mark.req("UNDO-3")
async def test_what_cannot_be_undone_stops_it_with_the_manual_guide(at: tuple[Bench, Shelf]) -> None:
    bench_, shelf = at
    session = bench_.agent.session("s")
    await put(session, "a")
    await session.call("engrave", {"text": "x"}, call_id="engrave-x")
    await put(session, "b")

    lines = await rolled_back(session, since_call_id="put-a")

    assert outcomes(lines) == [("put-b", "undone", 2), ("engrave-x", "stopped_irreversible", 2)]
    assert lines[-1].manual_guide == "Polish 'x' off the stone."
    assert "a" in shelf.values


@pytest.mark.req("UNDO-3")
async def test_it_goes_past_what_cannot_be_undone_when_told_to(at: tuple[Bench, Shelf]) -> None:
    bench_, shelf = at
    session = bench_.agent.session("s")
    await put(session, "a")
    await session.call("shout", {"text": "x"}, call_id="shout-x")

    lines = await rolled_back(session, since_call_id="put-a", skip_irreversible=True)

    assert outcomes(lines) == [("shout-x", "skipped_irreversible", 1), ("put-a", "undone", 0)]
    assert "shout-x" in lines[0].manual_guide
    assert shelf.values == {"shouted x": "x"}


@pytest.mark.req("UNDO-4")
@pytest.mark.parametrize(("trouble", "says"), [("words", "b has changed since"), ("crash", "RuntimeError")])
async def test_it_stops_at_a_failure_and_goes_on_from_there(at: tuple[Bench, Shelf], trouble: str, says: str) -> None:
    bench_, shelf = at
    session = bench_.agent.session("s")
    await put(session, "a", "b", "c")
    shelf.trouble["b"] = trouble

    lines = await rolled_back(session, since_call_id="put-a")

    assert outcomes(lines) == [("put-c", "undone", 2), ("put-b", "failed", 2)]
    assert says in lines[-1].message
    states = [(one.call_id, one.state) for one in await session.operations() if not one.undoes_operation_id]
    assert states == [
        ("put-c", OperationState.UNDONE),
        ("put-b", OperationState.UNDO_FAILED),
        ("put-a", OperationState.DONE),
    ]
    assert says in (await found(session, "put-b")).error

    shelf.trouble.clear()
    again = await rolled_back(session, since_call_id="put-a")
    assert outcomes(again) == [("put-c", "already_undone", 2), ("put-b", "undone", 1), ("put-a", "undone", 0)]
    assert shelf.undone == ["c", "b", "a"]
    assert (await found(session, "put-b")).error == ""


@pytest.mark.req("UNDO-4")
async def test_a_compensation_is_not_rolled_back(at: tuple[Bench, Shelf]) -> None:
    bench_, shelf = at
    session = bench_.agent.session("s")
    await put(session, "a", "b")
    await rolled_back(session, count=1)
    compensation = (await found(session, "put-b")).undo_call_id

    assert outcomes(await rolled_back(session, count=1)) == [("put-a", "undone", 0)]
    assert shelf.undone == ["b", "a"]
    with pytest.raises(RequestError, match="a rollback leaves it alone"):
        await rolled_back(session, last_operation_id=(await found(session, compensation)).operation_id)


@pytest.mark.req("UNDO-2", "UNDO-4")
async def test_of_two_rollbacks_at_once_one_is_told_that_the_other_is_running(at: tuple[Bench, Shelf]) -> None:
    bench_, shelf = at
    session = bench_.agent.session("s")
    await put(session, "a", "b")
    shelf.trouble["b"] = "hold"
    first = asyncio.create_task(rolled_back(session, since_call_id="put-a"))
    await asyncio.wait_for(shelf.begun.wait(), 10)

    with pytest.raises(RequestError) as refused:
        await rolled_back(session, count=1)
    assert refused.value.reason == "ROLLBACK_IN_PROGRESS"

    shelf.released.set()
    assert len(await first) == 2
    assert shelf.undone == ["b", "a"]
    assert await rolled_back(session, count=1) == []


@pytest.mark.req("UNDO-2", "UNDO-4", "PIPE-7")
async def test_a_client_that_goes_ends_it_behind_the_operation_under_way(at: tuple[Bench, Shelf]) -> None:
    bench_, shelf = at
    session = bench_.agent.session("s")
    await put(session, "a", "b")
    shelf.trouble["b"] = "hold"
    left = asyncio.create_task(rolled_back(session, since_call_id="put-a"))
    await asyncio.wait_for(shelf.begun.wait(), 10)

    left.cancel()
    await asyncio.gather(left, return_exceptions=True)
    shelf.released.set()
    await eventually(lambda: shelf.undone == ["b"])

    shelf.trouble.clear()
    lines = await until_free(session, since_call_id="put-a")
    assert outcomes(lines) == [("put-b", "already_undone", 1), ("put-a", "undone", 0)]
    assert shelf.undone == ["b", "a"]


async def until_free(session: Session, **asked: Any) -> list[RollbackLine]:
    """Roll back, once the gateway has noticed that an earlier client has gone."""
    async with asyncio.timeout(30):
        while True:
            try:
                return await rolled_back(session, **asked)
            except RequestError as error:
                if error.reason != "ROLLBACK_IN_PROGRESS":
                    raise


@pytest.mark.req("UNDO-2")
async def test_a_closed_session_can_be_rolled_back_by_its_owner(at: tuple[Bench, Shelf]) -> None:
    bench_, shelf = at
    session = bench_.agent.session("s")
    await put(session, "a")
    await session.close()

    assert outcomes(await rolled_back(session, count=1)) == [("put-a", "undone", 0)]
    assert shelf.values == {}


@pytest.mark.req("UNDO-2", "TOOL-10")
async def test_what_takes_back_needs_not_be_among_the_tools_of_the_session(at: tuple[Bench, Shelf]) -> None:
    bench_, shelf = at
    session = await bench_.agent.open_session(tools=["put"])
    await put(session, "a")

    assert outcomes(await rolled_back(session, count=1)) == [("put-a", "undone", 0)]
    assert (await session.call("take_back", {"token": "x"})).status == "denied"
    assert shelf.values == {}


@pytest.mark.req("UNDO-2", "UNDO-5", "AUD-1")
async def test_a_compensation_leaves_receipts_with_its_kind_the_reason_and_what_it_undoes(
    socket_directory: Path,
) -> None:
    async with shelved(socket_directory) as (at, _):
        session = at.agent.session("s")
        await put(session, "a")
        await rolled_back(session, count=1)
        operation = await found(session, "put-a")
    log = read_records(socket_directory / "state" / "audit")
    records = [one.record for one in log if one.record.get("call_kind") == "undo"]
    assert [one["kind"] for one in records] == ["intent", "receipt"]
    for record in records:
        seen: Any = record["input"]
        assert (record["undoes"], record["call_id"]) == (operation.operation_id, operation.undo_call_id)
        assert (seen["call"]["kind"], seen["call"]["intent"]) == ("undo", "start over")


@pytest.mark.req("UNDO-2", "UNDO-5")
async def test_a_tool_that_claims_to_read_is_journaled_when_it_undoes(at: tuple[Bench, Shelf]) -> None:
    bench_, shelf = at
    shelf.undo_tool = "claims_to_read"
    session = bench_.agent.session("s")
    await put(session, "a")

    assert outcomes(await rolled_back(session, count=1)) == [("put-a", "undone", 0)]
    assert await rolled_back(session, count=1) == []
    assert shelf.undone == ["a"]


@pytest.mark.req("UNDO-5")
@pytest.mark.parametrize(
    ("undo_tool", "says"),
    [("nothing", "is not registered any more"), ("read_artifact", "is a tool of interlock now")],
)
async def test_an_undo_tool_that_is_gone_or_anothers_is_a_clear_failure(
    at: tuple[Bench, Shelf], undo_tool: str, says: str
) -> None:
    bench_, shelf = at
    shelf.undo_tool = undo_tool
    session = bench_.agent.session("s")
    await put(session, "a")

    (line,) = await rolled_back(session, count=1)

    assert (line.outcome, line.remaining) == (RollbackOutcome.FAILED, 1)
    assert says in line.message
    assert line.operation.state is OperationState.DONE
    assert shelf.values == {"a": "new a"}


@pytest.mark.req("UNDO-2", "CHK-2")
async def test_policy_refuses_a_compensation_and_allows_it_later(at: tuple[Bench, Shelf]) -> None:
    bench_, shelf = at
    shelf.undo_tool = "ask_to_take_back"
    session = bench_.agent.session("s")
    await put(session, "a")

    (line,) = await rolled_back(session, count=1)

    assert line.outcome is RollbackOutcome.DENIED
    assert "no approval handler is registered" in line.message
    assert line.operation.state is OperationState.DONE
    (again,) = await rolled_back(session, count=1)
    assert again.outcome is RollbackOutcome.DENIED


@pytest.mark.req("UNDO-2")
async def test_whose_session_it_is_may_roll_it_back_and_the_target_has_to_be_there(at: tuple[Bench, Shelf]) -> None:
    bench_, _ = at
    session = bench_.agent.session("s")
    await put(session, "a")
    await session.call("look", call_id="look")
    for asked, reason in (
        ({"last_operation_id": "nothing"}, "OPERATION_NOT_FOUND"),
        ({"since_call_id": "nothing"}, "CALL_NOT_FOUND"),
        ({"since_call_id": "look"}, "CALL_NOT_FOUND"),
    ):
        with pytest.raises(RequestError) as refused:
            await rolled_back(session, **asked)
        assert refused.value.reason == reason
    with pytest.raises(RequestError) as refused:
        await rolled_back(bench_.agent.session("another"), count=1)
    assert refused.value.reason == "SESSION_NOT_FOUND"
    with pytest.raises(RequestError) as refused:
        await session.call("put", {"key": "b", "value": "b"}, call_id="undo:mine:1")
    assert refused.value.reason == "INVALID_FIELD"


@pytest.mark.req("UNDO-5", "TOOL-5")
async def test_an_undo_tool_that_is_quarantined_undoes_nothing_until_it_is_approved(socket_directory: Path) -> None:
    shelf = Shelf()
    async with bench(socket_directory, tools=lambda _: undoable_tools(shelf)) as at:
        await put(at.agent.session("s"), "a")

    def changed(_: Ledger) -> list[Tool[..., Any]]:
        @tool(destructive=False, name="take_back")
        async def other(token: str) -> str:
            """Do something else altogether."""
            return await shelf.take_back(token)

        return [other, *(one for one in undoable_tools(shelf) if one.name != "take_back")]

    async with bench(socket_directory, tools=changed) as at:
        (line,) = await rolled_back(at.agent.session("s"), count=1)
        assert line.outcome is RollbackOutcome.DENIED
        assert "definition has changed" in line.message
        assert shelf.undone == []


@pytest.mark.req("OBS-1", "UNDO-2")
async def test_what_rollbacks_do_is_counted_by_outcome(at: tuple[Bench, Shelf]) -> None:
    bench_, _ = at
    session = bench_.agent.session("s")
    await put(session, "a", "b")
    await session.call("shout", {"text": "x"})
    await rolled_back(session, count=9)
    await rolled_back(session, count=9, skip_irreversible=True)
    samples = samples_in(await scraped(bench_))
    counted = {
        outcome: value(samples, "interlock_undo_total", outcome=outcome)
        for outcome in ("undone", "stopped_irreversible", "skipped_irreversible")
    }
    assert counted == {"undone": 2, "stopped_irreversible": 1, "skipped_irreversible": 1}
