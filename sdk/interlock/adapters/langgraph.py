"""LangGraph, and LangChain's chat models by themselves: tools to bind, and a node that calls them.

    gateway = GatewayTools(session)
    offer = await gateway.aoffer()
    reply = await model.bind_tools(offer.tools, tool_choice=offer.tool_choice).ainvoke(messages)
    graph.add_node("tools", gateway.node())

With a `SyncSession` the same, without `a` and `await`. What the model reads is a ToolMessage, whose `artifact` is the
CallResult, and whose `status` is "error" for what did not do what was asked.
"""

from base64 import b64encode
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from interlock import Session, SyncSession
from interlock._extras import extra
from interlock.adapters import AdapterOptions
from interlock.adapters._answers import Answer
from interlock.adapters._bridge import Asked, Bridge, Turn
from interlock.adapters._shapes import Offer, chat_definition
from interlock.results import CallResult, Content, ContentKind
from interlock.tools import Tool

with extra("langgraph"):
    from langchain_core.messages import ToolCall, ToolMessage
    from langchain_core.tools import BaseTool, ToolException
    from langgraph.prebuilt import ToolNode
    from langgraph.prebuilt.tool_node import ToolCallRequest
    from langgraph.types import Command

__all__ = ["GatewayTools"]


class GatewayTools:
    """The tools that `session` sees; with a `Session` for event loops, with a `SyncSession` for threads."""

    def __init__(self, session: Session | SyncSession, options: AdapterOptions | None = None) -> None:
        self._session = session
        self._bridge = Bridge(session, options, Session, SyncSession)

    def offer(self) -> Offer:
        """What a model is offered now, to be bound to it. Raises a RequestError."""
        return _offer(self._sync.driver.run(self._bridge.turn()))

    async def aoffer(self) -> Offer:
        """As `offer`."""
        return _offer(await self._async.driver.run(self._bridge.turn()))

    def answer(self, call: ToolCall) -> ToolMessage:
        """Make a call of a model's, and give what it reads."""
        return _message(call, self._sync.driver.run(self._bridge.call(_asked(call))))

    async def aanswer(self, call: ToolCall) -> ToolMessage:
        """As `answer`."""
        return _message(call, await self._async.driver.run(self._bridge.call(_asked(call))))

    def node(self, tools: Sequence[BaseTool | Callable[..., Any]] = ()) -> ToolNode:
        """A node that takes calls of `tools` itself, and every other to the gateway, which has the first claim."""
        if isinstance(self._session, Session):
            return ToolNode(tools, awrap_tool_call=self.aroute)
        return ToolNode(tools, wrap_tool_call=self.route)

    async def atools(self) -> list[BaseTool]:
        """The tools of now as LangChain's, for what wants a list of them; it does not change by itself."""
        return [_tool(self, *one) for one in (await self._async.driver.run(self._bridge.turn())).tools.items()]

    def tools(self) -> list[BaseTool]:
        """As `atools`."""
        return [_tool(self, *one) for one in self._sync.driver.run(self._bridge.turn()).tools.items()]

    def route(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], ToolMessage | Command[Any]]
    ) -> ToolMessage | Command[Any]:
        """A `wrap_tool_call` that takes to the gateway what it offered, and what the node has no tool for."""
        return handler(request) if self._is_own(request) else self.answer(request.tool_call)

    async def aroute(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Awaitable[ToolMessage | Command[Any]]]
    ) -> ToolMessage | Command[Any]:
        """As `route`."""
        return await handler(request) if self._is_own(request) else await self.aanswer(request.tool_call)

    def _is_own(self, request: ToolCallRequest) -> bool:
        return request.tool is not None and not self._bridge.knows(request.tool_call["name"])

    @property
    def _sync(self) -> SyncSession:
        if isinstance(self._session, SyncSession):
            return self._session
        raise TypeError("a Session is for event loops: await the methods that begin with `a`, or give a SyncSession")

    @property
    def _async(self) -> Session:
        if isinstance(self._session, Session):
            return self._session
        raise TypeError("a SyncSession is for threads: use the methods without `a`, or give a Session")


def _offer(turn: Turn) -> Offer:
    tools = [chat_definition(name, tool) for name, tool in turn.tools.items()]
    return Offer(tools, turn.required or None, turn.prompt)


def _asked(call: ToolCall) -> Asked:
    return Asked(call["name"], call["args"], call["id"] or "")


def _message(call: ToolCall, answer: Answer) -> ToolMessage:
    return ToolMessage(
        content=_content(answer),
        name=call["name"],
        tool_call_id=call["id"],
        status="error" if answer.is_error else "success",
        artifact=answer.result,
    )


class _GatewayTool(BaseTool):
    """A tool that takes any argument, whatever it is called: LangChain puts none of its own among them."""

    gateway: GatewayTools

    def _run(self, /, *_: Any, **arguments: Any) -> Any:
        return _returned(self.gateway.answer(ToolCall(name=self.name, args=arguments, id="")))

    async def _arun(self, /, *_: Any, **arguments: Any) -> Any:
        return _returned(await self.gateway.aanswer(ToolCall(name=self.name, args=arguments, id="")))


def _tool(gateway: GatewayTools, name: str, tool: Tool) -> BaseTool:
    return _GatewayTool(
        gateway=gateway,
        name=name,
        description=tool.description,
        args_schema=dict(tool.input_schema),
        response_format="content_and_artifact",
        handle_tool_error=True,
    )


def _returned(message: ToolMessage) -> tuple[str | list[str | dict[Any, Any]], CallResult | None]:
    if message.status == "error":
        raise ToolException(message.text)
    return message.content, message.artifact


def _content(answer: Answer) -> str | list[str | dict[Any, Any]]:
    return answer.text if answer.is_text else [_block(part) for part in answer.parts]


def _block(part: Content) -> dict[str, str]:
    if part.kind is ContentKind.TEXT:
        return {"type": "text", "text": part.text}
    kind = "file" if part.kind is ContentKind.RESOURCE else part.kind.value
    return {"type": kind, "base64": b64encode(part.data).decode(), "mime_type": part.media_type}
