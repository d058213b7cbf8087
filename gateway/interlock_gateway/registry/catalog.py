"""What a session sees of the registry: the tools, in order, and the words for a model's prompt (TOOL-7, TOOL-8)."""

from collections.abc import Iterable
from dataclasses import dataclass

from interlock_gateway.core.session import Session
from interlock_gateway.core.tool import Effect, PinState, description_for_model
from interlock_gateway.pipeline.resolve_tool import visible
from interlock_gateway.registry.deferral import Deferral
from interlock_gateway.registry.registered import RegisteredTool
from interlock_gateway.registry.registry import GATEWAY_PROVIDER, ToolRegistry

RESOLVE_TOOL = "resolve"
DISCOVERY_TOOLS = ("search_tools", "activate_tools")


@dataclass(frozen=True, slots=True)
class Listed:
    """One tool as a session sees it."""

    tool: RegisteredTool
    description: str
    hints: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Catalog:
    """A session's tools, safest first; `required` names the tool that must be called next, or is empty (PREV-10).

    `deferred` is how many more there are to be found (DEFER-1).
    """

    tools: tuple[Listed, ...]
    required: str
    available_block: str
    guidelines_block: str
    deferred: int


def catalog(
    registry: ToolRegistry, deferral: Deferral, session: Session, *, pending: bool, confidence_field: str
) -> Catalog:
    """What `session` sees: `resolve` only while something is `pending`, the search only while it would find."""
    every = [tool for tool in registry.tools() if visible(tool, session)]
    seen = [tool for tool in every if not deferral.hides(session, tool)]
    deferred = len(every) - len(seen)
    left_out = (() if pending else (RESOLVE_TOOL,)) + (() if deferred else DISCOVERY_TOOLS)
    seen = [tool for tool in seen if tool.provider != GATEWAY_PROVIDER or tool.name not in left_out]
    seen.sort(key=lambda tool: (-tool.classification.safety_level, tool.name))
    return Catalog(
        tools=tuple(listed(tool, confidence_field) for tool in seen),
        deferred=deferred,
        required=RESOLVE_TOOL if pending else "",
        available_block=_block("Available tools", (tool.shown.prompt_snippet for tool in seen)),
        guidelines_block=_block("Guidelines", (line for tool in seen for line in tool.shown.prompt_guidelines)),
    )


def listed(tool: RegisteredTool, confidence_field: str) -> Listed:
    """One tool, as it is listed."""
    return Listed(tool, description_for_model(tool.shown, confidence_field), _hints(tool))


def _block(title: str, lines: Iterable[str]) -> str:
    # One line each, whatever a provider puts into it: nobody writes a block of their own into the prompt.
    kept = dict.fromkeys(" ".join(line.split()) for line in lines if line.strip())
    return "\n".join((f"{title}:", *(f"- {line}" for line in kept))) if kept else ""


def _hints(tool: RegisteredTool) -> tuple[str, ...]:
    kind = tool.classification
    hints = []
    if tool.pin_state is PinState.CHANGED:
        hints.append("its definition has changed: calls are denied until an operator approves it")
    if tool.pin_state is PinState.UNCONFIRMED:
        hints.append("an operator has not confirmed what it declares")
    if kind.effect is Effect.UNDECLARED:
        hints.append("it declares nothing: treated as destructive")
    if kind.effect is not Effect.READ_ONLY:
        hints.append(("cannot be previewed or undone", "can be undone", "is previewed first")[kind.safety_level])
    return tuple(hints)
