"""MCP over TLS: callers are known by certificates, and both ends' files may change (MCP-1, AUTH-1)."""

import asyncio
import ssl
from pathlib import Path

import httpx2
import pytest
from certificates import Leaf
from interlock_gateway.config_mcp import McpConfig
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp_bench import text_of
from tls_bench import HOST, TlsBench, behind_tls
from waiting import eventually

MCP = McpConfig(listen=("127.0.0.1:0",), hosts=(HOST,))


def web(at: TlsBench, directory: Path, leaf: Leaf | None) -> httpx2.AsyncClient:
    """An HTTP client that believes the gateway's authority, and shows `leaf`."""
    context = ssl.create_default_context(cadata=at.pki.servers.pem.decode())
    context.check_hostname = False
    if leaf is not None:
        leaf.written(directory, "mcp-client")
        context.load_cert_chain(directory / "mcp-client.crt", directory / "mcp-client.key")
    return httpx2.AsyncClient(verify=context, timeout=30.0)


def url(at: TlsBench) -> str:
    return f"https://{at.made.gateway.endpoints.mcp[0]}/mcp"


@pytest.mark.req("MCP-1", "AUTH-1")
@pytest.mark.parametrize("mode", ["legacy", "2026-07-28"])
async def test_a_client_is_known_by_its_certificate(socket_directory: Path, tmp_path: Path, mode: str) -> None:
    async with (
        behind_tls(socket_directory, mcp=MCP) as at,
        web(at, tmp_path, at.pki.agent()) as http,
        Client(streamable_http_client(url(at), http_client=http), mode=mode) as client,
    ):
        assert text_of(await client.call_tool("echo", {"text": "x"})) == "x"


@pytest.mark.req("MCP-1", "AUTH-1")
async def test_who_shows_none_or_another_authoritys_gets_nowhere(socket_directory: Path, tmp_path: Path) -> None:
    async with behind_tls(socket_directory, mcp=MCP) as at:
        for leaf in (None, at.pki.servers.leaf("spiffe://example.org/ns/prod/sa/agent")):
            async with web(at, tmp_path, leaf) as http:
                with pytest.raises(httpx2.TransportError):
                    await http.post(url(at), json={})


@pytest.mark.req("MCP-1")
async def test_who_speaks_http2_is_answered_in_http2(socket_directory: Path) -> None:
    async with behind_tls(socket_directory, mcp=MCP) as at:
        context = ssl.create_default_context(cadata=at.pki.servers.pem.decode())
        context.load_cert_chain(*at.pki.agent().written(socket_directory, "mcp-client"))
        host, _, port = at.made.gateway.endpoints.mcp[0].rpartition(":")
        reader, writer = await asyncio.open_connection(host, int(port), ssl=context, server_hostname=HOST)
        writer.write(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes((0, 0, 0, 4, 0, 0, 0, 0, 0)))
        head = await asyncio.wait_for(reader.readexactly(9), 10)
        writer.close()
    assert head[3] == 4  # settings come first


@pytest.mark.req("MCP-1", "AUTH-1")
async def test_a_new_certificate_is_shown_to_who_connects_next(socket_directory: Path, tmp_path: Path) -> None:
    async with behind_tls(socket_directory, mcp=MCP) as at:
        tls = at.made.gateway.rooms.entrance.tls
        assert tls is not None
        before = tls.web
        at.pki.write()
        await eventually(lambda: tls.web is not before)
        async with web(at, tmp_path, at.pki.agent()) as http:
            assert (await http.get(url(at))).status_code == 400
