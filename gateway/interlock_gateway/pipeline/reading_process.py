"""The process that reads large inputs, seen from the gateway: what it answers is put together in small steps."""

import hashlib
import marshal
import time
from collections.abc import Callable, Iterator
from typing import Any

from interlock_gateway.core.digest import INPUT_FIRST
from interlock_gateway.core.document import Document, InvalidDocumentError
from interlock_gateway.core.jsonvalue import JsonObject
from interlock_gateway.isolation.priority import give_way, let_others_go, used_s
from interlock_gateway.pipeline import reading_worker as said
from interlock_gateway.pipeline.aside_process import AsideProcess
from interlock_gateway.pipeline.aside_worker import PIECE

ANSWER_S = 20.0
"""How long the process may say nothing. Then it is ended: it hangs, or gets no turn of the processor."""
LOOK_S = 0.1
"""How often one that gives way to all others is looked after."""
STARVED = 0.1
"""Who has had less than this part of the time that has passed does not get its turn of the processor."""
BUFFER_BYTES = said.CANONICAL_BYTES
ALLOCATOR = {"MALLOC_MMAP_THRESHOLD_": str(32 << 20), "MALLOC_TRIM_THRESHOLD_": str(64 << 20)}
"""What the C library is told: to keep what it was given. To come by memory that is mapped anew for each input takes as
long as to copy the input six times."""
_ENDS = frozenset((said.EXACT, said.INEXACT, said.WRONG))


class StarvedError(TimeoutError):
    """The process gives way to all others, and these leave it next to nothing of the processor."""


class ReadingProcess:
    """One process. To be used by one thread at a time; it ends with `end`, or with this object."""

    def __init__(self, *, gives_way: bool) -> None:
        """Start it. Raises `OSError` when the system has no room for a process.

        One that gives way has what nobody else wants of the processor, and there is no way back.
        """
        self._process = AsideProcess(said, environment=ALLOCATOR)
        self.end = self._process.end
        self._connection = self._process.connection
        self._connection.settimeout(LOOK_S)
        self._buffer = bytearray(BUFFER_BYTES)
        self._gives_way = gives_way
        if gives_way:
            give_way(self.process_id)
        self._heard_at = self._looked_at = self._used_s = 0.0

    @property
    def process_id(self) -> int:
        """The process."""
        return self._process.process_id

    def read(self, raw: bytes, max_depth: int, schema: bytes, meanwhile: Callable[[], object]) -> Document:
        """As `core.document.parse`, with what is needed of its digest, and that it fits `schema`, if it does.

        `meanwhile` is called while the process works.

        Raises `InvalidDocumentError`, and `OSError` when the process has ended or says nothing: it is then to be ended.
        If it starves, that is `StarvedError`.
        """
        self._heard_at = self._looked_at = time.monotonic()
        self._used_s = used_s(self.process_id)
        self._send(said.REQUEST.pack(max_depth, len(schema), len(raw)) + schema)
        self._send(raw)
        meanwhile()
        hashed, building, fits = hashlib.sha256(INPUT_FIRST), Building(), bool(schema)
        for kind, piece in self._pieces():
            let_others_go()
            if kind == said.CANONICAL:
                hashed.update(piece)
            elif kind == said.WRONG:
                raise InvalidDocumentError(_text(piece))
            elif kind == said.UNFIT:
                fits = False
            elif kind in _ENDS:
                problems = () if fits else None
                return Document(raw, building.whole, kind == said.EXACT, hashed, problems, _text(piece))
            else:
                building.take(kind, piece)
        raise ConnectionError("the reading process has ended")

    def _pieces(self) -> Iterator[tuple[bytes, memoryview]]:
        kind = b""
        while kind not in _ENDS:
            kind, length = PIECE.unpack(self._received(PIECE.size))
            yield kind, self._received(length)

    def _send(self, data: bytes) -> None:
        left = memoryview(data)
        while left:
            left = left[self._patiently(self._connection.send, left) :]

    def _received(self, count: int) -> memoryview:
        """So many bytes, until the next are asked for."""
        if count > len(self._buffer):
            self._buffer = bytearray(count)
        view, at = memoryview(self._buffer)[:count], 0
        while at < count:
            got = self._patiently(self._connection.recv_into, view[at:])
            if not got:
                raise ConnectionError("the reading process has ended")
            at += got
        return view

    def _patiently(self, step: Callable[[memoryview], int], data: memoryview) -> int:
        """Send or receive some bytes."""
        while True:
            try:
                count = step(data)
            except TimeoutError:
                if time.monotonic() - self._heard_at >= ANSWER_S:
                    raise
                self._look(time.monotonic())
            else:
                self._heard_at = time.monotonic()
                self._look(self._heard_at)
                return count

    def _look(self, now: float) -> None:
        """See every now and then whether it gets its turn. One that waited for us all the time seems to starve, too."""
        if not self._gives_way or (passed_s := now - self._looked_at) < LOOK_S:
            return
        used = used_s(self.process_id)
        if used - self._used_s < STARVED * passed_s:
            raise StarvedError("the reading process gets no turn of the processor")
        self._looked_at, self._used_s = now, used


class Building:
    """A value as it is put together from its pieces."""

    def __init__(self) -> None:
        self.whole: JsonObject = {}
        self._open: list[tuple[bytes, Any, str]] = []
        self._key = ""

    def take(self, kind: bytes, piece: memoryview) -> None:
        """The next piece."""
        if kind == said.OBJECT:
            self._open.append((kind, {}, self._key))
        elif kind in (said.ARRAY, said.TEXT):
            self._open.append((kind, [], self._key))
        elif kind == said.CLOSE:
            closed, made, self._key = self._open.pop()
            self._put("".join(made) if closed == said.TEXT else made)
        elif kind == said.KEY:
            self._key = _loaded(piece)
        elif kind == said.MEMBERS:
            self._open[-1][1].update(_loaded(piece))
        elif kind == said.ITEMS:
            self._open[-1][1].extend(_loaded(piece))
        else:
            self._put(_loaded(piece))

    def _put(self, value: Any) -> None:
        if not self._open:
            self.whole = value
        elif self._open[-1][0] == said.OBJECT:
            self._open[-1][1][self._key] = value
        else:
            self._open[-1][1].append(value)


def _text(piece: memoryview) -> str:
    return bytes(piece).decode("utf-8", "surrogatepass")


def _loaded(piece: memoryview) -> Any:
    return marshal.loads(piece)  # noqa: S302 - from our own process, which says nothing but what it parsed
