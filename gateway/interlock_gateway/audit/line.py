"""One line of the log: how it is built, hashed, signed, and read back (docs/audit.md, Format).

A line is `<body>,"hash":"<64 hex>","signature":"<128 hex>"}` and a line feed, where `<body>` begins with
`{"v":1,"sequence":<n>,"previous":"<64 hex>",`. The hash is SHA-256 over the bytes of the body just as they stand, so no
canonical form of JSON is needed to check it; the signature is Ed25519 over the 32 bytes of the hash.
"""

import hashlib
import re
from dataclasses import dataclass

from interlock_gateway.audit.keys import SigningKey, VerifyKey

VERSION = 1
MAX_LINE_BYTES = 8 * 1024 * 1024
NO_HASH = "0" * 64
# What stands behind a body: `,"hash":"<64>","signature":"<128>"}` and a line feed.
SEAL_BYTES = 9 + 64 + 1 + 14 + 128 + 3
_LINE = re.compile(
    rb'(\{"v":1,"sequence":([1-9][0-9]{0,18}|0),"previous":"([0-9a-f]{64})",.+)'
    rb',"hash":"([0-9a-f]{64})","signature":"([0-9a-f]{128})"\}\n'
)
_ANY_LINE = re.compile(rb'\{"v":([0-9]{1,9}),')


@dataclass(frozen=True, slots=True)
class Head:
    """Where a chain stands: the last line's sequence and hash. Before the first line: 0 and zeros."""

    sequence: int = 0
    hash: str = NO_HASH


@dataclass(frozen=True, slots=True)
class Line:
    """A line as read: its place in the chain and its parts. Nothing about it has been checked yet."""

    sequence: int
    previous: str
    body: bytes
    hash: str
    signature: bytes

    @property
    def head(self) -> Head:
        """Where the chain stands behind this line."""
        return Head(self.sequence, self.hash)

    def hash_matches(self) -> bool:
        """Whether the hash is that of the body."""
        return hashlib.sha256(self.body).hexdigest() == self.hash

    def signed_by(self, key: VerifyKey) -> bool:
        """Whether the signature over the hash is `key`'s."""
        return key.accepts(self.signature, bytes.fromhex(self.hash))


def build(head: Head, members: bytes, key: SigningKey) -> tuple[bytes, Head]:
    """The next line of a chain that stands at `head`, and where the chain stands behind it.

    `members` are the line's own members as JSON text without the braces, such as `"kind":"receipt","tool":"x"`.
    """
    sequence = head.sequence + 1
    body = b'{"v":1,"sequence":%d,"previous":"%s",%s' % (sequence, head.hash.encode(), members)
    line, text = seal(body, key)
    return line, Head(sequence, text)


def seal(body: bytes, key: SigningKey) -> tuple[bytes, str]:
    """The body with its hash and signature behind it, as a line; and the hash."""
    digest = hashlib.sha256(body)
    text = digest.hexdigest()
    signature = key.sign(digest.digest()).hex()
    return b'%s,"hash":"%s","signature":"%s"}\n' % (body, text.encode(), signature.encode()), text


def parse(data: bytes) -> Line | None:
    """The line in `data`, which ends with its line feed; `None` when it does not have the form of one."""
    found = _LINE.fullmatch(data)
    if found is None:
        return None
    body, sequence, previous, text, signature = found.groups()
    return Line(int(sequence), previous.decode(), body, text.decode(), bytes.fromhex(signature.decode()))


def foreign_version(data: bytes) -> int | None:
    """The format version that a line claims when it is not ours."""
    found = _ANY_LINE.match(data)
    version = int(found[1]) if found else VERSION
    return None if version == VERSION else version
