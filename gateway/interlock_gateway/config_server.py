"""The part of the configuration about where the gateway listens."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from interlock_gateway.config_section import Seconds, Section


class Front(StrEnum):
    """What speaks HTTP/2 with agents and operators."""

    NGHTTP2 = "nghttp2"
    GRPCIO = "grpcio"


class TlsConfig(Section):
    """Encryption of the TCP addresses of `server.listen`: TLS 1.2 or 1.3. Unix sockets are not encrypted.

    The files are read again when they change, as Kubernetes changes those of a secret; connections that are there stay.
    """

    cert_file: Path
    """The gateway's certificate and what leads from it to an authority, in PEM, its own first."""
    key_file: Path
    """The key of that certificate, in PEM, without a password."""
    client_ca_file: Path | None = None
    """The authorities, in PEM, that clients' certificates are checked against. Each may vouch for whoever
    `identity.mtls` names. Without it no client is asked for a certificate."""
    crl_file: Path | None = None
    """Lists, in PEM, of clients' certificates that their authorities have taken back, one for each authority that
    clients' certificates come from: who shows one of an authority without a list in force is refused. A new list that
    cannot be used, or has expired, leaves the last good one in use. Only `front: nghttp2` compares with them."""
    clients: Literal["require", "accept"] = "require"
    """With `client_ca_file`: `require` refuses connections without a certificate; `accept` lets them in, to show a
    token. Only `front: nghttp2` can accept."""
    watch_s: Annotated[float, Field(ge=0.05, le=3600)] = 5.0
    """How often the files are looked at."""


class ServerConfig(Section):
    """Where the gateway listens."""

    listen: tuple[str, ...] = ("unix:{state}/agent.sock", "127.0.0.1:7080")
    """Addresses for agents: `unix:PATH` or `HOST:PORT`; `{state}` is the state directory, port 0 picks a free one."""
    operator_listen: tuple[str, ...] = ("unix:{state}/operator.sock",)
    """Addresses for operators and approvers. Unix sockets only: whoever may open the file is an operator."""
    socket_mode: Annotated[str, Field(pattern=r"^0[0-7]{3}$")] = "0600"
    """Permissions of the agents' Unix sockets. The operators' sockets are always 0600."""
    plaintext_beyond_loopback: bool = False
    """Accept unencrypted connections from other hosts. Off: listening elsewhere than loopback is refused."""
    front: Front = Front.NGHTTP2
    """What speaks HTTP/2: `nghttp2`, on the gateway's own loop, or `grpcio`, which is slower and in wide use."""
    health_listen: str = ""
    """`HOST:PORT` that serves `grpc.health.v1` and nothing else, in plain text, to whoever asks, as kubelet does;
    empty switches it off, port 0 picks a free one. Beyond loopback too: it tells whether calls are served, no more."""
    tls: TlsConfig | None = None
    """Encrypts what comes in over TCP; with it, addresses may be beyond loopback."""
    awake_s: Annotated[float, Field(ge=0, le=0.1)] | None = None
    """How long the gateway does not sleep after a call has begun while no other is in flight: its answer comes a fifth
    of a millisecond earlier, and the call takes up to so much more processor time when its tool is slow. 0 switches it
    off. By default 0.0012 where two processors or more may be used, and 0 elsewhere."""
    drain_delay_s: Annotated[float, Field(ge=0, le=3600)] = 0.0
    """How long calls are still taken after SIGTERM, when health says NOT_SERVING already: as long as balancers take to
    notice. A second SIGTERM ends it."""
    drain_s: Seconds = 20.0
    """How long calls in flight may take to finish after SIGTERM and `drain_delay_s`."""
