"""From the name a call asks for to the tool it means: alias, visibility, a hint when there is none (PIPE-2, TOOL-4)."""

from difflib import get_close_matches

from interlock_gateway.core.session import Session, circle_of
from interlock_gateway.registry.registered import RegisteredTool
from interlock_gateway.registry.registry import GATEWAY_PROVIDER, ToolRegistry

_MOST_COMPARED = 500
"""With more tools than this, no nearest name is looked for: it would hold up everybody's calls."""


def visible(tool: RegisteredTool, session: Session) -> bool:
    """Whether the session may see and call the tool (TOOL-10). The gateway's own tools are always there.

    Tools that are there for somebody's sessions alone are there for nobody else's, whatever a session asks for.
    """
    if tool.only_for and tool.only_for != circle_of(session.owner):
        return False
    if tool.provider == GATEWAY_PROVIDER or session.sees(tool.name):
        return True
    return any(session.sees(alias) for alias in tool.definition.aliases)


def resolve_tool(registry: ToolRegistry, session: Session, name: str) -> RegisteredTool | None:
    """The tool with this name or alias, if the session may call it."""
    tool = registry.find(name, session.owner)
    return tool if tool is not None and visible(tool, session) else None


def deferred_tool_message(name: str) -> str:
    """What a model is told about a tool that its session has not activated (DEFER-2)."""
    return (
        f"The tool {name} is deferred, and not active in this session. SearchTools finds deferred tools and "
        "ActivateTools makes them callable; an agent has both as the tools search_tools and activate_tools."
    )


def unknown_tool_message(registry: ToolRegistry, session: Session, name: str) -> str:
    """What a model is told about a name that is no tool of its session."""
    shown = name[:100].encode("unicode_escape").decode()
    names = sorted(tool.name for tool in registry.tools() if visible(tool, session))
    close = get_close_matches(name[:100], names, n=1) if len(names) <= _MOST_COMPARED else []
    hint = f" Did you mean {close[0]}?" if close else ""
    return f"There is no tool named {shown!r} in this session.{hint}"
