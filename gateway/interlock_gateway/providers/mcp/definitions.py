"""An MCP server's tools as definitions: names, schemas, and what their annotations declare (MCP-2, TOOL-3)."""

from collections.abc import Mapping
from typing import Any

from interlock_gateway.core.tool import ToolDefinition, ToolMetadata
from interlock_gateway.errors import ProviderFailedError
from interlock_gateway.providers.mcp.messages import encoded
from interlock_gateway.providers.wire import MAX_DESCRIPTION, MAX_SCHEMA_BYTES


def definition_of(tool: Any, prefix: str) -> ToolDefinition:
    """The definition of one tool as `tools/list` has it. Raises `ProviderFailedError` when it cannot be used."""
    if not isinstance(tool, dict) or not isinstance(name := tool.get("name"), str):
        raise ProviderFailedError("it has no name")
    description = _text(tool, "description")
    if len(description.encode()) > MAX_DESCRIPTION:
        raise ProviderFailedError(f"the description is larger than {MAX_DESCRIPTION} bytes")
    annotations = tool.get("annotations")
    hints = annotations if isinstance(annotations, dict) else {}
    return ToolDefinition(
        name=prefix + name,
        description=description,
        title=_text(tool, "title") or _text(hints, "title"),
        input_schema=_schema(tool, "inputSchema") or {},
        output_schema=_schema(tool, "outputSchema"),
        metadata=declared(hints),
    )


def declared(hints: Mapping[str, Any]) -> ToolMetadata | None:
    """What annotations declare; `None` when they leave open what the tool's effect is.

    MCP's own defaults count for what is left out: what does not only read may destroy, and it reaches outside. So a
    tool that says no more than that it does not only read has declared nothing. `idempotentHint` has no place: only
    what reads is repeated. What only reads may run side by side.
    """
    reads, destroys = _flag(hints, "readOnlyHint"), _flag(hints, "destructiveHint")
    if not reads and destroys is None:
        return None
    return ToolMetadata(
        read_only=reads is True,
        destructive=destroys is True,
        concurrency_safe=reads is True and not destroys,
        open_world=_flag(hints, "openWorldHint") is not False,
    )


def _flag(hints: Mapping[str, Any], name: str) -> bool | None:
    value = hints.get(name)
    return value if isinstance(value, bool) else None


def _text(holder: Mapping[str, Any], name: str) -> str:
    value = holder.get(name)
    return value if isinstance(value, str) else ""


def _schema(tool: Mapping[str, Any], name: str) -> dict[str, Any] | None:
    schema = tool.get(name)
    if schema is None:
        return None
    if not isinstance(schema, dict):
        raise ProviderFailedError(f"its {name} is not a JSON object")
    if len(encoded(schema)) > MAX_SCHEMA_BYTES:
        raise ProviderFailedError(f"a schema is larger than {MAX_SCHEMA_BYTES} bytes")
    return schema
