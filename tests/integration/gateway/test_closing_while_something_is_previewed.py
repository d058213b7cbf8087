"""A session that is closed while a call is about to leave something pending in it: nothing is left."""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from gateway_bench import Ledger, bench
from interlock import CallStatus
from interlock.provider import DryRunResult, PendingAction, Tool, ToolResult, tool


class Meanwhile:
    """What happens while a tool works."""

    def __init__(self) -> None:
        self.happens: Callable[[], Awaitable[object]] | None = None

    def tools(self, _: Ledger) -> list[Tool[..., Any]]:
        async def meanwhile() -> None:
            if self.happens is not None:
                await self.happens()

        @tool(destructive=False, reversible=True)
        async def propose() -> ToolResult:
            """Push a pending action."""
            await meanwhile()
            return ToolResult(content="proposed", pending_action=PendingAction(label="plan", token="1"))

        @tool(destructive=False, reversible=True)
        async def stand() -> ToolResult:
            """Register a standing handler."""
            await meanwhile()
            return ToolResult(content="standing", standing_handler=PendingAction(label="plan", token="1"))

        @propose.apply
        def apply(token: str) -> str:
            return token

        @tool(destructive=True)
        async def previewed() -> str:
            """Change something after a preview."""
            return "done"

        @previewed.dry_run
        async def would() -> DryRunResult:
            await meanwhile()
            return DryRunResult(preview="+ 1", state_token="same", label="one")

        return [propose, stand, previewed]


@pytest.mark.req("PREV-11", "PREV-12", "PREV-1")
@pytest.mark.parametrize("name", ["propose", "stand", "previewed"])
async def test_nothing_is_left_pending_in_a_session_that_was_closed_meanwhile(
    socket_directory: Path, name: str
) -> None:
    meanwhile = Meanwhile()
    async with bench(socket_directory, tools=meanwhile.tools) as at:
        session = at.agent.session("s")
        meanwhile.happens = session.close

        result = await session.call(name, {})

        assert result.pending is None
        if name == "previewed":
            assert (result.status, result.decision.reasons[0].code) == (CallStatus.DENIED, "session_closed")
        else:
            assert result.is_error
            assert result.text.startswith("The session was closed meanwhile")
        listed = await session.pending()
        assert (listed.actions, listed.standing_handler) == ((), "")
