"""What a rollback is tried on: the real toolbox and a shelf that fails, both keeping a ledger of what was undone."""

import json
import uuid
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

from interlock.provider import Tool, ToolError, ToolProvider, ToolResult, UndoInfo, tool
from interlock.provider._provider import NOBODY, Caller
from interlock.toolbox import local_operations, toolbox_tools
from interlock.v1 import tool_provider_service_pb2 as rpc


class Moment(StrEnum):
    """When, in a compensation, something happens to the gateway."""

    BEFORE = "before it takes effect"
    INSTEAD = "before it takes effect, which it then does not"
    AFTER = "after it took effect"


@dataclass
class Ledger:
    """How often each undo really took effect, by its token or record; and what is to happen at the next one."""

    effects: Counter[str] = field(default_factory=Counter)
    at: Moment | None = None
    happens: Callable[[], None] = lambda: None

    def reached(self, moment: Moment) -> bool:
        """Whether this is the moment; it comes once."""
        if self.at is not moment:
            return False
        self.at = None
        self.happens()
        return True


@dataclass
class Shelf:
    """Values by key. `trouble` holds the keys whose next undo fails, with how."""

    ledger: Ledger
    values: dict[str, str] = field(default_factory=dict)
    engraved: list[str] = field(default_factory=list)
    before: dict[str, tuple[str, str | None]] = field(default_factory=dict)
    trouble: dict[str, str] = field(default_factory=dict)

    def take_back(self, token: str) -> str:
        """Undo one put, once its trouble is over."""
        key, before = self.before[token]
        match self.trouble.pop(key, ""):
            case "words":
                raise ToolError(f"not now: {key}")
            case "crash":
                raise RuntimeError("internals")
        if self.ledger.reached(Moment.INSTEAD):
            raise RuntimeError("cut off")
        self.ledger.reached(Moment.BEFORE)
        self.ledger.effects[token] += 1
        if before is None:
            self.values.pop(key, None)
        else:
            self.values[key] = before
        self.ledger.reached(Moment.AFTER)
        return f"{key} is back"

    def tools(self) -> list[Tool[..., Any]]:
        """What agents call."""

        @tool(destructive=False, reversible=True, undo_tool="take_back", blocking=False)
        def put(key: str, value: str) -> ToolResult:
            """Put a value."""
            token = uuid.uuid4().hex
            self.before[token] = (key, self.values.get(key))
            self.values[key] = value
            return ToolResult(content="put", undo=UndoInfo(tool="take_back", input={"token": token}))

        @tool(destructive=True, blocking=False)
        def take_back(token: str) -> str:
            """Undo a put."""
            return self.take_back(token)

        @tool(destructive=False, reversible=True, blocking=False)
        def engrave(text: str) -> ToolResult:
            """Do what no tool takes back."""
            self.engraved.append(text)
            return ToolResult(content="engraved", undo=UndoInfo(irreversible=True, manual_guide=f"polish {text}"))

        return [put, take_back, engrave]


class WatchedToolbox(ToolProvider):
    """The toolbox, with every restoration in the ledger."""

    def __init__(self, root: Path, state: Path, ledger: Ledger) -> None:
        super().__init__(toolbox_tools(local_operations([root], state)), name="toolbox", version="1")
        self._ledger = ledger

    async def execute(self, request: rpc.ExecuteRequest, caller: Caller = NOBODY) -> Any:
        """Run a call; what restores goes into the ledger when it changed something."""
        if request.invocation.tool != "restore":
            return await super().execute(request, caller)
        if self._ledger.reached(Moment.INSTEAD):
            raise RuntimeError("cut off")
        self._ledger.reached(Moment.BEFORE)
        answer = await super().execute(request, caller)
        if not answer.result.is_error and json.loads(answer.result.details)["changed"]:
            self._ledger.effects[json.loads(request.invocation.input)["record"]] += 1
        self._ledger.reached(Moment.AFTER)
        return answer
