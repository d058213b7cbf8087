"""`ExtMcp`: what of MCP goes through the pipeline, what passes, and what does not (EXT-1).

Whatever is not let through is an answer, and never a failed RPC: a gateway that is told to go on when its policy server
fails must not go on because of a refusal. Only who may not ask, and what is too large to be read, are failed RPCs.
"""

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from interlock_gateway.config_extmcp import ExtMcpConfig
from interlock_gateway.errors import RequestError, RequestFault
from interlock_gateway.pipeline.core import CallPipeline
from interlock_gateway.pipeline.parts import Parts
from interlock_gateway.providers.directory import Directory
from interlock_gateway.providers.mcp.passing import GET, READ
from interlock_gateway.transport.extmcp.answers import Code, of_request_error, passed, refusal
from interlock_gateway.transport.extmcp.asked import CALL
from interlock_gateway.transport.extmcp.asker import asker
from interlock_gateway.transport.extmcp.calls import Calls
from interlock_gateway.transport.extmcp.reading import read_params, read_result
from interlock_gateway.transport.extmcp.services import Services
from interlock_gateway.transport.extmcp.stubs import ext_mcp_pb2 as pb
from interlock_gateway.transport.grpc.endpoint import Caller, Rpc
from interlock_gateway.transport.grpc.errors import as_request_error

SERVICE = "agentgateway.dev.ext_mcp.ExtMcp"
LIST = "tools/list"
DECIDED = frozenset({CALL, READ, GET})
"""Methods that run something or bring content: each is a call, as any other is."""
PASSED = frozenset(
    {
        "initialize",
        "ping",
        "server/discover",
        "logging/setLevel",
        "completion/complete",
        "prompts/list",
        "resources/list",
        "resources/templates/list",
        "notifications/initialized",
        "notifications/cancelled",
        "notifications/progress",
        "notifications/roots/list_changed",
    }
)
"""Methods that neither run anything nor bring content; everything else that is named nowhere here is refused."""
R = TypeVar("R", pb.McpRequestResult, pb.McpResponseResult)


class ExtMcpRpcs:
    """The handlers."""

    def __init__(self, config: ExtMcpConfig, parts: Parts, pipeline: CallPipeline, directory: Directory) -> None:
        self._parts = parts
        self._services = Services(config, parts, directory)
        self.calls = Calls(config, parts, pipeline, self._services)

    def rpcs(self) -> dict[str, Rpc]:
        """The served RPCs by name."""
        return {
            "CheckRequest": Rpc(pb.McpRequest, pb.McpRequestResult, unary=self.check_request),
            "CheckResponse": Rpc(pb.McpResponse, pb.McpResponseResult, unary=self.check_response),
        }

    async def check_request(self, caller: Caller, request: pb.McpRequest) -> pb.McpRequestResult:
        """What becomes of a request."""
        return await _answered(pb.McpRequestResult, self._request, caller, request)

    async def check_response(self, caller: Caller, response: pb.McpResponse) -> pb.McpResponseResult:
        """What becomes of a result."""
        return await _answered(pb.McpResponseResult, self._response, caller, response)

    async def _request(self, caller: Caller, request: pb.McpRequest) -> pb.McpRequestResult:
        who = asker(caller.principal, request.metadata_context)
        if request.method in DECIDED:
            params = read_params(request.mcp_request, self._parts.settings.max_depth)
            return await self.calls.request(who, _only(request.service_names), request.method, params)
        if request.method != LIST:
            _check_passes(request.method)
        return passed(pb.McpRequestResult())

    async def _response(self, caller: Caller, response: pb.McpResponse) -> pb.McpResponseResult:
        who = asker(caller.principal, response.metadata_context)
        if response.method in DECIDED:
            names, raw = response.service_names, response.mcp_response
            return await self.calls.response(who, _only(names), response.method, raw)
        if response.method != LIST:
            _check_passes(response.method)
            return passed(pb.McpResponseResult())
        session = await self.calls.session(who)
        given = _list_in(response.mcp_response)
        shown = await self._services.shown(session, tuple(response.service_names), given.get("tools"))
        changed = json.dumps({**given, "tools": shown}, ensure_ascii=False, separators=(",", ":"))
        return pb.McpResponseResult(mutated=changed.encode())


async def _answered(made: type[R], handler: Callable[[Caller, Any], Awaitable[R]], caller: Caller, asked: Any) -> R:
    try:
        return await handler(caller, asked)
    except asyncio.CancelledError:
        raise
    except RequestError as error:
        return made(error=of_request_error(error))
    except Exception as error:  # noqa: BLE001 - as the module says: what fails here is refused, and not passed on
        return made(error=refusal(Code.UNKNOWN, as_request_error(error).message))


def _check_passes(method: str) -> None:
    if method not in PASSED:
        shown = method[:100].encode("unicode_escape").decode()
        raise RequestError(RequestFault.ROLE_MISSING, f"{shown} is not let through here: it is not decided about")


def _only(names: Any) -> str:
    if len(names) != 1:
        words = "a call goes to one MCP server, and service_names does not say which"
        raise RequestError(RequestFault.INVALID_FIELD, words)
    return str(names[0])


def _list_in(raw: bytes) -> dict[str, Any]:
    try:
        return read_result(raw)
    except ValueError as error:
        raise RequestError(RequestFault.INVALID_FIELD, f"the list cannot be read: {error}") from None
