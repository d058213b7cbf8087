"""As an agent on the command line: look at tools, call them, resolve, page through what was too large."""

import json
import os
from pathlib import Path

import pytest
from interlock import SyncGateway
from running_programs import Place


def session_of(at: Place, *arguments: str, code: int = 0) -> tuple[str, dict[str, object]]:
    result = at.json("call", *arguments, code=code)
    return result["session_id"], result


def test_the_tools_are_listed_safest_first(at: Place) -> None:
    listed = at.json("tools")
    levels = [tool["classification"]["safety_level"] for tool in listed["tools"]]
    assert levels == sorted(levels, reverse=True)
    shown = at.run("tools").stdout
    assert shown.splitlines()[0].split() == ["TOOL", "EFFECT", "SAFETY", "CONFIDENCE", "PROVIDER", "DOES"]
    assert "is previewed first" in shown


def test_one_tool_is_shown_with_the_schema_of_its_input(at: Place) -> None:
    shown = at.run("tools", "show", "write_file")
    assert shown.stdout.startswith("tool:     write\n")
    assert '"content"' in shown.stdout
    assert at.run("tools", "show", "nothing").exit_code == 1


def test_looking_at_the_tools_opens_no_session(at: Place) -> None:
    before = len(at.json("sessions", "--open")["sessions"])
    at.json("tools")
    assert len(at.json("sessions", "--open")["sessions"]) == before


def test_a_read_only_call_ends_with_0_and_shows_what_the_tool_said(at: Place) -> None:
    ended = at.run("call", "read", "path=README.md")
    assert ended.exit_code == 0
    assert ended.stdout.startswith("# Where agents work\n")
    assert "status:   completed" in ended.stdout


def test_a_denied_call_ends_with_1_and_says_why(at: Place) -> None:
    ended = at.run("call", "no_such_tool")
    assert ended.exit_code == 1
    assert "There is no tool named 'no_such_tool'" in ended.stdout
    assert "Next: interlock tools, or interlock providers" in ended.stderr


@pytest.mark.req("DEFER-1", "DEFER-2")
def test_deferred_tools_are_found_and_activated(at: Place) -> None:
    with SyncGateway(at.addresses[0]) as gateway:
        session = gateway.open_session(deferred_threshold=1).session_id
    listed = at.run("tools", "--session", session)
    assert "more tools are deferred: find them with `interlock tools --search WORDS`" in listed.stderr
    found = at.json("tools", "--session", session, "--search", "read a file")["matches"]
    assert found[0]["name"] == "read"
    shown = at.run("tools", "--session", session, "--search", "read")
    assert shown.stdout.split()[:4] == ["TOOL", "EFFECT", "DOES", "read"]
    denied = at.run("call", "read", "path=README.md", "--session", session)
    assert denied.exit_code == 1
    assert f"Next: interlock tools --activate NAME --session {session}" in denied.stderr
    done = at.json("tools", "--session", session, "--activate", "read", "--activate", "nothing", code=1)
    assert (done["activated"], done["unknown"]) == (["read"], ["nothing"])
    assert at.run("call", "read", "path=README.md", "--session", session).exit_code == 0


@pytest.mark.req("BATCH-1", "BATCH-2")
def test_a_file_of_calls_is_taken_in_one_request(at: Place, tmp_path: Path) -> None:
    lines = ('{"tool": "read", "input": {"path": "README.md"}}', "", '{"tool": "no_such_tool"}', '{"tool": "glob"}')
    (tmp_path / "calls.jsonl").write_text("\n".join(lines))
    ended = at.run("batch", str(tmp_path / "calls.jsonl"))
    assert ended.exit_code == 1
    assert sorted(line.split()[:3] for line in ended.stdout.splitlines()) == [
        ["1", "read", "completed"],
        ["2", "no_such_tool", "denied,"],
        ["3", "glob", "denied,"],
    ]
    (tmp_path / "calls.jsonl").write_text("\n".join(lines[:3] + lines[:1]))
    stopped = at.run("batch", str(tmp_path / "calls.jsonl"), "--stop-on-error", "-o", "json")
    documents = [json.loads(line) for line in stopped.stdout.splitlines()]
    assert [one["index"] for one in documents] == [0, 1, 2]
    assert documents[2]["error"]["reason"] == "BATCH_STOPPED"


def test_a_file_of_calls_that_are_none_is_refused_before_anything_runs(at: Place, tmp_path: Path) -> None:
    for line, trouble in (("[]", "not an object"), ("{", "not JSON"), ('{"tool": "read", "path": "x"}', "no path")):
        (tmp_path / "calls.jsonl").write_text(line)
        ended = at.run("batch", str(tmp_path / "calls.jsonl"))
        assert (ended.exit_code, trouble in ended.stderr) == (2, True), ended.stderr
    assert at.run("batch", str(tmp_path / "missing.jsonl")).exit_code == 2


def test_a_command_at_the_wrong_socket_is_told_of_the_other(at: Place) -> None:
    ended = at.run("status", "--address", at.addresses[0])
    assert ended.exit_code == 1
    assert "agents and operators reach it at different addresses" in ended.stderr


def test_an_agent_without_a_token_is_told_where_it_goes(at: Place) -> None:
    ended = at.run("tools", "--address", at.addresses[1])
    assert ended.exit_code == 1
    assert "INTERLOCK_TOKEN" in ended.stderr


def test_an_input_is_judged_as_it_was_written(at: Place) -> None:
    result = at.json("call", "read", '{"path": "a", "path": "b"}', code=1)
    assert result["decision"]["reasons"][0]["code"] == "invalid_input"


def test_a_preview_ends_with_4_changes_nothing_and_is_applied_by_resolve(at: Place) -> None:
    ended = at.run("call", "write", "path=new.txt", "content=hello", "--session", "s-preview")
    assert ended.exit_code == 4
    assert "+hello" in ended.stdout
    assert "Next: interlock resolve apply --session s-preview" in ended.stderr
    assert not (at.workspace / "new.txt").exists()
    (waiting,) = at.json("pending", "--session", "s-preview")["actions"]
    assert waiting["source_tool"] == "write"
    applied = at.json("resolve", "apply", "--session", "s-preview", "--reason", "as meant")
    assert applied["status"] == "completed"
    assert (at.workspace / "new.txt").read_text() == "hello"
    assert at.run("pending", INTERLOCK_SESSION="s-preview").stdout == "nothing is pending\n"


def test_a_discarded_preview_changes_nothing(at: Place) -> None:
    session, _ = session_of(at, "write", "path=never.txt", "content=x", code=4)
    said = at.run("resolve", "discard", "--session", session, "--reason", "wrong file")
    assert said.exit_code == 0
    assert "Discarded: write never.txt. Reason: wrong file" in said.stdout
    assert said.stdout.startswith("Discard:\nlabel:  write never.txt\ntool:   write\nreason: wrong file\n")
    assert not (at.workspace / "never.txt").exists()


def test_confidence_is_put_into_the_input(at: Place) -> None:
    (at.workspace / "doomed.txt").write_text("x")
    for stated, code, message in (("10", 1, "confidence 10 below required 70"), ("90", 4, "doomed.txt")):
        ended = at.run("call", "delete", '{"path": "doomed.txt"}', "--confidence", stated)
        assert ended.exit_code == code
        assert message in ended.stdout


def test_progress_and_output_are_streamed(at: Place) -> None:
    lines = at.run("call", "bash", "command=echo one; echo two", "--stream", "--output", "json").stdout.splitlines()
    events = [json.loads(line) for line in lines]
    assert events[-1]["event"] == "result"
    if events[-1]["status"] == "completed":
        assert "one" in "".join(event.get("text", "") for event in events if event["event"] == "outputchunk")


@pytest.mark.req("CHK-10")
def test_what_a_tool_says_cannot_act_on_a_terminal(at: Place) -> None:
    (at.workspace / "evil.txt").write_text("\x1b[2Jgone\u202etxt\n")
    ended = at.run("call", "read", "path=evil.txt")
    assert "<U+001B>[2Jgone<U+202E>txt" in ended.stdout
    assert "\x1b" not in ended.stdout
    assert "\u202e" not in ended.stdout


def test_a_large_result_is_paged_searched_and_described(at: Place) -> None:
    result = at.json("call", "bash", "command=seq 20000", "--session", "s-long")
    uri = result["artifact"]["uri"]
    about = at.json("artifact", "stat", uri)
    assert about["total_bytes"] == result["artifact"]["total_bytes"]
    part = at.run("artifact", "read", uri, "--line", "1000", "--lines", "2").stdout
    assert part == "1000\n1001\n\n"
    raw = at.run("artifact", "read", uri, "--raw").stdout_bytes
    assert len(raw) == about["total_bytes"]
    found = at.json("artifact", "search", uri, "^17[0-9]$", "--regex")
    assert [match["line"] for match in found["matches"]] == list(range(170, 180))
    assert at.run("artifact", "search", uri, "no such words").exit_code == 1
    assert at.run("artifact", "stat", "artifact://s-long/" + "0" * 64).exit_code == 1


@pytest.mark.req("AUTH-1")
def test_over_tcp_an_agent_shows_its_token_and_a_wrong_one_is_refused(at: Place) -> None:
    tcp = at.addresses[1]
    assert at.json("tools", "--address", tcp, INTERLOCK_TOKEN=at.token)["tools"]
    assert at.run("call", "read", "path=README.md", INTERLOCK_ADDRESS=tcp, INTERLOCK_TOKEN=at.token).exit_code == 0
    sessions = at.json("sessions", "--principal", "first-agent")["sessions"]
    assert sessions
    for token, said in (("", "send a token"), (at.token[:-4] + "aaaa", "the token is not known")):
        ended = at.run("tools", "--address", tcp, INTERLOCK_TOKEN=token)
        assert ended.exit_code == 1
        assert said in ended.stderr


def test_an_agent_has_no_way_to_what_operators_do(at: Place) -> None:
    ended = at.run("status", "--address", f"unix:{at.directory}/state/agent.sock")
    assert ended.exit_code == 1
    assert os.path.exists(f"{at.directory}/state/operator.sock")  # noqa: PTH110 -- a socket is no file to open
