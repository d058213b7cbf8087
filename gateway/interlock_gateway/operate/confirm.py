"""Operators say what holds: confirming what a provider declares, approving a changed definition (TOOL-3, TOOL-5)."""

import hashlib
import json
from collections.abc import Mapping
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
        tools = self._registry.tools_of(provider)
        if not tools:
            raise RequestError(RequestFault.PROVIDER_NOT_FOUND, f"no tools of a provider {provider}", field="provider")
        current = {tool.name: tool.sha256 for tool in tools}
        if seen and dict(seen) != current:
            raise RequestError(
                RequestFault.STALE_CONFIRMATION, "the provider's tools have changed since they were shown", field="pins"
            )
        await self._consents.save_consent(
            Consent(
                provider, tools_digest(current), by.id, self._clock.now(), json.dumps({"reason": reason, **current})
            )
        )
        return await self._registry.confirm(provider, by.id)

    async def approve(self, by: Principal, provider: str, tool: str, sha256: str) -> RegisteredTool:
        """Accept a changed definition. Raises `RequestError` when it is not the one that was shown."""
        current = {item.name: item.sha256 for item in self._registry.tools_of(provider)}.get(tool)
        if current is None:
            raise RequestError(RequestFault.TOOL_NOT_FOUND, f"{provider} has no tool {tool}", field="pin.tool")
        if sha256 and sha256 != current:
            raise RequestError(
                RequestFault.STALE_CONFIRMATION, "the definition has changed since it was shown", field="pin.hash"
            )
        return await self._registry.approve_change(provider, tool, by.id)


def tools_digest(hashes: Mapping[str, str]) -> str:
    """One hash over a provider's definitions: what a consent is given to."""
    return hashlib.sha256(json.dumps(sorted(hashes.items())).encode()).hexdigest()
