"""An MCP server that says every kind of thing unasked, each with every kind of value, before it answers a call."""

import json
import sys
from typing import Any

VALUES: list[Any] = [None, 0, -1, 1.5, "", "x" * 5000, [], {}, [[]], {"uri": 5}, True, 10**30]
NOTICES = [
    "notifications/message",
    "notifications/resources/updated",
    "notifications/resources/list_changed",
    "notifications/progress",
    "notifications/cancelled",
    "notifications/elicitation/complete",
    "x",
    "",
]
ABLE = {"tools": {}, "resources": {"subscribe": True, "listChanged": True}, "prompts": {}, "logging": {}}
TOOL = {"name": "echo", "inputSchema": {}, "annotations": {"readOnlyHint": True, "openWorldHint": False}}


def say(message: dict[Any, Any]) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")


def babble(token: object) -> None:
    for value in VALUES:
        for method in NOTICES:
            say({"method": method, "params": {"level": value, "data": value, "logger": value}})
            say({"method": method, "params": {"uri": value, "requestId": value, "elicitationId": value}})
            say({"method": method, "params": {"progressToken": value, "progress": value}})
            say({"method": method, "params": {"progressToken": token, "progress": value, "total": value}})
        for method in ("ping", "elicitation/create", "sampling/createMessage", "roots/list", value):
            say({"id": value, "method": method, "params": value})
        say({"method": "x", "params": value})
        say({"id": value, "result": {}})
        say({"id": value, "error": value})


def answer(request: dict[str, Any]) -> None:
    match request.get("method"):
        case "initialize":
            version = request["params"]["protocolVersion"]
            server = {"name": "babbler", "version": "1"}
            result: Any = {"protocolVersion": version, "capabilities": ABLE, "serverInfo": server}
        case "tools/list":
            result = {"tools": [TOOL]}
        case "tools/call":
            babble(request["params"].get("_meta", {}).get("progressToken"))
            result = {"content": [{"type": "text", "text": "hello"}]}
        case "resources/list":
            result = {"resources": [{"uri": "a://b", "name": "n"}, {"uri": 5}, 7]}
        case _:
            result = {"prompts": 7}
    if "id" in request:
        say({"id": request["id"], "result": result})
    sys.stdout.flush()


for line in sys.stdin:
    answer(json.loads(line))
