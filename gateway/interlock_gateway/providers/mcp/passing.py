"""What MCP servers have besides tools, as far as it is called like one: read a resource, get a prompt (MCP-3).

These definitions are the gateway's own. They only read, and what they bring comes from outside; so policy decides about
them, results are masked and recorded, and a session that has read is tainted, as with any tool of that kind.
"""

from collections.abc import Collection, Mapping
from typing import Any

from interlock_gateway.core.tool import ToolDefinition, ToolMetadata

READ = "resources/read"
GET = "prompts/get"
_PARAMS = {READ: ("uri",), GET: ("name", "arguments")}
_READS = ToolMetadata(concurrency_safe=True, read_only=True, open_world=True, audit_operation="read")
_URI = {"type": "object", "properties": {"uri": {"type": "string"}}, "required": ["uri"]}
_PROMPT = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "arguments": {"type": "object"}},
    "required": ["name"],
}


def passing_name(provider: str, method: str) -> str:
    """The name under which `method` is called at `provider`."""
    return f"{provider}/{method}"


def passing_tools(
    provider: str, passes: Collection[str], capabilities: Mapping[str, Any]
) -> tuple[ToolDefinition, ...]:
    """What of `provider` passes, and the server says that it has."""
    made = []
    if "resources" in passes and "resources" in capabilities:
        made.append(_definition(provider, READ, f"Read a resource of {provider}.", _URI))
    if "prompts" in passes and "prompts" in capabilities:
        made.append(_definition(provider, GET, f"Get a prompt of {provider}.", _PROMPT))
    return tuple(made)


def params_of(method: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """What of a call's arguments goes into the request: what else a request has is the gateway's to say."""
    return {name: given[name] for name in _PARAMS[method] if name in given}


def _definition(provider: str, method: str, description: str, schema: Mapping[str, Any]) -> ToolDefinition:
    return ToolDefinition(passing_name(provider, method), description, input_schema=dict(schema), metadata=_READS)
