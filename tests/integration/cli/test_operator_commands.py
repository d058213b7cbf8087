"""As an operator on the command line: status, providers and pins, sessions, policies, receipts."""

import asyncio
import json
import shutil
from pathlib import Path

import pytest
from interlock_gateway.audit.keys import SigningKey, load_or_create
from running_programs import Place
from waiting import eventually


@pytest.fixture(scope="module")
def session(at: Place) -> str:
    """A session in which something was read, something denied and something previewed."""
    name = "s-operated"
    for arguments, code in (
        (("read", "path=README.md"), 0),
        (("read", "path=../../etc/passwd"), 1),
        (("write", "path=a.txt", "content=x"), 4),
    ):
        at.json("call", *arguments, "--session", name, code=code)
    # Those of calls that change nothing are written behind them.
    asyncio.run(eventually(lambda: len(at.json("audit", "query", "--session", name)["receipts"]) == 3))
    return name


def test_the_gateway_says_where_it_is_reached_and_what_decides_there(at: Place) -> None:
    ready = json.loads(at.gateway.ready)
    assert ready["agents"][0] == f"unix:{at.directory}/state/agent.sock"
    assert ready["agents"][1].startswith("127.0.0.1:")
    assert ready["operators"] == [f"unix:{at.directory}/state/operator.sock"]
    assert ready["profile"] == "standard"
    assert ready["metrics"].startswith("127.0.0.1:")


def test_status_tells_whether_it_serves(at: Place) -> None:
    status = at.json("status")
    assert status["serving"] is True
    assert {part["name"]: part["state"] for part in status["components"]}["policy"] == "healthy"
    shown = at.run("status").stdout
    assert "serving:          yes" in shown
    assert "ways to people:   0" in shown


def test_providers_are_listed_added_and_removed(at: Place) -> None:
    (toolbox,) = at.json("providers")["providers"]
    assert (toolbox["name"], toolbox["state"], toolbox["configured"]) == ("toolbox", "ready", True)
    added = at.json("providers", "add", "nobody", "127.0.0.1:1")
    assert (added["state"], added["trust"]) == ("unreachable", "floor")
    assert at.json("providers", "remove", "nobody") == {"provider": "nobody", "removed_tools": 0}
    assert at.run("providers", "remove", "nobody").exit_code == 1


@pytest.mark.req("TOOL-3")
def test_confirming_shows_what_is_declared_and_needs_a_yes(at: Place) -> None:
    refused = at.run("tools", "confirm", "toolbox", typed="n\n")
    assert refused.exit_code == 1
    assert "what toolbox declares:" in refused.stdout
    assert "nothing was changed" in refused.stderr
    agreed = at.run("tools", "confirm", "toolbox", typed="y\n")
    assert agreed.exit_code == 0
    assert "confirmed 10 tools of toolbox" in agreed.stdout
    assert at.run("tools", "confirm", "nobody", "--yes").exit_code == 1


@pytest.mark.req("TOOL-5")
def test_there_is_nothing_to_approve_while_a_definition_is_the_pinned_one(at: Place) -> None:
    said = at.run("tools", "approve", "toolbox", "read")
    assert said.exit_code == 0
    assert "there is nothing to approve" in said.stdout
    assert at.run("tools", "approve", "toolbox", "nothing").exit_code == 1


def test_a_session_is_listed_and_reported(at: Place, session: str) -> None:
    assert session in {one["session_id"] for one in at.json("sessions", "--principal", "local-agent")["sessions"]}
    report = at.json("sessions", "report", session)
    assert report["calls"] == 3
    assert report["previews"]["pending"] == 1
    shown = at.run("sessions", "report", session).stdout
    assert "calls by tool:" in shown
    assert at.run("sessions", "report", "nobody").exit_code == 1


@pytest.mark.req("LIFE-3")
def test_policies_are_reloaded_and_bad_ones_refused_with_the_place(at: Place) -> None:
    before = at.json("policy", "status")["revision"]
    settings = at.directory / "policies" / "data.yaml"
    kept = settings.read_text()
    settings.write_text("settings: {confidense: {}}\n")
    refused = at.run("policy", "reload")
    settings.write_text(kept)
    assert refused.exit_code == 1
    assert "refused; the last good policies stay in force" in refused.stdout
    assert "confidense" in refused.stdout
    assert at.json("policy", "status")["revision"] == before
    settings.write_text("settings:\n  confidense: {}\n  bash: {routine_verdict: 5}\n")
    found = json.loads(at.run("policy", "reload", "--check-only", "--output", "json").stdout)["reload"]["problems"]
    settings.write_text(kept)
    assert [(Path(one["file"]).name, one["line"]) for one in found] == [("data.yaml", 2), ("data.yaml", 3)]
    elsewhere = at.run("policy", "shadow", "set", "/elsewhere", "--output", "json")
    assert elsewhere.exit_code == 2
    assert json.loads(elsewhere.stdout)["problems"][0]["code"] == "request_refused"
    assert at.json("policy", "reload", "--check-only")["reload"]["accepted"] is True
    assert at.run("policy", "reload").exit_code == 0


@pytest.mark.req("AUD-2")
def test_receipts_are_verified_where_they_are_and_elsewhere_with_the_public_key(
    at: Place, session: str, tmp_path: Path
) -> None:
    assert session
    report = at.json("audit", "verify")
    assert report["problem"] == ""
    assert report["lines"] > 3
    copied = tmp_path / "audit"
    shutil.copytree(at.directory / "state" / "audit", copied)
    key = at.directory / "state" / "audit-key.pem.pub"
    known = f"{report['lines']}:{report['last_hash']}"
    arguments = ("audit", "verify", "--dir", str(copied), "--public-key", str(key), "--known", known)
    assert at.run(*arguments).exit_code == 0
    segment = next(copied.glob("receipts-*.jsonl"))
    segment.write_bytes(segment.read_bytes().replace(b'"tool":"read"', b'"tool":"rm"', 1))
    changed = at.run(*arguments)
    assert changed.exit_code == 1
    assert f"{segment.name}:" in changed.stdout
    other: SigningKey = load_or_create(tmp_path / "other.pem")
    assert other
    elsewhere = at.run("audit", "verify", "--public-key", str(tmp_path / "other.pem.pub"))
    assert elsewhere.exit_code == 1


def test_receipts_are_found_by_what_is_in_them(at: Place, session: str) -> None:
    found = at.json("audit", "query", "--session", session, "--verdict", "preview")["receipts"]
    assert [(one["tool"], one["outcome"]["status"]) for one in found] == [("write", "preview")]
    (denied,) = at.json("audit", "query", "--session", session, "--verdict", "deny")["receipts"]
    code = denied["result"]["reasons"][0]["code"]
    again = at.json("audit", "query", "--session", session, "--reason", code)["receipts"]
    assert [one["decision_id"] for one in again] == [denied["decision_id"]]
    assert at.json("audit", "query", "--session", session, "--until", "2020")["receipts"] == []
    assert len(at.json("audit", "query", "--session", session, "--since", "2020", "--limit", "2")["receipts"]) == 2


def test_the_newest_receipts_come_last(at: Place, session: str) -> None:
    assert session
    lines = [one["sequence"] for one in at.json("audit", "tail", "--lines", "3")["receipts"]]
    assert lines == sorted(lines)
    assert len(at.run("audit", "tail", "-n", "2").stdout.splitlines()) == 3


def test_receipts_that_are_not_there_are_a_wrong_command_line(at: Place, tmp_path: Path) -> None:
    ended = at.run("audit", "tail", "--dir", str(tmp_path / "none"))
    assert ended.exit_code == 2
    assert "no such directory" in ended.stderr
