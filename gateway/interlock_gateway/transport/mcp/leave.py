"""Leave to send a server words that are no call: what is typed for an argument, a resource's address to watch (MCP-3).

They leave the gateway like a call's. So policy is asked what it would say of the call that reads the same thing: a
session that may not reach the server any more must not reach it like this either.
"""

from collections.abc import Mapping
from typing import Any

from mcp.shared.exceptions import MCPError

from interlock_gateway.core.call import CallRequest
from interlock_gateway.core.decision import Verdict
from interlock_gateway.pipeline.core import CallPipeline
from interlock_gateway.transport.mcp.errors import REFUSED
from interlock_gateway.transport.mcp.requests import encoded
from interlock_gateway.transport.mcp.wires import McpCaller

UNDECIDED = "Policy does not simply allow this, and nobody is asked about it."


async def leave_to_send(pipeline: CallPipeline, caller: McpCaller, tool: str, given: Mapping[str, Any]) -> None:
    """Return if policy allows a call of `tool` with `given`. Raises `MCPError` for other verdicts, `RequestError`."""
    request = CallRequest(caller.session_id, "", tool, encoded(given), mcp_revision=caller.version)
    decision, _ = await pipeline.evaluate(caller.principal, request)
    if decision.verdict is not Verdict.ALLOW:
        words = decision.message if decision.verdict is Verdict.DENY else UNDECIDED
        raise MCPError(REFUSED, words or UNDECIDED, {"reason": "DENIED", "decision_id": decision.decision_id})
