"""Tools that answer with whatever a test wants, under every kind of limit."""

import hashlib
import json
from dataclasses import dataclass, field
from typing import Any

from interlock import Session
from interlock.provider import Tool, ToolResult, tool

LINES = "".join(f"line {n} é\n" for n in range(5000))
ROWS = [{"name": f"row {n}", "size": n} for n in range(2000)]


@dataclass
class Answers:
    """What the tools answer, set by a test."""

    text: str = LINES
    result: ToolResult = field(default_factory=ToolResult)


def answering(answers: Answers) -> list[Tool[..., Any]]:
    @tool(read_only=True)
    def head() -> str:
        """Answer at length."""
        return answers.text

    @tool(read_only=True, truncation="head_tail", max_result_bytes=1000)
    def both_ends() -> str:
        """Answer at length."""
        return answers.text

    @tool(read_only=True, truncation="table", max_result_bytes=1000)
    def table() -> str:
        """Answer with rows."""
        return json.dumps(ROWS)

    @tool(read_only=True, max_result_lines=3)
    def three_lines() -> str:
        """Answer with a few lines."""
        return answers.text

    @tool(read_only=True)
    def anything() -> ToolResult:
        """Answer with anything."""
        return answers.result

    return [head, both_ends, table, three_lines, anything]


def uri_of(session: Session, whole: str | bytes) -> str:
    """Where a session's artifact of this content is."""
    raw = whole.encode() if isinstance(whole, str) else whole
    return f"artifact://{session.session_id}/{hashlib.sha256(raw).hexdigest()}"
