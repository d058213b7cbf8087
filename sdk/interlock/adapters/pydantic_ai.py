"""Pydantic AI: a capability, or a toolset, with the gateway's tools.

    await agent.run("Look at README.md", capabilities=[GatewayTools(session)])

Tools are listed anew for every step. An error is a `ToolFailed`, which the model reads and the run survives; everything
else is a tool's return, with images and files as `BinaryContent` and the CallResult as its metadata.
"""

from dataclasses import dataclass
from typing import Any

from interlock import Session
from interlock._extras import extra
from interlock.adapters import AdapterOptions
from interlock.adapters._answers import Answer
from interlock.adapters._bridge import Asked, Bridge, Turn
from interlock.results import Content, ContentKind

with extra("pydantic-ai"):
    from pydantic_ai import BinaryContent, RunContext, ToolDefinition, ToolReturn
    from pydantic_ai.agent.abstract import AgentModelSettings
    from pydantic_ai.capabilities import AbstractCapability
    from pydantic_ai.exceptions import ToolFailed
    from pydantic_ai.settings import ModelSettings
    from pydantic_ai.tools import AgentDepsT
    from pydantic_ai.toolsets import AbstractToolset, ToolsetTool
    from pydantic_core import SchemaValidator, core_schema

__all__ = ["GatewayTools", "GatewayToolset"]

_ANYTHING = SchemaValidator(core_schema.any_schema())


class GatewayToolset(AbstractToolset[AgentDepsT]):
    """The tools that `session` sees, with what its prompt says about them as instructions."""

    def __init__(self, session: Session, options: AdapterOptions | None = None) -> None:
        self._session = session
        self._bridge = Bridge(session, options, Session)
        self._turn = Turn({}, "", "")

    @property
    def id(self) -> str:
        """One for each session."""
        return f"interlock-{self._session.session_id}"

    @property
    def required(self) -> str:
        """The tool that the model must call next, as of the last listing; empty when it is free."""
        return self._turn.required

    async def get_tools(self, ctx: RunContext[AgentDepsT]) -> dict[str, ToolsetTool[AgentDepsT]]:
        """The tools as of now."""
        self._turn = await self._session.driver.run(self._bridge.turn())
        return {
            name: ToolsetTool(
                toolset=self,
                tool_def=ToolDefinition(
                    name=name,
                    description=tool.description,
                    parameters_json_schema=dict(tool.input_schema),
                    strict=False,  # the gateway validates; a schema made strict would be another
                ),
                max_retries=ctx.max_retries,
                args_validator=_ANYTHING,
            )
            for name, tool in self._turn.tools.items()
        }

    async def get_instructions(self, ctx: RunContext[AgentDepsT]) -> str | None:
        """The gateway's prompt blocks."""
        del ctx
        return self._turn.prompt or None

    async def call_tool(
        self, name: str, tool_args: dict[str, Any], ctx: RunContext[AgentDepsT], tool: ToolsetTool[AgentDepsT]
    ) -> Any:
        """Make the call. Raises ToolFailed for an error that the model reads."""
        del tool
        answer = await self._session.driver.run(self._bridge.call(Asked(name, tool_args, ctx.tool_call_id or "")))
        if answer.is_error:
            raise ToolFailed(answer.text)
        return ToolReturn(_shown(answer), metadata=answer.result)


@dataclass(init=False)
class GatewayTools(AbstractCapability[AgentDepsT]):
    """The toolset, and a `tool_choice` that is `resolve` while something is pending."""

    def __init__(self, session: Session, options: AdapterOptions | None = None) -> None:
        self.id = None
        self.description = None
        self.defer_loading = False
        self.toolset = GatewayToolset[AgentDepsT](session, options)

    def get_toolset(self) -> AbstractToolset[AgentDepsT]:
        """The gateway's tools."""
        return self.toolset

    def get_model_settings(self) -> AgentModelSettings[AgentDepsT]:
        """Asked before each step, after the tools are listed."""
        return lambda _: (
            ModelSettings(tool_choice=[self.toolset.required]) if self.toolset.required else ModelSettings()
        )


def _shown(answer: Answer) -> str | list[str | BinaryContent]:
    return answer.text if answer.is_text else [_part(part) for part in answer.parts]


def _part(part: Content) -> str | BinaryContent:
    if part.kind is ContentKind.TEXT:
        return part.text
    return BinaryContent(part.data, media_type=part.media_type)
