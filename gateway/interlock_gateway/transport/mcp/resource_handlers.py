"""The handlers of MCP's resources: stored results, which the gateway has itself."""

from typing import Any

from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel.server import Server
from mcp_types import PaginatedRequestParams, ReadResourceRequestParams

from interlock_gateway.errors import RequestError, RequestFault
from interlock_gateway.transport.mcp.artifact_resources import TEMPLATE, ArtifactResources
from interlock_gateway.transport.mcp.freshness import FRESH
from interlock_gateway.transport.mcp.parts import SurfaceParts
from interlock_gateway.transport.mcp.wires import Wire

Context = ServerRequestContext[Wire, Any]


class ResourceHandlers:
    """Lists and reads. Artifacts are not listed: whoever may read one was given its address."""

    def __init__(self, parts: SurfaceParts) -> None:
        self._artifacts = ArtifactResources(parts.artifacts, parts.parts.sessions)

    def serve_on(self, server: Server[Wire]) -> None:
        """Have `server` answer with these handlers."""
        server.add_request_handler("resources/list", PaginatedRequestParams, self.list_resources)
        server.add_request_handler("resources/templates/list", PaginatedRequestParams, self.list_templates)
        server.add_request_handler("resources/read", ReadResourceRequestParams, self.read)

    async def list_resources(self, ctx: Context, params: PaginatedRequestParams) -> dict[str, Any]:
        """None by themselves."""
        del ctx, params
        return {"resources": [], **FRESH}

    async def list_templates(self, ctx: Context, params: PaginatedRequestParams) -> dict[str, Any]:
        """How an artifact, or a part of one, is addressed."""
        del ctx, params
        return {"resourceTemplates": [TEMPLATE], **FRESH}

    async def read(self, ctx: Context, params: ReadResourceRequestParams) -> dict[str, Any]:
        """The contents of an artifact."""
        caller = ctx.lifespan_context.caller(ctx)
        uri = str(params.uri)
        if not self._artifacts.has(uri):
            raise RequestError(RequestFault.ARTIFACT_NOT_FOUND, f"there is no resource {uri[:200]}", field="uri")
        return {"contents": await self._artifacts.read(caller.principal, uri), **FRESH}
