"""Results of calls as a revision has them on the wire: what the SDK makes of them, without it where that is plain."""

import logging
from typing import Any

from mcp.shared.exceptions import MCPError
from mcp_types import INTERNAL_ERROR, SERVER_INFO_META_KEY
from mcp_types.methods import serialize_server_result
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import ValidationError

from interlock_gateway.transport.mcp.usual import CALL

_MEMBERS = frozenset({"resultType", "content", "isError", "_meta", "structuredContent"})
_TEXT = {"type", "text"}
_log = logging.getLogger(__name__)


def wire_result(result: dict[str, Any], version: str, stamp: dict[str, Any]) -> dict[str, Any]:
    """`result`, which a handler gave to a call, at `version`; `stamp` is what the newest say of the server.

    Raises `MCPError` for what is no result at that revision.
    """
    modern = version in MODERN_PROTOCOL_VERSIONS
    shaped = _shaped(result, modern=modern) if _is_plain(result) else _validated(result, version)
    if modern and shaped.get("resultType") is None:
        shaped["resultType"] = "complete"
    if not modern:
        return shaped
    meta = shaped.get("_meta")
    if meta is None or meta.get(SERVER_INFO_META_KEY) is None:
        shaped["_meta"] = {**(meta or {}), SERVER_INFO_META_KEY: stamp}
    return shaped


def _is_plain(result: dict[str, Any]) -> bool:
    """Whether all of it would come back from the SDK's models as it is, but for the order of its members."""
    meta, content, is_error = result.get("_meta"), result.get("content"), result.get("isError")
    if type(meta) is not dict or type(content) is not list or type(is_error) is not bool:
        return False
    if not result.keys() <= _MEMBERS or result.get("resultType") != "complete":
        return False
    if SERVER_INFO_META_KEY in meta or None in meta.values():
        return False
    if "structuredContent" in result and type(result["structuredContent"]) is not dict:
        return False
    return all(part.keys() == _TEXT and part["type"] == "text" and type(part["text"]) is str for part in content)


def _shaped(result: dict[str, Any], *, modern: bool) -> dict[str, Any]:
    content = [{"text": part["text"], "type": "text"} for part in result["content"]]
    shaped = {"_meta": result["_meta"], "content": content, "isError": result["isError"]}
    if modern:
        shaped["resultType"] = "complete"
    if "structuredContent" in result:
        shaped["structuredContent"] = result["structuredContent"]
    return shaped


def _validated(result: dict[str, Any], version: str) -> dict[str, Any]:
    try:
        return serialize_server_result(CALL, version, result)
    except ValidationError:
        _log.exception("an MCP request failed")
        raise MCPError(INTERNAL_ERROR, "Handler returned an invalid result") from None
