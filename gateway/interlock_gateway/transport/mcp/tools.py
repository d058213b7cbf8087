"""Tools as MCP lists them, with the annotations that follow from their metadata (MCP-1)."""

from typing import Any

from interlock_gateway.core.session import Session
from interlock_gateway.core.tool import Effect
from interlock_gateway.pipeline.parts import Parts
from interlock_gateway.registry.catalog import Listed, catalog


def listed_tools(parts: Parts, session: Session) -> list[dict[str, Any]]:
    """What `session` sees, safest first. `resolve` is always there: many clients read the list once."""
    seen = catalog(
        parts.registry, parts.deferral, session, pending=True, confidence_field=parts.settings.confidence_field
    )
    return [tool_of(item) for item in seen.tools]


def tool_of(item: Listed) -> dict[str, Any]:
    """One tool."""
    shown = item.tool.shown
    tool: dict[str, Any] = {
        "name": shown.name,
        "description": item.description,
        "inputSchema": {"type": "object", **shown.input_schema},
        "annotations": annotations_of(item),
    }
    if shown.title:
        tool["title"] = shown.title
    # Before 2026-07-28 a result is an object or has no structure.
    if shown.output_schema is not None and shown.output_schema.get("type") == "object":
        tool["outputSchema"] = dict(shown.output_schema)
    return tool


def annotations_of(item: Listed) -> dict[str, Any]:
    """Hints: what holds of the tool here, whatever its provider would like to be believed."""
    kind = item.tool.classification
    hints: dict[str, Any] = {
        "readOnlyHint": kind.read_only,
        "destructiveHint": kind.effect in {Effect.DESTRUCTIVE, Effect.UNDECLARED},
        "openWorldHint": kind.open_world,
    }
    if item.tool.shown.title:
        hints["title"] = item.tool.shown.title
    return hints
