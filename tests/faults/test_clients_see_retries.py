"""A gateway that goes away and comes back is nothing that an agent's program sees (STATE-2): the SDK asks again."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from gateway_process import GatewayProcess
from interlock import CallResult, CallStatus, Gateway, SyncGateway, SyncSession
from interlock.errors import GatewayUnavailableError
from interlock.journal import RollbackOutcome
from interlock.provider import Tool, ToolServer, UndoInfo, tool
from waiting import eventually
from wires import Damage, Streams, Wire

KNOCKS = 7
"""So often clients knock at a closed door until they are let in again: some seconds, longer than anybody starts."""


@dataclass
class Notes:
    """What really happened, and a call that does not end before the test says so."""

    ran: list[str] = field(default_factory=list)
    begun: asyncio.Event = field(default_factory=asyncio.Event)

    def tools(self) -> list[Tool[..., Any]]:
        """Notes, and one that is never finished."""

        @tool(destructive=False, reversible=True)
        async def note(value: str) -> str:
            """Write down."""
            self.ran.append(value)
            return f"noted {value}"

        @note.undo
        def strike(value: str) -> UndoInfo:
            return UndoInfo(tool="unnote", input={"value": value})

        @tool(destructive=False, reversible=True)
        async def unnote(value: str) -> str:
            """Strike out."""
            self.ran.append(f"un{value}")
            return f"struck {value}"

        @tool(destructive=False, reversible=True)
        async def hold(value: str) -> str:
            """Write down, and say nothing."""
            self.ran.append(value)
            self.begun.set()
            await asyncio.Event().wait()
            return ""

        return [note, unnote, hold]


@dataclass
class Door:
    """A TCP address before a gateway's socket, that can be closed; how often somebody knocked."""

    wire: Wire
    address: str
    knocks: int = 0


@asynccontextmanager
async def door_to(process: GatewayProcess) -> AsyncIterator[Door]:
    """A door that is open."""

    async def reach() -> Streams:
        return await asyncio.open_unix_connection(process.places["agents"][0].removeprefix("unix:"))

    door = Door(Wire(reach), "")

    async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        door.knocks += 1
        await door.wire.carry(reader, writer)

    async with await asyncio.start_server(accept, "127.0.0.1", 0) as server:
        door.address = f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
        yield door
        door.wire.drop()


@asynccontextmanager
async def gateway_of(notes: Notes, directory: Path) -> AsyncIterator[tuple[GatewayProcess, Door]]:
    """A gateway that serves these tools, behind a door."""
    (directory / "root").mkdir()
    address = f"unix:{directory}/notes.sock"
    async with ToolServer(notes.tools(), address, name="notes"):
        process = GatewayProcess(directory, {"notes": address})
        try:
            await (await process.start()).close()
            async with door_to(process) as door:
                yield process, door
        finally:
            await process.stop()


async def killed(process: GatewayProcess, door: Door) -> None:
    """End it in the middle of everything, and close the door."""
    process.kill()
    door.wire.break_(Damage.CUT)
    await process.gone()


async def started(process: GatewayProcess, door: Door) -> None:
    """Serve again, after clients have knocked for long."""
    known = door.knocks
    await eventually(lambda: door.knocks >= known + KNOCKS)
    await (await process.start()).close()
    door.wire.mend()


def in_threads(session: SyncSession) -> list[Callable[[], Any]]:
    """What a program with threads asks for."""
    return [
        lambda: session.call("note", {"value": "d"}, call_id="d").text,
        lambda: [one.text for one in session.stream("note", {"value": "e"}) if isinstance(one, CallResult)],
        lambda: "note" in {one.name for one in session.tools().tools},
    ]


@pytest.mark.req("STATE-2", "SDK-1", "PIPE-10", "UNDO-2")
async def test_a_gateway_that_is_away_for_some_seconds_is_not_noticed(socket_directory: Path) -> None:
    notes = Notes()
    async with gateway_of(notes, socket_directory) as (process, door), Gateway(door.address) as gateway:
        with SyncGateway(door.address) as sync_gateway:
            session, threads = gateway.session("s"), sync_gateway.session("t")
            await session.call("note", {"value": "before"}, call_id="before")
            await asyncio.to_thread(threads.call, "note", {"value": "before too"})
            await killed(process, door)
            asked = [
                asyncio.ensure_future(session.call("note", {"value": "a"}, call_id="a")),
                asyncio.ensure_future(session.batch([("note", {"value": "b"}), ("note", {"value": "c"})])),
                asyncio.ensure_future(session.call("note", {"value": "before"}, call_id="before")),
                *(asyncio.ensure_future(asyncio.to_thread(one)) for one in in_threads(threads)),
            ]
            await started(process, door)
            one, several, again, *others = await asyncio.gather(*asked)
            assert (one.text, again.text) == ("noted a", "noted before")
            assert [each.text for each in several] == ["noted b", "noted c"]
            assert others == ["noted d", ["noted e"], True]
            assert sorted(notes.ran) == ["a", "b", "before", "before too", "c", "d", "e"]

            await killed(process, door)
            lines = session.rollback(since_call_id="before", reason="not so")
            rolling = asyncio.ensure_future(anext(lines))
            await started(process, door)
            outcomes = [(await rolling).outcome, *[line.outcome async for line in lines]]
            assert outcomes == [RollbackOutcome.UNDONE] * 4
            assert sorted(notes.ran[-4:]) == ["una", "unb", "unbefore", "unc"]


@pytest.mark.req("STATE-2", "SDK-1", "PIPE-9", "PIPE-10")
@pytest.mark.parametrize("threads", [False, True], ids=["async", "sync"])
async def test_a_call_whose_gateway_dies_under_it_is_answered_unknown_and_never_run_again(
    socket_directory: Path, *, threads: bool
) -> None:
    notes = Notes()
    async with gateway_of(notes, socket_directory) as (process, door), Gateway(door.address) as gateway:
        with SyncGateway(door.address) as sync_gateway:
            if threads:
                calling = asyncio.ensure_future(
                    asyncio.to_thread(sync_gateway.session("s").call, "hold", {"value": "v"})
                )
            else:
                calling = asyncio.ensure_future(gateway.session("s").call("hold", {"value": "v"}))
            await asyncio.wait_for(notes.begun.wait(), 30)
            await killed(process, door)
            await started(process, door)
            assert (await calling).status is CallStatus.OUTCOME_UNKNOWN
        assert notes.ran == ["v"]


@pytest.mark.req("SDK-1")
async def test_a_gateway_that_stays_away_is_an_error_at_the_deadline_or_when_patience_ends(
    socket_directory: Path,
) -> None:
    async with (
        gateway_of(Notes(), socket_directory) as (process, door),
        Gateway(door.address) as patient,
        Gateway(door.address, patience=0) as hasty,
    ):
        for gateway in (patient, hasty):
            await gateway.session("s").tools()
        await killed(process, door)

        async def gives_up_after(gateway: Gateway) -> float:
            began = time.monotonic()
            with pytest.raises(GatewayUnavailableError):
                await gateway.session("s").call("note", {"value": "v"}, timeout=8)
            return time.monotonic() - began

        patient_s, hasty_s = await asyncio.gather(gives_up_after(patient), gives_up_after(hasty))
        assert hasty_s < 6 < patient_s < 12
