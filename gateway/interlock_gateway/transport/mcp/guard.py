"""What stands around every MCP request: it is counted, its sender may send it, and one way for errors to leave."""

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, TypeVar

from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.shared.exceptions import MCPError
from mcp_types.methods import SPEC_CLIENT_METHODS
from pydantic import ValidationError

from interlock_gateway.core.session import Principal
from interlock_gateway.errors import RequestError, RequestFault
from interlock_gateway.identity.access import check_access
from interlock_gateway.transport.grpc.endpoint import OneRpc, OpenRpcs
from interlock_gateway.transport.grpc.errors import as_request_error
from interlock_gateway.transport.mcp.errors import as_mcp_error
from interlock_gateway.transport.mcp.wires import Wire

T = TypeVar("T")
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
        principal = ctx.lifespan_context.principal_of(ctx)
        return await self.around(principal, ctx.method, ctx.protocol_version, partial(call_next, ctx))

    async def around(self, principal: Principal, method: str, version: str, answer: Callable[[], Awaitable[T]]) -> T:
        """What `answer` gives to a request of `principal`, at that revision. Raises `MCPError`, `ValidationError`."""
        try:
            check_access(principal, CALLING)
            if method == LISTEN:
                return await answer()
            with OneRpc(self._open, method_of(method)):
                return await self._answered(answer)
        except RequestError as error:
            raise _own(error, version) from None

    async def _answered(self, answer: Callable[[], Awaitable[T]]) -> T:
        try:
            return await answer()
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
