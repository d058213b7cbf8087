"""What an answer owes to who gave it and to who asked: an MCP server's own members, and what a schema promised."""

import json
from dataclasses import dataclass
from typing import Any

from mcp.shared.exceptions import MCPError
from mcp_types.version import is_version_at_least

from interlock_gateway.core.call import CallResult, CallStatus
from interlock_gateway.pipeline.parts import Parts
from interlock_gateway.providers.kept import ProviderKind
from interlock_gateway.providers.mcp.contents import ERROR, MCP_DETAILS, RESULT
from interlock_gateway.registry.registered import RegisteredTool
from interlock_gateway.transport.mcp.content import text_of
from interlock_gateway.transport.mcp.results import call_result
from interlock_gateway.transport.mcp.tools import output_schema
from interlock_gateway.transport.mcp.wires import McpCaller

STRUCTURE_SINCE = "2025-06-18"
TOO_LARGE = "The call was completed. Its structured result is too large to return; the whole of it is in the artifact."
_OURS = frozenset({"content", "structuredContent", "isError", "resultType", "_meta"})


@dataclass(frozen=True, slots=True)
class Asked:
    """What is known of a call when it is answered.

    That is the revision its client speaks, whether the tool is listed with an output schema, and whether its provider
    is an MCP server.
    """

    version: str
    structured: bool = False
    from_mcp: bool = False


def asked_of(parts: Parts, caller: McpCaller, name: str) -> Asked:
    """What is known of a call to the tool `name`."""
    tool = parts.registry.find(name, caller.principal.id)
    if tool is None:
        return Asked(caller.version)
    return Asked(caller.version, output_schema(tool.shown, caller.version) is not None, is_from_mcp(parts, tool))


def is_from_mcp(parts: Parts, tool: RegisteredTool) -> bool:
    """Whether the tool's provider is an MCP server."""
    kind = getattr(parts.providers.get(tool.provider), "kind", None)  # those that are built in have none
    return kind is ProviderKind.MCP_HTTP or kind is ProviderKind.MCP_STDIO


def answered(result: CallResult, asked: Asked) -> dict[str, Any]:
    """The answer to a call. Raises `MCPError`: an MCP server's own, as it was (MCP-3)."""
    said = _said(result) if asked.from_mcp else {}
    error = said.get(ERROR)
    if result.status is CallStatus.FAILED and isinstance(error, dict):
        raise MCPError(int(error["code"]), str(error["message"]), error.get("data"))
    answer = call_result(result, asked.version)
    more = said.get(RESULT)
    if isinstance(more, dict):
        answer = {**{key: value for key, value in more.items() if key not in _OURS}, **answer}
        answer["_meta"] = {**_dict(more.get("_meta")), **answer["_meta"]}
    if result.has_data and not result.content and _is_unread(asked):
        answer["content"].insert(0, text_of(json.dumps(result.data, ensure_ascii=False)))
    if asked.structured and not answer["isError"] and "structuredContent" not in answer:
        _excuse(answer, result)
    return answer


def _is_unread(asked: Asked) -> bool:
    """Whether the client would not see a result that is structured content alone."""
    return not asked.from_mcp or not is_version_at_least(asked.version, STRUCTURE_SINCE)


def _excuse(answer: dict[str, Any], result: CallResult) -> None:
    """The schema promises a structure that is not there, and clients raise over that, unless it is an error."""
    answer["isError"] = True
    if result.status is CallStatus.COMPLETED and result.artifact is not None:
        answer["content"].append(text_of(TOO_LARGE))


def _said(result: CallResult) -> dict[str, Any]:
    """What the details say that MCP has and no result of ours has a field for."""
    return _dict(result.details.get(MCP_DETAILS))


def _dict(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
