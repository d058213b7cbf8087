"""What an approval, a preview and a receipt are bound to: SHA-256 over canonical JSON (CHK-3, RFC 8785).

The canonical form is made by `canonical`, given by the caller, because core has no dependency of its own.
"""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol

from interlock_gateway.core.jsonvalue import JsonObject, JsonValue

Canonical = Callable[[JsonValue], bytes]
INPUT_FIRST = b'{"input":'
_BEHIND_INPUT = ("pin", "policy_revision", "principal", "session", "tool", "workdir")


class Hashed(Protocol):
    """A hash that goes on, as `hashlib` makes it."""

    def copy(self) -> "Hashed":
        """Another one that goes on from here."""
        ...

    def update(self, data: bytes, /) -> None:
        """Take in more."""
        ...

    def hexdigest(self) -> str:
        """The digest of all."""
        ...


@dataclass(frozen=True, slots=True)
class BoundCall:
    """Everything that must stay the same between a decision and what is run under it (CHK-3)."""

    principal: str
    session: str
    tool: str
    pin: str
    workdir: str
    input: JsonObject
    policy_revision: str

    def digest(self, canonical: Canonical, begun: Hashed | None = None) -> str:
        """SHA-256, in hex, over the canonical JSON of the whole; `begun` is the hash of `INPUT_FIRST` and the input."""
        # Canonical JSON sorts members by name; `input` comes first, and what follows it is the same for many calls.
        values = self.pin, self.policy_revision, self.principal, self.session, self.tool, self.workdir
        rest = _rest(canonical, values)
        if begun is None:
            return hashlib.sha256(b"%s%s,%s" % (INPUT_FIRST, canonical(self.input), rest)).hexdigest()
        whole = begun.copy()
        whole.update(b",%s" % rest)
        return whole.hexdigest()


@lru_cache(maxsize=1024)
def _rest(canonical: Canonical, values: tuple[str, ...]) -> bytes:
    """The members behind `input`, with the brace that closes the document."""
    members: JsonObject = dict(zip(_BEHIND_INPUT, values, strict=True))
    return canonical(members)[1:]
