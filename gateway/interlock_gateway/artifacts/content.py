"""What is known about a content before it is stored: digest, size, lines, and where its lines are."""

import hashlib
import json
from dataclasses import dataclass

from interlock_gateway.artifacts.errors import ArtifactStoreError
from interlock_gateway.artifacts.uri import ArtifactKey, parse_uri
from interlock_gateway.core.content import Artifact

MARK_EVERY = 1024 * 1024
_VERSION = 1
_TEXT_TYPES = frozenset({"application/json", "application/xml", "application/yaml", "application/javascript"})
_TEXT_SUFFIXES = ("+json", "+xml", "+yaml")


def is_text(media_type: str) -> bool:
    """Whether content of `media_type` has lines."""
    plain = media_type.partition(";")[0].strip().lower()
    return plain.startswith("text/") or plain in _TEXT_TYPES or plain.endswith(_TEXT_SUFFIXES)


@dataclass(frozen=True, slots=True)
class Description:
    """An artifact and an index of its lines.

    `marks[i]` is the number of line breaks in the first `(i + 1) * MARK_EVERY` bytes; empty when it has no lines.
    """

    artifact: Artifact
    marks: tuple[int, ...]

    def encode(self) -> bytes:
        """The description as it is stored."""
        about = self.artifact
        document = {
            "version": _VERSION,
            "uri": about.uri,
            "media_type": about.media_type,
            "bytes": about.total_bytes,
            "lines": about.total_lines,
            "sha256": about.sha256,
            "marks": self.marks,
            "created_at": about.created_at,
        }
        return json.dumps(document).encode()

    @classmethod
    def decode(cls, key: ArtifactKey, data: bytes) -> "Description":
        """The stored description of `key`. Raises `ArtifactStoreError` when it is damaged or describes another."""
        try:
            document = json.loads(data)
            about = Artifact(
                uri=document["uri"],
                total_bytes=int(document["bytes"]),
                total_lines=int(document["lines"]),
                media_type=str(document["media_type"]),
                sha256=document["sha256"],
                created_at=None if (at := document.get("created_at")) is None else float(at),
            )
            marks = tuple(int(mark) for mark in document["marks"])
        except (ValueError, KeyError, TypeError) as error:
            raise ArtifactStoreError("the artifact's description is damaged") from error
        if about.uri != key.uri or about.sha256 != key.sha256 or document.get("version") != _VERSION:
            raise ArtifactStoreError("the artifact's description is damaged")
        return cls(about, marks)


def described(data: bytes) -> tuple[ArtifactKey, Description]:
    """A stored description, and whose it is. Raises `ArtifactStoreError` and `ArtifactUriError` when it is damaged."""
    try:
        uri = str(json.loads(data)["uri"])
    except (ValueError, KeyError, TypeError) as error:
        raise ArtifactStoreError("the artifact's description is damaged") from error
    key = parse_uri(uri)
    return key, Description.decode(key, data)


class Surveyor:
    """Reads a content once, in pieces, and describes it."""

    def __init__(self, session_id: str, media_type: str) -> None:
        self._session_id = session_id
        self._media_type = media_type
        self._has_lines = is_text(media_type)
        self._hash = hashlib.sha256()
        self._size = 0
        self._breaks = 0
        self._last = b""
        self._marks: list[int] = []

    def feed(self, data: bytes) -> None:
        """Take the next piece, of any size."""
        view = memoryview(data)
        while view:
            # Short pieces, because counting holds the interpreter's lock.
            piece = view[: MARK_EVERY - self._size % MARK_EVERY]
            self._take(bytes(piece))
            view = view[len(piece) :]

    def _take(self, piece: bytes) -> None:
        self._hash.update(piece)
        self._size += len(piece)
        if not self._has_lines:
            return
        self._breaks += piece.count(b"\n")
        self._last = piece[-1:]
        if self._size % MARK_EVERY == 0:
            self._marks.append(self._breaks)

    def describe(self, created_at: float) -> tuple[ArtifactKey, Description]:
        """The key and description of everything fed so far, to be stored at that time."""
        key = ArtifactKey(self._session_id, self._hash.hexdigest())
        lines = self._breaks + (self._has_lines and self._last not in {b"", b"\n"})
        about = Artifact(key.uri, self._size, lines, self._media_type, key.sha256, created_at)
        return key, Description(about, tuple(self._marks))
