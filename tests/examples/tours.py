"""The example agents' tour and the example providers, before a gateway that runs, with a person who approves."""

import json
import os
import re
import signal
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from interlock_gateway.cli.exit_codes import ExitCode
from running_programs import PATIENCE_S, Place, started
from toolchains import Example
from waiting import eventually_blocking

# Maven ends its output with them wherever it goes.
COLOURS = re.compile(r"\x1b\[[0-9;]*m")
PAGES = ((1, 8000), (8001, 8000), (16001, 4000))


@dataclass(frozen=True, slots=True)
class Ended:
    """What an agent printed, by the word that its lines begin with, its errors, and its exit code."""

    lines: Mapping[str, list[str]]
    errors: str
    code: int


@contextmanager
def running(example: Example, command: str, log: Path, **env: str) -> Iterator["subprocess.Popen[str]"]:
    """A command of an example, ended with everything that it has started."""
    process = example.started(command, log, **env)
    try:
        yield process
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait(PATIENCE_S)
        assert process.stdout is not None
        process.stdout.close()


@contextmanager
def approver(at: Place, log: Path) -> Iterator["subprocess.Popen[str]"]:
    """`interlock checkpoints watch`, once the gateway asks whoever runs it."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("INTERLOCK_")} | at.env
    with started("checkpoints", "watch", "-o", "json", env=env, log=log) as program:
        assert json.loads(program.ready)["event"] == "keepalive"
        yield program.process


def tour(at: Place, example: Example, command: str, scratch: Path, *, decision: str = "approve", **env: str) -> Ended:
    """An agent's tour from its first line to its last; a person answers the checkpoint that it comes to."""
    with (
        approver(at, scratch / "watch.log") as watch,
        running(example, command, scratch / "agent.log", **env) as agent,
    ):
        checkpoint = opened(watch)
        answer = ("--yes",) if decision == "approve" else ("--reason", "not today")
        answered = at.run("checkpoints", decision, checkpoint, *answer)
        assert answered.exit_code == 0, answered.output
        return ended(agent, scratch / "agent.log")


def opened(watch: "subprocess.Popen[str]") -> str:
    """The checkpoint that is opened next."""
    assert watch.stdout is not None
    for line in watch.stdout:
        told = json.loads(line)
        if told["event"] == "opened":
            return str(told["checkpoint"]["checkpoint_id"])
    raise AssertionError("the watch has ended")


def ended(agent: "subprocess.Popen[str]", log: Path) -> Ended:
    """How an agent ended that was left to itself."""
    printed, _ = agent.communicate(timeout=PATIENCE_S)
    lines: dict[str, list[str]] = {}
    for line in COLOURS.sub("", printed).splitlines():
        word, _, rest = line.partition(": ")
        lines.setdefault(word, []).append(rest)
    return Ended(lines, COLOURS.sub("", log.read_text(encoding="utf-8")), agent.returncode)


def refused_tour(at: Place, example: Example, command: str, scratch: Path, **env: str) -> Ended:
    """A tour that comes to an error of the gateway, because another agent's call takes the only place to wait in."""
    with approver(at, scratch / "watch.log") as watch:
        arguments = ("call", "bash", "command=ln -s . taken", "--detach")
        at.json(*arguments, code=ExitCode.WAITING)
        taken = opened(watch)
        with running(example, command, scratch / "agent.log", **env) as agent:
            told = ended(agent, scratch / "agent.log")
        at.run("checkpoints", "deny", taken, "--reason", "it was only in the way")
        return told


def stranger_tour(at: Place, example: Example, command: str, scratch: Path) -> Ended:
    """A tour of an agent that shows no token where one is needed."""
    with running(example, command, scratch / "agent.log", INTERLOCK_ADDRESS=at.addresses[1]) as agent:
        return ended(agent, scratch / "agent.log")


def check_tour(at: Place, told: Ended, name: str) -> None:
    """What everybody's tour comes to: every feature once, with its effects, and a call counts as run only if it ran."""
    noise = [line for line in told.errors.splitlines() if not line.startswith("go: downloading ")]
    assert (told.code, noise) == (0, [])
    lines = told.lines
    assert len(lines["tool"]) > 10
    assert any(one.startswith("bash, ") and one.endswith("DESTRUCTIVE") for one in lines["tool"])
    assert lines["call"][0].startswith("ran, ")
    assert lines["denied"] == ["did not run (DENIED), bash_destructive: destructive command: rm -rf ."]
    assert lines["preview"][0].startswith("did not run (PREVIEW), would affect ")
    assert f"{name}.txt" in lines["preview"][0]
    assert lines["resolve"][0].startswith(f"ran, Wrote {name}.txt, a new file: 1 line")
    assert (at.workspace / f"{name}.txt").read_text(encoding="utf-8").startswith("Written from ")
    assert lines["checkpoint"][0].startswith("did not run (AWAITING_CHECKPOINT), ")
    assert lines["awaited"] == ["ran"]
    assert (at.workspace / f"{name}-link").is_symlink()
    assert lines["batch"] == ["ran; ran; did not run (DENIED)"]
    assert lines["artifact"] == ["ran, 20000 lines"]
    assert lines["page"] == [f"from line {first}, {count} lines" for first, count in PAGES]
    assert "[CALL_ID_REUSED" in lines["mistake"][0]
    assert "call id twice was used for another call" in lines["mistake"][0]


@contextmanager
def provider(at: Place, example: Example, command: str, name: str, scratch: Path) -> Iterator["subprocess.Popen[str]"]:
    """An example provider that listens where its README says, added to the gateway and confirmed."""
    log = scratch / "provider.log"
    listening = at.directory / f"{name}.sock"
    with running(example, command, log, XDG_RUNTIME_DIR=str(at.directory)) as process:
        assert process.stdout is not None
        assert process.stdout.readline().startswith("serving "), log.read_text(encoding="utf-8")
        assert listening.stat().st_mode & 0o077 == 0
        at.json("providers", "add", name, f"unix:{listening}")
        eventually_blocking(at.provider_is_ready)
        at.json("tools", "confirm", name, "--yes", "--reason", "read")
        yield process


def previewed(at: Place, session: str, tool: str, *arguments: str) -> Any:
    """A call that is previewed; what the agent hears."""
    return at.json("call", tool, *arguments, "--session", session, code=ExitCode.WAITING)


def applied(at: Place, session: str, code: int = 0) -> Any:
    """The preview applied; what the agent hears."""
    return at.json("resolve", "apply", "--reason", "as shown", "--session", session, code=code)


def said(result: Any) -> str:
    """The text of a result."""
    return "\n".join(part["text"] for part in result["content"])
