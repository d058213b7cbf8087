"""Parts of results as MCP has them. What a provider said of a part goes out as it came in (MCP-3)."""

import base64
import json
from typing import Any

from mcp_types.version import is_version_at_least

from interlock_gateway.core.content import Audio, Content, Image, Resource, Text

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
    if part.annotations:
        shown["annotations"] = json.loads(part.annotations)
    if part.meta:
        shown["_meta"] = json.loads(part.meta)
    return shown


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
    found = json.loads(part.extra) if part.extra else {}
    return found if isinstance(found, dict) else {}


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")
