"""The agent of the demonstration: calls tools through the SDK and shows what it gets."""

import json
from typing import Any

from interlock import CallResult, CallStatus, Deliverable, Session

from interlock_gateway.demo.screen import Screen


class Agent:
    """One session, with its calls on the screen."""

    def __init__(self, session: Session, screen: Screen) -> None:
        self.session = session
        self._screen = screen

    async def call(self, tool: str, most: int = 14, **arguments: Any) -> CallResult:
        """Call a tool and show the answer."""
        self._screen.asks(tool, json.dumps(arguments, ensure_ascii=False))
        result = await self.session.call(tool, arguments)
        self.show(result, most)
        return result

    async def resolve(self, action: str, reason: str) -> CallResult:
        """Apply or discard the pending change and show the answer."""
        self._screen.asks("resolve", json.dumps({"action": action, "reason": reason}))
        result = await self.session.resolve(action, reason)  # type: ignore[arg-type]  # the scenes pass the two words
        self.show(result, 6)
        return result

    async def think_again(self, tool: str, deliverable: Deliverable, **arguments: Any) -> CallResult:
        """Call a tool with a challenge of the call itself, and show the answer."""
        self._screen.asks(tool, json.dumps(arguments, ensure_ascii=False) + "  + deliverable")
        result = await self.session.call(tool, arguments, deliverable=deliverable)
        self.show(result)
        return result

    def show(self, result: CallResult, most: int = 14) -> None:
        """Show an answer."""
        text = result.preview.preview if result.status is CallStatus.PREVIEW and result.preview else result.text
        good = result.status is CallStatus.COMPLETED and not result.is_error
        self._screen.gets(_headline(result), good=good)
        if text:
            self._screen.block(text, most)


def _headline(result: CallResult) -> str:
    status = result.status.value.replace("_", " ")
    if result.status is CallStatus.DENIED and result.decision.reasons:
        rules = ", ".join(dict.fromkeys(reason.rule for reason in result.decision.reasons if reason.rule))
        return f"denied  (rule {rules})"
    if result.artifact is not None:
        return f"{status}, shortened: {result.artifact.total_bytes:,} bytes in all, kept as an artifact"
    if result.pending is not None:
        return f"{status}: nothing has been changed"
    return f"{status}, with an error" if result.is_error else status
