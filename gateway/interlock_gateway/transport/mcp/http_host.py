"""What serves MCP over HTTP: sessions of the revisions that have them, and requests that stand for themselves."""

from collections.abc import Mapping
from typing import Any

from mcp.shared.inbound import x_mcp_header_map

from interlock_gateway.config_loader.addresses import TcpAddress, parse_address
from interlock_gateway.identity.authenticate import Authenticator
from interlock_gateway.registry.registry import ToolRegistry
from interlock_gateway.transport.mcp.direct import Direct
from interlock_gateway.transport.mcp.http import McpHttp
from interlock_gateway.transport.mcp.http_sessions import HttpSessions
from interlock_gateway.transport.mcp.origins import Origins
from interlock_gateway.transport.mcp.parts import SurfaceParts
from interlock_gateway.transport.mcp.stateless import Stateless
from interlock_gateway.transport.mcp.surface import Surface
from interlock_gateway.transport.mcp.wires import Wire

EVERYWHERE = frozenset({"0.0.0.0", "::"})  # noqa: S104 - what is not to be taken for a name


class HttpHost:
    """The application of one address, and the sessions that it has open."""

    def __init__(self, surface: Surface, parts: SurfaceParts, door: Authenticator) -> None:
        self._sessions = HttpSessions(surface)
        wire, schemas = Wire(), HeaderSchemas(parts.parts.registry)
        self.app = McpHttp(
            door,
            origins_of(parts),
            self._sessions,
            Stateless(surface.server, wire, schemas),
            Direct(surface, wire, schemas),
            max_bytes=parts.open_rpcs.max_bytes,
            max_depth=parts.parts.settings.max_depth,
            max_requests=parts.config.max_connections,
            unanswered=parts.unanswered,
            clock=parts.parts.clock,
        )

    @property
    def sessions(self) -> int:
        """How many sessions are open."""
        return len(self._sessions)

    async def close(self) -> None:
        """End every session."""
        await self._sessions.close()


class HeaderSchemas:
    """The schemas of the tools that want some of their arguments in headers too."""

    def __init__(self, registry: ToolRegistry) -> None:
        self._registry = registry
        self._looked_at: dict[str, tuple[Mapping[str, Any], bool]] = {}

    def __call__(self, name: str) -> Mapping[str, Any] | None:
        """The tool's schema; nothing when it wants none."""
        tool = self._registry.find(name)
        if tool is None:
            return None
        schema = tool.shown.input_schema
        seen = self._looked_at.get(name)
        if seen is None or seen[0] is not schema:
            seen = self._looked_at[name] = schema, bool(x_mcp_header_map(schema))
        return schema if seen[1] else None


def origins_of(parts: SurfaceParts) -> Origins:
    """The hosts that are configured, and those of the addresses themselves."""
    places = (parse_address(text) for text in parts.config.listen if not text.startswith("unix:"))
    # "Everywhere" is no name of anything, and browsers take 0.0.0.0 for this machine.
    named = [place.host for place in places if isinstance(place, TcpAddress) and place.host not in EVERYWHERE]
    return Origins((*parts.config.hosts, *named), parts.config.origins)
