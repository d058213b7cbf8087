"""Parts of results as MCP has them. What a provider said of a part goes out as it came in (MCP-3)."""

import base64
import json
from typing import Any

from mcp_types.methods import serialize_server_result
from mcp_types.version import is_version_at_least
from pydantic import ValidationError

from interlock_gateway.core.content import Audio, Content, Image, Resource, Text

_PLAIN, _ASIDE = {"type", "text"}, frozenset({"annotations", "_meta"})
AUDIO_SINCE = "2025-03-26"
LINKS_SINCE = "2025-06-18"


def content_of(part: Content, version: str) -> dict[str, Any]:
    """One part, for a client that speaks `version`; what that does not know of is told as text."""
    match part:
        case Text():
            shown: dict[str, Any] = {"type": "text", "text": part.text}
        case Image():
            shown = {"type": "image", "data": _base64(part.data), "mimeType": part.media_type}
        case Audio():
            if not is_version_at_least(version, AUDIO_SINCE):
                return text_of(f"[{len(part.data)} bytes of {part.media_type}]")
            shown = {"type": "audio", "data": _base64(part.data), "mimeType": part.media_type}
        case Resource():
            shown = _resource(part, version)
    if annotations := _object(part.annotations):
        shown["annotations"] = annotations
    if meta := _object(part.meta):
        shown["_meta"] = meta
    return shown


def fitted(shown: dict[str, Any], version: str) -> dict[str, Any]:
    """The part, if that is what MCP has at `version`; else as much of it as is, or all of it told as text.

    The tool has run: an answer that cannot be encoded would be taken for a failure, and the call for one to repeat.
    """
    if shown.keys() == _PLAIN:
        return shown
    for part in (shown, {key: value for key, value in shown.items() if key not in _ASIDE}):
        try:
            serialize_server_result("tools/call", version, {"resultType": "complete", "content": [part]})
        except ValidationError:
            continue
        return part
    return text_of(json.dumps(shown, ensure_ascii=False))


def text_of(text: str) -> dict[str, Any]:
    """A part that is text."""
    return {"type": "text", "text": text}


def _resource(part: Resource, version: str) -> dict[str, Any]:
    if not part.uri:
        # Of a kind that is not known yet. It is told as text, because nobody could check it.
        return text_of(part.extra.decode())
    if part.text is None and part.blob is None:
        return _link(part) if is_version_at_least(version, LINKS_SINCE) else text_of(part.uri)
    inside: dict[str, Any] = {"uri": part.uri}
    if part.media_type:
        inside["mimeType"] = part.media_type
    if part.text is not None:
        inside["text"] = part.text
    elif part.blob is not None:
        inside["blob"] = _base64(part.blob)
    return {"type": "resource", "resource": {**inside, **_extra(part)}}


def _link(part: Resource) -> dict[str, Any]:
    shown: dict[str, Any] = {"type": "resource_link", "uri": part.uri, "name": part.name or part.uri}
    told = {"title": part.title, "description": part.description, "mimeType": part.media_type}
    shown.update({key: text for key, text in told.items() if text})
    if part.size_bytes is not None:
        shown["size"] = part.size_bytes
    return {**shown, **_extra(part)}


def _extra(part: Resource) -> dict[str, Any]:
    return _object(part.extra)


def _object(raw: bytes) -> dict[str, Any]:
    """What a provider gave as JSON; nothing when it is no object."""
    try:
        found = json.loads(raw) if raw else {}
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")
