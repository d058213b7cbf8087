"""MCP over the Unix socket, byte by byte: every revision, lines that are no messages, and clients that go (MCP-1)."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from interlock_gateway.transport.mcp.stream import UNANSWERED
from mcp_bench import McpBench, mcp_bench
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS
from test_mcp_http_door import BAD, ENVELOPE, calling, initialize
from waiting import eventually
from working_tools import PATIENCE_S, Work

TOLD = 4 << 20


@dataclass
class Line:
    """One connection, by hand."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    async def say(self, message: dict[str, Any] | bytes) -> None:
        raw = message if isinstance(message, bytes) else json.dumps(message).encode()
        self.writer.write(raw + b"\n")
        await self.writer.drain()

    async def hear(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(await asyncio.wait_for(self.reader.readline(), PATIENCE_S))
        return found

    async def asked(self, message: dict[str, Any] | bytes) -> dict[str, Any]:
        await self.say(message)
        return await self.hear()


@asynccontextmanager
async def connected(at: McpBench, version: str = "") -> AsyncIterator[Line]:
    """A connection; with a `version`, one that has shaken hands."""
    reader, writer = await asyncio.open_unix_connection(at.socket, limit=TOLD)
    line = Line(reader, writer)
    try:
        if version:
            answer = await line.asked(initialize(version))
            assert answer["result"]["protocolVersion"] == version
            await line.say({"jsonrpc": "2.0", "method": "notifications/initialized"})
        yield line
    finally:
        writer.close()


@pytest.fixture
def work() -> Work:
    return Work()


@pytest.fixture
async def at(socket_directory: Path, work: Work) -> AsyncIterator[McpBench]:
    async with mcp_bench(socket_directory, tools=work.tools) as made:
        yield made


@pytest.mark.req("MCP-1")
async def test_every_revision_with_a_handshake_is_spoken(at: McpBench) -> None:
    for version in HANDSHAKE_PROTOCOL_VERSIONS:
        async with connected(at, version) as line:
            listed = await line.asked({"jsonrpc": "2.0", "id": "a", "method": "tools/list"})
            answer = await line.asked(calling("weather", {"town": "Bonn"}))
        assert "weather" in {tool["name"] for tool in listed["result"]["tools"]}
        assert json.loads(answer["result"]["content"][0]["text"])["town"] == "Bonn"
        assert answer["result"]["_meta"]["dev.interlock/status"] == "completed"


@pytest.mark.req("SEC-1", "MCP-1")
async def test_a_line_that_is_no_message_is_refused_and_the_next_is_read(at: McpBench) -> None:
    async with connected(at, "2025-11-25") as line:
        for body in [*BAD[:-1], b'{"jsonrpc":"2.0","id":7}', b'{"id":7,"method":"tools/list"}']:
            refused = await line.asked(body)
            assert refused["error"]["code"] == -32700, body[:100]
            assert refused["id"] in {7, None}
        assert (await line.asked(calling("echo", {"text": "still here"})))["result"]["isError"] is False
    assert at.at.ledger.ran == [("echo", "still here")]


@pytest.mark.req("MCP-1")
async def test_a_line_that_is_too_long_ends_its_connection_and_no_other(at: McpBench) -> None:
    async with connected(at, "2025-11-25") as line, connected(at, "2025-11-25") as other:
        try:
            refused = await line.asked(b" " * (6 << 20))
            assert refused["error"]["message"].endswith("longer than messages may be")
            assert await line.reader.read() == b""
        except ConnectionError:
            pass  # what was not read when it was closed resets the connection
        assert (await other.asked(calling("echo", {"text": "x"})))["result"]["isError"] is False


@pytest.mark.req("MCP-1")
async def test_who_goes_in_the_middle_of_anything_takes_nothing_along(at: McpBench, work: Work) -> None:
    for said in (b"", b'{"jsonrpc', json.dumps(initialize()).encode() + b"\n"):
        reader, writer = await asyncio.open_unix_connection(at.socket)
        writer.write(said)
        writer.close()
        del reader
    async with connected(at, "2025-11-25") as line:
        await line.say(calling("wait", {}))
        await asyncio.wait_for(work.begun.wait(), PATIENCE_S)
    await asyncio.wait_for(work.cancelled.wait(), PATIENCE_S)
    await eventually(at.at.gateway.idle)
    async with connected(at, "2025-11-25") as line:
        assert (await line.asked(calling("echo", {"text": "x"})))["result"]["isError"] is False


@pytest.mark.req("MCP-1")
async def test_a_connection_is_a_session_that_ends_with_it(at: McpBench) -> None:
    async with connected(at, "2025-11-25") as line:
        shown = await line.asked(calling("replace_value", {"value": "v"}))
        assert "dev.interlock/pending" in shown["result"]["_meta"]
        assert at.at.gateway.rooms.metrics.pending_actions == 1
    await eventually(lambda: at.at.gateway.rooms.metrics.pending_actions == 0)


@pytest.mark.req("MCP-1")
async def test_who_does_not_read_holds_up_nobody_else(at: McpBench) -> None:
    async with connected(at, "2025-11-25") as deaf, connected(at, "2025-11-25") as line:
        listing = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}).encode() + b"\n"
        deaf.writer.write(listing * 5000)
        for number in range(10):
            answer = await line.asked(calling("echo", {"text": str(number)}, number))
            assert answer["result"]["content"][0]["text"] == str(number)


@pytest.mark.req("MCP-1")
async def test_requests_beyond_what_may_wait_are_refused_and_answers_are_read_on(at: McpBench, work: Work) -> None:
    async with connected(at, "2025-11-25") as line:
        for number in range(UNANSWERED + 1):
            await line.say(calling("wait", {}, number))
        refused = await line.hear()
        await line.say({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 0}})
        work.released.set()
        answered = {(await line.hear())["id"] for _ in range(UNANSWERED - 1)}
    assert (refused["id"], refused["error"]["data"]) == (UNANSWERED, {"reason": "LIMIT_REACHED"})
    assert answered == set(range(1, UNANSWERED))


@pytest.mark.req("MCP-1", "SEC-1")
async def test_a_second_request_of_an_open_ones_id_is_refused_and_the_first_is_answered(
    at: McpBench, work: Work
) -> None:
    async with connected(at, "2025-11-25") as line:
        await line.say(calling("wait", {}, 7))
        await asyncio.wait_for(work.begun.wait(), PATIENCE_S)
        for second in (calling("echo", {"text": "second"}, 7), {"jsonrpc": "2.0", "id": 7, "method": "tools/list"}):
            refused = await line.asked(second)
            assert (refused["id"], refused["error"]["code"]) == (None, -32600), "with its id it would be the first's"
        other = await line.asked({**calling("weather", {"town": "Bonn"}), "id": "7"})
        assert (other["id"], other["result"]["isError"]) == ("7", False)
        work.released.set()
        first = await line.hear()
        assert (first["id"], first["result"]["isError"]) == (7, False)
        again = await line.asked(calling("echo", {"text": "later"}, 7))
        assert again["result"]["isError"] is False, "nobody waits for that id any more"
    assert at.at.ledger.ran == [("echo", "later")]


@pytest.mark.req("MCP-1")
async def test_a_request_that_was_cancelled_holds_its_id_no_longer(at: McpBench, work: Work) -> None:
    async with connected(at, "2025-11-25") as line:
        await line.say(calling("wait", {}, 7))
        await asyncio.wait_for(work.begun.wait(), PATIENCE_S)
        await line.say({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 7}})
        await asyncio.wait_for(work.cancelled.wait(), PATIENCE_S)
        await eventually(at.at.gateway.idle)
        assert (await line.asked(calling("echo", {"text": "x"}, 7)))["result"]["isError"] is False


@pytest.mark.req("MCP-1")
async def test_a_connection_speaks_one_era(at: McpBench) -> None:
    async with connected(at) as line:
        listed = await line.asked({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": ENVELOPE}})
        assert listed["result"]["resultType"] == "complete"
        assert "error" in await line.asked(initialize())


@pytest.mark.req("MCP-1")
async def test_nobody_is_let_in_beyond_what_there_is_room_for(socket_directory: Path) -> None:
    async with mcp_bench(socket_directory, mcp={"max_connections": 1}) as at, connected(at, "2025-11-25"):
        reader, writer = await asyncio.open_unix_connection(at.socket)
        assert await asyncio.wait_for(reader.read(), PATIENCE_S) == b""
        writer.close()


@pytest.mark.req("MCP-1", "AUTH-1")
async def test_the_socket_is_its_owners_and_goes_with_the_gateway(socket_directory: Path) -> None:
    async with mcp_bench(socket_directory) as at:
        assert await asyncio.to_thread(mode_of, at.socket) == 0o600
    assert await asyncio.to_thread(mode_of, at.socket) is None


def mode_of(path: str) -> int | None:
    return Path(path).stat().st_mode & 0o777 if Path(path).exists() else None


@pytest.mark.req("SEC-1", "MCP-1")
@pytest.mark.parametrize("request_id", [None, True, 1.5, 1.0, [], {}])
async def test_a_request_whose_id_is_none_is_refused_and_not_taken_for_a_notification(
    at: McpBench, request_id: Any
) -> None:
    async with connected(at, "2025-11-25") as line:
        odd = {**calling("echo", {"text": "x"}), "id": request_id}
        refused = await line.asked(odd)
        assert (refused["id"], refused["error"]["code"]) == (None, -32700)
        assert (await line.asked({"jsonrpc": "2.0", "id": 2, "method": "ping"}))["id"] == 2
    assert at.at.ledger.ran == []
