"""What a result is made of: text, images, resources; and the artifact behind a shortened one."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Text:
    """Text for the model. `annotations` and `meta`, here and below, are JSON that passes through untouched."""

    text: str
    annotations: bytes = b""
    meta: bytes = b""


@dataclass(frozen=True, slots=True)
class Image:
    """An image: raw bytes and its media type, such as `image/png`."""

    data: bytes
    media_type: str
    annotations: bytes = b""
    meta: bytes = b""


@dataclass(frozen=True, slots=True)
class Audio:
    """Sound: raw bytes and its media type, such as `audio/wav`."""

    data: bytes
    media_type: str
    annotations: bytes = b""
    meta: bytes = b""


@dataclass(frozen=True, slots=True)
class Resource:
    """A reference to something that can be read elsewhere, or its small content inline."""

    uri: str
    name: str = ""
    title: str = ""
    description: str = ""
    media_type: str = ""
    size_bytes: int | None = None
    text: str | None = None
    blob: bytes | None = None
    extra: bytes = b""
    annotations: bytes = b""
    meta: bytes = b""


Content = Text | Image | Audio | Resource


@dataclass(frozen=True, slots=True)
class Artifact:
    """A stored result: `artifact://<session>/<sha256>`, its size in bytes and lines, media type and digest (ART-1).

    `created_at` is when it was stored first, in Unix seconds; `None` of one that was stored before this was noted.
    """

    uri: str
    total_bytes: int
    total_lines: int
    media_type: str
    sha256: str
    created_at: float | None = None
