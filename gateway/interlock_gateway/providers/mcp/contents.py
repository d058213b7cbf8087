"""What an MCP server returned, in our own types, with nothing of it lost (MCP-3)."""

import binascii
from base64 import b64decode
from collections.abc import Callable, Mapping
from typing import Any

from interlock_gateway.core.content import Audio, Content, Image, Resource, Text
from interlock_gateway.core.jsonvalue import JsonObject
from interlock_gateway.core.outcome import ToolOutcome
from interlock_gateway.errors import OutcomeUnknownError
from interlock_gateway.providers.mcp.messages import encoded

MCP_DETAILS = "mcp"
"""In an outcome's details: what MCP has and we have no field for. Its members are those of `error_outcome` and
`result_outcome`."""
ERROR = "error"
"""In these: the JSON-RPC error, with `code`, `message` and, if it has any, `data`, as the server sent it."""
RESULT = "result"
"""In these: the members of a result beyond content, structured content and `isError`; mostly `_meta`."""
MAX_PARTS = 10_000
MAX_UNKNOWN_PART = 64 * 1024
_OF_THE_HOP = frozenset({"io.modelcontextprotocol/serverInfo"})
"""What a server says of itself with each result: it is said of the gateway's own answers anew."""
_OURS = "dev.interlock/"
"""How the names begin of what the gateway says with a result: nobody else says it of this call."""
_RESULT_MEMBERS = frozenset({"content", "structuredContent", "isError", "resultType", "_meta"})
_LINK_MEMBERS = frozenset({"type", "uri", "name", "title", "description", "mimeType", "size", "annotations", "_meta"})
_EMBEDDED_MEMBERS = frozenset({"uri", "mimeType", "text", "blob"})


class UnreadableError(Exception):
    """A part of a result is not what MCP says it is."""


def error_outcome(code: int, message: str, data: object, *, has_data: bool) -> ToolOutcome:
    """A JSON-RPC error of the server's: a failure in words, and the error itself in the details."""
    error: JsonObject = {"code": code, "message": message}
    if has_data:
        error["data"] = data  # type: ignore[assignment]  # it was read from JSON
    return ToolOutcome(content=(Text(message),), is_error=True, details={MCP_DETAILS: {ERROR: error}})


def result_outcome(result: Mapping[str, Any], provider: str) -> ToolOutcome:
    """The result of `tools/call`. Raises `OutcomeUnknownError`: it cannot be read, or is but a promise.

    Either way the tool ran.
    """
    if result.get("resultType", "complete") != "complete" or ("task" in result and "content" not in result):
        raise OutcomeUnknownError(f"provider {provider} did not say what came of the call: it goes on with it")
    try:
        content = _contents(result.get("content", []))
    except (UnreadableError, KeyError, TypeError, ValueError):
        raise OutcomeUnknownError(f"provider {provider} returned a result that cannot be read") from None
    is_error = result.get("isError") is True
    more = _more(result)
    return ToolOutcome(
        content=content,
        is_error=is_error,
        tool_error=is_error,
        data=result.get("structuredContent"),
        has_data="structuredContent" in result,
        details={MCP_DETAILS: {RESULT: more}} if more else None,
    )


def whole_outcome(result: Mapping[str, Any]) -> ToolOutcome:
    """A result that is no tool's, whole as data: of `resources/read` or `prompts/get`."""
    data = {key: value for key, value in result.items() if key not in {"resultType", "_meta"}} | _meta(result)
    return ToolOutcome(data=data, has_data=True)


def claims_ours(result: Mapping[str, Any]) -> bool:
    """Whether a result says of itself what only the gateway says of one."""
    meta = result.get("_meta")
    return isinstance(meta, dict) and any(key.startswith(_OURS) for key in meta)


def without_ours(result: Mapping[str, Any]) -> dict[str, Any]:
    """A result without what only the gateway says of one."""
    if not claims_ours(result):
        return dict(result)
    return {**result, "_meta": {key: value for key, value in result["_meta"].items() if not key.startswith(_OURS)}}


def _more(result: Mapping[str, Any]) -> JsonObject:
    if result.keys() <= _RESULT_MEMBERS and not result.get("_meta"):
        return {}
    return {key: value for key, value in result.items() if key not in _RESULT_MEMBERS} | _meta(result)


def _meta(result: Mapping[str, Any]) -> JsonObject:
    meta = result.get("_meta")
    if not isinstance(meta, dict):
        return {}
    kept = {key: value for key, value in meta.items() if key not in _OF_THE_HOP and not key.startswith(_OURS)}
    return {"_meta": kept} if kept else {}


def _contents(parts: Any) -> tuple[Content, ...]:
    if not isinstance(parts, list) or len(parts) > MAX_PARTS:
        raise UnreadableError
    return tuple(map(_content, parts))


def _content(part: Any) -> Content:
    if not isinstance(part, dict):
        raise UnreadableError
    make = _KINDS.get(part.get("type"), _unknown)
    return make(part)


def _text(part: dict[str, Any]) -> Content:
    return Text(_string(part["text"]), *_aside(part))


def _image(part: dict[str, Any]) -> Content:
    return Image(_bytes(part["data"]), _string(part["mimeType"]), *_aside(part))


def _audio(part: dict[str, Any]) -> Content:
    return Audio(_bytes(part["data"]), _string(part["mimeType"]), *_aside(part))


def _link(part: dict[str, Any]) -> Content:
    size = part.get("size")
    has_size = isinstance(size, int) and not isinstance(size, bool) and 0 <= size < 1 << 64
    extra = {key: value for key, value in part.items() if key not in _LINK_MEMBERS or (key == "size" and not has_size)}
    annotations, meta = _aside(part)
    return Resource(
        uri=_string(part["uri"]),
        name=_string(part.get("name", "")),
        title=_string(part.get("title", "")),
        description=_string(part.get("description", "")),
        media_type=_string(part.get("mimeType", "")),
        size_bytes=size if has_size else None,
        extra=encoded(extra) if extra else b"",
        annotations=annotations,
        meta=meta,
    )


def _embedded(part: dict[str, Any]) -> Content:
    resource = part["resource"]
    if not isinstance(resource, dict):
        raise UnreadableError
    extra = {key: value for key, value in resource.items() if key not in _EMBEDDED_MEMBERS}
    annotations, meta = _aside(part)
    text, blob = resource.get("text"), resource.get("blob")
    if text is None and blob is None:
        raise UnreadableError
    return Resource(
        uri=_string(resource["uri"]),
        media_type=_string(resource.get("mimeType", "")),
        text=_string(text) if text is not None else None,
        blob=_bytes(blob) if text is None else None,
        extra=encoded(extra) if extra else b"",
        annotations=annotations,
        meta=meta,
    )


def _unknown(part: dict[str, Any]) -> Content:
    """A part of a kind that is not known yet: as it came, in `extra` of a resource without an address."""
    raw = encoded(part)
    if not isinstance(part.get("type"), str) or len(raw) > MAX_UNKNOWN_PART:
        raise UnreadableError
    return Resource(uri="", extra=raw)


_KINDS: dict[Any, Callable[[dict[str, Any]], Content]] = {
    "text": _text,
    "image": _image,
    "audio": _audio,
    "resource_link": _link,
    "resource": _embedded,
}


def _aside(part: dict[str, Any]) -> tuple[bytes, bytes]:
    return _raw(part.get("annotations")), _raw(part.get("_meta"))


def _raw(value: Any) -> bytes:
    if value is None:
        return b""
    if not isinstance(value, dict):
        raise UnreadableError
    return encoded(value)


def _string(value: Any) -> str:
    if not isinstance(value, str):
        raise UnreadableError
    return value


def _bytes(value: Any) -> bytes:
    try:
        return b64decode(_string(value), validate=True)
    except binascii.Error:
        raise UnreadableError from None
