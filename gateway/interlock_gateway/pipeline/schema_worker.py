"""What a process does that compiles schemas and checks inputs against them, and nothing else (REL-7; decision 0131).

`aside_worker` has how it is asked: with what to do, and an input which the gateway has read before. When something
takes longer than it may, or more memory, the system ends the process in the midst of it.
"""

import json
import signal
import struct
from collections.abc import Iterator

from interlock_gateway.pipeline.schema import InvalidSchemaError, compiled_schema

REQUEST = struct.Struct("<cII")
COMPILE, CHECK = b"c", b"v"
FITS, UNFIT, PROBLEM, END, WRONG = b"f", b"u", b"p", b"e", b"w"
COMPILE_S = 2.0
CHECK_S = 0.5
"""How much of a processor's time compiling takes, and checking; explaining what is wrong has as much again."""
MEMORY_BYTES = 1024 * 1024 * 1024


def answers(what: bytes, schema: bytes, raw: bytes) -> Iterator[tuple[bytes, bytes]]:
    """The answers to one request: `WRONG` with the reason, or `FITS`; or `UNFIT`, each `PROBLEM`, and `END`."""
    try:
        _end_after(COMPILE_S)
        compiled = compiled_schema(schema)
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
