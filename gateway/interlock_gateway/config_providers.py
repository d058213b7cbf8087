"""The part of the configuration about the processes that host tools, and how they are reached (TOOL-4)."""

from pathlib import Path
from typing import Annotated, Literal

from pydantic import ConfigDict, Field

from interlock_gateway.config_section import Section


class ProviderTlsConfig(Section):
    """TLS 1.2 or 1.3 to a provider; its certificate and name are always checked.

    The files are read again for the next connection when they have changed, and a connection that is there goes on.
    """

    ca_file: Path | None = None
    """The authorities, in PEM, that its certificate is checked against; without one, the system's."""
    cert_file: Path | None = None
    """The gateway's own certificate, in PEM, for a provider that asks for one."""
    key_file: Path | None = None
    """The key of `cert_file`, unless the same file holds it. It has no password."""
    server_name: str = ""
    """The name or address that its certificate must be for; without it, the host of the provider's address."""
    spiffe_id: str = ""
    """The SPIFFE ID that its certificate must have, as its one URI. It stands in place of a name."""


class McpUpstreamConfig(Section):
    """An MCP server: a URL, or a command that is run."""

    url: Annotated[str, Field(repr=False)] = ""
    """Its streamable HTTP endpoint, such as `https://tools.example.com/mcp`."""
    headers: Annotated[dict[str, str], Field(repr=False)] = Field(default_factory=dict)
    """What every request to `url` carries, such as `Authorization`. Never shown."""
    command: tuple[str, ...] = ()
    """The program and its arguments, for a server that speaks over its standard input and output; no shell."""
    environment: Annotated[dict[str, str], Field(repr=False)] = Field(default_factory=dict)
    """The program's whole environment, besides `PATH` and `HOME`. Never shown."""
    working_directory: str = ""
    """Where the program starts; without one, where the gateway did. `{state}` is the state directory."""
    allow: tuple[Literal["sampling", "elicitation", "roots"], ...] = ()
    """What the server may ask of the agent's client while it runs a call: a model's answer, a person's, or which
    directories it works in."""
    handshake: bool = False
    """Speak a revision that begins with a handshake, even if the server knows the newest. Many servers that ask
    something while they run a call can do so there alone."""
    passes: tuple[Literal["resources", "prompts", "completions", "logging"], ...] = (
        "resources",
        "prompts",
        "completions",
        "logging",
    )
    """What of the server reaches MCP clients besides its tools."""


class ProviderCredentialsConfig(Section):
    """What proves to a provider that is registered at run time who calls; its registration names it."""

    token: str = ""
    """Bearer token presented to the provider."""
    headers: Annotated[dict[str, str], Field(repr=False)] = Field(default_factory=dict)
    """What every request to an MCP server carries. Never shown."""
    tls: ProviderTlsConfig | None = None
    """Encrypts the connection."""


class ProviderConfig(Section):
    """A process that hosts tools."""

    model_config = ConfigDict(json_schema_extra={"anyOf": [{"required": ["address"]}, {"required": ["mcp"]}]})

    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$")]
    """The provider's name here; pins and receipts use it."""
    address: str = ""
    """`unix:PATH` or `HOST:PORT`; `{state}` is the state directory. Empty for an MCP server."""
    mcp: McpUpstreamConfig | None = None
    """Makes it an MCP server, in place of an address."""
    prefix: Annotated[str, Field(pattern=r"^[A-Za-z0-9_./-]{0,64}$")] = ""
    """Put before the name of each tool of an MCP server, as it is: `docs_` makes `docs_search` of `search`."""
    token: str = ""
    """Bearer token presented to the provider, if it asks for one."""
    tls: ProviderTlsConfig | None = None
    """Encrypts the connection, and says who may be at its other end."""
    plaintext_beyond_loopback: bool = False
    """Present `token` to another host without TLS. Off: whoever is on the way could take it."""
    trust: Literal["declared", "floor"] | None = None
    """`floor`: what it declares can only make a tool look less safe, until an operator confirms it (TOOL-3). Left out,
    it is `floor` for MCP servers, and `declared` for others."""
    pins: Literal["enforce", "follow"] = "enforce"
    """`enforce` quarantines a changed definition until an operator approves it; `follow` accepts it (TOOL-5)."""

    @property
    def is_floored(self) -> bool:
        """Whether what it declares waits for an operator's consent."""
        return self.trust == "floor" or (self.trust is None and self.mcp is not None)
