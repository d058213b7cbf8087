"""What stands around every MCP request: it is counted, its sender may send it, and one way for errors to leave."""

from typing import Any

from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.shared.exceptions import MCPError
from pydantic import ValidationError

from interlock_gateway.errors import RequestError
from interlock_gateway.identity.access import check_access
from interlock_gateway.transport.grpc.endpoint import OneRpc, OpenRpcs
from interlock_gateway.transport.grpc.errors import as_request_error
from interlock_gateway.transport.mcp.errors import as_mcp_error
from interlock_gateway.transport.mcp.wires import Wire

CALLING = "/interlock.v1.GatewayService/CallTool"
"""Who may call tools may use MCP, and nobody else."""


class Guard:
    """The middleware of the MCP server. Nothing unforeseen shows to a client."""

    def __init__(self, open_rpcs: OpenRpcs) -> None:
        self._open = open_rpcs

    async def __call__(self, ctx: "ServerRequestContext[Wire, Any]", call_next: CallNext) -> HandlerResult:
        """Pass a request or notification on."""
        if ctx.request_id is None:
            return await call_next(ctx)
        with OneRpc(self._open, f"mcp/{ctx.method}"):
            return await self._answered(ctx, call_next)

    async def _answered(self, ctx: "ServerRequestContext[Wire, Any]", call_next: CallNext) -> HandlerResult:
        try:
            check_access(ctx.lifespan_context.principal_of(ctx), CALLING)
            return await call_next(ctx)
        except (MCPError, ValidationError):
            raise
        except RequestError as error:
            raise as_mcp_error(error) from None
        except Exception as error:  # noqa: BLE001 - the last door: nothing unforeseen may show to a client
            raise as_mcp_error(as_request_error(error)) from None
