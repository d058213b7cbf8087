"""Who may ask for others, and what a gateway that ends does with what it let through (EXT-1, AUTH-1, REL-9)."""

import asyncio
from pathlib import Path
from typing import Any

import grpc
import grpc.aio
import pytest
from foreign_description import CODES, SERVICE
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc
from interlock_gateway.config import Config, Front, IdentityConfig, ServerConfig, TokenConfig
from interlock_gateway.config_extmcp import ExtMcpConfig
from interlock_gateway.config_identity import GrantConfig, JwtConfig
from interlock_gateway.config_loader.rules import contradictions
from interlock_gateway.core.session import Role
from other_gateway import READS, OtherGateway, RejectedError, asked, saying, tool
from waiting import eventually

Code = grpc.StatusCode


@pytest.mark.req("EXT-1", "AUTH-1", "SEC-7")
@pytest.mark.parametrize("front", Front)
async def test_callers_that_are_not_named_hear_nothing(socket_directory: Path, front: Front) -> None:
    async with asked(
        socket_directory,
        server=ServerConfig(listen=("unix:{state}/agent.sock", "127.0.0.1:0"), front=front, drain_s=5.0),
    ) as at:
        await at.other.list(tool("read", **READS))
        assert (await at.other.call("read", {}))["content"]
        for token, code in (
            ("", Code.UNAUTHENTICATED),
            ("ilk_" + "A" * 43, Code.UNAUTHENTICATED),
            (at.tokens["stranger"], Code.PERMISSION_DENIED),
        ):
            with pytest.raises(grpc.aio.AioRpcError) as refused:
                await at.at(token=token).call("read", {})
            assert refused.value.code() is code
        agents = at.gateway.endpoints.agents[1]
        async with grpc.aio.insecure_channel(agents) as channel:
            with pytest.raises(grpc.aio.AioRpcError) as refused:
                await OtherGateway(channel, at.other.token).call("read", {})
            assert refused.value.code() is Code.UNIMPLEMENTED


@pytest.mark.req("EXT-1", "AUTH-1")
async def test_whoever_may_open_the_socket_may_ask(socket_directory: Path) -> None:
    listen = ("127.0.0.1:0", f"unix:{socket_directory}/extmcp.sock")
    async with asked(socket_directory, {"listen": listen}) as at:
        assert (socket_directory / "extmcp.sock").stat().st_mode & 0o777 == 0o600
        async with grpc.aio.insecure_channel(listen[1]) as channel:
            local = OtherGateway(channel)
            await local.list(tool("read", **READS))
            assert (await local.call("read", {}))["content"]
        # What one gateway listed is nothing to another.
        with pytest.raises(RejectedError):
            await at.other.call("read", {})


@pytest.mark.req("EXT-1", "REL-9")
async def test_a_gateway_that_ends_waits_for_the_results_of_what_it_let_through(socket_directory: Path) -> None:
    async with asked(socket_directory) as at:
        await at.other.list(tool("read", **READS))
        _, number = await at.other.request("tools/call", {"name": "read"}, ("files",))
        draining = asyncio.create_task(at.gateway.drain())
        await eventually(lambda: at.gateway.rooms.pipeline.draining)
        with pytest.raises(RejectedError) as refused:
            await at.other.call("read", {}, session="two")
        assert refused.value.code == CODES["RESOURCE_EXHAUSTED"]
        answer = saying("to its end")({})
        assert await at.other.respond("tools/call", answer, ("files",), number=number) == answer
        await asyncio.wait_for(draining, 4)


@pytest.mark.req("EXT-1", "PIPE-9")
async def test_who_goes_before_the_verdict_gets_nothing_sent(socket_directory: Path) -> None:
    async with asked(socket_directory) as at:
        hints: dict[str, Any] = {"readOnlyHint": False, "destructiveHint": False, "openWorldHint": False}
        await at.other.list(tool("append", **hints))
        _, number = await at.other.request("tools/call", {"name": "append"}, ("files",))
        second = asyncio.create_task(
            at.other.request("tools/call", {"name": "append", "arguments": {"b": 1}}, ("files",))
        )
        await eventually(lambda: at.gateway.rooms.pipeline.in_flight == 2)
        second.cancel()
        await eventually(lambda: at.gateway.rooms.pipeline.in_flight == 1)
        await at.other.respond("tools/call", saying("first")({}), ("files",), number=number)
        assert (await at.other.call("append", {"c": 1}))["content"]


@pytest.mark.req("EXT-1", "CONF-1")
def test_what_is_not_safe_is_refused_at_load() -> None:
    def problems(**extmcp: Any) -> list[str]:
        return [words for path, words in contradictions(Config(extmcp=ExtMcpConfig(**extmcp))) if path[0] == "extmcp"]

    assert problems() == []
    assert problems(listen=("unix:{state}/extmcp.sock",)) == []
    assert "nobody could ask there" in problems(listen=("127.0.0.1:7090",))[0]
    beyond = problems(listen=("0.0.0.0:7090",), callers=("proxy",))
    assert "which other hosts can reach" in beyond[0]
    assert "anybody could speak for everybody" in problems(listen=("127.0.0.1:1",), callers=("anonymous",))[0]
    assert "must be unix:PATH or HOST:PORT" in problems(listen=("nowhere",), callers=("proxy",))[0]
    assert "an agent that speaks for others" in problems(listen=("127.0.0.1:1",), callers=("local-agent",))[0]
    assert "comes through a Unix socket" in problems(listen=("127.0.0.1:1",), callers=("local",))[0]
    shared = problems(listen=("unix:{state}/agent.sock",))
    assert "is used for two listeners" in shared[0]


@pytest.mark.req("EXT-1", "AUTH-1")
def test_no_configured_name_is_that_of_an_agent_behind_another_gateway() -> None:
    token = TokenConfig(principal="extmcp:proxy:ana", sha256="0" * 64, roles=(Role.AGENT,))
    grant = GrantConfig(claim="a", value="b", roles=(Role.AGENT,))
    issuer = JwtConfig(name="extmcp", issuer="https://example.org", audience=("a",), grants=(grant,))
    found = [words for _, words in contradictions(Config(identity=IdentityConfig(tokens=(token,), jwt=(issuer,))))]
    assert sum("agents behind MCP gateways" in words for words in found) == 2


@pytest.mark.req("EXT-1", "CON-4")
async def test_health_and_what_is_served_can_be_asked_there_too(socket_directory: Path) -> None:
    async with asked(socket_directory) as at:
        health = health_pb2_grpc.HealthStub(at.other.channel)
        told = await health.Check(health_pb2.HealthCheckRequest(service="interlock.v1.ProviderHubService"), timeout=5)
        assert told.status == health_pb2.HealthCheckResponse.SERVING
        described = reflection_pb2_grpc.ServerReflectionStub(at.other.channel).ServerReflectionInfo(timeout=5)
        await described.write(reflection_pb2.ServerReflectionRequest(file_containing_symbol=SERVICE.strip("/")))
        answer = await described.read()
        assert answer.WhichOneof("message_response") == "file_descriptor_response"
        await described.done_writing()
