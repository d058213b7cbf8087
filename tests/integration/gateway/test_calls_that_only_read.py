"""What policy let through as reading destroys nothing and needs no undo, whatever else its tool can do."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from gateway_bench import Bench, Ledger, bench
from interlock import CallStatus, Session
from interlock import Gateway as Client
from interlock.admin import Admin
from interlock.journal import OperationState
from interlock.provider import Tool, ToolResult, UndoInfo, tool
from interlock.v1.session_report_pb2 import SessionReport
from interlock_gateway.audit.read import read_records
from rolling_back import found, outcomes, put, rolled_back
from scraping import samples_in, scraped, value
from undoable_tools import Shelf, undoable_tools
from waiting import eventually

GUIDE = "Look at what the command changed."


def shell(shelf: Shelf) -> Tool[..., Any]:
    """A tool that says of every command that it cannot be undone, and of one how it can."""

    @tool(destructive=True, permission_class="bash")
    def run(command: str) -> ToolResult:
        """Run a command."""
        if command == "cat undoable":
            return ToolResult(content="ran", undo=shelf.put("undoable", "changed"))
        return ToolResult(content="ran", undo=UndoInfo(irreversible=True, manual_guide=GUIDE))

    return run


@pytest.fixture
async def at(socket_directory: Path) -> AsyncIterator[tuple[Bench, Shelf]]:
    shelf = Shelf()

    def tools(_: Ledger) -> list[Tool[..., Any]]:
        return [*undoable_tools(shelf), shell(shelf)]

    work = socket_directory / "work"
    work.mkdir()
    async with bench(socket_directory, tools=tools, workspace_roots=(str(work),)) as made:
        yield made, shelf


async def reported(at: Bench) -> SessionReport:
    """The session's report."""
    async with Client(f"unix:{at.directory}/state/operator.sock") as operator:
        return await Admin(operator).session_report("s")


async def ran(session: Session, command: str, code: str, call_id: str) -> None:
    """Have a command run that policy lets through for a reason."""
    result = await session.call("run", {"command": command}, call_id=call_id)
    assert result.status is CallStatus.COMPLETED, result.text
    assert result.decision is not None
    assert [reason.code for reason in result.decision.reasons] == [code]


async def read(session: Session, call_id: str = "read") -> None:
    await ran(session, "ls", "bash_read_only", call_id)


@pytest.mark.req("OBS-1")
async def test_they_are_not_counted_among_the_destructive_calls(at: tuple[Bench, Shelf]) -> None:
    bench_, _ = at
    session = bench_.agent.session("s")
    await read(session)
    await ran(session, "git status && make test", "bash_routine", "routine")
    await session.call("run", {"command": "rm -rf /"})

    samples = samples_in(await scraped(bench_))
    assert value(samples, "interlock_calls_total", tool="run", effect="destructive") == 3
    assert value(samples, "interlock_destructive_calls_total") == 1
    assert value(samples, "interlock_destructive_calls_total", tool="run", outcome="denied") == 1
    report = await reported(bench_)
    assert [(one.tool, one.outcome, one.count) for one in report.destructive_calls] == [("run", "denied", 1)]
    assert report.session.destructive_calls == 0


@pytest.mark.req("UNDO-2", "UNDO-3")
async def test_a_rollback_passes_over_them_and_says_so(at: tuple[Bench, Shelf]) -> None:
    bench_, shelf = at
    session = bench_.agent.session("s")
    await put(session, "a")
    await read(session, "read-1")
    await put(session, "b")
    await read(session, "read-2")

    lines = await rolled_back(session, count=2)

    assert outcomes(lines) == [
        ("read-2", "nothing_to_undo", 2),
        ("put-b", "undone", 1),
        ("read-1", "nothing_to_undo", 1),
        ("put-a", "undone", 0),
    ]
    assert lines[0].message == "Policy let run through as a call that only reads; there is nothing to undo."
    assert (lines[0].manual_guide, lines[0].result) == ("", None)
    assert (lines[0].operation.only_reads, lines[1].operation.only_reads) == (True, False)
    assert shelf.values == {}
    assert await rolled_back(session, since_call_id="read-2") != []


@pytest.mark.req("UNDO-2")
async def test_a_count_is_not_of_them(at: tuple[Bench, Shelf]) -> None:
    bench_, shelf = at
    session = bench_.agent.session("s")
    await put(session, "a", "b")
    await read(session)

    lines = await rolled_back(session, count=1)

    assert outcomes(lines) == [("read", "nothing_to_undo", 1), ("put-b", "undone", 0)]
    assert shelf.undone == ["b"]


@pytest.mark.req("UNDO-2")
async def test_where_a_provider_says_how_to_undo_one_it_is_undone(at: tuple[Bench, Shelf]) -> None:
    bench_, shelf = at
    session = bench_.agent.session("s")
    await ran(session, "cat undoable", "bash_read_only", "read")

    assert outcomes(await rolled_back(session, count=1)) == [("read", "undone", 0)]
    assert shelf.values == {}


@pytest.mark.req("UNDO-3")
async def test_routine_work_may_have_changed_something_and_stops_a_rollback(at: tuple[Bench, Shelf]) -> None:
    bench_, shelf = at
    session = bench_.agent.session("s")
    await put(session, "a")
    await ran(session, "git commit -m x", "bash_routine", "commit")

    lines = await rolled_back(session, count=2)

    assert outcomes(lines) == [("commit", "stopped_irreversible", 2)]
    assert lines[0].manual_guide == GUIDE
    assert "a" in shelf.values


@pytest.mark.req("UNDO-3", "OBS-1")
async def test_the_report_counts_them_apart_from_what_cannot_be_undone(at: tuple[Bench, Shelf]) -> None:
    bench_, _ = at
    session = bench_.agent.session("s")
    await put(session, "a")
    await read(session)
    await ran(session, "git commit -m x", "bash_routine", "commit")

    undo = (await reported(bench_)).undo

    assert (undo.operations, undo.undoable, undo.irreversible, undo.only_read) == (3, 1, 1, 1)
    samples = samples_in(await scraped(bench_))
    assert value(samples, "interlock_undo_total", outcome="nothing_to_undo") == 0
    await rolled_back(session, last_operation_id=(await found(session, "commit")).operation_id)
    await rolled_back(session, last_operation_id=(await found(session, "read")).operation_id, skip_irreversible=True)
    samples = samples_in(await scraped(bench_))
    assert value(samples, "interlock_undo_total", outcome="nothing_to_undo") == 1


@pytest.mark.req("PIPE-9", "AUD-2")
async def test_their_intent_is_recorded_all_the_same(at: tuple[Bench, Shelf], socket_directory: Path) -> None:
    bench_, _ = at
    await read(bench_.agent.session("s"))
    operation = await found(bench_.agent.session("s"), "read")
    assert (operation.state, operation.only_reads) == (OperationState.DONE, True)

    def kinds() -> list[object]:
        log = read_records(socket_directory / "state" / "audit")
        return [one.record["kind"] for one in log if one.record.get("call_id") == "read"]

    await eventually(lambda: len(kinds()) == 2)
    assert kinds() == ["intent", "receipt"]
