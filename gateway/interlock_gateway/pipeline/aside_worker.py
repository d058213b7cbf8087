"""A process that works on inputs in the gateway's place: what all such have in common (REL-7; decisions 0121, 0131).

It is started as a script in an isolated interpreter. Arguments: the socket's descriptor, the module that answers, how
many bytes of memory the process may have (0 for any number), then the directories in which its imports lie. A request
is a head that ends with the lengths of a schema and of an input, then both. An answer is pieces, each a letter and a
length before its bytes.
"""

import gc
import importlib
import resource
import socket
import struct
import sys
from collections.abc import Callable, Iterator
from typing import Any

PIECE = struct.Struct("<cI")
Pieces = Iterator[tuple[bytes, bytes | memoryview]]
Answers = Callable[[Any, bytes, bytes], Pieces]
"""Gives the pieces of an answer: from what else the head says, the schema, and the input."""


def serve(connection: socket.socket, head: struct.Struct, answers: Answers) -> None:
    """Answer until the gateway is gone. `head` has one value before the two lengths."""
    while (begun := _received(connection, head.size)) is not None:
        about, schema_length, raw_length = head.unpack(begun)
        schema = _received(connection, schema_length)
        raw = _received(connection, raw_length)
        if schema is None or raw is None:
            return
        for kind, piece in answers(about, schema, raw):
            connection.sendall(PIECE.pack(kind, len(piece)))
            connection.sendall(piece)
        del schema, raw


def _received(connection: socket.socket, count: int) -> bytes | None:
    """So many bytes; `None` when the gateway is gone."""
    data = connection.recv(count, socket.MSG_WAITALL) if count else b""
    return data if len(data) == count else None


def main() -> None:
    """Run as a script."""
    descriptor, module, memory_bytes, *directories = sys.argv[1:]
    sys.path += directories
    # No core dump: it would hold what agents sent.
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if int(memory_bytes):
        resource.setrlimit(resource.RLIMIT_AS, (int(memory_bytes), int(memory_bytes)))
    # What is read has no cycles, and there is much of it.
    gc.disable()
    answering = importlib.import_module(module)
    with socket.socket(fileno=int(descriptor)) as connection:
        serve(connection, answering.REQUEST, answering.answers)


if __name__ == "__main__":
    main()
