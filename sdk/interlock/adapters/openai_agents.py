"""The OpenAI Agents SDK: an agent whose tools are the gateway's.

    agent = GatewayAgent(name="editor", instructions="Tidy up.", session=session)
    result = await Runner.run(agent, "Look at README.md")

Tools are listed anew for every turn. Everything that a model can act on is a tool's output: text, or the SDK's own
types for images and files. A model that calls a tool which nobody has ends the run, unless `RunConfig` says
`tool_not_found_behavior="return_error_to_model"`.
"""

from base64 import b64encode
from dataclasses import dataclass, field, replace
from typing import Any

from interlock import Session
from interlock._extras import extra
from interlock.adapters import AdapterOptions
from interlock.adapters._answers import Answer, named
from interlock.adapters._bridge import Asked, Bridge, Turn
from interlock.results import Content, ContentKind

with extra("openai-agents"):
    from agents import (
        Agent,
        FunctionTool,
        RunContextWrapper,
        TContext,
        Tool,
        ToolOutputFileContent,
        ToolOutputImage,
        ToolOutputText,
    )
    from agents.tool_context import ToolContext

__all__ = ["GatewayAgent", "function_tools"]


@dataclass
class GatewayAgent(Agent[TContext]):
    """An agent with the tools that `session` sees, beside its own.

    The gateway's prompt blocks follow its instructions. While something is pending its `tool_choice` is `resolve`;
    its own comes back after that.
    """

    session: Session = field(kw_only=True)
    options: AdapterOptions | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()  # type: ignore[no-untyped-call]  # the SDK's own has no types
        self._bridge = Bridge(self.session, self.options, Session)
        self._own = (self.model_settings.tool_choice, self.reset_tool_choice)
        self._turn: Turn | None = None

    async def get_all_tools(self, run_context: RunContextWrapper[TContext]) -> list[Tool]:
        """The agent's own tools and the gateway's, as of now."""
        self._turn = await self.session.driver.run(self._bridge.turn())
        self._choose(self._turn.required)
        own = await super().get_all_tools(run_context)
        # Of two tools with one name the SDK takes the later, and warns: the one that is governed.
        return [*own, *_tools(self.session, self._bridge, self._turn)]

    async def get_system_prompt(self, run_context: RunContextWrapper[TContext]) -> str | None:
        """The agent's instructions, and what the gateway says about its tools."""
        own = await super().get_system_prompt(run_context)
        blocks = (own, self._turn.prompt if self._turn is not None else "")
        return "\n\n".join(block for block in blocks if block) or None

    def clone(self, **kwargs: Any) -> "GatewayAgent[TContext]":
        """A copy with other arguments, at the same session unless they name another."""
        self._choose("")
        return replace(self, **kwargs)

    def _choose(self, required: str) -> None:
        choice, reset = self._own
        self.model_settings = replace(self.model_settings, tool_choice=required or choice)
        self.reset_tool_choice = reset and not required


async def function_tools(session: Session, options: AdapterOptions | None = None) -> list[FunctionTool]:
    """The tools that the session sees now, for agents that are no `GatewayAgent`; the list does not change by itself.

    Raises a RequestError.
    """
    bridge = Bridge(session, options, Session)
    return _tools(session, bridge, await session.driver.run(bridge.turn()))


def _tools(session: Session, bridge: Bridge, turn: Turn) -> list[FunctionTool]:
    return [
        FunctionTool(
            name=name,
            description=tool.description,
            params_json_schema=dict(tool.input_schema),
            on_invoke_tool=_Invocation(session, bridge, name),
            strict_json_schema=False,  # the gateway validates; a schema made strict would be another
        )
        for name, tool in turn.tools.items()
    ]


@dataclass(frozen=True, slots=True)
class _Invocation:
    session: Session
    bridge: Bridge
    name: str

    async def __call__(self, context: ToolContext[Any], arguments: str) -> Any:
        asked = Asked(self.name, arguments, context.tool_call_id)
        return _output(await self.session.driver.run(self.bridge.call(asked)))


def _output(answer: Answer) -> Any:
    return answer.text if answer.is_text else [_part(part) for part in answer.parts]


def _part(part: Content) -> ToolOutputText | ToolOutputImage | ToolOutputFileContent:
    data = f"data:{part.media_type};base64,{b64encode(part.data).decode()}"
    match part.kind:
        case ContentKind.IMAGE:
            return ToolOutputImage(image_url=data)
        case ContentKind.RESOURCE:
            return ToolOutputFileContent(file_data=data, filename=part.name or part.uri or "file")
    return ToolOutputText(text=named(part))
