"""Who is at the other end, as grpcio says it."""

import urllib.parse
from typing import Any, TypeAlias

import grpc.aio

from interlock_gateway.identity.peer import Peer, is_loopback

Context: TypeAlias = "grpc.aio.ServicerContext[Any, Any]"


def peer_of(context: Context) -> Peer:
    """The other end of the connection that a call came in on."""
    return Peer(local=is_local(context.peer()))


def is_local(peer: str) -> bool:
    """Whether `peer`, as gRPC names it, is a process of this machine.

    >>> is_local("unix:"), is_local("ipv4:127.0.0.1:40000"), is_local("ipv6:%5B2001:db8::1%5D:40000")
    (True, True, False)
    """
    kind, _, rest = peer.partition(":")
    if kind in {"unix", "unix-abstract"}:
        return True
    host = urllib.parse.unquote(rest).rpartition(":")[0]
    return kind in {"ipv4", "ipv6"} and is_loopback(host.strip("[]"))
