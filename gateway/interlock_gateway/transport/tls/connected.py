"""Who is at the other end of a connection that was made, as far as TLS and its address tell."""

import ssl
from asyncio import BaseTransport
from functools import lru_cache

from interlock_gateway.identity.peer import Certificate, Peer, is_local_name

HTTP2 = "h2"


class OtherProtocolError(ValueError):
    """ALPN did not settle on what is spoken here."""


def connected_peer(transport: BaseTransport, *, speaks: str | None = HTTP2) -> Peer:
    """The other end of `transport`.

    Raises `ValueError` when its certificate is odd, and `OtherProtocolError` when ALPN did not settle on `speaks`;
    `None` asks for nothing.
    """
    name = transport.get_extra_info("peername")
    address = str(name[0]) if isinstance(name, tuple) and name else ""
    secured = transport.get_extra_info("ssl_object")
    if secured is None:
        return Peer(local=is_local_name(name), address=address)
    if speaks is not None and secured.selected_alpn_protocol() != speaks:
        raise OtherProtocolError("it does not say by ALPN that it speaks HTTP/2")
    der = secured.getpeercert(binary_form=True)
    found = None if der is None else certificate_in(der)
    return Peer(local=is_local_name(name), encrypted=True, certificate=found, address=address)


@lru_cache(maxsize=1024)
def certificate_in(der: bytes) -> Certificate:
    """What is read of a certificate. Raises `ValueError`."""
    # All of X.509 takes 2 MB: only who has clients with certificates pays for it.
    from interlock_gateway.identity.certificates import read_certificate  # noqa: PLC0415 -- as said above

    return read_certificate(der)


@lru_cache(maxsize=1024)
def certificate_in_pem(pem: bytes) -> Certificate:
    """The same, of PEM."""
    return certificate_in(ssl.PEM_cert_to_DER_cert(pem.decode("ascii")))
