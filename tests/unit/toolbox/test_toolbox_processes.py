"""No process that the toolbox starts stays behind: not when a call is broken off, not when the toolbox is killed."""

import asyncio
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest
from child_processes import children
from interlock.toolbox import line_worker
from toolbox_workplaces import local_workplace

TURNS = range(8)


@pytest.mark.req("BOX-6")
@pytest.mark.parametrize("turns", TURNS)
async def test_a_command_that_is_cancelled_while_it_starts_leaves_no_process(tmp_path: Path, turns: int) -> None:
    workplace = local_workplace(tmp_path)
    before = children()
    running = asyncio.create_task(
        workplace.operations.shell.run("sleep 300", cwd=workplace.at("."), timeout_s=300, on_output=lambda _: None)
    )
    for _ in range(turns):
        await asyncio.sleep(0)
    running.cancel()
    with suppress(asyncio.CancelledError):
        await running
    assert running.cancelled()
    assert children() == before


@pytest.mark.req("BOX-6")
async def test_a_command_that_is_cancelled_twice_has_ended_before_its_call(tmp_path: Path) -> None:
    workplace = local_workplace(tmp_path)
    before = children()
    said = asyncio.Event()
    command = "trap '' TERM; echo begun; while :; do read -t 300 <> <(:); done"
    running = asyncio.create_task(
        workplace.operations.shell.run(command, cwd=workplace.at("."), timeout_s=300, on_output=lambda _: said.set())
    )
    async with asyncio.timeout(20):
        await said.wait()
    running.cancel()
    for _ in range(3):
        await asyncio.sleep(0)
    running.cancel()
    with suppress(asyncio.CancelledError):
        await running
    assert running.cancelled()
    assert children() == before


def test_a_search_that_nobody_is_left_to_end_ends_itself() -> None:
    script = "from interlock.toolbox import line_worker as worker; worker.LAST_RESORT_S = 0.1; worker.main()"
    worker = subprocess.Popen([sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert worker.stdin is not None
    for content in (b'["(a|a)*$", 1]', b"a" * 60 + b"b"):
        worker.stdin.write(len(content).to_bytes(line_worker.LENGTH, "big") + content)
    worker.stdin.flush()
    assert worker.stdout is not None
    # Its output ends while its input is still open, and nothing kills it.
    assert worker.stdout.read() == b""
    worker.stdin.close()
    worker.stdout.close()
    assert worker.wait(30) < 0
