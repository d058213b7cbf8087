"""Addresses: a Unix socket, or a host and a port."""

import ipaddress
import re
from dataclasses import dataclass
from typing import TypeAlias

LONGEST_SOCKET_PATH = 107
"""In bytes: what `sockaddr_un` of Linux holds besides its closing NUL."""
_HIGHEST_PORT = 65_535
_TCP = re.compile(r"(?P<host>\[[0-9A-Fa-f:.%]+\]|[^\[\]:/\s]+):(?P<port>[0-9]{1,5})", re.ASCII)


@dataclass(frozen=True, slots=True)
class UnixAddress:
    """A Unix socket at an absolute path."""

    path: str


@dataclass(frozen=True, slots=True)
class TcpAddress:
    """A host (a name, IPv4, or IPv6 without its brackets) and a port."""

    host: str
    port: int

    @property
    def is_loopback(self) -> bool:
        """Whether it is certain that only this machine can reach it; of names, that holds for `localhost` alone."""
        if self.host == "localhost":
            return True
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False


Address: TypeAlias = UnixAddress | TcpAddress


def parse_address(text: str) -> Address:
    """The address in `unix:PATH` or `HOST:PORT`. Raises `ValueError` with a sentence about `text` that lacks its name.

    >>> parse_address("[::1]:7080")
    TcpAddress(host='::1', port=7080)
    """
    if text.startswith("unix:"):
        return _unix(text)
    found = _TCP.fullmatch(text)
    if found is None:
        raise ValueError(f"must be unix:PATH or HOST:PORT, not {text or 'empty'}")
    port = int(found["port"])
    if port > _HIGHEST_PORT:
        raise ValueError(f"has port {port}; the highest is {_HIGHEST_PORT}")
    return TcpAddress(found["host"].strip("[]"), port)


def _unix(text: str) -> UnixAddress:
    path = text.removeprefix("unix:")
    if path.startswith("//"):
        path = path.removeprefix("//")
    if not path.startswith("/"):
        raise ValueError(f"must name an absolute path after unix:, not {path or 'nothing'}")
    if "\0" in path:
        raise ValueError("holds a NUL, which no path can")
    if (size := len(path.encode())) > LONGEST_SOCKET_PATH:
        raise ValueError(f"has a path of {size} bytes; that of a socket has at most {LONGEST_SOCKET_PATH}")
    return UnixAddress(path)
