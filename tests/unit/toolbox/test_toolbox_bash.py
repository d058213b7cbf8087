"""`bash`: bounds, endings, and what is left of processes."""

import asyncio
import json
import os
import time
from pathlib import Path
from typing import Any

import pytest
from interlock.provider._provider import Caller
from interlock.toolbox.local_shell import allowed_environment
from interlock.toolbox.outputs import HeadAndTail
from interlock.v1.provider_pb2 import ToolInvocation, ToolResult
from interlock.v1.tool_provider_service_pb2 import ExecuteRequest
from toolbox_workplaces import Box, box_of, memory_workplace
from waiting import eventually


def details(result: ToolResult) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(result.details)
    return found


def alive(pid: int) -> bool:
    """Whether a process runs; one that has ended but was not waited for does not."""
    try:
        return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except FileNotFoundError:
        return False


async def until_gone(pid: int) -> None:
    await eventually(lambda: not alive(pid))


def whole_line(path: Path) -> str:
    """The line that a process wrote, or nothing while it has not."""
    text = path.read_text() if path.exists() else ""
    return text if text.endswith("\n") else ""


@pytest.mark.req("BOX-6")
async def test_output_and_errors_come_back_in_their_order(local_box: Box) -> None:
    result = await local_box.result("bash", command="echo one; echo two >&2; echo three")

    assert (result.output, result.is_error) == ("one\ntwo\nthree\n", False)
    assert details(result)["exit_code"] == 0
    assert details(result)["signal"] is None
    assert details(result)["duration_ms"] >= 0


@pytest.mark.req("BOX-6")
async def test_a_failure_says_how_it_ended(local_box: Box) -> None:
    failed = await local_box.result("bash", command="echo oops; exit 3")
    killed = await local_box.result("bash", command="kill -9 $$")

    assert failed.is_error
    assert failed.output.startswith("oops\n[exit code 3 after")
    assert details(failed)["exit_code"] == 3
    assert details(killed)["exit_code"] is None
    assert details(killed)["signal"] == "SIGKILL"
    assert failed.undo.irreversible
    assert failed.undo.manual_guide


@pytest.mark.req("BOX-6")
async def test_it_runs_in_the_working_directory_without_input(local_box: Box) -> None:
    local_box.workplace.put("sub/a.txt", b"")

    result = await local_box.result("bash", command="pwd; ls; cat", workdir=f"{local_box.workplace.root}/sub")

    assert result.output.splitlines() == [f"{local_box.workplace.root}/sub", "a.txt"]
    outside = await local_box.result("bash", command="pwd", workdir="/")
    assert outside.is_error
    assert "outside" in outside.output


@pytest.mark.req("BOX-6")
async def test_the_environment_is_an_allow_list(local_box: Box, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "canary")

    text = await local_box.text("bash", command="env")

    assert "canary" not in text
    assert set(allowed_environment({"PATH": "/bin", "LD_PRELOAD": "x", "BASH_ENV": "x", "HOME": "/h"})) == {
        "PATH",
        "HOME",
    }
    assert allowed_environment({"CI": "1"}, ["CI"])["CI"] == "1"


@pytest.mark.req("BOX-6")
async def test_too_much_output_keeps_head_and_tail_with_a_marker(local_box: Box) -> None:
    result = await local_box.result("bash", command="seq 1 200000")

    lines = result.output.splitlines()
    total = len("".join(f"{number}\n" for number in range(1, 200_001)))
    assert (lines[0], lines[-1]) == ("1", "200000")
    assert f"[... {total - 512 * 1024} bytes omitted ...]" in lines
    assert details(result)["output_truncated"]
    assert details(result)["output_bytes"] == total


def test_head_and_tail_are_kept_within_the_limit_however_the_pieces_fall() -> None:
    whole = bytes(range(33, 127)) * 40
    for size in (1, 7, 100, 5000):
        output = HeadAndTail(limit=1000)
        for start in range(0, len(whole), size):
            output.put(whole[start : start + size])
        head, marker, tail = output.text().partition(f"\n[... {len(whole) - 1000} bytes omitted ...]\n")
        assert (head.encode(), tail.encode()) == (whole[:500], whole[-500:])
        assert marker


def test_a_cut_does_not_break_characters() -> None:
    output = HeadAndTail(limit=9)
    output.put("üüüüüüüü".encode())

    text = output.text()

    assert "\ufffd" not in text
    assert text.startswith("üü\n")


@pytest.mark.req("BOX-6")
async def test_the_whole_group_is_ended_on_timeout(local_box: Box, tmp_path: Path) -> None:
    started = time.monotonic()

    result = await local_box.result(
        "bash", command=f"sleep 300 & echo $! > {tmp_path}/pid; echo before; wait", timeout=1
    )

    assert time.monotonic() - started < 60
    assert result.is_error
    assert result.output == "before\n[ended after 1 seconds, the time it had]"
    assert details(result)["timed_out"]
    await until_gone(int((tmp_path / "pid").read_text()))


@pytest.mark.req("BOX-6")
async def test_what_ignores_the_polite_signal_is_killed(local_box: Box, tmp_path: Path) -> None:
    command = f"trap '' TERM; echo $$ > {tmp_path}/pid; while true; do sleep 0.1; done"

    result = await local_box.result("bash", command=command, timeout=1)

    assert details(result)["timed_out"]
    await until_gone(int((tmp_path / "pid").read_text()))


@pytest.mark.req("BOX-6")
async def test_the_whole_group_is_ended_on_cancellation(local_box: Box, tmp_path: Path) -> None:
    call = asyncio.create_task(local_box.result("bash", command=f"sleep 300 & echo $! $$ > {tmp_path}/pids; wait"))
    await eventually(lambda: bool(whole_line(tmp_path / "pids")))
    pids = [int(pid) for pid in whole_line(tmp_path / "pids").split()]

    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call

    for pid in pids:
        await until_gone(pid)


@pytest.mark.req("BOX-6")
async def test_a_background_process_that_holds_the_pipe_does_not_hang_it(local_box: Box, tmp_path: Path) -> None:
    started = time.monotonic()

    result = await local_box.result("bash", command=f"sleep 300 & echo $! > {tmp_path}/pid; echo done")

    assert time.monotonic() - started < 60
    assert result.output == "done\n[processes that were left in the background were ended]"
    assert details(result)["background_ended"]
    await until_gone(int((tmp_path / "pid").read_text()))


@pytest.mark.req("BOX-6")
async def test_a_process_that_left_the_group_does_not_hang_it_either(local_box: Box, tmp_path: Path) -> None:
    command = f"setsid bash -c 'echo $$ > {tmp_path}/pid; exec sleep 300' & sleep 0.2; echo done"
    started = time.monotonic()

    result = await local_box.result("bash", command=command)

    os.kill(int((tmp_path / "pid").read_text()), 9)
    assert time.monotonic() - started < 60
    assert "done" in result.output


@pytest.mark.req("BOX-6")
async def test_output_is_shown_while_it_comes(local_box: Box, tmp_path: Path) -> None:
    seen: list[str] = []
    second = asyncio.Event()

    def take(event: Any) -> None:
        seen.append(event.output.text)
        if "second" in event.output.text:
            second.set()

    wait = f"while [ ! -e {tmp_path}/go ]; do sleep 0.02; done"
    command = f"echo first; sleep 0.03; echo second; {wait}; echo third"
    request = ExecuteRequest(invocation=ToolInvocation(tool="bash", input=json.dumps({"command": command}).encode()))
    call = asyncio.create_task(local_box.provider.execute(request, Caller(take)))
    async with asyncio.timeout(5):
        await second.wait()

    assert "".join(seen) == "first\nsecond\n"
    (tmp_path / "go").touch()
    await call
    assert "".join(seen) == "first\nsecond\nthird\n"


async def test_the_deadline_of_the_call_is_the_timeout_when_it_comes_first(local_box: Box) -> None:
    request = ExecuteRequest(invocation=ToolInvocation(tool="bash", input=b'{"command": "sleep 300"}'))

    event = await local_box.provider.execute(request, Caller(deadline=time.monotonic() + 1))

    assert details(event.result)["timed_out"]


async def test_a_shell_in_memory_knows_no_command() -> None:
    box = box_of(memory_workplace())

    assert (await box.result("bash", command="anything")).output.startswith("command not found")


async def test_commands_run_side_by_side(local_box: Box) -> None:
    results = await asyncio.gather(*(local_box.text("bash", command=f"echo {number}") for number in range(8)))

    assert results == [f"{number}\n" for number in range(8)]
