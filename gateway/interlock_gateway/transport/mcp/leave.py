"""Leave to send a server words that are no call: what is typed for an argument, a resource's address to watch (MCP-3).

They leave the gateway like a call's. So policy is asked what it would say of the call that reads the same thing: a
session that may not reach the server any more must not reach it like this either.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from mcp.shared.exceptions import MCPError

from interlock_gateway.core.decision import Verdict
from interlock_gateway.pipeline.core import CallPipeline
from interlock_gateway.pipeline.deliverable import form_for
from interlock_gateway.transport.mcp.errors import REFUSED
from interlock_gateway.transport.mcp.reflecting import words_for_reading
from interlock_gateway.transport.mcp.requests import read_request
from interlock_gateway.transport.mcp.results import REFLECTION_META, form_meta
from interlock_gateway.transport.mcp.wires import McpCaller

UNDECIDED = "Policy does not simply allow this, and nobody is asked about it."


async def leave_to_send(
    pipeline: CallPipeline, caller: McpCaller, method: str, tool: str, given: Mapping[str, Any]
) -> None:
    """Return if policy allows a call of `tool` with `given`. Raises `MCPError` for other verdicts, `RequestError`.

    Who has to reflect first finds the form in the error, and sends the request again with it.
    """
    asked = replace(read_request(caller, method, tool, given), call_id="")  # it is no call that could be made again
    decision, run = await pipeline.evaluate(caller.principal, asked)
    data: dict[str, Any] = {"reason": "DENIED", "decision_id": decision.decision_id}
    match decision.verdict:
        case Verdict.ALLOW:
            return
        case Verdict.DENY:
            words = decision.message
        case Verdict.REFLECT:
            form = form_for(run)
            words = "\n".join(filter(None, (decision.message, form.instructions, words_for_reading(form))))
            data[REFLECTION_META] = form_meta(form)
        case _:
            words = UNDECIDED
    raise MCPError(REFUSED, words or UNDECIDED, data)
