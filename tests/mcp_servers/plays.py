"""What is asked of each real MCP server: every tool, several times, with inputs that work and inputs that do not."""

import os
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from node_programs import npm_program

Call = tuple[str, dict[str, Any]]
LONG_AGO = 1_700_000_000
COMMITTING = {
    f"GIT_{who}_{what}": value
    for who in ("AUTHOR", "COMMITTER")
    for what, value in (("NAME", "Ada"), ("EMAIL", "ada@example.com"), ("DATE", f"{LONG_AGO} +0000"))
}
ALONE = {"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_SYSTEM": "/dev/null"}
PIXEL = bytes.fromhex(
    "89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c489"
    "0000000d4944415478da6364f84ff50003030185016a34f5db0000000049454e44ae426082"
)


@dataclass(frozen=True, slots=True)
class Play:
    """One server: how it is started for a directory, what lies there before, and what is asked of it, in order.

    `varies` are patterns of what differs from one run to the next whoever asks: the time of day, random names.
    """

    name: str
    command: Callable[[Path], tuple[str, ...]]
    calls: Callable[[Path], list[Call]]
    prepare: Callable[[Path], None] = lambda _: None
    environment: dict[str, str] = field(default_factory=dict)
    varies: tuple[str, ...] = ()


def _files(at: Path) -> None:
    (at / "notes").mkdir()
    (at / "plain.txt").write_text("one\ntwo\nthree\nfour\n")
    (at / "notes" / "ä ö.md").write_text('# Überschrift\n\n"quoted" \\ and a tab\t.\n')
    (at / "notes" / "numbers.json").write_text('{"big": 9007199254740993, "small": 1e-7}\n')
    (at / "pixel.png").write_bytes(PIXEL)
    for path in at.rglob("*"):
        os.utime(path, (LONG_AGO, LONG_AGO))


def _file_calls(at: Path) -> list[Call]:
    plain, notes, outside = str(at / "plain.txt"), str(at / "notes"), "/etc/hostname"
    return [
        ("list_allowed_directories", {}),
        ("read_file", {"path": plain}),
        ("read_text_file", {"path": plain, "head": 2}),
        ("read_text_file", {"path": plain, "tail": 1}),
        ("read_text_file", {"path": str(at / "notes" / "ä ö.md")}),
        ("read_text_file", {"path": plain, "head": 1, "tail": 1}),
        ("read_text_file", {"path": outside}),
        ("read_text_file", {"path": str(at / "missing.txt")}),
        ("read_text_file", {"path": f"{notes}/../../escape"}),
        ("read_text_file", {}),
        ("read_text_file", {"path": 7}),
        ("read_media_file", {"path": str(at / "pixel.png")}),
        ("read_media_file", {"path": str(at / "missing.png")}),
        ("read_multiple_files", {"paths": [plain, str(at / "missing.txt"), f"{notes}/numbers.json"]}),
        ("read_multiple_files", {"paths": []}),
        ("list_directory", {"path": str(at)}),
        ("list_directory", {"path": outside}),
        ("list_directory_with_sizes", {"path": notes, "sortBy": "size"}),
        ("list_directory_with_sizes", {"path": notes, "sortBy": "colour"}),
        ("directory_tree", {"path": str(at), "excludePatterns": ["*.json"]}),
        ("directory_tree", {"path": str(at)}),
        ("search_files", {"path": str(at), "pattern": "**/*.md"}),
        ("search_files", {"path": str(at), "pattern": "nothing-like-it"}),
        ("get_file_info", {"path": plain}),
        ("get_file_info", {"path": str(at / "missing")}),
        ("create_directory", {"path": str(at / "new" / "deep")}),
        ("create_directory", {"path": "/proc/nowhere"}),
        ("write_file", {"path": str(at / "new" / "written.txt"), "content": "written ✓\r\n\u2028end"}),
        ("write_file", {"path": plain, "content": ""}),
        ("write_file", {"path": outside, "content": "no"}),
        ("write_file", {"path": str(at / "new" / "again.txt"), "content": "a\nb\nc\n"}),
        ("edit_file", _edit(at, "b", "B", dry=True)),
        ("edit_file", _edit(at, "b", "B", dry=False)),
        ("edit_file", _edit(at, "not there", "x", dry=False)),
        ("move_file", {"source": str(at / "new" / "again.txt"), "destination": str(at / "moved.txt")}),
        ("move_file", {"source": str(at / "new" / "again.txt"), "destination": str(at / "moved.txt")}),
        ("read_text_file", {"path": str(at / "moved.txt")}),
    ]


def _edit(at: Path, old: str, new: str, *, dry: bool) -> dict[str, Any]:
    edits = [{"oldText": old, "newText": new}]
    return {"path": str(at / "new" / "again.txt"), "edits": edits, "dryRun": dry}


def _memory_calls(_at: Path) -> list[Call]:
    ada = {"name": "Ada", "entityType": "person", "observations": ["wrote notes", "né 1815 ✓"]}
    engine = {"name": "Engine", "entityType": "machine", "observations": []}
    knows = {"from": "Ada", "to": "Engine", "relationType": "describes"}
    return [
        ("read_graph", {}),
        ("create_entities", {"entities": [ada, engine]}),
        ("create_entities", {"entities": [ada]}),
        ("create_entities", {"entities": [{"name": "without type"}]}),
        ("create_entities", {"entities": "none"}),
        ("create_relations", {"relations": [knows, knows]}),
        ("create_relations", {"relations": []}),
        ("add_observations", {"observations": [{"entityName": "Ada", "contents": ["likes poetry"]}]}),
        ("add_observations", {"observations": [{"entityName": "Nobody", "contents": ["x"]}]}),
        ("search_nodes", {"query": "poetry"}),
        ("search_nodes", {"query": "nothing like it"}),
        ("search_nodes", {}),
        ("open_nodes", {"names": ["Engine", "Nobody"]}),
        ("open_nodes", {"names": []}),
        ("delete_observations", {"deletions": [{"entityName": "Ada", "observations": ["wrote notes"]}]}),
        ("delete_observations", {"deletions": [{"entityName": "Nobody", "observations": ["x"]}]}),
        ("delete_relations", {"relations": [knows]}),
        ("delete_relations", {"relations": [{"from": "Ada"}]}),
        ("delete_entities", {"entityNames": ["Engine"]}),
        ("delete_entities", {"entityNames": 3}),
        ("read_graph", {"more": "than asked"}),
    ]


def _everything_calls(_at: Path) -> list[Call]:
    data = "data:text/plain;base64,aGVsbG8="
    return [
        ("echo", {"message": "hello"}),
        ("echo", {"message": "\u0000 \U0001f600 </script> \u2028"}),
        ("echo", {"message": ""}),
        ("echo", {}),
        ("echo", {"message": {"not": "a text"}}),
        ("get-annotated-message", {"messageType": "error", "includeImage": True}),
        ("get-annotated-message", {"messageType": "success"}),
        ("get-annotated-message", {"messageType": "other"}),
        ("get-env", {}),
        ("get-resource-links", {"count": 4}),
        ("get-resource-links", {"count": 0}),
        ("get-resource-links", {}),
        ("get-resource-reference", {"resourceType": "Text", "resourceId": 2}),
        ("get-resource-reference", {"resourceType": "Blob", "resourceId": 3}),
        ("get-resource-reference", {"resourceType": "Blob", "resourceId": -1}),
        ("get-structured-content", {"location": "Chicago"}),
        ("get-structured-content", {"location": "New York"}),
        ("get-structured-content", {"location": "Berlin"}),
        ("get-sum", {"a": 0.1, "b": 0.2}),
        ("get-sum", {"a": 9007199254740991, "b": 1}),
        ("get-sum", {"a": 1e21, "b": -0.0}),
        ("get-sum", {"a": "1", "b": 2}),
        ("get-tiny-image", {}),
        ("gzip-file-as-resource", {"name": "a.gz", "data": data, "outputType": "resource"}),
        ("gzip-file-as-resource", {"name": "b.gz", "data": data, "outputType": "resourceLink"}),
        ("gzip-file-as-resource", {"name": "c.gz", "data": "ftp://example.com/x"}),
        ("toggle-simulated-logging", {}),
        ("toggle-simulated-logging", {}),
        ("toggle-subscriber-updates", {}),
        ("toggle-subscriber-updates", {}),
        ("trigger-long-running-operation", {"duration": 0.2, "steps": 4}),
        ("trigger-long-running-operation", {"duration": 0.1, "steps": 1}),
        ("trigger-elicitation-request", {}),
        ("trigger-sampling-request", {"prompt": "say something", "maxTokens": 10}),
        ("trigger-sampling-request", {"prompt": "say more"}),
        ("trigger-url-elicitation", {"url": "https://example.com/sign-in", "elicitationId": "one"}),
        ("simulate-research-query", {"topic": "tasks"}),
        ("no-such-tool", {}),
    ]


def _repository(at: Path) -> None:
    from git import Actor, Repo

    repository = Repo.init(at, initial_branch="main")
    ada = Actor("Ada", "ada@example.com")
    for words, text in (("First", "one\n"), ("Second", "one\ntwo\n")):
        (at / "kept.txt").write_text(text)
        repository.index.add(["kept.txt"])
        date = f"{LONG_AGO} +0000"
        repository.index.commit(words, author=ada, committer=ada, author_date=date, commit_date=date)
    (at / "kept.txt").write_text("one\n2\n")
    (at / "new ä.txt").write_text("new\n")


def _git_calls(at: Path) -> list[Call]:
    here = {"repo_path": str(at)}
    return [
        ("git_status", here),
        ("git_status", {"repo_path": str(at / "nowhere")}),
        ("git_status", {}),
        ("git_diff_unstaged", here),
        ("git_diff_unstaged", {**here, "context_lines": 0}),
        ("git_diff_staged", here),
        ("git_add", {**here, "files": ["new ä.txt"]}),
        ("git_add", {**here, "files": ["missing"]}),
        ("git_add", {**here, "files": []}),
        ("git_diff_staged", {**here, "context_lines": 1}),
        ("git_reset", here),
        ("git_add", {**here, "files": ["kept.txt", "new ä.txt"]}),
        ("git_commit", {**here, "message": "Third: ✓"}),
        ("git_commit", {**here}),
        ("git_log", here),
        ("git_log", {**here, "max_count": 1}),
        ("git_log", {**here, "start_timestamp": "2001-01-01", "end_timestamp": "2001-01-02"}),
        ("git_create_branch", {**here, "branch_name": "side"}),
        ("git_create_branch", {**here, "branch_name": "other", "base_branch": "nowhere"}),
        ("git_checkout", {**here, "branch_name": "side"}),
        ("git_checkout", {**here, "branch_name": "-f"}),
        ("git_show", {**here, "revision": "HEAD"}),
        ("git_show", {**here, "revision": "HEAD~1"}),
        ("git_show", {**here, "revision": "nothing"}),
        ("git_diff", {**here, "target": "HEAD~1"}),
        ("git_diff", {**here, "target": "--output=x"}),
        ("git_branch", {**here, "branch_type": "local"}),
        ("git_branch", {**here, "branch_type": "all", "contains": "HEAD"}),
        ("git_branch", {**here, "branch_type": "none"}),
    ]


def _time_calls(_at: Path) -> list[Call]:
    return [
        ("get_current_time", {"timezone": "UTC"}),
        ("get_current_time", {"timezone": "Asia/Kathmandu"}),
        ("get_current_time", {"timezone": "Nowhere/Land"}),
        ("get_current_time", {}),
        ("convert_time", {"source_timezone": "UTC", "time": "12:30", "target_timezone": "Asia/Tokyo"}),
        ("convert_time", {"source_timezone": "Asia/Kathmandu", "time": "00:05", "target_timezone": "UTC"}),
        ("convert_time", {"source_timezone": "UTC", "time": "25:00", "target_timezone": "UTC"}),
        ("convert_time", {"source_timezone": "UTC", "time": "12:00"}),
        ("convert_time", {"source_timezone": "", "time": "12:00", "target_timezone": "UTC"}),
        ("no_such_tool", {}),
    ]


def fetching(site: str) -> Play:
    """`mcp-server-fetch`, for pages of a site on this machine."""

    def calls(_at: Path) -> list[Call]:
        return [
            ("fetch", {"url": f"{site}/page.html"}),
            ("fetch", {"url": f"{site}/page.html", "raw": True}),
            ("fetch", {"url": f"{site}/page.html", "max_length": 40}),
            ("fetch", {"url": f"{site}/page.html", "max_length": 40, "start_index": 40}),
            ("fetch", {"url": f"{site}/page.html", "start_index": 100_000}),
            ("fetch", {"url": f"{site}/data.json"}),
            ("fetch", {"url": f"{site}/elsewhere"}),
            ("fetch", {"url": f"{site}/missing"}),
            ("fetch", {"url": f"{site}/private/page.html"}),
            ("fetch", {"url": "http://127.0.0.1:9/"}),
            ("fetch", {"url": "not a url"}),
            ("fetch", {"url": f"{site}/page.html", "max_length": 0}),
            ("fetch", {}),
        ]

    command = (sys.executable, "-m", "mcp_server_fetch", "--allow-private-ips")
    return Play("fetch", lambda _: command, calls, environment={"NO_PROXY": "*", "no_proxy": "*"})


def plays() -> dict[str, Play]:
    """Every server but the one that needs a site."""
    node_servers = "@modelcontextprotocol/server-"
    made = (
        Play(
            "filesystem",
            lambda at: (*npm_program(f"{node_servers}filesystem"), str(at)),
            _file_calls,
            prepare=_files,
            # When a file was made cannot be set.
            varies=(r"created: [^\n\\]+", r"accessed: [^\n\\]+"),
        ),
        Play(
            "memory",
            lambda _: npm_program(f"{node_servers}memory"),
            _memory_calls,
            environment={"MEMORY_FILE_PATH": "{at}/memory.jsonl"},
        ),
        Play(
            "everything",
            lambda _: (*npm_program(f"{node_servers}everything"), "stdio"),
            _everything_calls,
            environment={"SAID": "to the server"},
            # The time of day, and a blob that has it.
            varies=(r"\d{1,2}:\d{2}:\d{2}( [AP]M)?", r"^UmVzb3VyY2UgMzogVGhpcy[A-Za-z0-9+/]+=*$"),
        ),
        Play(
            "git",
            lambda _: (sys.executable, "-m", "mcp_server_git"),
            _git_calls,
            prepare=_repository,
            environment=COMMITTING | ALONE,
        ),
        Play(
            "time",
            lambda _: (sys.executable, "-m", "mcp_server_time", "--local-timezone", "UTC"),
            _time_calls,
            varies=(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d", r"(Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day"),
        ),
    )
    return {play.name: play for play in made}
