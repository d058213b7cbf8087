"""The other end of a connection, as far as it is known before anything is asked of the gateway (AUTH-1)."""

import ipaddress
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Certificate:
    """A client's certificate, whose chain was verified against the client authorities when the connection was made.

    `uris` are its URI SANs and `subject` is its subject as RFC 4514 writes it, both as they stand there; `not_before`
    and `not_after` are Unix seconds. `fingerprint` is the SHA-256 of all of it, in hex. `is_authority`: it may
    sign others.
    """

    uris: tuple[str, ...]
    subject: str
    not_before: float
    not_after: float
    fingerprint: str
    is_authority: bool = False


@dataclass(frozen=True, slots=True)
class Peer:
    """Who is at the other end.

    `local`: it is certain that this is a process of this machine, because it came through a Unix socket or from a
    loopback address. `encrypted`: the connection is. `certificate`: what the client showed, if it showed any; or
    `unreadable`, why that cannot be read. `address` is where it comes from, for the log.
    """

    local: bool
    encrypted: bool = False
    certificate: Certificate | None = None
    address: str = ""
    unreadable: str = ""


def is_loopback(address: str) -> bool:
    """Whether an IP address is one of this machine alone; false for what is no address.

    >>> is_loopback("::ffff:127.0.0.1"), is_loopback("10.0.0.1")
    (True, False)
    """
    try:
        found = ipaddress.ip_address(address)
    except ValueError:
        return False
    mapped = getattr(found, "ipv4_mapped", None)
    return (mapped or found).is_loopback


def is_local_name(peername: Any) -> bool:
    """Whether a socket's other end, as `getpeername` gives it, is on this machine: a path, or a loopback address."""
    if isinstance(peername, tuple) and peername and isinstance(peername[0], str):
        return is_loopback(peername[0])
    return isinstance(peername, str | bytes)
