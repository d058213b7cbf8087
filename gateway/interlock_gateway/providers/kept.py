"""What the directory needs of a provider besides calling it: to be connected, described, watched and let go."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from interlock_gateway.core.tool import ToolDefinition
from interlock_gateway.providers.port import Provider


class ProviderKind(StrEnum):
    """How a provider is reached."""

    GRPC = "grpc"
    ATTACHED = "attached"
    MCP_HTTP = "mcp_http"
    MCP_STDIO = "mcp_stdio"


@dataclass(frozen=True, slots=True)
class Described:
    """What a provider says of itself: its version, its tools, and a sentence for each tool that cannot be read.

    `passing` is for what else there is of it: called like tools, listed nowhere (`ToolRegistry.pass_on`).
    `refresh_s` is in how many seconds it wants to be asked again, `None` when it does not say.
    """

    version: str
    tools: tuple[ToolDefinition, ...]
    problems: tuple[str, ...] = ()
    passing: tuple[ToolDefinition, ...] = ()
    refresh_s: float | None = None


class KeptProvider(Provider, Protocol):
    """A provider with a connection that a keeper looks after (`Directory`)."""

    kind: ProviderKind
    address: str

    @property
    def in_flight(self) -> int:
        """How many requests it has that it has not answered."""
        ...

    async def describe(self, timeout_s: float) -> Described:
        """Connect if need be, and say what there is. A tool that cannot be read is a problem of that tool alone.

        Raises `ProviderError`.
        """
        ...

    async def until_lost(self) -> bool | None:
        """Return when the connection is lost, however briefly.

        Or with `True`, when it stands, and only what is there has changed: then it is described again at once.
        """
        ...

    async def pause(self, most_s: float) -> None:
        """Wait before it is asked again: `most_s` seconds, or until a lost connection is back."""
        ...

    def mark_described(self) -> None:
        """What the provider describes is registered: it may be called."""
        ...

    def mark_lost(self) -> None:
        """The connection was lost: who comes back may be another, and is not called before it is described."""
        ...

    def retire(self) -> None:
        """Close the connection once the last call in flight has ended."""
        ...

    async def close(self) -> None:
        """Close the connection; calls in flight end as unknown."""
        ...
