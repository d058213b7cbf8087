"""The example agent and provider in TypeScript, built by npm and buf, before a live gateway (POLY-1)."""

from pathlib import Path

import pytest
from interlock_gateway.cli.exit_codes import ExitCode
from running_programs import PATIENCE_S, Place
from toolchains import TYPESCRIPT, Example, built
from tours import applied, check_tour, previewed, provider, refused_tour, running, said, stranger_tour, tour

pytestmark = [pytest.mark.req("POLY-1"), pytest.mark.timeout(600)]


@pytest.fixture(scope="module")
def typescript() -> Example:
    return built(TYPESCRIPT)


def test_the_types_are_right(typescript: Example, tmp_path: Path) -> None:
    with running(typescript, "npm run check", tmp_path / "check.log") as checker:
        printed, _ = checker.communicate(timeout=PATIENCE_S)
    assert checker.returncode == 0, printed


def test_the_agent_makes_its_tour_and_a_person_approves(at: Place, typescript: Example, tmp_path: Path) -> None:
    told = tour(at, typescript, typescript.commands[0], tmp_path, INTERLOCK_ADDRESS=at.addresses[0])
    check_tour(at, told, "ts")


def test_the_agent_says_what_an_error_of_the_gateway_carries(at: Place, typescript: Example, tmp_path: Path) -> None:
    agent = typescript.commands[0]
    token = {"INTERLOCK_ADDRESS": at.addresses[1], "INTERLOCK_TOKEN": at.token}
    told = refused_tour(at, typescript, agent, tmp_path, **token)
    assert told.code == 1
    assert "failed: ResourceExhausted: " in told.errors
    assert "[OVERLOADED {}] [again in 1000 ms]" in told.errors
    stranger = stranger_tour(at, typescript, agent, tmp_path)
    assert (stranger.code, "failed: Unauthenticated: " in stranger.errors) == (1, True)
    assert "[UNAUTHENTICATED" in stranger.errors


def test_a_call_that_a_person_denies_did_not_run(at: Place, typescript: Example, tmp_path: Path) -> None:
    link = at.workspace / "ts-link"
    link.unlink(missing_ok=True)
    told = tour(at, typescript, typescript.commands[0], tmp_path, decision="deny", INTERLOCK_ADDRESS=at.addresses[0])
    assert (told.lines["awaited"], link.is_symlink()) == (["did not run (DENIED)"], False)


def test_the_provider_serves_two_tools_and_applies_only_what_was_previewed(
    at: Place, typescript: Example, tmp_path: Path
) -> None:
    with provider(at, typescript, typescript.commands[1], "flags", tmp_path):
        missing = at.json("call", "get_flag", "name=light_mode", code=ExitCode.REFUSED)
        assert (missing["status"], said(missing)) == ("completed", "there is no flag light_mode")
        for session in ("first", "second"):
            shown = previewed(at, session, "set_flag", "name=dark_mode", "value=on")
            assert shown["preview"]["preview"] == "dark_mode: off -> on"
        assert said(applied(at, "first")) == "dark_mode is on"
        # The second one saw a state that is gone, so it is shown the new one.
        stale = applied(at, "second", code=ExitCode.WAITING)
        assert (stale["status"], stale["preview"]["preview"]) == ("preview", "dark_mode: on -> on")
        assert said(at.json("call", "get_flag", "name=dark_mode")) == "on"
