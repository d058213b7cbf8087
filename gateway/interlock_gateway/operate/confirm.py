"""Operators say what holds: confirming what a provider declares, approving a changed definition (TOOL-3, TOOL-5)."""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Protocol

from interlock_gateway.core.clock import Clock
from interlock_gateway.core.session import Principal
from interlock_gateway.errors import RequestError, RequestFault
from interlock_gateway.pipeline.ports import Consent
from interlock_gateway.registry.registered import RegisteredTool
from interlock_gateway.registry.registry import ToolRegistry


class ConsentStore(Protocol):
    """Where consents are kept."""

    async def save_consent(self, consent: Consent) -> None:
        """Keep it, durably."""
        ...

    async def load_consents(self) -> tuple[Consent, ...]:
        """Every consent."""
        ...


class Confirmations:
    """Records an operator's consent before it takes effect."""

    def __init__(self, registry: ToolRegistry, consents: ConsentStore, clock: Clock) -> None:
        self._registry = registry
        self._consents = consents
        self._clock = clock

    async def confirm(
        self, by: Principal, provider: str, seen: Mapping[str, str], reason: str
    ) -> tuple[RegisteredTool, ...]:
        """Take what `provider` declares as true. `seen` holds the hashes the operator was shown, by tool.

        Raises `RequestError`: no such provider, or what it declares is not what was shown any more.
        """
        if not seen:
            raise RequestError(RequestFault.INVALID_FIELD, "say which definitions are confirmed", field="pins")
        shown = json.dumps({"reason": reason, "tools": dict(seen)})
        consent = Consent(provider, tools_digest(seen), by.id, self._clock.now(), shown)
        return await self._registry.confirm(provider, seen, by.id, lambda: self._consents.save_consent(consent))

    async def approve(self, by: Principal, provider: str, tool: str, sha256: str) -> RegisteredTool:
        """Accept a changed definition. Raises `RequestError` when it is not the one that was shown."""
        return await self._registry.approve_change(provider, tool, sha256, by.id)


def consented(consents: Iterable[Consent]) -> Iterator[tuple[str, dict[str, str]]]:
    """What earlier consents were given to: provider, and hashes by tool."""
    for consent in consents:
        shown = json.loads(consent.shown_json)
        yield consent.provider, dict(shown["tools"])


def tools_digest(hashes: Mapping[str, str]) -> str:
    """One hash over a provider's definitions: what a consent is given to."""
    return hashlib.sha256(json.dumps(sorted(hashes.items())).encode()).hexdigest()
