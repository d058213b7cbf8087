"""A process that works on what others sent reaches nothing of the gateway's, and goes last when told to (ENG-4)."""

import json
import os
import pty
import select
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from interlock_gateway.isolation.priority import give_way, go_last
from interlock_gateway.isolation.process import start_isolated
from scheduling import IDLE, NORMAL, place_of

# Says what it finds, then waits until it is let go.
CHILD = """
import os, sys
found = {
    "arguments": sys.argv[1:],
    "environment": dict(os.environ),
    "directory": os.getcwd(),
    "path": [one for one in sys.path if "site-packages" in one],
    "descriptors": {},
    "session": os.getsid(0),
    "group": os.getpgid(0),
    "pid": os.getpid(),
}
for name in sorted(os.listdir("/proc/self/fd"), key=int):
    try:
        found["descriptors"][name] = os.readlink(f"/proc/self/fd/{name}")
    except FileNotFoundError:
        pass
try:
    os.close(os.open("/dev/tty", os.O_RDWR))
    found["terminal"] = True
except OSError:
    found["terminal"] = False
import json
descriptor = int(sys.argv[1])
os.write(descriptor, json.dumps(found).encode())
while os.read(descriptor, 1):
    os.write(descriptor, b"still here")
"""
# Takes the terminal it is started at, starts the child, and says what that found; then what came of a key.
AT_A_TERMINAL = """
import json, os, signal, sys
from pathlib import Path
from interlock_gateway.isolation.process import start_isolated

os.close(os.open(os.ttyname(0), os.O_RDWR))
os.close(os.open("/dev/tty", os.O_RDWR))
keys = {signal.SIGINT, signal.SIGTSTP}
process, ours = start_isolated(Path(sys.argv[1]), environment={})
found = ours.recv(65536).decode()
signal.pthread_sigmask(signal.SIG_BLOCK, keys)
print(found, flush=True)
while keys:
    keys.discard(signal.sigwait(keys))
ours.send(b"?")
print(ours.recv(64).decode(), process.poll(), flush=True)
ours.close()
process.wait(30)
"""


@pytest.fixture
def script(tmp_path: Path) -> Path:
    path = tmp_path / "child.py"
    path.write_text(CHILD)
    return path


@contextmanager
def started(script: Path, *arguments: object, **environment: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """Its process and what it finds."""
    process, ours = start_isolated(script, *arguments, environment=environment)
    ours.settimeout(30)
    try:
        yield process.pid, json.loads(ours.recv(65536))
    finally:
        ours.close()
        assert process.wait(30) == 0


@pytest.mark.req("ENG-4")
def test_it_has_nothing_but_its_socket_and_what_it_is_given(script: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INTERLOCK_SECRET", "hunter2")
    with script.open() as inherited:
        os.set_inheritable(inherited.fileno(), True)  # noqa: FBT003 - the library's form
        with started(script, "word", 7, GIVEN="this") as (process_id, found):
            pass
    descriptor, *others = found["arguments"]
    assert others == ["word", "7"]
    assert found["environment"].pop("LC_CTYPE", "C.UTF-8") == "C.UTF-8", "the interpreter's own"
    assert found["environment"] == {"GIVEN": "this"}
    assert (found["directory"], found["path"], found["terminal"]) == ("/", [], False)
    assert {number for number, leads_to in found["descriptors"].items() if leads_to != "/dev/null"} == {descriptor}
    assert found["group"] == found["pid"] == process_id
    assert found["session"] == os.getsid(0)


@pytest.mark.req("ENG-4")
def test_at_a_terminal_it_has_none_and_no_key_reaches_it(script: Path) -> None:
    master, slave = pty.openpty()
    command = [sys.executable, "-c", AT_A_TERMINAL, str(script)]
    process = subprocess.Popen(
        command, stdin=slave, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    os.close(slave)
    assert process.stdout is not None
    assert process.stderr is not None
    try:
        found = process.stdout.readline()
        assert found, process.stderr.read()
        assert json.loads(found)["terminal"] is False
        assert json.loads(found)["session"] == process.pid
        os.write(master, b"\x03\x1a")
        assert select.select([process.stdout], [], [], 30)[0]
        assert process.stdout.readline() == "still here None\n"
        assert process.wait(30) == 0
    finally:
        process.kill()
        process.communicate()
        os.close(master)


@pytest.mark.req("ENG-4")
def test_one_that_cannot_be_started_leaves_no_socket(script: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise BlockingIOError

    before = set(os.listdir("/proc/self/fd"))  # noqa: PTH208 - their names are what is compared
    monkeypatch.setattr(subprocess, "Popen", refuse)
    with pytest.raises(BlockingIOError):
        start_isolated(script, environment={})
    assert set(os.listdir("/proc/self/fd")) == before  # noqa: PTH208 - as above


@pytest.mark.req("REL-7")
def test_one_that_gives_way_is_of_the_class_that_everybody_goes_before_in_the_gateways_own_session(
    script: Path,
) -> None:
    ours = place_of(os.getpid())
    with started(script) as (process_id, _), started(script) as (last, _), started(script) as (other, _):
        give_way(process_id)
        go_last(last)
        found, goes_last, normal = place_of(process_id), place_of(last), place_of(other)
    assert (found.policy, found.nice) == (IDLE, 19)
    assert (goes_last.policy, goes_last.nice) == (ours.policy, 19)
    assert (normal.policy, normal.nice) == (ours.policy, ours.nice)
    assert found.session == normal.session == ours.session


@pytest.mark.req("REL-7")
def test_where_that_class_is_refused_it_goes_last(script: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError

    monkeypatch.setattr(os, "sched_setscheduler", refuse)
    with started(script) as (process_id, _):
        give_way(process_id)
        found = place_of(process_id)
    assert (found.policy, found.nice) == (NORMAL, 19)


def test_who_has_just_ended_needs_no_place(script: Path) -> None:
    with started(script) as (process_id, _):
        pass
    give_way(process_id)
