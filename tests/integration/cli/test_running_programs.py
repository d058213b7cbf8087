"""`serve` and `toolbox` as programs: what they say, how they refuse to start, how they end."""

import contextlib
import json
import os
import signal
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from running_programs import INTERLOCK, PATIENCE_S, Place, place, started
from waiting import eventually


def environment(directory: Path, **settings: str) -> dict[str, str]:
    cleared = {name: value for name, value in os.environ.items() if not name.startswith("INTERLOCK_")}
    quiet = {"INTERLOCK__METRICS__LISTEN": "", "INTERLOCK__SERVER__LISTEN": "unix:{state}/a.sock"}
    return cleared | {"INTERLOCK__STATE__DIR": str(directory)} | quiet | settings


def refused(*arguments: str, env: dict[str, str]) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [*INTERLOCK, *arguments], env=env, capture_output=True, text=True, timeout=PATIENCE_S, check=False
    )


def test_a_gateway_that_is_told_to_end_drains_and_ends_with_0() -> None:
    with place() as made:
        assert made.json("call", "read", "path=README.md")["status"] == "completed"
        assert made.gateway.stop() == 0
        report = made.json("audit", "verify")
        assert (report["end"], report["problem"]) == ("closed", "")
        assert made.run("status").exit_code == 3


def test_a_second_gateway_on_the_same_state_is_refused(at: Place) -> None:
    env = environment(at.directory / "state")
    ended = refused("serve", env=env)
    assert ended.returncode == 2
    assert "another gateway is running" in ended.stderr
    assert ended.stdout == ""


def test_a_second_toolbox_does_not_take_the_first_ones_place(at: Place) -> None:
    ended = refused("toolbox", "--root", str(at.workspace), env=environment(at.directory / "state"))
    assert ended.returncode == 2
    assert "another process listens there" in ended.stderr
    assert at.json("call", "read", "path=README.md")["status"] == "completed"


def test_without_providers_the_tools_that_are_there_are_said_to_be_the_gateways_own(socket_directory: Path) -> None:
    env = environment(socket_directory)
    with started("serve", env=env, log=socket_directory / "serve.log"):
        ended = refused("tools", env=env)
    assert ended.returncode == 0
    assert "read_artifact" in ended.stdout
    assert "`interlock providers` says why there are no others" in ended.stderr


async def test_a_provider_that_is_not_there_is_said_in_the_log_once(socket_directory: Path) -> None:
    gone = '[{name: gone, address: "unix:{state}/gone.sock"}]'
    log = socket_directory / "serve.log"
    with started("serve", env=environment(socket_directory, INTERLOCK__PROVIDERS=gone), log=log):
        await eventually(lambda: "provider not reached" in log.read_text(encoding="utf-8"))
    assert log.read_text(encoding="utf-8").count("provider not reached") == 1


def test_status_waits_for_a_gateway_that_is_still_starting(socket_directory: Path) -> None:
    env = environment(socket_directory)
    with (
        subprocess.Popen(
            [*INTERLOCK, "status", "--wait", "60"], env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        ) as waiting,
        started("serve", env=env, log=socket_directory / "serve.log"),
    ):
        output, errors = waiting.communicate(timeout=PATIENCE_S)
    assert waiting.returncode == 0, errors
    assert output.startswith("serving:          yes")


def test_a_socket_that_a_killed_gateway_left_behind_is_no_gateway(socket_directory: Path) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as gone:
        gone.bind(str(socket_directory / "a.sock"))
    ended = refused("tools", env=environment(socket_directory))
    assert ended.returncode == 3
    assert "no gateway listens on" in ended.stderr


def test_a_socket_that_cannot_be_opened_is_said_to_be_so(socket_directory: Path) -> None:
    ended = refused("tools", "--address", f"unix:{'x' * 200}", env=environment(socket_directory))
    assert ended.returncode == 3
    assert "cannot be opened" in ended.stderr


def test_status_waits_no_longer_than_it_is_told_to(socket_directory: Path) -> None:
    ended = refused("status", "--wait", "0.2", env=environment(socket_directory))
    assert ended.returncode == 3
    assert "no gateway listens" in ended.stderr


def test_check_knows_that_a_gateway_is_running_and_what_its_provider_offers(at: Place) -> None:
    checks = at.json("check", "--config", str(at.directory / "interlock.yaml"))["checks"]
    details = {check["what"]: check["detail"] for check in checks}
    assert details["state"].endswith("a gateway is running on it")
    assert "10 tools" in details["provider toolbox"]


@pytest.mark.req("AUTH-1")
def test_a_gateway_does_not_start_where_others_could_reach_it_unless_that_is_said(socket_directory: Path) -> None:
    ended = refused("serve", env=environment(socket_directory, INTERLOCK__SERVER__LISTEN="0.0.0.0:0"))
    assert ended.returncode == 2
    assert "say server.plaintext_beyond_loopback: true" in ended.stderr
    assert not (socket_directory / "lock").exists()


def test_the_toolbox_listens_in_the_state_directory_of_the_configuration(socket_directory: Path) -> None:
    (socket_directory / "work").mkdir()
    (socket_directory / "c.yaml").write_text("state: {dir: there}\n", encoding="utf-8")
    env = environment(socket_directory, INTERLOCK_CONFIG=str(socket_directory / "c.yaml"))
    del env["INTERLOCK__STATE__DIR"]
    with started("toolbox", "--root", str(socket_directory / "work"), "--state", str(socket_directory / "undo"),
                 env=env, log=socket_directory / "log") as toolbox:  # fmt: skip
        assert f"unix:{socket_directory}/there/toolbox.sock" in toolbox.ready


def test_a_toolbox_whose_root_is_no_directory_is_refused(socket_directory: Path) -> None:
    ended = refused("toolbox", "--root", str(socket_directory / "none"), env=environment(socket_directory))
    assert ended.returncode == 2
    assert "interlock: " in ended.stderr
    assert "Traceback" not in ended.stderr


@pytest.fixture
def interruptible() -> Iterator[None]:
    """Let what a test starts be interrupted: shells start what runs in their background with SIGINT ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interruptible")
def test_receipts_are_followed_as_they_are_written_until_interrupted(at: Place) -> None:
    env = environment(at.directory / "state")
    arguments = [*INTERLOCK, "audit", "tail", "--lines", "1", "--follow", "--output", "json"]
    at.json("call", "read", "path=README.md", "--call-id", "before")
    with (
        subprocess.Popen(arguments, env=env, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as following,
        contextlib.ExitStack() as cleaning,
    ):
        assert following.stdout is not None
        cleaning.callback(following.kill)
        assert json.loads(following.stdout.readline())["call_id"] == "before"
        at.json("call", "read", "path=README.md", "--call-id", "after")
        assert json.loads(following.stdout.readline())["call_id"] == "after"
        following.send_signal(signal.SIGINT)
        assert following.wait(PATIENCE_S) == 130
