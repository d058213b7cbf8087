"""Where an MCP server is, as configured, and how a connection to it is made."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from interlock_gateway.config_providers import McpUpstreamConfig, ProviderTlsConfig
from interlock_gateway.providers.kept import ProviderKind
from interlock_gateway.providers.mcp.link import Link
from interlock_gateway.providers.mcp.stdio_link import Command, StdioLink
from interlock_gateway.providers.tls import ProviderTls

STDIO_OPEN_S = 120.0
"""How long a server may take to start: `npx` may have to fetch it first."""
HTTP_OPEN_S = 30.0


@dataclass(frozen=True, slots=True)
class Target:
    """One server: a `url`, or a command. `shown` is what operators see of it: no secrets."""

    kind: ProviderKind
    shown: str
    allowed: frozenset[str]
    passes: frozenset[str]
    handshake: bool
    max_message_bytes: int
    url: str = ""
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    tls: ProviderTlsConfig | None = None
    command: Command | None = field(default=None, repr=False)

    @property
    def open_s(self) -> float:
        """How long it may take to be connected."""
        return STDIO_OPEN_S if self.command is not None else HTTP_OPEN_S

    def link(self, provider: str) -> Link:
        """A new connection's."""
        if self.command is not None:
            return StdioLink(provider, self.command, max_message_bytes=self.max_message_bytes)
        from interlock_gateway.providers.mcp.http_link import HttpLink  # noqa: PLC0415 -- it brings an HTTP client

        return HttpLink(self.url, self.headers, _tls_for(self.tls, self.url), max_message_bytes=self.max_message_bytes)


def target_of(
    config: McpUpstreamConfig, tls: ProviderTlsConfig | None, at_state: Callable[[str], str], max_message_bytes: int
) -> Target:
    """The server that `config` names."""
    allowed, passes = frozenset(config.allow), frozenset(config.passes)
    if config.command:
        directory = at_state(config.working_directory)
        command = Command(tuple(map(at_state, config.command)), dict(config.environment), directory)
        return Target(
            ProviderKind.MCP_STDIO,
            config.command[0],
            allowed,
            passes,
            config.handshake,
            max_message_bytes,
            command=command,
        )
    return Target(
        ProviderKind.MCP_HTTP,
        shown_url(config.url),
        allowed,
        passes,
        config.handshake,
        max_message_bytes,
        url=config.url,
        headers=dict(config.headers),
        tls=tls,
    )


def shown_url(url: str) -> str:
    """A URL without what may be secret in it: a query, a name, a password."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"


def _tls_for(tls: ProviderTlsConfig | None, url: str) -> ProviderTls | None:
    parts = urlsplit(url)
    if parts.scheme != "https":
        return None
    return ProviderTls(tls or ProviderTlsConfig(), parts.hostname or "", protocol="")
