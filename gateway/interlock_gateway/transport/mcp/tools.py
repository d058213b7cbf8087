"""Tools as MCP lists them, with the annotations that follow from their metadata (MCP-1)."""

from typing import Any

from interlock_gateway.core.session import Session
from interlock_gateway.core.tool import Effect, ToolDefinition
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
    if (schema := output_schema(shown)) is not None:
        tool["outputSchema"] = schema
    return tool


def output_schema(shown: ToolDefinition) -> dict[str, Any] | None:
    """What a tool promises of its structured results, as far as every revision can say it: they are objects."""
    schema = shown.output_schema
    return dict(schema) if schema is not None and schema.get("type") == "object" else None


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
