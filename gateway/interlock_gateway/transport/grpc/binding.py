"""Whether an address can be had, found out before gRPC tries: it says why on stderr alone, and takes sockets away."""

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from interlock_gateway.config_loader.addresses import TcpAddress, UnixAddress, parse_address


def refuse_taken(text: str) -> None:
    """Raise `OSError` with the reason when `text` (`unix:PATH` or `HOST:PORT`) cannot be listened on; change nothing.

    A socket that nobody answers on was left behind by a killed process, and may be taken. One whose directory is not
    there yet counts as free.
    """
    match parse_address(text):
        case TcpAddress() as address:
            _bind(address)
        case UnixAddress(path):
            _refuse_answering(Path(path))


def _bind(address: TcpAddress) -> None:
    family, kind, protocol, _, place = socket.getaddrinfo(
        address.host, address.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
    )[0]
    with socket.socket(family, kind, protocol) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        probe.bind(place)


def _refuse_answering(path: Path) -> None:
    if not path.exists():
        return
    if not path.is_socket():
        raise OSError("it is there and is no socket")
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        try:
            probe.connect(str(path))
        except ConnectionRefusedError:
            return
    raise OSError("another process listens there")


@contextmanager
def only_owner() -> Iterator[None]:
    """Make what is created meanwhile accessible to nobody else, so that there is no moment in which it is."""
    before = os.umask(0o177)
    try:
        yield
    finally:
        os.umask(before)
