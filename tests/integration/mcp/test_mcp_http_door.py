"""Who is let in to MCP over HTTP, and what is refused before the SDK sees it (MCP-1, SEC-1, SEC-7)."""

import asyncio
import gc
import json
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx2
import pytest
from interlock_gateway.core.session import Principal
from interlock_gateway.identity.authenticate import Found, Metadata
from interlock_gateway.identity.peer import Peer
from interlock_gateway.transport.mcp.wires import Wire
from mcp_bench import McpBench, mcp_bench
from waiting import eventually
from working_tools import Work

ACCEPT = {"accept": "application/json, text/event-stream", "content-type": "application/json"}
MODERN = {"mcp-protocol-version": "2026-07-28"}
ENVELOPE = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
    "io.modelcontextprotocol/clientInfo": {"name": "raw", "version": "1"},
}


def initialize(version: str = "2025-11-25") -> dict[str, Any]:
    client = {"name": "raw", "version": "1"}
    return {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": {"protocolVersion": version, "capabilities": {}, "clientInfo": client},
    }


def calling(name: str, arguments: dict[str, Any], request_id: int = 2) -> dict[str, Any]:
    return {
        "jsonrpc": "2.0",
        "id": request_id,
        "method": "tools/call",
        "params": {"name": name, "arguments": arguments},
    }


async def opened(at: McpBench, http: httpx2.AsyncClient) -> str:
    """The id of an MCP session, opened by hand."""
    answer = await http.post(at.url, json=initialize(), headers=ACCEPT)
    session = str(answer.headers["mcp-session-id"])
    ready = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    assert (await http.post(at.url, json=ready, headers={**ACCEPT, "mcp-session-id": session})).status_code == 202
    return session


@pytest.mark.req("MCP-1")
async def test_a_session_that_ends_takes_all_its_calls_along_whatever_their_ids(socket_directory: Path) -> None:
    work = Work()
    async with mcp_bench(socket_directory, tools=work.tools) as at, AsyncExitStack() as life:
        clients = [await life.enter_async_context(at.http()) for _ in range(3)]
        headers = {**ACCEPT, "mcp-session-id": await opened(at, clients[0])}
        calls = []
        for client, request_id in zip(clients, (7, "7"), strict=False):
            call = {**calling("wait", {}), "id": request_id}
            work.begun.clear()
            calls.append(asyncio.create_task(client.post(at.url, json=call, headers=headers)))
            await asyncio.wait_for(work.begun.wait(), 10)
        assert (await clients[2].delete(at.url, headers=headers)).status_code == 200
        answers = await asyncio.wait_for(asyncio.gather(*calls), 10)
    assert ["the session has ended" in answer.text for answer in answers] == [True, True]


@pytest.mark.req("MCP-1", "SEC-1")
async def test_a_second_request_of_an_open_ones_id_is_refused_and_the_first_is_answered(socket_directory: Path) -> None:
    work = Work()
    async with mcp_bench(socket_directory, tools=work.tools) as at, at.http() as http, at.http() as other:
        headers = {**ACCEPT, "mcp-session-id": await opened(at, http)}
        first = asyncio.create_task(http.post(at.url, json=calling("wait", {}, 7), headers=headers))
        await asyncio.wait_for(work.begun.wait(), 10)
        usual, unusual = calling("echo", {"text": "second"}, 7), {"jsonrpc": "2.0", "id": 7, "method": "tools/list"}
        for second in (usual, unusual):
            refused = await other.post(at.url, json=second, headers=headers)
            assert (refused.status_code, refused.json()["id"], refused.json()["error"]["code"]) == (400, None, -32600)
        elsewhere = {**ACCEPT, "mcp-session-id": await opened(at, other)}
        assert (await other.post(at.url, json=usual, headers=elsewhere)).json()["result"]["isError"] is False
        work.released.set()
        answer = await asyncio.wait_for(first, 10)
        assert '"isError":false' in answer.text.replace(" ", "")
        assert (await http.post(at.url, json=usual, headers=headers)).json()["result"]["isError"] is False
        assert at.at.ledger.ran == [("echo", "second")] * 2, "in the other session, and when the first was answered"


@pytest.mark.req("MCP-1", "SEC-7")
@pytest.mark.parametrize("method", ["POST", "GET", "DELETE"])
async def test_nobody_without_a_credential_gets_in(at: McpBench, method: str) -> None:
    shown: tuple[dict[str, str], ...] = (
        {},
        MODERN,
        {"authorization": "Bearer ilk_wrong"},
        {"authorization": "Basic Zm9v", **MODERN},
    )
    async with httpx2.AsyncClient() as http:
        for headers in shown:
            answer = await http.request(method, at.url, json=initialize(), headers={**ACCEPT, **headers})
            assert answer.status_code == 401
            assert answer.headers["www-authenticate"] == 'Bearer realm="interlock"'
            assert answer.json()["error"]["data"]["reason"] == "UNAUTHENTICATED"


@pytest.mark.req("SEC-7")
async def test_an_operator_may_not_call_tools_over_mcp(at: McpBench) -> None:
    async with at.http(at.operator) as http:
        session = await opened_as_far_as_it_goes(at, http)
        assert session["error"]["data"]["reason"] == "ROLE_REQUIRED"


async def opened_as_far_as_it_goes(at: McpBench, http: httpx2.AsyncClient) -> dict[str, Any]:
    answer = await http.post(at.url, json=initialize(), headers=ACCEPT)
    found: dict[str, Any] = answer.json()
    return found


@pytest.mark.req("SEC-7")
async def test_a_session_of_mcp_is_there_for_nobody_but_who_opened_it(at: McpBench) -> None:
    async with at.http() as http, at.http(at.other) as stranger:
        session = {"mcp-session-id": await opened(at, http)}
        for method in ("POST", "GET", "DELETE"):
            refused = await stranger.request(
                method, at.url, json=calling("echo", {"text": "x"}), headers={**ACCEPT, **session}
            )
            assert (refused.status_code, refused.json()["error"]["message"]) == (404, "Session not found")
        unknown = await stranger.post(at.url, json={}, headers={**ACCEPT, "mcp-session-id": "0" * 32})
        assert unknown.json() == refused.json()
        own = await http.post(at.url, json=calling("echo", {"text": "mine"}), headers={**ACCEPT, **session})
        assert "mine" in own.text
        assert (await http.delete(at.url, headers={**ACCEPT, **session})).status_code == 200
        assert (await http.post(at.url, json=calling("echo", {}), headers={**ACCEPT, **session})).status_code == 404
    assert at.at.ledger.names() == ["echo"]


@pytest.mark.req("SEC-7")
async def test_a_session_of_the_gateway_is_there_for_nobody_but_its_owner(at: McpBench) -> None:
    named = {**calling("echo", {"text": "x"})}
    named["params"]["_meta"] = {**ENVELOPE, "dev.interlock/session": "s-1"}
    headers = {**ACCEPT, **MODERN, "mcp-method": "tools/call", "mcp-name": "echo"}
    async with at.http() as http, at.http(at.other) as stranger:
        assert (await http.post(at.url, json=named, headers=headers)).json()["result"]["isError"] is False
        refused = (await stranger.post(at.url, json=named, headers=headers)).json()["error"]
        named["params"]["_meta"] = ENVELOPE
        by_header = await stranger.post(at.url, json=named, headers={**headers, "interlock-session": "s-1"})
    assert refused["data"]["reason"] == "NOT_YOUR_SESSION"
    assert by_header.json()["error"] == refused


PAGES: list[tuple[dict[str, str], int]] = [
    ({"host": "evil.example"}, 403),
    ({"host": "localhost.evil.example:80"}, 403),
    ({"host": "127.0.0.1@evil.example"}, 403),
    ({"origin": "https://evil.example"}, 403),
    ({"origin": "http://localhost.evil.example"}, 403),
    ({"origin": "null"}, 403),
    ({"origin": "http://localhost:3000"}, 200),
    ({"host": "localhost:1", "origin": "http://[::1]:80"}, 200),
    ({"host": "mcp.example.com", "origin": "https://chat.example.com"}, 200),
]


@pytest.mark.req("MCP-1")
async def test_a_page_in_a_browser_is_refused_unless_it_was_named(socket_directory: Path) -> None:
    named = {"hosts": ("mcp.example.com",), "origins": ("https://chat.example.com",)}
    async with mcp_bench(socket_directory, mcp=named) as at, at.http() as http:
        for headers, status in PAGES:
            answer = await http.post(at.url, json=initialize(), headers={**ACCEPT, **headers})
            assert answer.status_code == status, headers


BAD = [
    b'{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"echo","arguments":{"text":"a","text":"b"}}}',
    b'{"jsonrpc":"2.0","id":7,"method":"tools/list","method":"tools/call"}',
    b'{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"echo","arguments":{"text":1e400}}}',
    b'{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"echo","arguments":{"text":NaN}}}',
    b'{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"echo","arguments":{"text":"\\ud800"}}}',
    b'{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"echo","arguments":{"n":9007199254740993}}}',
    b"\xef\xbb\xbf" + json.dumps(calling("echo", {"text": "x"}, 7)).encode(),
    b"[" * 100_000,
    b'{"id":7,"a":' + b"[" * 500 + b"]" * 500 + b"}",
    b"[]",
    b"\xff",
    b"",
]


@pytest.mark.req("SEC-1", "MCP-1")
async def test_what_parsers_could_read_differently_is_refused(at: McpBench) -> None:
    async with at.http() as http:
        for headers in ({"mcp-session-id": await opened(at, http)}, MODERN):
            for body in BAD:
                answer = await http.post(at.url, content=body, headers={**ACCEPT, **headers})
                assert (answer.status_code, answer.json()["error"]["code"]) == (400, -32700), body[:100]
                assert answer.json()["id"] in {7, None}
    assert at.at.ledger.ran == []


@pytest.mark.req("MCP-1")
async def test_a_body_that_is_too_large_is_refused_before_it_is_read(at: McpBench) -> None:
    async with at.http() as http:
        answer = await http.post(at.url, content=b" " * (6 << 20), headers=ACCEPT)
    assert (answer.status_code, answer.json()["error"]["data"]["reason"]) == (413, "TOO_LARGE")


@pytest.mark.req("MCP-1")
async def test_nobody_has_more_sessions_than_are_for_one(socket_directory: Path) -> None:
    most = {"max_sessions": 3, "max_sessions_per_principal": 2}
    async with mcp_bench(socket_directory, mcp=most) as at, at.http() as http, at.http(at.other) as other:
        mine = [await opened(at, http) for _ in range(2)]
        third = await http.post(at.url, json=initialize(), headers=ACCEPT)
        await opened(at, other)
        fourth = await other.post(at.url, json=initialize(), headers=ACCEPT)
        await http.delete(at.url, headers={**ACCEPT, "mcp-session-id": mine[0]})
        await opened(at, http)
    for refused in (third, fourth):
        assert (refused.status_code, refused.json()["error"]["data"]["reason"]) == (503, "LIMIT_REACHED")
        assert refused.headers["retry-after"] == "1"


@pytest.mark.req("MCP-1")
async def test_a_session_that_nobody_uses_is_closed_and_what_was_pending_in_it_discarded(
    socket_directory: Path,
) -> None:
    async with mcp_bench(socket_directory, mcp={"session_idle_s": 0.2}) as at, at.http() as http:
        session = {"mcp-session-id": await opened(at, http)}
        shown = await http.post(at.url, json=calling("replace_value", {"value": "v"}), headers={**ACCEPT, **session})
        assert "dev.interlock/pending" in shown.text
        await eventually(lambda: at.at.gateway.rooms.metrics.pending_actions == 0)
        late = await http.post(at.url, json=calling("echo", {}), headers={**ACCEPT, **session})
    assert late.status_code == 404


@pytest.mark.req("MCP-1")
async def test_anything_else_over_http_is_not_there(at: McpBench) -> None:
    async with at.http() as http:
        elsewhere = await http.get(at.url.replace("/mcp", "/sse"))
        assert (elsewhere.status_code, elsewhere.text) == (404, "MCP is spoken at /mcp")
        assert (await http.put(at.url, headers=ACCEPT)).status_code in {400, 405}
        assert (await http.post(at.url, json=calling("echo", {}), headers=ACCEPT)).status_code == 400


@pytest.mark.req("AUTH-1", "MCP-1")
async def test_a_stream_ends_with_the_credential_that_it_was_opened_with(
    at: McpBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    door, rooms = at.at.gateway.rooms.entrance.door, at.at.gateway.rooms
    found = door.principal

    def short_lived(metadata: Metadata, peer: Peer) -> Found:
        known = found(metadata, peer)
        assert isinstance(known, Principal)
        return replace(known, expires_at=rooms.parts.clock.now() + 0.5)

    async with at.http() as http:
        session = {"mcp-session-id": await opened(at, http)}
        listening = {"notifications": {"toolsListChanged": True}, "_meta": ENVELOPE}
        listen = {"jsonrpc": "2.0", "id": 1, "method": "subscriptions/listen", "params": listening}
        monkeypatch.setattr(door, "principal", short_lived)
        async with asyncio.timeout(20):
            async with http.stream("GET", at.url, headers={**ACCEPT, **session}) as stream:
                assert stream.status_code == 200
                await stream.aread()
            modern = {**ACCEPT, **MODERN, "mcp-method": "subscriptions/listen"}
            async with http.stream("POST", at.url, json=listen, headers=modern) as stream:
                assert b"acknowledged" in await stream.aread()


@pytest.mark.req("REL-10", "MCP-1")
async def test_nothing_stays_of_sessions_that_have_ended(at: McpBench) -> None:
    async with at.http() as http:
        for _ in range(5):
            session = {"mcp-session-id": await opened(at, http)}
            answer = await http.post(at.url, json=calling("echo", {"text": "x"}), headers={**ACCEPT, **session})
            assert answer.status_code == 200
            await http.delete(at.url, headers={**ACCEPT, **session})
        async with at.over_socket() as client:
            await client.call_tool("echo", {"text": "x"})
    await eventually(lambda: sum(at.at.gateway.mcp_sessions().values()) == 0)

    def left() -> int:
        gc.collect()
        return sum(isinstance(one, Wire) and one.principal is not None for one in gc.get_objects())

    await eventually(lambda: left() == 0)
