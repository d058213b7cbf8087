"""What servers over HTTP do besides answering: forget sessions, refuse, redirect, break off, send nonsense."""

import asyncio
import json
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from certificates import Authority
from gateway_bench import config_in
from interlock import CallStatus
from interlock import Gateway as Client
from interlock_gateway.app import running
from interlock_gateway.config import DeferredConfig, PolicyConfig, ProviderConfig
from interlock_gateway.config_providers import McpUpstreamConfig, ProviderTlsConfig
from interlock_gateway.errors import OutcomeUnknownError, ProviderDownError, ProviderError, ProviderFailedError
from interlock_gateway.providers.mcp.clients import Clients
from interlock_gateway.providers.mcp.provider import McpProvider
from interlock_gateway.providers.mcp.target import target_of
from upstream_bench import MOST, call, described, http_server, provider_of, text_of
from upstream_server import Upstream, tool
from waiting import eventually

JSON = b"Content-Type: application/json\r\n"
EVENTS = b"Content-Type: text/event-stream\r\n"
CLOSE = b"Connection: close\r\n"
RESULT = b'{"jsonrpc":"2.0","id":ID,"result":{"content":[{"type":"text","text":"hello"}]}}'
CHANGED = b'{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}'
LISTED = DeferredConfig(threshold=100)
SERVER = {"name": "raw", "version": "1"}
HELLO = {"content": [{"type": "text", "text": "hello"}]}


def http(body: bytes, headers: bytes = JSON, status: bytes = b"200 OK") -> bytes:
    return b"HTTP/1.1 %b\r\n%bContent-Length: %d\r\n\r\n%b" % (status, headers, len(body), body)


def answer(request: dict[str, Any], result: dict[str, Any]) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": result}).encode()


class Raw:
    """A server whose answers to some methods are bytes, or the end of the connection; to all else it answers well.

    In such an answer `ID` stands for the request's id. One with `Connection: close` ends with the connection.
    """

    def __init__(self, answers: dict[str, bytes | None]) -> None:
        self.answers = answers
        self.heads: list[str] = []
        self.requests: list[dict[str, Any]] = []
        self.writers: list[asyncio.StreamWriter] = []

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.writers.append(writer)
        with suppress(ConnectionError, asyncio.IncompleteReadError):
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode()
                self.heads.append(head)
                lines = head.split("\r\n")
                length = int(next((line.split(":")[1] for line in lines if line.startswith("Content-Length")), 0))
                body = await reader.readexactly(length)
                sent = self._answer(head, json.loads(body) if body else {})
                writer.write(sent or b"")
                await writer.drain()
                if sent is None or CLOSE in sent:
                    break
        writer.close()

    async def close(self) -> None:
        for writer in self.writers:
            writer.close()
            with suppress(ConnectionError):
                await writer.wait_closed()

    def _answer(self, head: str, request: dict[str, Any]) -> bytes | None:
        method = request["method"] if request else head.partition(" ")[0]
        self.requests.append(request)
        if method in self.answers:
            self.asked = request.get("id", getattr(self, "asked", 0))
            sent = self.answers[method]
            return sent.replace(b":ID", b":%d" % self.asked) if sent is not None else None
        match method:
            case "initialize":
                said = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": SERVER}
                return http(answer(request, said), JSON + b"Mcp-Session-Id: s1\r\n")
            case "tools/list":
                return http(answer(request, {"tools": [{"name": "echo", "inputSchema": {}}]}))
            case "tools/call":
                return http(answer(request, HELLO))
            case _:
                return http(b"", b"", b"202 Accepted" if request or method == "DELETE" else b"405 Method Not Allowed")


@asynccontextmanager
async def raw(
    answers: dict[str, bytes | None], prefix: str = "", **config: Any
) -> AsyncIterator[tuple[McpProvider, Raw]]:
    server = Raw(answers)
    async with await asyncio.start_server(server.serve, "127.0.0.1", 0) as listening:
        port = listening.sockets[0].getsockname()[1]
        url = f"http://127.0.0.1:{port}/mcp?key=1"
        provider = provider_of(McpUpstreamConfig(url=url, **config), prefix=prefix)
        async with described(provider):
            yield provider, server
        await server.close()


def chunked(*pieces: bytes) -> bytes:
    return b"".join(b"%x;x=y\r\n%b\r\n" % (len(piece), piece) for piece in pieces) + b"0\r\nTrailer: 1\r\n\r\n"


@pytest.mark.parametrize(
    "sent",
    [
        b"HTTP/1.1 200 OK\r\n" + JSON + CLOSE + b"\r\n" + RESULT,
        b"HTTP/1.0 200\r\ncontent-type:application/json; charset=utf-8\r\n" + CLOSE + b"\r\n" + RESULT,
        b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n" + EVENTS + CLOSE + b"\r\n: hi\n\ndata: " + RESULT + b"\n\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n"
        + EVENTS
        + b"\r\n"
        + chunked(b"data: ", b"{}\n\n", b"x: y\n\n"),
    ],
)
@pytest.mark.req("MCP-2")
async def test_an_answer_is_read_however_http_may_carry_it(sent: bytes) -> None:
    async with raw({"tools/call": sent}) as (provider, _):
        if RESULT in sent:
            assert text_of(await provider.execute(call("echo"))) == "hello"
        else:
            with pytest.raises(OutcomeUnknownError, match="it sent no answer"):
                await provider.execute(call("echo"))


@pytest.mark.parametrize(
    ("sent", "error", "words"),
    [
        (http(b"", b"", b"401 Unauthorized"), ProviderFailedError, "refused with HTTP status 401"),
        (http(b"no", b"", b"413 Too Large"), ProviderFailedError, "HTTP status 413"),
        (http(b"", b"Location: http://other/\r\n", b"303 See Other"), OutcomeUnknownError, "not followed"),
        (http(b"", b"Location: http://other/\r\n", b"307 Temporary Redirect"), OutcomeUnknownError, "not followed"),
        (http(b"", b"", b"408 Request Timeout"), OutcomeUnknownError, "failed with HTTP status 408"),
        (http(b"", b"", b"499 Who Knows"), OutcomeUnknownError, "failed with HTTP status 499"),
        (http(b"oops", b"", b"503 Gone"), OutcomeUnknownError, "failed with HTTP status 503"),
        (http(b"<html>", b"Content-Type: text/html\r\n"), OutcomeUnknownError, "neither JSON nor a stream"),
        (http(b"{", JSON), OutcomeUnknownError, "it sent no answer"),
        (http(b'{"jsonrpc":"2.0","id":99,"result":{}}'), OutcomeUnknownError, "it sent no answer"),
        (http(b"x" * (MOST + 1)), OutcomeUnknownError, "larger than"),
        (http(b"data: " + b"x" * (MOST + 1), EVENTS), OutcomeUnknownError, "larger than"),
        (http(b"data: {}\n\n", EVENTS), OutcomeUnknownError, "it sent no answer"),
        (http(RESULT, JSON + b"Content-Encoding: gzip\r\n"), OutcomeUnknownError, "compressed"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked, gzip\r\n\r\n", OutcomeUnknownError, "no clear end"),
        (http(b"", b"Transfer-Encoding: chunked\r\n"), OutcomeUnknownError, "not HTTP as it should be: Content-Length"),
        (http(b"", b"Content-Length: 7\r\n"), OutcomeUnknownError, "not HTTP as it should be: Duplicate"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n", OutcomeUnknownError, "not HTTP as it should be: Invalid"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", OutcomeUnknownError, "not HTTP as it should"),
        (
            b"HTTP/1.1 200 OK\r\nX: 1\r\nA\x00: 1\r\n\r\n",
            OutcomeUnknownError,
            "not HTTP as it should be: Inv",
        ),
        (b"HTTP/1.1 200 OK\r\n" + b"X: 1\r\n" * 20_000, OutcomeUnknownError, "too many headers"),
        (b"HTTP/1.1 101 Switching Protocols\r\n\r\n", OutcomeUnknownError, "another protocol"),
        (b"SSH-2.0-OpenSSH_9.6\r\n\r\n", OutcomeUnknownError, "not HTTP as it should be"),
        (None, OutcomeUnknownError, "the connection was lost"),
    ],
)
@pytest.mark.req("MCP-2", "PIPE-7")
async def test_what_is_no_answer_ends_the_call_with_what_is_known(
    sent: bytes | None, error: type[ProviderError], words: str
) -> None:
    async with raw({"tools/call": sent}) as (provider, _):
        with pytest.raises(error, match=words):
            await provider.execute(call("echo", deadline_s=5.0))
        # Nobody else is harmed: the next request has a connection of its own.
        assert (await provider.describe(5.0)).tools


@pytest.mark.req("MCP-2", "PIPE-9")
async def test_a_change_that_is_answered_with_another_address_is_of_unknown_outcome_and_not_sent_again(
    socket_directory: Path,
) -> None:
    server = Raw({"tools/call": http(b"", b"Location: http://other/\r\n", b"303 See Other")})
    async with await asyncio.start_server(server.serve, "127.0.0.1", 0) as listening:
        url = f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}/mcp"
        spec = ProviderConfig(name="up", mcp=McpUpstreamConfig(url=url), trust="declared")
        config = config_in(socket_directory, providers=(spec,), deferred=LISTED, policy=PolicyConfig(profile="observe"))
        async with running(config) as gateway:
            await gateway.providers_settled(10.0)
            async with Client(gateway.endpoints.agents[0]) as agent:
                result = await agent.session("s").call("echo", {})
        await server.close()
    assert (result.status, "not followed" in result.text) == (CallStatus.OUTCOME_UNKNOWN, True)
    assert [one.get("method") for one in server.requests].count("tools/call") == 1


@pytest.mark.req("MCP-3")
async def test_an_error_that_comes_with_a_refusal_is_the_servers_own() -> None:
    error = b'{"jsonrpc":"2.0","id":null,"error":{"code":-32055,"message":"no such thing","data":[1]}}'
    async with raw({"tools/call": http(error, JSON, b"400 Bad Request")}) as (provider, _):
        outcome = await provider.execute(call("echo"))
        assert outcome.details == {"mcp": {"error": {"code": -32055, "message": "no such thing", "data": [1]}}}


@pytest.mark.req("MCP-2")
async def test_configured_headers_and_the_session_go_with_every_request() -> None:
    async with raw({}, headers={"Authorization": "Bearer hunter2"}) as (provider, server):
        await provider.execute(call("echo"))
    last = next(head for head in reversed(server.heads) if head.startswith("POST"))
    assert last.startswith("POST /mcp?key=1 HTTP/1.1\r\nHost: 127.0.0.1:")
    assert "\r\nAuthorization: Bearer hunter2\r\n" in last
    assert "\r\nMcp-Session-Id: s1\r\n" in last
    assert "\r\nMcp-Protocol-Version: 2025-11-25\r\n" in last.replace("mcp-protocol-version", "Mcp-Protocol-Version")
    assert server.heads[-1].startswith("DELETE /mcp?key=1 ")
    assert "hunter2" not in repr(provider._target) + provider.address
    assert "key=1" not in provider.address


@pytest.mark.req("MCP-2")
async def test_an_answer_that_broke_off_is_asked_for_again_where_the_server_numbers_it() -> None:
    broken = b"HTTP/1.1 200 OK\r\n" + EVENTS + CLOSE + b"\r\nid: 7\nretry: 1\ndata: \n\n"
    rest = b"HTTP/1.1 200 OK\r\n" + EVENTS + CLOSE + b"\r\nid: 8\ndata: " + RESULT + b"\n\n"
    async with raw({"tools/call": broken}) as (provider, server):
        server.answers["GET"] = rest
        assert text_of(await provider.execute(call("echo"))) == "hello"
    assert any(head.startswith("GET") and "\r\nLast-Event-ID: 7\r\n" in head for head in server.heads)


@pytest.mark.req("MCP-2")
async def test_a_session_that_was_forgotten_is_opened_anew_and_the_call_made_there(socket_directory: Path) -> None:
    first = Upstream()
    async with http_server(first) as url:
        spec = ProviderConfig(name="up", mcp=McpUpstreamConfig(url=url), trust="declared")
        async with running(config_in(socket_directory, providers=(spec,), deferred=LISTED)) as gateway:
            (connection,) = gateway.rooms.directory.connections()
            provider: Any = connection.provider
            provider._handshake_only = True
            await provider._connection.close()
            await eventually(lambda: provider.upstream is not None and not provider.upstream.modern)
            await eventually(lambda: connection.connected_since is not None)
            # The server forgets its sessions, as after a restart.
            first.server.session_manager._server_instances.clear()
            async with Client(gateway.endpoints.agents[0]) as client:
                session = client.session()
                assert (await session.call("echo", {"text": "again"})).text == "again"
                # It comes back with another tool under the name: that was never decided about.
                first.tools = [tool("echo", description="something else")]
                first.server.session_manager._server_instances.clear()
                calls = len(first.calls)
                stopped = await session.call("echo", {"text": "never"})
                assert stopped.is_error
                assert len(first.calls) == calls


@pytest.mark.parametrize("era", ["modern", "handshake"])
@pytest.mark.req("MCP-2", "TOOL-4", "TOOL-5")
async def test_tools_are_kept_in_step_without_going_away_meanwhile(socket_directory: Path, era: str) -> None:
    upstream = Upstream()
    async with http_server(upstream) as url:
        spec = ProviderConfig(name="up", mcp=McpUpstreamConfig(url=url), trust="declared")
        async with running(config_in(socket_directory, providers=(spec,), deferred=LISTED)) as gateway:
            (connection,) = gateway.rooms.directory.connections()
            provider: Any = connection.provider
            if era == "handshake":
                provider._handshake_only = True
                await provider._connection.close()
                await eventually(lambda: provider.upstream is not None and not provider.upstream.modern)
            await eventually(lambda: connection.connected_since is not None)
            since = connection.connected_since
            upstream.tools = [tool("echo"), tool("brand_new")]
            provider._connection._peer._receive(CHANGED, None)
            names = gateway.rooms.parts.registry
            await eventually(lambda: names.find("brand_new") is not None)
            assert names.find("sum") is None
            assert connection.connected_since == since
            changed = names.find("echo")
            assert changed is not None
            assert changed.pin_state.value == "changed"


@pytest.mark.req("MCP-2", "TOOL-4")
async def test_https_is_checked_against_the_configured_authority_and_name(tmp_path: Path) -> None:
    authority = Authority()
    (tmp_path / "ca.pem").write_bytes(authority.pem)
    (tmp_path / "other.pem").write_bytes(Authority().pem)
    server = Raw({})
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*authority.leaf("spiffe://org/desk", hosts=("127.0.0.1",)).written(tmp_path))
    cases: list[tuple[dict[str, Any], str]] = [
        ({}, ""),
        ({"spiffe_id": "spiffe://org/desk"}, ""),
        ({"spiffe_id": "spiffe://org/other"}, "not that of spiffe://org/other"),
        ({"server_name": "desk.example"}, "its certificate is refused"),
        ({"ca_file": tmp_path / "other.pem"}, "its certificate is refused"),
        ({"ca_file": tmp_path / "none.pem"}, "No such file"),
    ]
    async with await asyncio.start_server(server.serve, "127.0.0.1", 0, ssl=context) as listening:
        port = listening.sockets[0].getsockname()[1]
        for given, words in cases:
            tls = ProviderTlsConfig(**{"ca_file": tmp_path / "ca.pem", **given})
            config = McpUpstreamConfig(url=f"https://127.0.0.1:{port}/mcp")
            provider = McpProvider("up", target_of(config, tls, lambda text: text, MOST), prefix="", clients=Clients())
            if words:
                with pytest.raises(ProviderDownError, match=words):
                    await provider.describe(5.0)
            else:
                assert (await provider.describe(5.0)).tools
            await provider.close()
        await server.close()


def saying(result: dict[str, Any]) -> bytes:
    """An answer that ends with its connection."""
    body = b'{"jsonrpc":"2.0","id":ID,"result":' + json.dumps(result).encode() + b"}"
    return b"HTTP/1.1 200 OK\r\n" + JSON + CLOSE + b"\r\n" + body


def begins(**capabilities: Any) -> bytes:
    """The answer to `initialize` of a server that can do so much."""
    said = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}, **capabilities}, "serverInfo": SERVER}
    return saying(said)


@pytest.mark.req("MCP-2", "MCP-3")
async def test_a_tool_that_is_called_like_a_request_is_called_as_a_tool() -> None:
    listed = saying({"tools": [{"name": "resources/read", "inputSchema": {}}]})
    for prefix in ("", "up/"):
        async with raw({"tools/list": listed}, prefix=prefix) as (provider, server):
            assert text_of(await provider.execute(call(f"{prefix}resources/read"))) == "hello"
            assert server.requests[-1]["method"] == "tools/call"


@pytest.mark.req("MCP-3")
async def test_a_request_that_passes_has_of_the_agent_what_it_asks_for_and_no_more() -> None:
    answers: dict[str, bytes | None] = {"initialize": begins(resources={}), "resources/read": saying({"contents": []})}
    async with raw(answers) as (provider, server):
        for more in (b"7", b"null", b'{"progressToken":1}'):
            given = b'{"uri":"file:///a","_meta":%b,"inputResponses":{"who":{}},"requestState":"s"}' % more
            outcome = await provider.execute(call("up/resources/read", given))
            assert outcome.data == {"contents": []}
            assert server.requests[-1]["params"] == {"uri": "file:///a"}
