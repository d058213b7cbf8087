"""A provider as a process of its own, with a ledger of what it really did: SOCKET, LEDGER, RECEIPTS, DATABASE.

RECEIPTS are the directories of all gateways that may call it, with colons between them.

Each effect is a line in LEDGER, on disk before the tool goes on, with what the provider saw at that moment of the
gateway's intent: in the database, and among the receipts. It ends with its standard input.
"""

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any

from crash_records import CallKey, Database, Receipts
from interlock.provider import DryRunResult, Tool, ToolContext, ToolResult, ToolServer, UndoInfo, tool
from waiting import a_moment

LARGE = 200_000


class Ledger:
    """Where effects are written."""

    def __init__(self, path: Path, receipts: str, database: str) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        self._receipts = [Receipts(Path(one)) for one in receipts.split(os.pathsep)]
        self._database = Database(database)

    def write(self, context: ToolContext, key: str) -> None:
        """One effect of one call."""
        call = context.session_id, context.call_id
        effect = {
            "tool": context.tool,
            "key": key,
            "session_id": context.session_id,
            "call_id": context.call_id,
            "journal": self._in_journal(call),
            "audit": self._in_audit(call),
        }
        os.write(self._file, json.dumps(effect).encode() + b"\n")
        os.fsync(self._file)

    def _in_audit(self, call: CallKey) -> bool:
        """Whether any gateway has signed the intent."""
        return any(call in one.intents for one in self._receipts) or any(
            call in one.read().intents for one in self._receipts
        )

    def _in_journal(self, call: CallKey) -> str | None:
        """The state of the intent, empty when there is none; `None` when it cannot be seen: the gateway has died."""
        try:
            return self._database.intent_of(call)
        except OSError:
            return None


def tools_of(ledger: Ledger) -> list[Tool[..., Any]]:
    """One tool of each kind."""

    @tool(read_only=True, concurrency_safe=True)
    def look(key: str) -> str:
        """Read, and change nothing."""
        return f"saw {key}"

    @tool(read_only=True, concurrency_safe=True)
    def browse(key: str) -> str:
        """Read more than can be answered."""
        return f"{key}\n" * (LARGE // (len(key) + 1))

    @tool(destructive=False, reversible=True, undo_tool="unnote")
    async def note(context: ToolContext, key: str) -> ToolResult:
        """Change something."""
        ledger.write(context, key)
        await a_moment()
        return ToolResult(content=f"noted {key}", undo=UndoInfo(tool="unnote", input={"key": key}))

    @tool(destructive=False, reversible=True, undo_tool="unnote")
    async def scribe(context: ToolContext, key: str) -> ToolResult:
        """Change something, and say more than can be answered."""
        ledger.write(context, key)
        return ToolResult(content=f"{key}\n" * (LARGE // len(key)), undo=UndoInfo(tool="unnote", input={"key": key}))

    @tool(destructive=True)
    async def unnote(context: ToolContext, key: str) -> str:
        """Take a note back."""
        ledger.write(context, key)
        await a_moment()
        return f"took {key} back"

    @tool(destructive=True)
    async def put(context: ToolContext, key: str) -> str:
        """Change something after a preview."""
        ledger.write(context, key)
        await a_moment()
        return f"put {key}"

    @put.dry_run
    def would_put(key: str) -> DryRunResult:
        return DryRunResult(preview=f"+ {key}", state_token="same", label=f"put {key}")

    @tool(destructive=True)
    async def wreck(context: ToolContext, key: str) -> str:
        """Change something that people are asked about."""
        ledger.write(context, key)
        await a_moment()
        return f"wrecked {key}"

    return [look, browse, note, scribe, unnote, put, wreck]


async def main(socket: str, ledger: str, receipts: str, database: str) -> None:
    """Serve until standard input ends."""
    tools = tools_of(Ledger(Path(ledger), receipts, database))
    async with ToolServer(tools, socket, name="judge", version="1"):
        os.write(sys.stdout.fileno(), b"ready\n")
        await asyncio.to_thread(sys.stdin.read)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
