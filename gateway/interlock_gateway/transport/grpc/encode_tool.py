"""Tools as protobuf messages: what they declare, and where they stand to their pins."""

from collections.abc import Iterable
from typing import Any

from interlock.v1 import tool_pb2, undo_pb2

from interlock_gateway.core.tool import PinState, ToolDefinition, TruncationStrategy, UndoMethod
from interlock_gateway.registry.registered import RegisteredTool
from interlock_gateway.transport.grpc.encode import duration, json_bytes

PIN_STATE: dict[PinState, Any] = {state: tool_pb2.PinState.Value(f"PIN_STATE_{state.name}") for state in PinState}
STRATEGY: dict[TruncationStrategy, Any] = {
    strategy: tool_pb2.TruncationStrategy.Value(f"TRUNCATION_STRATEGY_{strategy.name}")
    for strategy in TruncationStrategy
}
UNDO_METHOD = {
    UndoMethod.NONE: undo_pb2.UNDO_METHOD_UNSPECIFIED,
    UndoMethod.TOOL: undo_pb2.UNDO_METHOD_TOOL,
    UndoMethod.MANUAL: undo_pb2.UNDO_METHOD_MANUAL,
}


def pin_state(tool: RegisteredTool) -> Any:
    """Where a tool stands to its pin; one that always agrees, because its pin follows it, says so."""
    agreed = tool.pin_state is PinState.PINNED
    return tool_pb2.PIN_STATE_FOLLOWED if agreed and tool.followed else PIN_STATE[tool.pin_state]


def tool_definition(tool: ToolDefinition, description: str | None = None) -> tool_pb2.ToolDefinition:
    """A tool's definition, with the description a model reads when one is given."""
    message = tool_pb2.ToolDefinition(
        name=tool.name,
        aliases=tool.aliases,
        title=tool.title,
        description=tool.description if description is None else description,
        input_schema=json_bytes(dict(tool.input_schema)),
        output_schema=json_bytes(dict(tool.output_schema)) if tool.output_schema is not None else b"",
        timeout=duration(tool.timeout_s) if tool.timeout_s else None,
        prompt_snippet=tool.prompt_snippet,
        prompt_guidelines=tool.prompt_guidelines,
    )
    limits = tool.result_limits
    message.result_limits.max_bytes = limits.max_bytes
    message.result_limits.max_lines = limits.max_lines
    message.result_limits.strategy = STRATEGY[limits.strategy]
    if tool.metadata is not None:
        _fill_metadata(message.metadata, tool)
    if tool.capability is not None:
        _fill_capability(message.capability, tool)
    return message


_FLAGS: Iterable[str] = (
    "concurrency_safe",
    "read_only",
    "destructive",
    "open_world",
    "permission_class",
    "audit_operation",
    "requires_checkpoint",
    "requires_reverse_thinking",
    "search_hint",
)


def _fill_metadata(message: tool_pb2.ToolMetadata, tool: ToolDefinition) -> None:
    for name in _FLAGS:
        setattr(message, name, getattr(tool.metadata, name))
    message.knows_workdir = tool.knows_workdir


def _fill_capability(message: tool_pb2.ToolCapability, tool: ToolDefinition) -> None:
    capability = tool.capability
    assert capability is not None
    message.dry_run = capability.dry_run
    message.reversible = capability.reversible
    message.undo_method = UNDO_METHOD[capability.undo_method]
    message.undo_tool = capability.undo_tool
    message.min_confidence = capability.min_confidence
    message.affected_resources.extend(capability.affected_resources)
