"""A provider over real gRPC: sockets, tokens, streams, cancellation."""

import asyncio
import json
import socket
import stat
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import grpc
import grpc.aio
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc
from interlock._status import DETAILS_KEY, read_details
from interlock.provider import ToolContext, ToolServer, tool
from interlock.v1 import provider_pb2
from interlock.v1 import tool_provider_service_pb2 as rpc
from interlock.v1.tool_provider_service_pb2_grpc import ToolProviderServiceStub


@tool(read_only=True, concurrency_safe=True)
async def echo(text: str) -> str:
    return text


@tool
def chatty(ctx: ToolContext, pieces: int) -> str:
    for index in range(pieces):
        ctx.output(f"{index}\n", "stdout")
    ctx.progress("nearly", 0.9)
    return "done"


def asking(name: str, **arguments: Any) -> rpc.ExecuteRequest:
    made = provider_pb2.ToolInvocation(session_id="s", call_id="c", tool=name, input=json.dumps(arguments).encode())
    return rpc.ExecuteRequest(invocation=made)


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[ToolServer]:
    async with ToolServer([echo, chatty], f"unix:{tmp_path}/tools.sock", name="t", version="1") as made:
        yield made


@pytest.fixture
async def stub(server: ToolServer) -> AsyncIterator[Any]:
    async with grpc.aio.insecure_channel(server.address) as channel:
        yield ToolProviderServiceStub(channel)


@pytest.mark.req("SDK-1")
async def test_a_unix_socket_is_for_its_owner_alone_and_goes_with_the_server(tmp_path: Path) -> None:
    path = tmp_path / "tools.sock"
    async with ToolServer([echo], f"unix:{path}"):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert not path.exists()


async def test_a_file_that_is_no_socket_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "precious"
    path.write_text("precious")
    with pytest.raises(OSError, match="is no socket"):
        await ToolServer([echo], f"unix:{path}").start()
    assert path.read_text() == "precious"


async def test_a_socket_that_another_server_listens_on_is_left_alone(socket_directory: Path) -> None:
    async with ToolServer([echo], f"unix:{socket_directory}/tools.sock") as first:
        with pytest.raises(OSError, match="another process listens there"):
            await ToolServer([echo], first.address).start()
        async with grpc.aio.insecure_channel(first.address) as channel:
            answer = await ToolProviderServiceStub(channel).Describe(rpc.DescribeRequest())
        assert [one.name for one in answer.tools] == ["echo"]


async def test_a_socket_that_a_killed_server_left_behind_is_used_again(socket_directory: Path) -> None:
    path = socket_directory / "tools.sock"
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as gone:
        gone.bind(str(path))
    async with ToolServer([echo], f"unix:{path}") as server:
        assert server.address == f"unix:{path}"


async def test_a_socket_without_a_directory_names_it(tmp_path: Path) -> None:
    with pytest.raises(OSError, match=f"there is no directory {tmp_path}/nowhere"):
        await ToolServer([echo], f"unix:{tmp_path}/nowhere/tools.sock").start()


async def test_a_port_that_is_taken_is_refused() -> None:
    async with ToolServer([echo], "127.0.0.1:0") as first:
        assert first.address.startswith("127.0.0.1:")
        assert first.address != "127.0.0.1:0"
        with pytest.raises(OSError, match="cannot listen"):
            await ToolServer([echo], first.address).start()


async def is_listening(address: str) -> bool:
    """Whether anybody takes connections there."""
    host, _, port = address.rpartition(":")
    try:
        _, writer = await asyncio.open_connection(host, int(port))
    except ConnectionRefusedError:
        return False
    writer.close()
    await writer.wait_closed()
    return True


async def test_a_taken_address_of_tools_leaves_nobody_who_answers_about_health() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        server = ToolServer([echo], f"127.0.0.1:{taken.getsockname()[1]}", health_address="127.0.0.1:0")
        with pytest.raises(OSError, match="cannot listen"):
            await server.start()
    assert not await is_listening(server.health_address)


async def test_a_taken_address_of_health_leaves_no_socket_behind(socket_directory: Path) -> None:
    path = socket_directory / "tools.sock"
    with socket.create_server(("127.0.0.1", 0)) as taken:
        server = ToolServer([echo], f"unix:{path}", health_address=f"127.0.0.1:{taken.getsockname()[1]}")
        with pytest.raises(OSError, match="cannot listen"):
            await server.start()
    assert not path.exists()


@pytest.mark.parametrize(
    "address", ["unix:/run/health.sock", "unix:1", "unix-abstract:1", "dns:///h:1", "::1", "8081", ":8081", "h:65536"]
)
def test_health_is_answered_at_host_and_port_and_at_no_other_kind_of_address(address: str) -> None:
    with pytest.raises(ValueError, match="health is answered at host:port"):
        ToolServer([echo], "127.0.0.1:0", health_address=address)


@pytest.mark.req("SDK-1")
async def test_it_describes_itself_and_runs_calls(stub: Any) -> None:
    described = await stub.Describe(rpc.DescribeRequest())
    assert (described.name, described.version) == ("t", "1")
    assert [one.name for one in described.tools] == ["echo", "chatty"]
    events = [event async for event in stub.Execute(asking("echo", text="hi"))]
    assert [event.result.output for event in events] == ["hi"]


@pytest.mark.req("SDK-1")
async def test_progress_from_a_thread_arrives_in_order_before_the_result(stub: Any) -> None:
    events = [event async for event in stub.Execute(asking("chatty", pieces=20))]
    kinds = [event.WhichOneof("event") for event in events]
    assert kinds == ["output"] * 20 + ["progress", "result"]
    assert "".join(event.output.text for event in events) == "".join(f"{index}\n" for index in range(20))


@pytest.mark.req("SDK-1")
async def test_an_unknown_tool_is_not_found_with_its_reason(stub: Any) -> None:
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await stub.Execute(asking("gone")).read()
    assert caught.value.code() is grpc.StatusCode.NOT_FOUND
    details = dict(caught.value.trailing_metadata() or ())[DETAILS_KEY]
    assert isinstance(details, bytes)
    assert read_details(details).reason == "TOOL_NOT_FOUND"


@pytest.mark.req("SDK-1")
async def test_cancelling_the_call_cancels_the_tool() -> None:
    begun, ended = asyncio.Event(), asyncio.Event()

    @tool
    async def wait() -> str:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()
        return "never"

    async with ToolServer([wait], "127.0.0.1:0") as server, grpc.aio.insecure_channel(server.address) as channel:
        call = ToolProviderServiceStub(channel).Execute(asking("wait"))
        reading = asyncio.ensure_future(call.read())
        await asyncio.wait_for(begun.wait(), 30)
        call.cancel()
        await asyncio.wait_for(ended.wait(), 30)
        with pytest.raises(asyncio.CancelledError):
            await reading


@pytest.mark.req("SDK-1")
async def test_a_tool_knows_its_deadline(tmp_path: Path) -> None:
    @tool
    async def left(ctx: ToolContext) -> str:
        assert ctx.time_left is not None
        return str(0 < ctx.time_left < 6)  # gRPC rounds timeouts up

    async with (
        ToolServer([left], f"unix:{tmp_path}/tools.sock") as server,
        grpc.aio.insecure_channel(server.address) as channel,
    ):
        event = await ToolProviderServiceStub(channel).Execute(asking("left"), timeout=5).read()
        assert event.result.output == "True"


@pytest.mark.req("SDK-1")
@pytest.mark.parametrize(
    "sent",
    [(), (("authorization", "Bearer wrong"),), (("authorization", "Bearer t0p"),) * 2, (("authorization", "t0p"),)],
)
async def test_callers_without_the_token_are_refused_on_every_method(sent: tuple[tuple[str, str], ...]) -> None:
    async with (
        ToolServer([echo], "127.0.0.1:0", token="t0p") as server,
        grpc.aio.insecure_channel(server.address) as channel,
    ):
        stub = ToolProviderServiceStub(channel)
        asked = asking("echo", text="x")
        unary = (
            (stub.Describe, rpc.DescribeRequest()),
            (stub.DryRun, rpc.DryRunRequest(invocation=asked.invocation)),
            (stub.ApplyPending, rpc.ApplyPendingRequest()),
        )
        for method, request in unary:
            with pytest.raises(grpc.aio.AioRpcError) as caught:
                await method(request, metadata=sent)
            assert caught.value.code() is grpc.StatusCode.UNAUTHENTICATED
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await stub.Execute(asked, metadata=sent).read()
        assert caught.value.code() is grpc.StatusCode.UNAUTHENTICATED
        right = (("authorization", "Bearer t0p"),)
        assert (await stub.Execute(asked, metadata=right).read()).result.output == "x"


async def test_it_says_that_it_is_healthy_to_anybody(tmp_path: Path) -> None:
    async with (
        ToolServer([echo], f"unix:{tmp_path}/t.sock", token="t0p") as server,
        grpc.aio.insecure_channel(server.address) as channel,
    ):
        answer = await health_pb2_grpc.HealthStub(channel).Check(health_pb2.HealthCheckRequest())
        assert answer.status == health_pb2.HealthCheckResponse.SERVING


@pytest.mark.req("SDK-1")
async def test_stopping_lets_a_running_call_finish() -> None:
    begun, go_on = asyncio.Event(), asyncio.Event()

    @tool
    async def slow() -> str:
        begun.set()
        await go_on.wait()
        return "finished"

    server = ToolServer([slow], "127.0.0.1:0")
    await server.start()
    async with grpc.aio.insecure_channel(server.address) as channel:
        reading = asyncio.ensure_future(ToolProviderServiceStub(channel).Execute(asking("slow")).read())
        await asyncio.wait_for(begun.wait(), 30)
        stopping = asyncio.create_task(server.stop(5.0))
        await asyncio.sleep(0)
        go_on.set()
        assert (await reading).result.output == "finished"
        await stopping


@pytest.mark.req("SDK-1", "K8S-2")
async def test_a_port_for_probes_says_how_it_is_to_anybody_and_nothing_else_also_while_calls_end() -> None:
    begun, go_on = asyncio.Event(), asyncio.Event()

    @tool
    async def slow() -> str:
        begun.set()
        await go_on.wait()
        return "finished"

    server = ToolServer([slow], "127.0.0.1:0", token="t0p", drain_s=60.0, health_address="127.0.0.1:0")
    await server.start()
    async with (
        grpc.aio.insecure_channel(server.address) as channel,
        grpc.aio.insecure_channel(server.health_address) as probing,
    ):
        health = health_pb2_grpc.HealthStub(probing)
        assert (await health.Check(health_pb2.HealthCheckRequest())).status == health_pb2.HealthCheckResponse.SERVING
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await ToolProviderServiceStub(probing).Describe(rpc.DescribeRequest())
        assert caught.value.code() is grpc.StatusCode.UNIMPLEMENTED
        right = (("authorization", "Bearer t0p"),)
        reading = asyncio.ensure_future(ToolProviderServiceStub(channel).Execute(asking("slow"), metadata=right).read())
        await asyncio.wait_for(begun.wait(), 30)
        stopping = asyncio.create_task(server.stop())
        await asyncio.sleep(0)
        answer = await health.Check(health_pb2.HealthCheckRequest())
        assert answer.status == health_pb2.HealthCheckResponse.NOT_SERVING
        go_on.set()
        assert (await reading).result.output == "finished"
        await stopping


@pytest.mark.req("SDK-1")
def test_serving_ends_with_a_signal(tmp_path: Path) -> None:
    import signal
    import subprocess
    import sys

    address = f"unix:{tmp_path}/tools.sock"
    program = (
        "from interlock.provider import serve_tools, tool\n"
        "@tool(read_only=True)\n"
        "def ping() -> str:\n"
        "    return 'pong'\n"
        f"serve_tools([ping], {address!r})\n"
    )
    process = subprocess.Popen([sys.executable, "-c", program])
    try:
        with grpc.insecure_channel(address) as channel:
            answer = ToolProviderServiceStub(channel).Execute(asking("ping"), wait_for_ready=True, timeout=30)
            assert next(iter(answer)).result.output == "pong"
        process.send_signal(signal.SIGTERM)
        assert process.wait(20) == 0
    finally:
        process.kill()
        process.wait()
