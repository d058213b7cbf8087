"""The client at the other end as somebody to ask: what it can do, and requests from here to there (MCP-1, MCP-2)."""

from collections.abc import Mapping
from typing import Any, Protocol, cast

from mcp.server.context import ServerRequestContext
from mcp.server.session import ServerSession
from mcp.shared.message import ServerMessageMetadata
from mcp_types import (
    LOG_LEVEL_META_KEY,
    ClientCapabilities,
    InputResponses,
    Notification,
    Request,
    RequestId,
    ServerNotification,
    ServerRequest,
)
from mcp_types.version import MODERN_PROTOCOL_VERSIONS, is_version_at_least
from pydantic import BaseModel, ConfigDict

from interlock_gateway.transport.mcp.wires import McpCaller, Wire

Context = ServerRequestContext[Wire, Any]
ELICITS_SINCE = "2025-06-18"


class RequestContext(Protocol):
    """What there is around a request, as far as its client is concerned: the SDK's context, or what does for it."""

    @property
    def lifespan_context(self) -> Wire:
        """What the request came in by."""
        ...

    @property
    def request_id(self) -> RequestId | None:
        """Its id."""
        ...

    @property
    def session(self) -> ServerSession:
        """The SDK's way to the client."""
        ...


class _RawRequest(Request[dict[str, Any], str]):
    """A request as it is, whatever its method."""


class _RawNotification(Notification[dict[str, Any], str]):
    """A notification as it is."""


class _RawResult(BaseModel):
    """A result as it is."""

    model_config = ConfigDict(extra="allow")


class Client:
    """The client of one request.

    With `carries_rounds` it is asked by answering its own request with questions, and sends that again with the answers
    (2026-07-28); `state` and `answers` are what it brought. Otherwise it can be sent requests of its own. `log_level`
    is from which level on the request wants to hear what is logged, where requests say that.
    """

    def __init__(
        self,
        ctx: RequestContext,
        caller: McpCaller,
        *,
        state: str | None = None,
        answers: InputResponses | None = None,
    ) -> None:
        self._ctx = ctx
        self.wire = ctx.lifespan_context
        self.principal = caller.principal.id
        self._capabilities = caller.capabilities
        self._version = caller.version
        self.carries_rounds = caller.version in MODERN_PROTOCOL_VERSIONS
        self.log_level: str | None = caller.meta.get(LOG_LEVEL_META_KEY) if self.carries_rounds else None
        self.state = state
        self.answers: dict[str, dict[str, Any]] = {
            key: answer.model_dump(by_alias=True, mode="json", exclude_none=True)
            for key, answer in (answers or {}).items()
        }

    @property
    def elicits(self) -> bool:
        """Whether it can put a form before a person."""
        return self.answers_to("elicitation/create", {})

    def answers_to(self, method: str, params: Mapping[str, Any]) -> bool:
        """Whether it said that it answers such a request, and can be sent one."""
        able = self._capabilities
        if able is None or not self._knows(able, method, params):
            return False
        return self.carries_rounds or self._ctx.session.can_send_request

    def _knows(self, able: ClientCapabilities, method: str, params: Mapping[str, Any]) -> bool:
        if method == "sampling/createMessage":
            return able.sampling is not None
        if method == "roots/list":
            return able.roots is not None
        if method != "elicitation/create" or not is_version_at_least(self._version, ELICITS_SINCE):
            return False
        forms = able.elicitation
        if forms is None or params.get("mode") == "url":
            return forms is not None and forms.url is not None
        # One that names neither way knows the form: it was there first.
        return forms.form is not None or forms.url is None

    async def request(self, method: str, params: Mapping[str, Any], timeout_s: float | None = None) -> dict[str, Any]:
        """Ask the client, with the request that it has open. Raises `MCPError`; cancelled, the client is told."""
        asked = cast("ServerRequest", _RawRequest(method=method, params=dict(params)))
        result = await self._ctx.session.send_request(
            asked, _RawResult, timeout_s, ServerMessageMetadata(related_request_id=self._ctx.request_id)
        )
        return result.model_dump(mode="json")

    async def tell(self, method: str, params: Mapping[str, Any]) -> None:
        """Tell the client something, beside the answer to the request that it has open."""
        told = cast("ServerNotification", _RawNotification(method=method, params=dict(params)))
        await self._ctx.session.send_notification(told, related_request_id=self._ctx.request_id)
