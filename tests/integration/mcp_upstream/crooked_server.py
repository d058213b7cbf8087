"""MCP servers that misbehave, each in its own way; plain Python, so that they start fast."""

import json
import os
import subprocess
import sys
import threading
from typing import Any

TOOL = {"name": "echo", "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": True}}


def say(message: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def tools_of(kind: str) -> list[dict[str, Any]]:
    if kind == "many":
        return [{**TOOL, "name": f"tool_{number}"} for number in range(10_000)]
    if kind == "twice":
        return [TOOL, {**TOOL, "description": "another one"}, {"inputSchema": {}}, {**TOOL, "name": "bad name"}]
    return [TOOL]


def call(kind: str, request: dict[str, Any]) -> None:
    text = {"content": [{"type": "text", "text": "hello"}]}
    match kind:
        case "silent":
            return
        case "dies":
            os._exit(4)
        case "garbage":
            sys.stdout.write("this is no JSON\n{\n[1]\n\x00\xff\n")
            say({"id": request["id"] + 1000, "result": text})
            say({"id": request["id"], "result": text})
        case "huge":
            sys.stdout.write('{"jsonrpc":"2.0","id":1,"result":{"x":"' + "y" * (4 * 1024 * 1024))
            sys.stdout.flush()
            threading.Event().wait(60)
        case "floods":
            flood()
        case "malformed":
            say({"id": request["id"], "result": {"content": [{"type": "text"}]}})
        case "neither":
            say({"id": request["id"], "result": 7})
        case "nan":
            sys.stdout.write(f'{{"jsonrpc":"2.0","id":{request["id"]},"result":{{"content":[],"x":NaN}}}}\n')
            say({"id": request["id"], "result": text})
        case _:
            say({"id": request["id"], "result": text})


def flood() -> None:
    line = json.dumps({"jsonrpc": "2.0", "method": "notifications/message", "params": {"data": "x"}}) + "\n"
    while True:
        sys.stdout.write(line * 100)
        sys.stderr.write("noise\n" * 100)


STUBBORN = """
import signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
print("up", flush=True)
time.sleep(600)
"""


def start_stubborn() -> None:
    """Start what ignores everything but being killed."""
    started = subprocess.Popen([sys.executable, "-I", "-S", "-c", STUBBORN], stdout=subprocess.PIPE)
    assert started.stdout is not None
    started.stdout.readline()


def answer(kind: str, request: dict[str, Any], page: int) -> None:
    match request.get("method"):
        case "server/discover":
            if kind == "old":
                sys.exit(1)
            say({"id": request["id"], "error": {"code": -32601, "message": "Method not found"}})
        case "initialize":
            result: dict[str, Any] = {
                "protocolVersion": "2024-11-05" if kind == "old" else request["params"]["protocolVersion"],
                "capabilities": {"tools": {}},
                "serverInfo": {"name": kind, "version": "1"},
            }
            say({"id": request["id"], "result": result})
        case "tools/list" if kind == "endless":
            cursor = "same" if "again" in sys.argv else str(page)
            say({"id": request["id"], "result": {"tools": [], "nextCursor": cursor}})
        case "tools/list":
            say({"id": request["id"], "result": {"tools": tools_of(kind)}})
        case "tools/call":
            call(kind, request)


def main() -> None:
    kind = sys.argv[1]
    if kind == "fails":
        sys.stderr.write("no such database\n")
        sys.exit(5)
    if kind == "mute":
        threading.Event().wait(600)
    if kind == "parent":
        start_stubborn()
    for page, line in enumerate(sys.stdin):
        answer(kind, json.loads(line), page)


main()
