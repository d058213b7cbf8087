"""Artifacts as MCP resources: `resources/read` of the whole, or of a range that the query names (MCP-1, ART-3)."""

import base64
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl

from interlock_gateway.artifacts.errors import ArtifactError, ArtifactNotFoundError, ArtifactUriError
from interlock_gateway.artifacts.store import ArtifactStore
from interlock_gateway.artifacts.uri import SCHEME, parse_uri
from interlock_gateway.core.content import Artifact
from interlock_gateway.core.session import Principal
from interlock_gateway.errors import RequestError, RequestFault
from interlock_gateway.sessions.book import SessionBook

TEMPLATE = {
    "uriTemplate": "artifact://{session}/{sha256}{?first_line,lines,offset,length}",
    "name": "artifact",
    "title": "Stored result",
    "description": (
        "A result that was too large to return whole. With first_line and lines, or offset and length in bytes, "
        "a part of it."
    ),
}
MOST_BYTES = 4 * 1024 * 1024
"""The most that one answer holds of an artifact."""
RANGE_META = "dev.interlock/range"
_LINES = frozenset({"first_line", "lines"})
_BYTES = frozenset({"offset", "length"})
_MOST_DIGITS = 15


@dataclass(frozen=True, slots=True)
class _Wanted:
    """An artifact's URI without its query, and the range in that. A `count` of 0 means: to the end."""

    uri: str
    by_line: bool = False
    first: int = 0
    count: int = 0
    is_range: bool = False


class ArtifactResources:
    """Reads of artifacts by the principal whose session made them (ART-1)."""

    def __init__(self, artifacts: ArtifactStore, sessions: SessionBook) -> None:
        self._artifacts = artifacts
        self._sessions = sessions

    @staticmethod
    def has(uri: str) -> bool:
        """Whether `uri` is an artifact's."""
        return uri.startswith(SCHEME)

    async def read(self, principal: Principal, uri: str) -> list[dict[str, Any]]:
        """The contents of `resources/read`. Raises `RequestError`: malformed, not found, another's, or too large."""
        wanted = _wanted(uri)
        try:
            await self._sessions.owned(principal, parse_uri(wanted.uri).session_id)
            stored = await self._artifacts.stat(wanted.uri)
            data, told = await (self._lines(wanted) if wanted.by_line else self._bytes(wanted, stored))
        except ArtifactError as error:
            raise _mapped(error) from None
        return [_content(uri, stored, data, told)]

    async def _lines(self, wanted: _Wanted) -> tuple[bytes, dict[str, Any]]:
        page = await self._artifacts.read_lines(wanted.uri, wanted.first or 1, wanted.count)
        return page.data, {"first_line": page.first, "last_line": page.last, "end": not page.more and not page.cut}

    async def _bytes(self, wanted: _Wanted, stored: Artifact) -> tuple[bytes, dict[str, Any]]:
        if not wanted.is_range and stored.total_bytes > MOST_BYTES:
            words = f"it has {stored.total_bytes} bytes: read it in parts, such as {wanted.uri}?offset=0&length="
            raise RequestError(RequestFault.TOO_LARGE, f"{words}{MOST_BYTES}", field="uri")
        length = min(wanted.count or MOST_BYTES, MOST_BYTES)
        pieces = [one async for one in self._artifacts.stream_bytes(wanted.uri, wanted.first, length)]
        end = wanted.first + sum(map(len, pieces))
        return b"".join(pieces), {"offset": wanted.first, "end": end >= stored.total_bytes}


def _wanted(uri: str) -> _Wanted:
    plain, mark, query = uri.partition("?")
    if not mark:
        return _Wanted(plain)
    try:
        pairs = parse_qsl(query, keep_blank_values=True, strict_parsing=True, max_num_fields=2)
    except ValueError:
        raise _bad_range() from None
    given = dict(pairs)
    if not given or len(given) != len(pairs) or not (given.keys() <= _LINES or given.keys() <= _BYTES):
        raise _bad_range()
    if not all(text.isascii() and text.isdigit() and len(text) <= _MOST_DIGITS for text in given.values()):
        raise _bad_range()
    first, count = ("first_line", "lines") if given.keys() <= _LINES else ("offset", "length")
    return _Wanted(plain, first == "first_line", int(given.get(first, 0)), int(given.get(count, 0)), is_range=True)


def _bad_range() -> RequestError:
    words = "the range is first_line and lines, or offset and length, each a number and given once"
    return RequestError(RequestFault.INVALID_FIELD, words, field="uri")


def _content(uri: str, stored: Artifact, data: bytes, told: dict[str, Any]) -> dict[str, Any]:
    meta = {RANGE_META: {**told, "total_bytes": stored.total_bytes, "total_lines": stored.total_lines}}
    content: dict[str, Any] = {"uri": uri, "mimeType": stored.media_type, "_meta": meta}
    text = _text(stored, data)
    return content | ({"blob": base64.b64encode(data).decode("ascii")} if text is None else {"text": text})


def _text(stored: Artifact, data: bytes) -> str | None:
    """The data as text; `None` for what is none, as of a range that cuts through a character."""
    kind = stored.media_type.partition(";")[0].strip().lower()
    if not (kind.startswith("text/") or kind.endswith(("json", "xml", "yaml", "javascript"))):
        return None
    try:
        return data.decode()
    except UnicodeDecodeError:
        return None


def _mapped(error: ArtifactError) -> RequestError:
    if isinstance(error, ArtifactUriError):
        return RequestError(RequestFault.INVALID_FIELD, error.message, field="uri")
    if isinstance(error, ArtifactNotFoundError):
        return RequestError(RequestFault.ARTIFACT_NOT_FOUND, error.message, field="uri")
    return RequestError(RequestFault.ARTIFACTS_UNAVAILABLE, error.message)
