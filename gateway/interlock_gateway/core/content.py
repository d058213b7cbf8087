"""What a result is made of: text, images, resources; and the artifact behind a shortened one."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Text:
    """Text for the model."""

    text: str


@dataclass(frozen=True, slots=True)
class Image:
    """An image: raw bytes and its media type, such as `image/png`."""

    data: bytes
    media_type: str


@dataclass(frozen=True, slots=True)
class Resource:
    """A reference to something that can be read elsewhere, or its small content inline."""

    uri: str
    media_type: str = ""
    title: str = ""
    text: str = ""
    blob: bytes = b""


Content = Text | Image | Resource


@dataclass(frozen=True, slots=True)
class Artifact:
    """A stored result: `artifact://<session>/<sha256>`, its size in bytes and lines, media type and digest (ART-1)."""

    uri: str
    total_bytes: int
    total_lines: int
    media_type: str
    sha256: str
