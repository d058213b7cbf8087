"""From a tool to the definition that the gateway reads."""

from typing import Any

from interlock.provider._encode import json_bytes
from interlock.provider._tool import Tool
from interlock.v1 import tool_pb2, undo_pb2

_FLAGS = (
    "concurrency_safe",
    "read_only",
    "destructive",
    "open_world",
    "requires_checkpoint",
    "requires_reverse_thinking",
    "knows_workdir",
)
_WORDS = ("permission_class", "audit_operation", "search_hint")

_STRATEGIES = {
    "": tool_pb2.TRUNCATION_STRATEGY_UNSPECIFIED,
    "head": tool_pb2.TRUNCATION_STRATEGY_HEAD,
    "head_tail": tool_pb2.TRUNCATION_STRATEGY_HEAD_TAIL,
    "table": tool_pb2.TRUNCATION_STRATEGY_TABLE,
}
_UNDO_METHODS = {
    "": undo_pb2.UNDO_METHOD_UNSPECIFIED,
    "tool": undo_pb2.UNDO_METHOD_TOOL,
    "manual": undo_pb2.UNDO_METHOD_MANUAL,
}


def definition(tool: Tool[..., Any]) -> tool_pb2.ToolDefinition:
    """The definition of a tool; metadata, capability and limits are absent unless declared (TOOL-1)."""
    declared = tool.declared
    made = tool_pb2.ToolDefinition(
        name=tool.name,
        aliases=declared.get("aliases", ()),
        title=declared.get("title", ""),
        description=tool.description,
        input_schema=json_bytes(tool.input_schema),
        output_schema=json_bytes(tool.output.schema) if tool.output else b"",
        prompt_snippet=declared.get("prompt_snippet", ""),
        prompt_guidelines=declared.get("prompt_guidelines", ()),
    )
    _put_metadata(made, tool)
    _put_capability(made, tool)
    _put_limits(made, tool)
    if "timeout" in declared:
        made.timeout.FromNanoseconds(int(declared["timeout"] * 1e9))
    return made


def _put_metadata(made: tool_pb2.ToolDefinition, tool: Tool[..., Any]) -> None:
    given = {key: value for key, value in tool.declared.items() if key in _FLAGS or key in _WORDS}
    for key, value in given.items():
        setattr(made.metadata, key, value)


def _put_capability(made: tool_pb2.ToolDefinition, tool: Tool[..., Any]) -> None:
    declared = tool.declared
    undo_tool = declared.get("undo_tool", "")
    capability = tool_pb2.ToolCapability(
        dry_run="dry_run" in tool.handlers,
        reversible=declared.get("reversible", "undo" in tool.handlers),
        undo_method=_UNDO_METHODS[declared.get("undo_method", "tool" if undo_tool else "")],
        undo_tool=undo_tool,
        min_confidence=declared.get("min_confidence", 0),
        affected_resources=declared.get("affected_resources", ()),
    )
    if capability != tool_pb2.ToolCapability():
        made.capability.CopyFrom(capability)


def _put_limits(made: tool_pb2.ToolDefinition, tool: Tool[..., Any]) -> None:
    limits = tool_pb2.ResultLimits(
        max_bytes=tool.declared.get("max_result_bytes", 0),
        max_lines=tool.declared.get("max_result_lines", 0),
        strategy=_STRATEGIES[tool.declared.get("truncation", "")],
    )
    if limits != tool_pb2.ResultLimits():
        made.result_limits.CopyFrom(limits)
