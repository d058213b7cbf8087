"""A process that compiles schemas and checks inputs against them, and nothing else (REL-7; decision 0131).

It is started as a script in an isolated interpreter. Arguments: the socket's descriptor, then the directories in which
its imports lie. A request is what to do, the lengths of the schema and of the input, then both, which the gateway has
read before. Answers are letters, each with the length of what follows it. When something takes longer than it may, or
more memory, the system ends the process in the midst of it.
"""

import gc
import json
import resource
import signal
import socket
import struct
import sys
from collections.abc import Iterator
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from interlock_gateway.pipeline.schema import CompiledSchema

REQUEST = struct.Struct("<cII")
ANSWER = struct.Struct("<cI")
COMPILE, CHECK = b"c", b"v"
FITS, UNFIT, PROBLEM, END, WRONG = b"f", b"u", b"p", b"e", b"w"
COMPILE_S = 2.0
CHECK_S = 0.5
"""How much of a processor's time compiling takes, and checking; explaining what is wrong has as much again."""
MEMORY_BYTES = 1024 * 1024 * 1024


def answers(what: bytes, schema: bytes, raw: bytes) -> Iterator[tuple[bytes, bytes]]:
    """The answers to one request: `WRONG` with the reason, or `FITS`; or `UNFIT`, each `PROBLEM`, and `END`."""
    from interlock_gateway.pipeline.schema import InvalidSchemaError  # noqa: PLC0415 - once the path is set

    try:
        _end_after(COMPILE_S)
        compiled = _compiled(schema)
    except InvalidSchemaError as error:
        yield WRONG, _bytes(str(error))
        return
    finally:
        _end_after(0)
    if what == COMPILE:
        yield FITS, b""
        return
    value = json.loads(raw)
    _end_after(CHECK_S)
    fits = compiled.is_valid(value)
    _end_after(0)
    yield (FITS if fits else UNFIT), b""
    if not fits:
        _end_after(CHECK_S)
        problems = compiled.problems(value)
        _end_after(0)
        for problem in problems:
            yield PROBLEM, _bytes(problem)
        yield END, b""


def _end_after(seconds: float) -> None:
    """Be ended by the system once so much time of a processor is used up; never with 0."""
    signal.setitimer(signal.ITIMER_PROF, seconds)


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


@lru_cache(maxsize=16)
def _compiled(schema: bytes) -> "CompiledSchema":
    from interlock_gateway.pipeline.schema import CompiledSchema  # noqa: PLC0415 - once the path is set

    return CompiledSchema(json.loads(schema))


def _received(connection: socket.socket, count: int) -> bytes | None:
    """So many bytes; `None` when the gateway is gone."""
    data = connection.recv(count, socket.MSG_WAITALL) if count else b""
    return data if len(data) == count else None


def serve(connection: socket.socket) -> None:
    """Answer until the gateway is gone."""
    while (head := _received(connection, REQUEST.size)) is not None:
        what, schema_length, raw_length = REQUEST.unpack(head)
        schema = _received(connection, schema_length)
        raw = _received(connection, raw_length)
        if schema is None or raw is None:
            return
        for kind, said in answers(what, schema, raw):
            connection.sendall(ANSWER.pack(kind, len(said)) + said)


def main() -> None:
    """Run as a script."""
    descriptor, *directories = sys.argv[1:]
    sys.path += directories
    # No core dump: it would hold what agents sent.
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    # What is read has no cycles, and there is much of it.
    gc.disable()
    with socket.socket(fileno=int(descriptor)) as connection:
        serve(connection)


if __name__ == "__main__":
    main()
