"""`interlock checkpoints` against a gateway that runs: look, watch and answer, as people and as scripts do."""

import contextlib
import json
import os
import pty
import re
import select
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from interlock_gateway.cli.exit_codes import ExitCode
from running_programs import INTERLOCK, PATIENCE_S, Place, started

pytestmark = pytest.mark.req("CHK-8")
ESCAPES = re.compile(r"\x1b(\[[0-9;?]*[A-Za-z]|[()][AB0]|[=>])")


def environment(at: Place) -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if not name.startswith("INTERLOCK_")} | at.env


@pytest.fixture
def watched(at: Place, tmp_path: Path) -> Iterator[Any]:
    """The lines of `interlock checkpoints watch --output json`, once the gateway asks whoever runs it."""
    with started("checkpoints", "watch", "-o", "json", env=environment(at), log=tmp_path / "watch.log") as program:
        assert json.loads(program.ready) == {"event": "keepalive", "checkpoint": None}
        yield program.process.stdout


def waiting(at: Place, name: str) -> tuple[str, str, str]:
    """Leave a call waiting that would make a file; its session, its call, its checkpoint."""
    held = at.json("call", "bash", f"command=ln -s . {name}", "--detach", "--call-id", "c", code=ExitCode.WAITING)
    return held["session_id"], "c", held["checkpoint"]["checkpoint_id"]


def outcome(at: Place, session: str, name: str, code: int = 0) -> Any:
    """The same call again, which picks up what became of it."""
    return at.json("call", "bash", f"command=ln -s . {name}", "--call-id", "c", "--session", session, code=code)


def made(at: Place, name: str) -> bool:
    return (at.workspace / name).exists()


def test_a_watch_tells_of_a_call_and_the_list_and_the_whole_of_it_are_shown(at: Place, watched: Any) -> None:
    _, _, checkpoint = waiting(at, "shown")
    told = json.loads(watched.readline())
    assert (told["event"], told["checkpoint"]["checkpoint_id"]) == ("opened", checkpoint)
    listed = at.json("checkpoints", "list")["checkpoints"]
    assert checkpoint in [one["checkpoint_id"] for one in listed]
    shown = at.run("checkpoints", "show", checkpoint)
    for words in ("ln -s . shown", "asked by:", "local-agent", "why a person:", "expires:", "what would run"):
        assert words in shown.stdout
    assert at.json("checkpoints", "show", checkpoint)["input"] == {"command": "ln -s . shown"}
    assert checkpoint in at.run("checkpoints", "list").stdout
    at.run("checkpoints", "deny", checkpoint, "--reason", "only shown")


def test_an_approval_lets_the_call_run(at: Place, watched: Any) -> None:
    session, _, checkpoint = waiting(at, "approved")
    ended = at.run("checkpoints", "approve", checkpoint, "--yes", "--reason", "fine")
    assert (ended.exit_code, ended.stdout.strip()) == (0, f"{checkpoint} is approved")
    assert not made(at, "approved")
    assert outcome(at, session, "approved")["status"] == "completed"
    assert made(at, "approved")
    events = [json.loads(watched.readline()) for _ in range(2)]
    assert [one["event"] for one in events] == ["opened", "closed"]
    assert events[1]["checkpoint"]["answers"][0]["reason"] == "fine"


@pytest.mark.usefixtures("watched")
def test_without_a_yes_nothing_is_approved(at: Place) -> None:
    _, _, checkpoint = waiting(at, "asked")
    asked = at.run("checkpoints", "approve", checkpoint, typed="n\n")
    assert asked.exit_code == ExitCode.REFUSED
    assert "ln -s . asked" in asked.stdout
    assert "nothing was answered" in asked.stderr
    assert at.run("checkpoints", "approve", checkpoint).exit_code == ExitCode.REFUSED
    assert at.json("checkpoints", "show", checkpoint)["state"] == "open"
    assert at.run("checkpoints", "approve", checkpoint, typed="y\n").exit_code == 0


@pytest.mark.usefixtures("watched")
def test_a_denial_says_why_to_the_model(at: Place) -> None:
    session, _, checkpoint = waiting(at, "denied")
    assert at.run("checkpoints", "deny", checkpoint).exit_code == ExitCode.USAGE
    assert at.json("checkpoints", "deny", checkpoint, "--reason", "use make")["state"] == "denied"
    result = outcome(at, session, "denied", code=ExitCode.REFUSED)
    assert "use make" in result["content"][0]["text"]
    assert at.run("checkpoints", "approve", checkpoint, "--yes").exit_code == ExitCode.REFUSED


@pytest.mark.req("CHK-7")
@pytest.mark.usefixtures("watched")
def test_an_edit_is_given_or_written_in_the_editor(at: Place, tmp_path: Path) -> None:
    session, _, checkpoint = waiting(at, "asked-for")
    given = '{"command": "ln -s . given"}'
    shown = at.run("checkpoints", "edit", checkpoint, "--input", given, "--yes")
    assert shown.exit_code == 0, shown.output
    assert '+  "command": "ln -s . given"' in shown.stdout
    outcome(at, session, "asked-for")
    assert (made(at, "asked-for"), made(at, "given")) == (False, True)
    editor = tmp_path / "editor"
    editor.write_text('#!/bin/sh\nsed -i "s/ln -s . written-not/ln -s . written/" "$1"\n')
    editor.chmod(0o700)
    session, _, checkpoint = waiting(at, "written-not")
    assert at.run("checkpoints", "edit", checkpoint, "--yes", VISUAL="true").exit_code == ExitCode.REFUSED
    assert at.run("checkpoints", "edit", checkpoint, "--yes", VISUAL=str(editor)).exit_code == 0
    outcome(at, session, "written-not")
    assert (made(at, "written-not"), made(at, "written")) == (False, True)


@pytest.mark.req("CHK-7")
@pytest.mark.usefixtures("watched")
def test_a_response_reaches_the_model_in_place_of_a_result(at: Place) -> None:
    session, _, checkpoint = waiting(at, "responded")
    assert at.run("checkpoints", "respond", checkpoint, "It is there already.").exit_code == 0
    assert outcome(at, session, "responded")["content"][0]["text"] == "It is there already."
    assert not made(at, "responded")


def test_what_is_not_there_and_what_is_no_state_end_with_their_codes(at: Place) -> None:
    assert at.run("checkpoints", "show", "chk-none").exit_code == ExitCode.REFUSED
    assert at.run("checkpoints", "list", "--state", "oppen").exit_code == ExitCode.USAGE
    assert at.json("checkpoints", "list", "--state", "withdrawn") == {"checkpoints": []}


@pytest.mark.req("CHK-10")
@pytest.mark.usefixtures("watched")
def test_hostile_text_is_shown_and_does_nothing(at: Place) -> None:
    hostile = "tidy up \x1b[2J\x1b]0;owned\x07 \u202egnp.exe \u200b\x9b2J"
    arguments = ("call", "bash", "command=ln -s . hostile", "--detach", "--intent", hostile)
    checkpoint = at.json(*arguments, code=ExitCode.WAITING)["checkpoint"]["checkpoint_id"]
    for command in (("show", checkpoint), ("list",), ("show", checkpoint, "-o", "json"), ("list", "-o", "json")):
        shown = at.run("checkpoints", *command).stdout
        assert not set("\x1b\x07\u202e\u200b\x9b") & set(shown)
    assert "<U+202E>gnp.exe" in at.run("checkpoints", "show", checkpoint).stdout
    at.run("checkpoints", "deny", checkpoint, "--reason", "hostile")


class Terminal:
    """A terminal that a program runs in: what it showed so far, without colours, and keys for it."""

    def __init__(self, master: int) -> None:
        self._master = master
        self.raw = ""

    def until(self, words: str) -> str:
        """Everything shown, as soon as `words` are in it."""
        deadline = time.monotonic() + PATIENCE_S
        while words not in (text := ESCAPES.sub("", self.raw)):
            assert time.monotonic() < deadline, f"{words!r} is not in {text[-3000:]!r}"
            ready, _, _ = select.select([self._master], [], [], 0.2)
            if ready:
                with contextlib.suppress(OSError):
                    self.raw += os.read(self._master, 65536).decode(errors="replace")
        return text

    def press(self, keys: str) -> None:
        """Type, and forget what was shown before."""
        self.raw = ""
        os.write(self._master, keys.encode())


@contextmanager
def terminal(*arguments: str, env: dict[str, str]) -> Iterator[tuple[Terminal, "subprocess.Popen[bytes]"]]:
    """`interlock` in a terminal of 40 lines."""
    master, slave = pty.openpty()
    sizes = {"TERM": "xterm-256color", "LINES": "40", "COLUMNS": "150"}
    process = subprocess.Popen(
        [*INTERLOCK, *arguments], env={**env, **sizes}, stdin=slave, stdout=slave, stderr=slave, start_new_session=True
    )
    os.close(slave)
    try:
        yield Terminal(master), process
    finally:
        process.kill()
        process.wait(PATIENCE_S)
        os.close(master)


@pytest.mark.req("CHK-10")
def test_at_a_terminal_a_live_view_shows_what_waits_and_keys_answer_it(at: Place) -> None:
    with terminal("checkpoints", "watch", env=environment(at)) as (screen, process):
        screen.until("Nothing waits. While this is open, you can be asked.")
        session, _, checkpoint = waiting(at, "by-key")
        shown = screen.until("ln -s . by-key")
        assert checkpoint in shown
        screen.until("a approve")
        screen.press("a")
        shown = screen.until("Let bash run?")
        assert "what would run" in shown
        screen.press("y\n")
        screen.until(f"{checkpoint} is approved")
        assert outcome(at, session, "by-key")["status"] == "completed"
        hostile = "tidy up \x1b]0;owned\x07\u202e"
        arguments = ("call", "bash", "command=ln -s . other", "--detach", "--intent", hostile)
        other = at.json(*arguments, code=ExitCode.WAITING)["checkpoint"]["checkpoint_id"]
        screen.until("<U+202E>")
        assert "\x1b]0;owned" not in screen.raw
        screen.press("d")
        screen.until("Why not")
        screen.press("not like this\n")
        screen.until(f"{other} is denied")
        screen.press("q")
        assert process.wait(PATIENCE_S) == 0
    assert at.json("checkpoints", "show", other)["answers"][0]["reason"] == "not like this"


def test_interrupting_a_watch_ends_it_with_its_code(at: Place) -> None:
    with terminal("checkpoints", "watch", "--plain", env=environment(at)) as (screen, process):
        screen.until("from now on you are asked")
        screen.press("\x03")
        process.send_signal(2)
        assert process.wait(PATIENCE_S) == ExitCode.INTERRUPTED
