"""What an approval, a preview and a receipt are bound to: SHA-256 over canonical JSON (CHK-3, RFC 8785).

The canonical form is made by `canonical`, given by the caller, because core has no dependency of its own.
"""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass

from interlock_gateway.core.jsonvalue import JsonObject, JsonValue

Canonical = Callable[[JsonValue], bytes]


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

    def digest(self, canonical: Canonical) -> str:
        """SHA-256, in hex, over the canonical JSON of the whole."""
        document: JsonObject = {
            "principal": self.principal,
            "session": self.session,
            "tool": self.tool,
            "pin": self.pin,
            "workdir": self.workdir,
            "input": self.input,
            "policy_revision": self.policy_revision,
        }
        return hashlib.sha256(canonical(document)).hexdigest()
