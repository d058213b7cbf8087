"""Who is at the other end, as grpcio says it."""

import urllib.parse
from typing import Any, TypeAlias

import grpc.aio

from interlock_gateway.identity.peer import Peer, is_loopback
from interlock_gateway.transport.tls.connected import certificate_in_pem

Context: TypeAlias = "grpc.aio.ServicerContext[Any, Any]"


def peer_of(context: Context) -> Peer:
    """The other end of the connection that a call came in on."""
    place = context.peer()
    known = context.auth_context()
    encrypted = b"ssl" in known.get("transport_security_type", ())
    shown = known.get("x509_pem_cert", ()) if encrypted else ()
    try:
        certificate = certificate_in_pem(next(iter(shown))) if shown else None
    except ValueError as error:
        # Whoever authenticates refuses it, counts that and says so.
        return Peer(is_local(place), encrypted, address=address_in(place), unreadable=str(error) or "it is malformed")
    return Peer(is_local(place), encrypted, certificate, address_in(place))


def address_in(peer: str) -> str:
    """The address in `peer`, as gRPC names it, without its port; empty for a socket."""
    kind, _, rest = peer.partition(":")
    return urllib.parse.unquote(rest).rpartition(":")[0].strip("[]") if kind in {"ipv4", "ipv6"} else ""


def is_local(peer: str) -> bool:
    """Whether `peer`, as gRPC names it, is a process of this machine.

    >>> is_local("unix:"), is_local("ipv4:127.0.0.1:40000"), is_local("ipv6:%5B2001:db8::1%5D:40000")
    (True, True, False)
    """
    return peer.partition(":")[0] in {"unix", "unix-abstract"} or is_loopback(address_in(peer))
