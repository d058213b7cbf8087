"""What stands around every MCP request: it is counted, its sender may send it, and one way for errors to leave."""

from typing import Any

from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.shared.exceptions import MCPError
from mcp_types.methods import SPEC_CLIENT_METHODS
from pydantic import ValidationError

from interlock_gateway.errors import RequestError, RequestFault
from interlock_gateway.identity.access import check_access
from interlock_gateway.transport.grpc.endpoint import OneRpc, OpenRpcs
from interlock_gateway.transport.grpc.errors import as_request_error
from interlock_gateway.transport.mcp.errors import as_mcp_error
from interlock_gateway.transport.mcp.wires import Wire

LISTEN = "subscriptions/listen"
"""A stream without an end of its own: a drain does not wait for it."""
CALLING = "/interlock.v1.GatewayService/CallTool"
"""Who may call tools may use MCP, and nobody else."""


class Guard:
    """The middleware of the MCP server. Nothing unforeseen shows to a client."""

    def __init__(self, open_rpcs: OpenRpcs) -> None:
        self._open = open_rpcs

    async def __call__(self, ctx: "ServerRequestContext[Wire, Any]", call_next: CallNext) -> HandlerResult:
        """Pass a request or notification on. Raises `MCPError`, `ValidationError`."""
        if ctx.request_id is None:
            return await call_next(ctx)
        try:
            check_access(ctx.lifespan_context.principal_of(ctx), CALLING)
            if ctx.method == LISTEN:
                return await call_next(ctx)
            with OneRpc(self._open, method_of(ctx.method)):
                return await self._answered(ctx, call_next)
        except RequestError as error:
            raise _own(error, ctx.protocol_version) from None

    async def _answered(self, ctx: "ServerRequestContext[Wire, Any]", call_next: CallNext) -> HandlerResult:
        try:
            return await call_next(ctx)
        except (MCPError, ValidationError) as error:
            raise _ToldError(error) from None
        except Exception as error:  # noqa: BLE001 - the last door: nothing unforeseen may show to a client
            raise as_request_error(error) from None


class _ToldError(RequestError):
    """What the SDK or an upstream server found wrong, on its way past the count of what was refused."""

    def __init__(self, told: MCPError | ValidationError) -> None:
        super().__init__(RequestFault.INVALID_FIELD, "")
        self.told = told


def _own(error: RequestError, version: str) -> MCPError | ValidationError:
    return error.told if isinstance(error, _ToldError) else as_mcp_error(error, version)


def method_of(method: str) -> str:
    """Under what name a request is counted: clients make up methods, and each name is a metric's for ever."""
    return f"mcp/{method}" if method in SPEC_CLIENT_METHODS else "mcp/other"
