"""A person at an MCP client who answers what they are asked in turn, and calls that wait for them."""

import asyncio
from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any

from gateway_bench import Ledger, ledger_tools
from interlock.provider import Tool, tool
from mcp_types import ElicitResult

PEOPLE: dict[str, Any] = {"people": [{"agent": "agent-a", "approver": "alice", "groups": ["dba"]}], "hold_s": 0.3}
GATES: defaultdict[str, asyncio.Event] = defaultdict(asyncio.Event)
"""What `rebuild` waits for, by index."""
APPROVE = ElicitResult(action="accept", content={"decision": "approve"})
DENY = ElicitResult(action="accept", content={"decision": "deny", "reason": "not today"})


def asking_tools(ledger: Ledger) -> list[Tool[..., Any]]:
    """A tool that nobody runs without a person, beside the others."""

    @tool(destructive=False, reversible=True, requires_checkpoint=True)
    def drop(table: str) -> str:
        """Drop a table."""
        ledger.ran.append(("drop", table))
        return f"dropped {table}"

    @tool(destructive=False, reversible=True, requires_checkpoint=True)
    async def rebuild(index: str) -> str:
        """Take as long as the gate is closed."""
        ledger.ran.append(("rebuild", index))
        await GATES[index].wait()
        return f"rebuilt {index}"

    @tool(destructive=False, reversible=True, requires_reverse_thinking=True)
    def ponder(value: str) -> str:
        """Do it after some thought."""
        ledger.ran.append(("ponder", value))
        return f"did {value}"

    return [*ledger_tools(ledger), drop, rebuild, ponder]


@dataclass
class Person:
    """Says `answers` in turn, the last one again and again; `asked` is what they were shown."""

    answers: list[ElicitResult]
    asked: list[Any] = field(default_factory=list)

    async def __call__(self, context: Any, params: Any) -> ElicitResult:
        del context
        self.asked.append(params)
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
