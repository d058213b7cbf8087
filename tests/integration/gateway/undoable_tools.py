"""A provider of changes that can be taken back: it keeps its own ledger, and fails on demand."""

import asyncio
import uuid
from dataclasses import dataclass, field
from typing import Any

from interlock.provider import Tool, ToolError, ToolResult, UndoInfo, tool


@dataclass
class Shelf:
    """Values by key, and what was really done to them. `trouble` says how `take_back` goes wrong, by key."""

    values: dict[str, str] = field(default_factory=dict)
    before: dict[str, tuple[str, str | None]] = field(default_factory=dict)
    undone: list[str] = field(default_factory=list)
    trouble: dict[str, str] = field(default_factory=dict)
    undo_tool: str = "take_back"
    begun: asyncio.Event = field(default_factory=asyncio.Event)
    released: asyncio.Event = field(default_factory=asyncio.Event)

    def put(self, key: str, value: str) -> UndoInfo:
        token = uuid.uuid4().hex
        self.before[token] = (key, self.values.get(key))
        self.values[key] = value
        return UndoInfo(tool=self.undo_tool, input={"token": token}, description=f"put {key} back")

    async def take_back(self, token: str) -> str:
        key, before = self.before[token]
        match self.trouble.get(key, ""):
            case "words":
                raise ToolError(f"{key} has changed since")
            case "crash":
                raise RuntimeError("secret internals")
            case "hold":
                self.begun.set()
                await self.released.wait()
        self.undone.append(key)
        if before is None:
            self.values.pop(key, None)
        else:
            self.values[key] = before
        return f"{key} is back"


def undoable_tools(shelf: Shelf) -> list[Tool[..., Any]]:
    """Tools over a shelf."""

    @tool(destructive=False, reversible=True, undo_tool="take_back")
    def put(key: str, value: str) -> ToolResult:
        """Put a value."""
        return ToolResult(content=f"put {key}", undo=shelf.put(key, value))

    @tool(destructive=False)
    async def take_back(token: str) -> str:
        """Take a put back."""
        return await shelf.take_back(token)

    @tool(destructive=True)
    async def tear_out(token: str) -> str:
        """Take a put back, and be destructive about it."""
        return await shelf.take_back(token)

    @tool(destructive=False, requires_checkpoint=True)
    async def ask_to_take_back(token: str) -> str:
        """Take a put back, when a person agrees."""
        return await shelf.take_back(token)

    @tool(read_only=True)
    async def claims_to_read(token: str) -> str:
        """Take a put back, and say that nothing changes."""
        return await shelf.take_back(token)

    @tool(destructive=False)
    def shout(text: str) -> str:
        """Do what nothing takes back."""
        shelf.values[f"shouted {text}"] = text
        return "shouted"

    @tool(destructive=False, reversible=True)
    def engrave(text: str) -> ToolResult:
        """Do what a person could take back."""
        shelf.values[f"engraved {text}"] = text
        undo = UndoInfo(irreversible=True, manual_guide=f"Polish {text!r} off the stone.")
        return ToolResult(content="engraved", undo=undo)

    @tool(read_only=True)
    def look() -> str:
        """Change nothing."""
        return str(len(shelf.values))

    return [put, take_back, tear_out, ask_to_take_back, claims_to_read, shout, engrave, look]
