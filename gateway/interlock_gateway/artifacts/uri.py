"""Artifact URIs: `artifact://<session>/<sha256>`, and the object names behind them (ART-1).

A URI never becomes a path: it is matched whole against one pattern, and the object names are made of nothing but
hexadecimal digits, because the session is named by the SHA-256 of its id. So an id such as `..` or `con`, or two ids
that differ in case only, cannot meet on any file system.
"""

import hashlib
import re
from dataclasses import dataclass

from interlock_gateway.artifacts.errors import ArtifactUriError

SCHEME = "artifact://"
SESSION_ID = re.compile(r"[A-Za-z0-9._:-]{1,128}", re.ASCII)
_URI = re.compile(r"artifact://([A-Za-z0-9._:-]{1,128})/([0-9a-f]{64})", re.ASCII)
# The layout of the store; raised when object names change their meaning.
_LAYOUT = "v1"


@dataclass(frozen=True, slots=True)
class ArtifactKey:
    """One artifact's identity: the session that made it, and the SHA-256 of its content as 64 lower-case hex digits."""

    session_id: str
    sha256: str

    @property
    def uri(self) -> str:
        """The artifact's URI."""
        return f"{SCHEME}{self.session_id}/{self.sha256}"

    @property
    def content_name(self) -> str:
        """The name of the object that holds the content."""
        return f"{session_prefix(self.session_id)}/{self.sha256}"

    @property
    def description_name(self) -> str:
        """The name of the object that describes the content; written last, so that it says: complete."""
        return f"{session_prefix(self.session_id)}/{self.sha256}.json"


def session_prefix(session_id: str) -> str:
    """The folder of a session's objects. Raises `ArtifactUriError` for an id that is not 1-128 of `[A-Za-z0-9._:-]`."""
    if SESSION_ID.fullmatch(session_id) is None:
        raise ArtifactUriError("a session id has 1 to 128 characters of A-Z a-z 0-9 . _ : -")
    return f"{_LAYOUT}/{hashlib.sha256(session_id.encode()).hexdigest()}"


def parse_uri(uri: str) -> ArtifactKey:
    """The key of `uri`. Raises `ArtifactUriError` for anything but exactly `artifact://<session>/<64 hex digits>`.

    Whether the asking session may read it is for the caller: compare `session_id` of the result.
    """
    found = _URI.fullmatch(uri)
    if found is None:
        raise ArtifactUriError('an artifact URI looks like "artifact://SESSION/SHA256", with 64 lower-case hex digits')
    return ArtifactKey(session_id=found[1], sha256=found[2])
