"""Who speaks gRPC to the port of MCP, or HTTP to one of gRPC, is told which port is which (MCP-1)."""

import asyncio
import json
import sys
from pathlib import Path

import grpc
import grpc.aio
import httpx2
import pytest
from interlock.v1 import gateway_service_pb2 as pb
from interlock.v1 import gateway_service_pb2_grpc as stubs
from interlock_gateway.config import ServerConfig

sys.path.insert(0, str(Path(__file__).parent.parent / "mcp"))

from mcp_bench import mcp_bench

BOTH = ServerConfig(listen=("unix:{state}/agent.sock", "127.0.0.1:0"))


@pytest.mark.req("MCP-1")
async def test_who_calls_over_grpc_at_the_port_of_mcp_reads_where_grpc_is(socket_directory: Path) -> None:
    async with mcp_bench(socket_directory, server=BOTH) as at:
        async with grpc.aio.insecure_channel(at.address) as channel:
            with pytest.raises(grpc.aio.AioRpcError) as caught:
                await stubs.GatewayServiceStub(channel).ListTools(pb.ListToolsRequest(), timeout=10)
        assert caught.value.code() is grpc.StatusCode.UNIMPLEMENTED
        assert "gRPC is spoken at those of server.listen" in str(caught.value.details())
        async with at.over_http() as client:
            assert (await client.list_tools()).tools


@pytest.mark.req("MCP-1")
@pytest.mark.parametrize("method", ["POST", "GET", "DELETE"])
async def test_who_speaks_http_at_a_port_of_grpc_reads_where_mcp_is(socket_directory: Path, method: str) -> None:
    async with mcp_bench(socket_directory, server=BOTH) as at:
        grpc_port = at.at.gateway.endpoints.agents[1]
        async with httpx2.AsyncClient() as http:
            answer = await http.request(method, f"http://{grpc_port}/mcp", timeout=10)
        assert answer.status_code == 421
        assert "MCP is spoken at the addresses of mcp.listen" in answer.json()["error"]["message"]
        async with grpc.aio.insecure_channel(grpc_port) as channel:
            with pytest.raises(grpc.aio.AioRpcError) as caught:
                await stubs.GatewayServiceStub(channel).ListTools(pb.ListToolsRequest(), timeout=10)
        assert caught.value.code() is grpc.StatusCode.UNAUTHENTICATED


@pytest.mark.req("MCP-1", "MCP-4")
async def test_who_speaks_mcp_at_the_socket_of_agents_reads_where_it_is(socket_directory: Path) -> None:
    async with mcp_bench(socket_directory) as at:
        path = at.at.gateway.endpoints.agents[0].removeprefix("unix:")
        reader, writer = await asyncio.open_unix_connection(path)
        writer.write(b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}\n')
        told = json.loads(await asyncio.wait_for(reader.read(), 10))
        writer.close()
    assert "MCP is spoken at the addresses of mcp.listen" in told["error"]["message"]
