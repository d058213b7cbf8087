"""The toolbox as a process of its own, called over gRPC as the gateway calls it."""

import asyncio
import json
import os
import signal
import stat
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import grpc
import grpc.aio
import pytest
from interlock.tls import ServerTls
from interlock.toolbox.__main__ import TOKEN_VARIABLE, parser, tls_of
from interlock.v1.provider_pb2 import ToolInvocation, ToolResult
from interlock.v1.tool_provider_service_pb2 import DescribeRequest, DryRunRequest, ExecuteRequest
from interlock.v1.tool_provider_service_pb2_grpc import ToolProviderServiceStub
from waiting import eventually

TOKEN = "a-token-for-this-test"
AUTHORIZED = (("authorization", f"Bearer {TOKEN}"),)


async def start(*arguments: str, token: str = "") -> asyncio.subprocess.Process:
    environment = {**os.environ, TOKEN_VARIABLE: token}
    return await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "interlock.toolbox", *arguments), env=environment, stderr=asyncio.subprocess.PIPE
    )


@pytest.fixture
async def process(tmp_path: Path, socket_directory: Path) -> AsyncIterator[asyncio.subprocess.Process]:
    (tmp_path / "root").mkdir()
    (tmp_path / "root/a.txt").write_text("one\n")
    places = (
        "--root",
        f"{tmp_path}/root",
        "--listen",
        f"unix:{socket_directory}/socket",
        "--state-dir",
        f"{tmp_path}/state",
    )
    started = await start(*places, token=TOKEN)
    yield started
    if started.returncode is None:
        started.kill()
    await started.communicate()


@pytest.fixture
async def toolbox(process: asyncio.subprocess.Process, socket_directory: Path) -> AsyncIterator[Any]:
    assert process.returncode is None
    async with grpc.aio.insecure_channel(f"unix:{socket_directory}/socket") as channel:
        stub = ToolProviderServiceStub(channel)
        await stub.Describe(DescribeRequest(), metadata=AUTHORIZED, wait_for_ready=True, timeout=30)
        yield stub


def asked(tool: str, **given: Any) -> ToolInvocation:
    return ToolInvocation(tool=tool, input=json.dumps(given).encode())


async def result_of(call: Any) -> ToolResult:
    *_, last = [event async for event in call]
    result: ToolResult = last.result
    return result


@pytest.mark.req("BOX-3")
async def test_a_change_is_previewed_applied_and_undone_over_grpc(toolbox: Any, tmp_path: Path) -> None:
    file = tmp_path / "root/a.txt"
    invocation = asked("edit", path="a.txt", old_string="one", new_string="two")

    preview = await toolbox.DryRun(DryRunRequest(invocation=invocation), metadata=AUTHORIZED)
    request = ExecuteRequest(invocation=invocation)
    request.apply.state_token = preview.state_token
    done = await result_of(toolbox.Execute(request, metadata=AUTHORIZED))

    assert "-one\n+two" in preview.preview
    assert done.output == "Edited a.txt: 1 replacement"
    assert file.read_text() == "two\n"
    undo = ToolInvocation(tool=done.undo.tool, input=done.undo.input)
    assert not (await result_of(toolbox.Execute(ExecuteRequest(invocation=undo), metadata=AUTHORIZED))).is_error
    assert file.read_text() == "one\n"


@pytest.mark.req("BOX-6")
async def test_cancelling_a_call_ends_its_processes(toolbox: Any, tmp_path: Path) -> None:
    command = f"sleep 300 & echo $! > {tmp_path}/pid; echo started; wait"
    call = toolbox.Execute(ExecuteRequest(invocation=asked("bash", command=command)), metadata=AUTHORIZED)
    async with asyncio.timeout(10):
        assert (await call.read()).output.text == "started\n"
    pid = int((tmp_path / "pid").read_text())

    call.cancel()

    await eventually(lambda: not runs(pid))


def runs(pid: int) -> bool:
    try:
        return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except FileNotFoundError:
        return False


async def test_a_caller_without_the_token_is_refused(toolbox: Any) -> None:
    with pytest.raises(grpc.aio.AioRpcError) as refusal:
        await toolbox.Describe(DescribeRequest())

    assert refusal.value.code() is grpc.StatusCode.UNAUTHENTICATED


async def test_commands_do_not_see_the_toolbox_token(toolbox: Any) -> None:
    invocation = asked("bash", command="env")

    output = (await result_of(toolbox.Execute(ExecuteRequest(invocation=invocation), metadata=AUTHORIZED))).output

    assert "PATH=" in output
    assert TOKEN not in output


@pytest.mark.usefixtures("toolbox")
async def test_the_socket_and_the_state_are_for_their_owner_and_a_signal_ends_it(
    process: asyncio.subprocess.Process, tmp_path: Path, socket_directory: Path
) -> None:
    state = tmp_path / "state"
    for path in (socket_directory / "socket", state, state / "trash", state / "kept", state / "records"):
        assert not stat.S_IMODE(path.stat().st_mode) & 0o077

    process.send_signal(signal.SIGTERM)
    _, errors = await asyncio.wait_for(process.communicate(), 20)

    assert (process.returncode, errors) == (0, b"")


@pytest.mark.parametrize("state", ["root/state", "."])
async def test_what_cannot_be_served_is_said_in_one_line(tmp_path: Path, state: str) -> None:
    (tmp_path / "root").mkdir()
    process = await start("--root", f"{tmp_path}/root", "--state-dir", f"{tmp_path}/{state}")

    _, errors = await asyncio.wait_for(process.communicate(), 30)

    assert process.returncode == 2
    assert errors.decode().startswith("error: the state directory")
    assert errors.count(b"\n") == 1


def test_certificates_are_options(tmp_path: Path) -> None:
    root = ("--root", str(tmp_path))
    files = ("--cert-file", "a.crt", "--key-file", "a.key", "--client-ca-file", "ca.pem")
    asked = parser().parse_args([*root, *files, "--client", "CN=gateway", "--client", "spiffe://example.org/gateway"])
    names = ["CN=gateway", "spiffe://example.org/gateway"]
    paths = Path("a.crt"), Path("a.key")
    assert tls_of(asked) == ServerTls(*paths, client_ca_file=Path("ca.pem"), clients=names)
    assert tls_of(parser().parse_args(root)) is None
    with pytest.raises(ValueError, match="there is no --cert-file"):
        tls_of(parser().parse_args([*root, "--client", "CN=gateway"]))
