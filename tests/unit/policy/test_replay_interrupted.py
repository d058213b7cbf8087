"""A replay that is broken off leaves no process behind, and its processes have its own place in the session."""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from child_processes import children_of
from recorded_decisions import Call, said, write_log
from scheduling import place_of
from waiting import eventually

ENDLESS = """
package interlock

decision := {"verdict": "allow", "steps": steps}

digits := numbers.range(1, 1000)

steps := count([1 | some a in digits; some b in digits; some c in digits; a * b == c])
"""
REPLAY = """
import sys
from pathlib import Path
from engine_bundles import bundle
from interlock_gateway.policy.replay.running import Plan, replay

directory, policies, seconds = sys.argv[1:]
replay(Plan(Path(directory), bundle(Path(policies).read_text()), processes=2, seconds=float(seconds)))
"""


def gone(process_id: int) -> bool:
    return not Path(f"/proc/{process_id}").exists()


def busy(process_id: int) -> bool:
    """Whether it evaluates: what comes before takes a fraction of that."""
    user = Path(f"/proc/{process_id}/stat").read_text().rpartition(")")[2].split()[11]
    return int(user) > os.sysconf("SC_CLK_TCK") // 2


@asynccontextmanager
async def endless_replay(directory: Path, seconds: float) -> AsyncIterator[tuple[asyncio.subprocess.Process, set[int]]]:
    """It, and its two processes, of which each is in the midst of an evaluation."""
    calls = [Call(said("allow", "a/allows"), {"n": number}) for number in range(600)]
    policies = directory / "main.rego"
    policies.write_text(ENDLESS, encoding="utf-8")
    replaying = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", REPLAY, write_log(directory / "log", calls), policies, str(seconds)),
        cwd=Path(__file__).parent,
        stderr=asyncio.subprocess.PIPE,
    )
    crew: set[int] = set()
    try:
        await eventually(lambda: replaying.returncode is not None or len(children_of(replaying.pid)) == 2)
        crew = children_of(replaying.pid)
        await eventually(lambda: all(busy(one) for one in crew))
        yield replaying, crew
    finally:
        for one in (replaying.pid, *crew):
            if not gone(one):
                os.kill(one, signal.SIGKILL)
        await replaying.communicate()


@pytest.mark.req("LIFE-6")
async def test_whoever_interrupts_a_replay_ends_all_its_processes_at_once(tmp_path: Path) -> None:
    async with endless_replay(tmp_path, seconds=600.0) as (replaying, crew):
        for one in crew:
            assert os.getpgid(one) == one, "an interrupt from the terminal is for the one that was started there"
            assert place_of(one).session == place_of(replaying.pid).session
        replaying.send_signal(signal.SIGINT)
        _, error = await replaying.communicate()
        assert b"KeyboardInterrupt" in error
        await eventually(lambda: all(gone(one) for one in crew))


@pytest.mark.req("LIFE-6")
async def test_a_replay_that_is_killed_leaves_nobody_evaluating(tmp_path: Path) -> None:
    async with endless_replay(tmp_path, seconds=3.0) as (replaying, crew):
        replaying.kill()
        await replaying.wait()
        await eventually(lambda: all(gone(one) for one in crew))
