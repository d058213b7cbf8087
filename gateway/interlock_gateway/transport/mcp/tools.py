"""Tools as MCP lists them, with the annotations that follow from their metadata (MCP-1)."""

import logging
from collections.abc import Mapping
from typing import Any

from mcp_types.methods import serialize_server_result
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import ValidationError

from interlock_gateway.core.session import Session
from interlock_gateway.core.tool import Effect, PinState, ToolDefinition
from interlock_gateway.pipeline.parts import Parts
from interlock_gateway.providers.mcp.provider import McpProvider
from interlock_gateway.registry.catalog import Listed, catalog
from interlock_gateway.registry.registered import RegisteredTool
from interlock_gateway.transport.mcp.freshness import FRESH

NOTHING: Mapping[str, Any] = {}
_log = logging.getLogger(__name__)
_MORE = ("icons", "_meta")
"""Members that no definition of ours has. They are an MCP server's own, and no words for a model."""


class ToolList:
    """Lists tools. What was made of one is used again as long as the very same is registered."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._made: dict[tuple[str, str], tuple[RegisteredTool, Mapping[str, Any], dict[str, Any] | None]] = {}
        self._generation = -1

    def of(self, session: Session, version: str) -> list[dict[str, Any]]:
        """What `session` sees, safest first, at that revision.

        `resolve` is always there: many clients read the list once. A tool that MCP cannot have is left out, so that
        it takes no other with it.
        """
        parts = self._parts
        if self._generation != parts.registry.generation:
            self._generation = parts.registry.generation
            self._made.clear()
        field = parts.settings.confidence_field
        seen = catalog(parts.registry, parts.deferral, session, pending=True, confidence_field=field)
        made = (self._listed(item, version) for item in seen.tools)
        return [tool for tool in made if tool is not None]

    def _listed(self, item: Listed, version: str) -> dict[str, Any] | None:
        said = _said(self._parts, item.tool)
        kept = self._made.get((item.tool.name, version))
        if kept is None or kept[0] is not item.tool or kept[1] is not said:
            tool = _checked(item, version, said)
            kept = self._made[item.tool.name, version] = item.tool, said, tool
        return kept[2]


def _checked(item: Listed, version: str, said: Mapping[str, Any]) -> dict[str, Any] | None:
    """The tool as `version` can have it: with what its server says besides, or else without; `None` when not at all."""
    for more in (said, {}) if said else ({},):
        tool = tool_of(item, version, more)
        try:
            serialize_server_result("tools/list", version, {"tools": [tool], **FRESH})
        except ValidationError:
            continue
        return tool
    problem = f"{item.tool.name}: its definition is none that MCP {version} has"
    _log.warning("a tool cannot be listed over MCP", extra={"provider": item.tool.provider, "problem": problem})
    return None


def tool_of(item: Listed, version: str, said: Mapping[str, Any]) -> dict[str, Any]:
    """One tool. `said` is how an MCP server lists it; nothing for any other provider's."""
    shown = item.tool.shown
    tool: dict[str, Any] = {
        **{key: said[key] for key in _MORE if key in said},
        "name": shown.name,
        "description": item.description,
        "inputSchema": {**shown.input_schema, "type": "object"},
        "annotations": annotations_of(item, said.get("annotations")),
    }
    if shown.title:
        tool["title"] = shown.title
    if (schema := output_schema(shown, version)) is not None:
        tool["outputSchema"] = schema
    return tool


def output_schema(shown: ToolDefinition, version: str) -> dict[str, Any] | None:
    """What a tool promises of its structured results. Up to 2025-11-25 they can be objects and nothing else."""
    schema = shown.output_schema
    if schema is None or (version not in MODERN_PROTOCOL_VERSIONS and schema.get("type") != "object"):
        return None
    return dict(schema)


def _said(parts: Parts, tool: RegisteredTool) -> Mapping[str, Any]:
    """How the tool's MCP server lists it, unless that is not what was accepted of it."""
    provider = parts.providers.get(tool.provider)
    if tool.pin_state is PinState.CHANGED or not isinstance(provider, McpProvider):
        return NOTHING
    return provider.listed(tool.name) or NOTHING


def annotations_of(item: Listed, said: object = None) -> dict[str, Any]:
    """Hints: what holds of the tool here, whatever its provider would like to be believed.

    Of what an MCP server `said` stays what nothing here depends on: whether repeating changes nothing more.
    """
    kind = item.tool.classification
    hints: dict[str, Any] = {
        "readOnlyHint": kind.read_only,
        "destructiveHint": kind.effect in {Effect.DESTRUCTIVE, Effect.UNDECLARED},
        "openWorldHint": kind.open_world,
    }
    if item.tool.shown.title:
        hints["title"] = item.tool.shown.title
    if isinstance(said, dict) and isinstance(said.get("idempotentHint"), bool):
        hints["idempotentHint"] = said["idempotentHint"]
    return hints
