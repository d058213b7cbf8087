"""Schemas that may take long are compiled and asked in a process that can be ended (PIPE-4, REL-7; decision 0131)."""

import asyncio
import contextlib
import weakref
from collections.abc import AsyncIterator

from interlock_gateway.core.decision import DecisionError, GatewayErrorCode
from interlock_gateway.pipeline import schema_worker as said
from interlock_gateway.pipeline.aside_process import AsideProcess
from interlock_gateway.pipeline.aside_worker import PIECE
from interlock_gateway.pipeline.schema import InvalidSchemaError

ANSWER_S = 5.0
"""How long one waits, with the wait for one's turn. The process gives up long before, unless it gets no processor."""
SPARE_S = 10.0
"""How long the process is kept when nothing is asked."""
UNSAID = "input: it does not fit the tool's schema; where, takes too long to find out"
_TOO_LONG = "this input takes too long to check against the tool's schema, so nothing is run"


class SchemasAside:
    """Asks one thing after another. Who asks in somebody's name waits for that name's turn: others come in between."""

    def __init__(self, spare_s: float = SPARE_S) -> None:
        self._process: _Process | None = None
        self._turn = asyncio.Lock()
        self._turns: weakref.WeakValueDictionary[str, asyncio.Lock] = weakref.WeakValueDictionary()
        self._spare_s = spare_s
        self._sparing: asyncio.TimerHandle | None = None

    @property
    def process_ids(self) -> tuple[int, ...]:
        """The process, while there is one."""
        return (self._process.process_id,) if self._process is not None else ()

    async def check_schema(self, schema: bytes, name: str) -> None:
        """Compile a schema. Raises `InvalidSchemaError`, also when that takes too much."""
        try:
            async with asyncio.timeout(ANSWER_S), self._asking(name) as process:
                await process.send(said.COMPILE, schema, b"")
                kind, words = await process.answer()
        except (OSError, TimeoutError):
            raise InvalidSchemaError("it takes too long, or too much memory, to compile") from None
        if kind == said.WRONG:
            raise InvalidSchemaError(words)

    async def problems(self, schema: bytes, raw: bytes, name: str) -> tuple[str, ...]:
        """Up to five failing paths, as `CompiledSchema.problems`; of what is unfit and cannot be explained, that.

        Raises `DecisionError` (`input_unchecked`) when it cannot be told in time whether the input is valid.
        """
        found: list[str] = []
        kind = b""
        try:
            async with asyncio.timeout(ANSWER_S), self._asking(name) as process:
                await process.send(said.CHECK, schema, raw)
                kind, _ = await process.answer()
                following = kind
                while following in (said.UNFIT, said.PROBLEM):
                    following, words = await process.answer()
                    found.append(words)
        except (OSError, TimeoutError):
            found = [UNSAID, ""]
        if kind == said.FITS:
            return ()
        if kind != said.UNFIT:
            raise DecisionError(GatewayErrorCode.INPUT_UNCHECKED, _TOO_LONG)
        return tuple(found[:-1])

    def close(self) -> None:
        """End the process."""
        if self._sparing is not None:
            self._sparing.cancel()
        process, self._process = self._process, None
        if process is not None:
            process.end()

    @contextlib.asynccontextmanager
    async def _asking(self, name: str) -> "AsyncIterator[_Process]":
        own = self._turns.setdefault(name, asyncio.Lock())
        async with own, self._turn:
            if self._sparing is not None:
                self._sparing.cancel()
            if self._process is None:
                self._process = await asyncio.to_thread(_Process)
            try:
                yield self._process
            except BaseException:
                # What it has still to say would be taken for the answer to the next.
                await self._end_aside()
                raise
            self._sparing = asyncio.get_running_loop().call_later(self._spare_s, self._end_spare)

    def _end_spare(self) -> None:
        self._ending = asyncio.ensure_future(self._end_aside())

    async def _end_aside(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            await asyncio.shield(asyncio.to_thread(process.end))


class _Process:
    """One process. It ends with `end`, or with this object."""

    def __init__(self) -> None:
        """Start it. Raises `OSError` when the system has no room for a process."""
        self._process = AsideProcess(said, memory_bytes=said.MEMORY_BYTES, environment={})
        self.process_id, self.end = self._process.process_id, self._process.end
        self._connection = self._process.connection
        self._connection.settimeout(0)

    async def send(self, what: bytes, schema: bytes, raw: bytes) -> None:
        """Ask something. Raises `OSError` when it has ended."""
        loop = asyncio.get_running_loop()
        await loop.sock_sendall(self._connection, said.REQUEST.pack(what, len(schema), len(raw)) + schema)
        await loop.sock_sendall(self._connection, raw)

    async def answer(self) -> tuple[bytes, str]:
        """Its next answer. Raises `OSError` when it has ended."""
        kind, length = PIECE.unpack(await self._received(PIECE.size))
        return kind, (await self._received(length)).decode("utf-8", "surrogatepass")

    async def _received(self, count: int) -> bytes:
        loop = asyncio.get_running_loop()
        received = bytearray()
        while len(received) < count:
            some = await loop.sock_recv(self._connection, count - len(received))
            if not some:
                raise ConnectionError("the process has ended")
            received += some
        return bytes(received)
