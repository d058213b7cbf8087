"""The example agent and provider in Go, built by Go and buf, before a live gateway (POLY-1)."""

import os
import signal
from pathlib import Path

import pytest
from interlock_gateway.cli.exit_codes import ExitCode
from running_programs import PATIENCE_S, Place
from toolchains import GO, Example, built
from tours import applied, check_tour, previewed, provider, refused_tour, running, said, stranger_tour, tour
from waiting import eventually_blocking

pytestmark = [pytest.mark.req("POLY-1"), pytest.mark.timeout(600)]


@pytest.fixture(scope="module")
def go() -> Example:
    return built(GO)


def test_the_code_is_as_go_wants_it(go: Example, tmp_path: Path) -> None:
    with running(go, "gofmt -l agent provider && go vet ./...", tmp_path / "check.log") as checker:
        printed, _ = checker.communicate(timeout=PATIENCE_S)
    assert (checker.returncode, printed) == (0, ""), (tmp_path / "check.log").read_text(encoding="utf-8")


def test_the_agent_makes_its_tour_and_a_person_approves(at: Place, go: Example, tmp_path: Path) -> None:
    told = tour(at, go, go.commands[0], tmp_path, INTERLOCK_ADDRESS=at.addresses[0])
    check_tour(at, told, "go")


def test_the_agent_says_what_an_error_of_the_gateway_carries(at: Place, go: Example, tmp_path: Path) -> None:
    told = refused_tour(at, go, go.commands[0], tmp_path, INTERLOCK_ADDRESS=at.addresses[1], INTERLOCK_TOKEN=at.token)
    assert told.code == 1
    assert "failed: ResourceExhausted: " in told.errors
    assert "[OVERLOADED map[]] [again in 1s]" in told.errors
    stranger = stranger_tour(at, go, go.commands[0], tmp_path)
    assert (stranger.code, "failed: Unauthenticated: " in stranger.errors) == (1, True)
    assert "[UNAUTHENTICATED" in stranger.errors


def test_the_provider_serves_two_tools_and_applies_only_what_was_previewed(
    at: Place, go: Example, tmp_path: Path
) -> None:
    with provider(at, go, go.commands[1], "notes", tmp_path) as process:
        missing = at.json("call", "read_note", "title=plan", code=ExitCode.REFUSED)
        assert (missing["status"], said(missing)) == ("completed", "there is no note plan")
        for session, text in (("first", "water"), ("second", "sell")):
            assert previewed(at, session, "write_note", "title=plan", f"text={text}")["status"] == "preview"
        assert said(applied(at, "first")) == "wrote plan"
        # The second one saw a state that is gone, so it is shown the new one.
        stale = applied(at, "second", code=ExitCode.WAITING)
        assert (stale["status"], stale["preview"]["preview"]) == ("preview", "- water\n+ sell")
        assert said(at.json("call", "read_note", "title=plan")) == "water"
        os.killpg(process.pid, signal.SIGTERM)
        process.wait(PATIENCE_S)
        eventually_blocking(lambda: not (at.directory / "notes.sock").exists())
