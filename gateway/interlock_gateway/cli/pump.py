"""Bytes between standard input and output and a Unix socket; nothing looks into them."""

import os
import socket
import threading
from contextlib import suppress

CHUNK = 1 << 16


def pump(connection: socket.socket, source: int = 0, sink: int = 1) -> None:
    """Carry what comes from descriptor `source` to the socket and what comes from it to `sink`, until it ends.

    The end of `source` closes the socket's own half: what is still answered arrives.
    """
    threading.Thread(target=_feed, args=(connection, source), daemon=True).start()
    while chunk := connection.recv(CHUNK):
        rest = memoryview(chunk)
        while rest:
            rest = rest[os.write(sink, rest) :]


def _feed(connection: socket.socket, source: int) -> None:
    with suppress(OSError):
        while chunk := os.read(source, CHUNK):
            connection.sendall(chunk)
        connection.shutdown(socket.SHUT_WR)
