"""The part of `GatewayService` that is about tools: which there are, and those that have to be found."""

from interlock.v1 import gateway_service_pb2 as pb
from interlock.v1 import tool_pb2

from interlock_gateway.core.tool import description_for_model
from interlock_gateway.pipeline.parts import Parts
from interlock_gateway.registry.catalog import Listed, catalog, listed
from interlock_gateway.registry.search import Hit
from interlock_gateway.sessions.discovery import Discovery
from interlock_gateway.transport.grpc import encode, encode_tool
from interlock_gateway.transport.grpc.endpoint import Caller, Rpc


class ToolRpcs:
    """The handlers."""

    def __init__(self, parts: Parts, discovery: Discovery) -> None:
        self._parts = parts
        self._discovery = discovery
        self._confidence_field = parts.settings.confidence_field

    def rpcs(self) -> dict[str, Rpc]:
        """The served RPCs by name."""
        return {
            "ListTools": Rpc(pb.ListToolsRequest, pb.ListToolsResponse, unary=self.list_tools),
            "SearchTools": Rpc(pb.SearchToolsRequest, pb.SearchToolsResponse, unary=self.search_tools),
            "ActivateTools": Rpc(pb.ActivateToolsRequest, pb.ActivateToolsResponse, unary=self.activate_tools),
        }

    async def list_tools(self, caller: Caller, request: pb.ListToolsRequest) -> pb.ListToolsResponse:
        """The tools the session sees, safest first, and the words for its prompt."""
        live = await self._parts.sessions.for_evaluation(caller.principal, request.session_id)
        seen = catalog(
            self._parts.registry,
            self._parts.deferral,
            live.session,
            pending=live.pending_count > 0,
            confidence_field=self._confidence_field,
        )
        return pb.ListToolsResponse(
            tools=[_listed(item) for item in seen.tools],
            tool_choice=tool_pb2.ToolChoice(required_tool=seen.required) if seen.required else None,
            available_tools_block=seen.available_block,
            guidelines_block=seen.guidelines_block,
            deferred_tools=seen.deferred,
        )

    async def search_tools(self, caller: Caller, request: pb.SearchToolsRequest) -> pb.SearchToolsResponse:
        """Deferred tools that match, best first."""
        live = await self._parts.sessions.for_evaluation(caller.principal, request.session_id)
        hits = await self._discovery.search(live, request.query, request.max_results)
        return pb.SearchToolsResponse(matches=[self._match(hit) for hit in hits])

    async def activate_tools(self, caller: Caller, request: pb.ActivateToolsRequest) -> pb.ActivateToolsResponse:
        """Make deferred tools callable in the session, which this may open."""
        live = await self._parts.sessions.admit(caller.principal, request.session_id)
        done = await self._discovery.activate(live, request.names)
        return pb.ActivateToolsResponse(
            activated=[_listed(listed(tool, self._confidence_field)) for tool in done.tools], unknown=done.unknown
        )

    def _match(self, hit: Hit) -> tool_pb2.ToolMatch:
        shown = hit.tool.shown
        return tool_pb2.ToolMatch(
            name=hit.tool.name,
            title=shown.title,
            description=description_for_model(shown, self._confidence_field),
            classification=encode.classification(hit.tool.classification),
            score=hit.score,
        )


def _listed(item: Listed) -> tool_pb2.ListedTool:
    return tool_pb2.ListedTool(
        definition=encode_tool.tool_definition(item.tool.shown, item.description),
        classification=encode.classification(item.tool.classification),
        safety_hints=item.hints,
        pin_state=encode_tool.pin_state(item.tool),
        provider=item.tool.provider,
    )
