"""The tools that a session sees."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from interlock.decisions import Classification

__all__ = ["Activation", "Tool", "ToolList", "ToolMatch"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """A tool that a session can call. `safety_hints` say a few words to people; schemas are JSON Schema 2020-12.

    `callable` is false while a changed definition waits for an operator.
    """

    name: str
    description: str = ""
    input_schema: Mapping[str, Any] = field(default_factory=dict)
    output_schema: Mapping[str, Any] | None = None
    title: str = ""
    aliases: tuple[str, ...] = ()
    classification: Classification = field(default_factory=Classification)
    min_confidence: int = 0
    safety_hints: tuple[str, ...] = ()
    provider: str = ""
    callable: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolList:
    """The tools a session sees now, safest first.

    `required_tool` is the one the model must call next, such as `resolve`; empty when it is free. `prompt` holds the
    blocks "Available tools" and "Guidelines". `deferred` is how many more `search_tools` can find.
    """

    tools: tuple[Tool, ...] = ()
    required_tool: str = ""
    prompt: str = ""
    deferred: int = 0

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the tools, safest first."""
        return tuple(tool.name for tool in self.tools)


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolMatch:
    """A deferred tool found by a search; `session.activate_tools` makes it callable."""

    name: str
    title: str = ""
    description: str = ""
    classification: Classification = field(default_factory=Classification)
    score: float = 0.0


@dataclass(frozen=True, slots=True)
class Activation:
    """The tools asked for that can be called now, and the names that cannot be activated."""

    activated: tuple[Tool, ...] = ()
    unknown: tuple[str, ...] = ()
