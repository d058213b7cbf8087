"""The part of the configuration about the processes that host tools, and how they are reached (TOOL-4)."""

from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

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


class ProviderCredentialsConfig(Section):
    """What proves to a provider that is registered at run time who calls; its registration names it."""

    token: str = ""
    """Bearer token presented to the provider."""
    tls: ProviderTlsConfig | None = None
    """Encrypts the connection."""


class ProviderConfig(Section):
    """A process that hosts tools."""

    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$")]
    """The provider's name here; pins and receipts use it."""
    address: str
    """`unix:PATH` or `HOST:PORT`; `{state}` is the state directory."""
    token: str = ""
    """Bearer token presented to the provider, if it asks for one."""
    tls: ProviderTlsConfig | None = None
    """Encrypts the connection, and says who may be at its other end."""
    plaintext_beyond_loopback: bool = False
    """Present `token` to another host without TLS. Off: whoever is on the way could take it."""
    trust: Literal["declared", "floor"] = "declared"
    """`floor`: what it declares can only make a tool look less safe, until an operator confirms it (TOOL-3)."""
    pins: Literal["enforce", "follow"] = "enforce"
    """`enforce` quarantines a changed definition until an operator approves it; `follow` accepts it (TOOL-5)."""
