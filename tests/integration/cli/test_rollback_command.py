"""Taking back what an agent did, on the command line, with the toolbox that ships."""

import json
from typing import Any

import pytest
from running_programs import Place


def write(at: Place, session: str, path: str, content: str) -> None:
    assert at.run("call", "write", f"path={path}", f"content={content}", "--session", session).exit_code == 4
    applied = at.run("resolve", "apply", "--session", session, "--reason", "as meant")
    assert applied.exit_code == 0, applied.output


def operations(at: Place, session: str, *more: str) -> list[Any]:
    found: list[Any] = at.json("operations", "--session", session, *more)["operations"]
    return found


@pytest.mark.req("UNDO-2")
def test_a_rollback_says_line_by_line_what_it_undid(at: Place) -> None:
    (at.workspace / "kept.txt").write_text("as it was")
    (at.workspace / "kept.txt").chmod(0o640)
    write(at, "s-undo", "kept.txt", "changed")
    write(at, "s-undo", "deep/new/file.txt", "made")

    ended = at.run("rollback", "--session", "s-undo", "--all", "--reason", "wrong idea")

    assert (ended.exit_code, ended.stderr) == (0, "\n2 undone, 0 left.\n")
    first, second = ended.stdout.splitlines()
    assert first.split()[:2] == ["undone", "write:"]
    assert "remove deep/new/file.txt" in first
    assert "put the previous content of kept.txt back" in second
    assert (at.workspace / "kept.txt").read_text() == "as it was"
    assert (at.workspace / "kept.txt").stat().st_mode & 0o777 == 0o640
    assert not (at.workspace / "deep").exists()
    again = at.run("rollback", "--session", "s-undo", "--all", "--reason", "wrong idea")
    assert (again.exit_code, again.stdout, again.stderr) == (0, "", "There is nothing to undo.\n")


@pytest.mark.req("UNDO-2", "OBS-1")
def test_a_command_that_only_read_neither_stops_a_rollback_nor_counts_as_destructive(at: Place) -> None:
    write(at, "s-read", "made.txt", "made")
    assert at.run("call", "bash", "command=ls", "--session", "s-read").exit_code == 0

    ended = at.run("rollback", "--session", "s-read", "--count", "2", "--reason", "wrong idea")

    assert (ended.exit_code, ended.stderr) == (0, "\n1 undone, 1 only read, 0 left.\n")
    first, second = ended.stdout.splitlines()
    assert first.split(maxsplit=3) == [
        "only",
        "read",
        "bash:",
        "Policy let bash through as a call that only reads; there is nothing to undo.",
    ]
    assert second.startswith("undone ")
    again = at.run("rollback", "--session", "s-read", "--all", "--reason", "wrong idea")
    assert (again.exit_code, again.stderr) == (0, "There is nothing to undo.\n")
    report = at.run("sessions", "report", "s-read").stdout
    assert "2 operations, 0 undoable, 0 irreversible, 1 only read, 1 undone" in report
    assert not [line for line in report.splitlines() if line.split()[:2] == ["bash", "completed"]]


@pytest.mark.req("UNDO-4")
def test_what_has_changed_since_is_left_alone_and_the_exit_code_says_so(at: Place) -> None:
    write(at, "s-changed", "mine.txt", "by the agent")
    (at.workspace / "mine.txt").write_text("by somebody else")

    ended = at.run("rollback", "--session", "s-changed", "--count", "1", "--reason", "no", "--output", "json")

    assert ended.exit_code == 1
    line = json.loads(ended.stdout)
    assert (line["outcome"], line["remaining"]) == ("failed", 1)
    assert "has changed since, and was left alone" in line["message"]
    assert (at.workspace / "mine.txt").read_text() == "by somebody else"
    (failed,) = operations(at, "s-changed", "--state", "undo_failed")
    assert failed["operation_id"] == line["operation"]["operation_id"]


def test_operations_are_listed_with_how_each_would_be_undone(at: Place) -> None:
    write(at, "s-list", "listed.txt", "x")
    write(at, "s-list", "listed.txt", "y")
    at.run("rollback", "--session", "s-list", "--count", "1", "--reason", "once")
    listed = operations(at, "s-list")
    assert [(one["tool"], one["state"]) for one in listed] == [
        ("restore", "done"),
        ("write", "undone"),
        ("write", "done"),
    ]
    assert [one["state"] for one in operations(at, "s-list", "--state", "undone")] == ["undone"]
    shown = at.run("operations", "--session", "s-list").stdout
    assert f"undoes {listed[1]['operation_id']}" in shown
    assert "remove listed.txt, which was new" in shown


def test_a_rollback_needs_one_target_and_operations_a_session(at: Place) -> None:
    for words in ((), ("--count", "1", "--all")):
        ended = at.run("rollback", "--session", "s", "--reason", "x", *words)
        assert (ended.exit_code, "give one of --count, --since, --last and --all" in ended.stderr) == (2, True)
    assert at.run("operations").exit_code == 2


def test_only_what_is_unknown_is_settled(at: Place) -> None:
    write(at, "s-settle", "settled.txt", "x")
    (done,) = operations(at, "s-settle")
    words = ("settle", done["operation_id"], "none", "--session", "s-settle", "--reason", "I looked")
    ended = at.run("operations", *words)
    assert (ended.exit_code, "nothing about this operation is unknown" in ended.stderr) == (1, True)
