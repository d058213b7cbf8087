"""LangChain's agents: a middleware that brings the gateway's tools.

    agent = create_agent(model, middleware=[GatewayMiddleware(session)])
    await agent.ainvoke({"messages": [("user", "Look at README.md")]})

With a `SyncSession`, `agent.invoke`. Tools are listed anew for every call of the model. What it reads is a ToolMessage;
see `interlock.adapters.langgraph`, which also serves models and graphs without `create_agent`.
"""

from collections.abc import Awaitable, Callable
from typing import Any

from interlock import Session, SyncSession
from interlock._extras import extra
from interlock.adapters import AdapterOptions
from interlock.adapters._shapes import Offer

with extra("langchain"):
    from langchain.agents.middleware import AgentMiddleware, ModelRequest, ModelResponse, ToolCallRequest
    from langchain_core.messages import SystemMessage, ToolMessage
    from langgraph.types import Command

    from interlock.adapters.langgraph import GatewayTools

__all__ = ["GatewayMiddleware"]


class GatewayMiddleware(AgentMiddleware):
    """Offers the tools that `session` sees beside the agent's own, and takes their calls to the gateway.

    Where both have a tool of one name it is the gateway's. The gateway's prompt blocks follow the system prompt. While
    something is pending `tool_choice` is `resolve`.
    """

    def __init__(self, session: Session | SyncSession, options: AdapterOptions | None = None) -> None:
        super().__init__()
        self._gateway = GatewayTools(session, options)

    def wrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], ModelResponse[Any]]
    ) -> ModelResponse[Any]:
        """Offer the tools of now."""
        return handler(_offered(request, self._gateway.offer()))

    async def awrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]]
    ) -> ModelResponse[Any]:
        """As `wrap_model_call`."""
        return await handler(_offered(request, await self._gateway.aoffer()))

    def wrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], ToolMessage | Command[Any]]
    ) -> ToolMessage | Command[Any]:
        """Make the call at the gateway, unless the agent has the tool itself."""
        return self._gateway.route(request, handler)

    async def awrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Awaitable[ToolMessage | Command[Any]]]
    ) -> ToolMessage | Command[Any]:
        """As `wrap_tool_call`."""
        return await self._gateway.aroute(request, handler)


def _offered(request: ModelRequest[Any], offer: Offer) -> ModelRequest[Any]:
    governed = {tool["function"]["name"] for tool in offer.tools}
    own = [tool for tool in request.tools if isinstance(tool, dict) or tool.name not in governed]
    prompt = "\n\n".join(block for block in (request.system_prompt, offer.prompt) if block)
    return request.override(
        tools=[*own, *offer.tools],
        tool_choice=offer.tool_choice or request.tool_choice,
        system_message=SystemMessage(prompt) if prompt else None,
    )
