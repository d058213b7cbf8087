"""How `interlock policy reload`, `status` and `shadow` end when the gateway has judged nothing."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import grpc
import pytest
import typer
from command_runs import run, run_json
from interlock import errors as sdk
from interlock_gateway.cli import policy, policy_shadow

pytestmark = pytest.mark.req("LIFE-3", "LIFE-5")

COMMANDS = [
    ("reload",),
    ("reload", "--check-only"),
    ("status",),
    ("shadow", "show"),
    ("shadow", "set", "next"),
    ("shadow", "clear"),
]
each_command = pytest.mark.parametrize("words", COMMANDS, ids=" ".join)


@each_command
def test_no_gateway_is_3_and_a_problem_for_programs(words: tuple[str, ...], tmp_path: Path) -> None:
    address = f"unix:{tmp_path}/nobody.sock"
    shown = run_json("policy", *words, "--address", address, code=3)
    assert shown["ok"] is False
    (problem,) = shown["problems"]
    assert (problem["code"], problem["line"]) == ("gateway_unreachable", 0)
    assert address in problem["message"]
    ended = run("policy", *words, "--address", address)
    assert (ended.exit_code, ended.stdout) == (3, "")
    assert f"no gateway listens on {address}" in ended.stderr


@each_command
def test_a_configuration_that_cannot_be_read_is_2_and_a_problem_for_programs(
    words: tuple[str, ...], tmp_path: Path
) -> None:
    config = tmp_path / "interlock.yaml"
    config.write_text("policy: {profil: strict}\n")
    environment = {"INTERLOCK_CONFIG": str(config)}
    ended = run("policy", *words, "--output", "json", env=environment)
    assert ended.exit_code == 2, ended.output
    (problem,) = json.loads(ended.stdout)["problems"]
    assert problem["code"] == "usage"
    assert f"{config}:1" in problem["message"]
    assert run("policy", *words, env=environment).exit_code == 2


@each_command
@pytest.mark.parametrize(
    ("error", "code", "kind"),
    [
        (
            sdk.NotAuthorizedError("the role agent may not", code=grpc.StatusCode.PERMISSION_DENIED),
            2,
            "request_refused",
        ),
        (sdk.InvalidRequestError("source: not there"), 2, "request_refused"),
        (sdk.GatewayUnavailableError("draining"), 3, "gateway_unreachable"),
    ],
    ids=["not authorized", "invalid", "unavailable"],
)
def test_a_request_that_the_gateway_does_not_take_is_no_judgement(
    words: tuple[str, ...], error: sdk.RequestError, code: int, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    @contextmanager
    def refusing(_address: str) -> Iterator[None]:
        raise error
        yield

    monkeypatch.setattr(policy, "operator", refusing)
    monkeypatch.setattr(policy_shadow, "operator", refusing)
    (problem,) = run_json("policy", *words, code=code)["problems"]
    assert problem["code"] == kind
    assert error.message in problem["message"]
    assert error.message in run("policy", *words).stderr


def test_every_command_of_policy_ends_alike() -> None:
    found = list(commands(typer.main.get_command(policy.app)))
    assert len(found) > 12
    assert [one.name for one in found if not hasattr(getattr(one.callback, "__wrapped__", None), "__wrapped__")] == []


def commands(command: Any) -> Iterator[Any]:
    """The commands below one, or itself when it has none."""
    below = getattr(command, "commands", None)
    if below is None:
        yield command
        return
    for inner in below.values():
        yield from commands(inner)
