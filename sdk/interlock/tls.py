"""TLS from files: what a client shows and trusts, and what a provider shows and whom it lets in.

Files are PEM, keys have no password. A certificate and its key may be in one file.

>>> ClientTls(ca_file="ca.pem", cert_file="agent.crt", key_file="agent.key")
ClientTls(ca_file='ca.pem', cert_file='agent.crt', key_file='agent.key', server_name='')
>>> ServerTls("tools.crt", "tools.key", client_ca_file="ca.pem", clients=["spiffe://example.org/ns/prod/sa/gateway"])
ServerTls(cert_file='tools.crt', key_file='tools.key', client_ca_file='ca.pem', clients=('spiffe://example.org/ns/prod/sa/gateway',))
"""

import ssl
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

__all__ = ["ClientTls", "ServerTls"]

FilePath: TypeAlias = str | Path


@dataclass(frozen=True, slots=True)
class ClientTls:
    """How a client encrypts: the gateway's certificate and name are always checked.

    `ca_file` has the authorities that are trusted; without it the system's. `cert_file` and `key_file` are what the
    client shows; without them it shows nothing. `server_name` is whom the gateway's certificate must be for, when that
    is not the address's host.
    """

    ca_file: FilePath | None = None
    cert_file: FilePath | None = None
    key_file: FilePath | None = None
    server_name: str = ""

    def __post_init__(self) -> None:
        if self.key_file is not None and self.cert_file is None:
            raise ValueError("key_file is given without cert_file")


@dataclass(frozen=True, slots=True, init=False)
class ServerTls:
    """How a provider encrypts. Its files are read again, for new connections, when they have changed.

    With `client_ca_file` callers have to show a certificate that these authorities issued. `clients` are those that may
    call, of them: a SPIFFE ID (`spiffe://...`), or the whole subject as RFC 4514 writes it (`CN=gateway,O=Example`);
    empty lets in whoever has a certificate.
    """

    cert_file: FilePath
    key_file: FilePath | None
    client_ca_file: FilePath | None
    clients: tuple[str, ...]

    def __init__(
        self,
        cert_file: FilePath,
        key_file: FilePath | None = None,
        *,
        client_ca_file: FilePath | None = None,
        clients: Iterable[str] = (),
    ) -> None:
        if isinstance(clients, str):
            raise TypeError("clients are several: a list or a tuple")
        named = tuple(clients)
        if named and client_ca_file is None:
            raise ValueError("clients are named, and no client_ca_file says who may vouch for them")
        if not all(named):
            raise ValueError("a client is named by nothing")
        object.__setattr__(self, "cert_file", cert_file)
        object.__setattr__(self, "key_file", key_file)
        object.__setattr__(self, "client_ca_file", client_ca_file)
        object.__setattr__(self, "clients", named)


def checked(cert_file: FilePath | None, key_file: FilePath | None, ca_file: FilePath | None) -> None:
    """Raise ValueError for certificates that cannot be used, OSError for files that cannot be read.

    gRPC says nothing of such files, or in its own log, or at the first request.
    """
    for file in (ca_file, cert_file, key_file):
        if file is not None:
            # What is raised by `ssl` does not say which file it is.
            Path(file).open("rb").close()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    try:
        if ca_file is not None:
            context.load_verify_locations(cafile=ca_file)
    except ssl.SSLError as error:
        raise ValueError(f"{ca_file} holds no authorities that can be used: {error.reason or error}") from None
    try:
        if cert_file is not None:
            # A password that would be asked for on a terminal is nobody's to give.
            context.load_cert_chain(cert_file, key_file, password="")
    except ssl.SSLError as error:
        raise ValueError(f"{cert_file} and its key cannot be used: {error.reason or error}") from None
