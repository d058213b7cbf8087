"""The program itself: quick to say what it can do, and helpful when it is used wrongly."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from command_runs import run
from interlock_gateway.cli.main import COMMANDS

INTERLOCK = [sys.executable, "-m", "interlock_gateway.cli.main"]
SLOW_TO_LOAD = {"grpc", "google.protobuf", "pydantic", "rich", "sqlalchemy", "yaml", "interlock_gateway.config"}


def program(*arguments: str, **env: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [*INTERLOCK, *arguments], env={**os.environ, **env}, capture_output=True, text=True, timeout=60, check=False
    )


def loaded_by(code: str) -> set[str]:
    printing = f"{code}\nimport sys\nprint(*sorted(sys.modules))"
    ended = subprocess.run([sys.executable, "-c", printing], capture_output=True, text=True, timeout=60, check=True)
    return set(ended.stdout.split())


def test_help_loads_nothing_that_is_slow_to_load() -> None:
    loaded = loaded_by("from typer.testing import CliRunner\nfrom interlock_gateway.cli.main import app\n"
                       "assert 'call' in CliRunner().invoke(app, ['--help']).stdout")  # fmt: skip
    assert loaded & SLOW_TO_LOAD == set()


@pytest.mark.req("PERF-6")
def test_serving_loads_nothing_large_that_it_may_not_need() -> None:
    loaded = loaded_by("import interlock_gateway.cli.main, interlock_gateway.cli.serve")
    # Each of these takes 5 to 30 MB; only who is configured to need it pays.
    assert loaded & {"rich", "grpc", "mcp", "mcp_types", "opentelemetry", "aiohttp", "httpx2", "sqlglot"} == set()
    assert "interlock_gateway.app" in loaded


def test_the_version_is_said() -> None:
    assert run("--version").stdout.startswith("interlock 0.")


def test_a_mistyped_command_is_named_with_what_was_meant() -> None:
    ended = run("cll")
    assert ended.exit_code == 2
    assert "No such command 'cll'. Did you mean 'call'?" in ended.stderr


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("token",), "Missing option '--principal'"),
        (("token", "--principal", "a", "--role", "boss"), "Invalid value for '--role'"),
        (("resolve", "apply"), "Missing option"),
        (("policy",), "Usage: interlock policy"),
        (("serve", "--log-level", "loud"), "loud is not one of DEBUG, INFO"),
    ],
)
def test_wrong_usage_ends_with_2_and_says_why(arguments: tuple[str, ...], said: str) -> None:
    ended = run(*arguments)
    assert ended.exit_code == 2, ended.output
    assert said in ended.output


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_each_shell_has_its_completion_script(shell: str) -> None:
    assert "_INTERLOCK_COMPLETE" in run("completion", shell).stdout


@pytest.mark.parametrize(
    ("typed", "offered"),
    [("po", {"policy"}), ("policy re", {"reload", "replay"}), ("call --str", {"--stream"}), ("completion z", {"zsh"})],
)
def test_a_shell_completes_commands_options_and_choices(typed: str, offered: set[str]) -> None:
    words = f"interlock {typed}"
    env = {"_INTERLOCK_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": str(len(words.split()) - 1)}
    assert set(program(**env).stdout.split()) == offered


def test_completing_a_first_word_loads_no_command() -> None:
    loaded = loaded_by(
        "from interlock_gateway.cli.main import app\nimport typer\n"
        "root = typer.main.get_command(app)\n"
        "assert [one.value for one in root.shell_complete(None, 'po')] == ['policy']"
    )
    assert {f"interlock_gateway.cli.{command.module}" for command in COMMANDS.values()} & loaded == set()


def test_a_wrong_configuration_is_told_in_full_and_ends_with_2(tmp_path: Path) -> None:
    file = tmp_path / "c.yaml"
    file.write_text("sever: {}\nserver: {drain_s: soon}\n")
    ended = run("check", "--config", file)
    assert ended.exit_code == 2
    assert ended.stderr == (
        f"interlock: {file}:1: sever is not a setting; did you mean server?\n"
        f"           {file}:2: server.drain_s must be a number, not soon\n"
    )


def test_a_gateway_that_is_not_there_ends_with_3_and_says_how_to_start_one(socket_directory: Path) -> None:
    env = {"INTERLOCK__STATE__DIR": str(socket_directory)}
    for arguments in (("tools",), ("status",), ("call", "read", "path=a")):
        ended = run(*arguments, env=env)
        assert ended.exit_code == 3, ended.output
        assert "start one with `interlock serve`" in ended.stderr


def test_an_address_where_nobody_listens_ends_with_3() -> None:
    ended = run("tools", "--address", "127.0.0.1:1")
    assert ended.exit_code == 3
    assert "the gateway cannot be reached" in ended.stderr
