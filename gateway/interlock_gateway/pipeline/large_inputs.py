"""Large inputs are read, and hashed, beside the event loop: other calls do not wait for them (REL-7; decision 0121).

A process reads them. A thread waits for it, and puts together what it says: it shares the interpreter with the loop,
and gives it back only when it is asked to, between two steps of Python, so each single step is short. It is asked
after a millisecond or less while there is such work, and not after five, as usual: the loop asks once for each thing
that it does.
"""

import asyncio
import hashlib
import logging
import sys
from collections import OrderedDict, deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from typing import NamedTuple

from interlock_gateway.core.digest import INPUT_FIRST
from interlock_gateway.core.document import Document, InvalidDocumentError
from interlock_gateway.pipeline.allocator import give_back, keep_freed
from interlock_gateway.pipeline.canonical import canonical_pieces
from interlock_gateway.pipeline.read_input import read_input
from interlock_gateway.pipeline.reading_process import ReadingProcess, StarvedError

LARGE_BYTES = 64 * 1024
"""What is no larger is read where it is: handing it over takes as long."""
SWITCH_S = 0.0005
SPARE_S = 10.0
"""How long the process is kept when there is nothing to read."""
_log = logging.getLogger(__name__)


def nothing() -> None:
    """There is nothing to be done meanwhile."""


class LargeInput(NamedTuple):
    """What is to be read, within its limits, and the schema that it is to be checked against, as JSON.

    `meanwhile` is something else to be done on the same thread, once or twice.
    """

    raw: bytes
    max_bytes: int
    max_depth: int
    schema: bytes = b""
    meanwhile: Callable[[], object] = nothing


class LargeInputs:
    """Reads inputs, one after another; principals take turns, as one may send a hundred."""

    def __init__(self, spare_s: float = SPARE_S) -> None:
        self._thread: ThreadPoolExecutor | None = None
        self._process: ReadingProcess | None = None
        self._turns = _Turns()
        self._under_way = 0
        self._usual_s = sys.getswitchinterval()
        self._spare_s = spare_s
        self._sparing: asyncio.TimerHandle | None = None

    @property
    def process_ids(self) -> tuple[int, ...]:
        """The process that reads, while there is one."""
        return (self._process.process_id,) if self._process is not None else ()

    async def read(self, wanted: LargeInput, principal_id: str) -> Document:
        """As `read_input`, with what is needed of its digest, and mostly with what its tool's schema says."""
        await self._turns.take(principal_id)
        try:
            return await self._read(partial(self._read_beside, wanted))
        finally:
            self._turns.pass_on()

    async def _read(self, work: Callable[[], Document]) -> Document:
        if self._thread is None:
            self._thread = ThreadPoolExecutor(1, thread_name_prefix="inputs")
            keep_freed()
        if self._sparing is not None:
            self._sparing.cancel()
        if not self._under_way:
            sys.setswitchinterval(SWITCH_S)
        self._under_way += 1
        loop = asyncio.get_running_loop()
        try:
            return await loop.run_in_executor(self._thread, work)
        finally:
            self._under_way -= 1
            if not self._under_way:
                sys.setswitchinterval(self._usual_s)
                if self._thread is not None:
                    self._sparing = loop.call_later(self._spare_s, self._thread.submit, self._end_process)

    def close(self) -> None:
        """End the process. Blocks until what is being read is done."""
        if self._sparing is not None:
            self._sparing.cancel()
        if self._thread is not None:
            self._thread.submit(self._end_process)
            self._thread.shutdown()
            self._thread = None

    def _read_beside(self, wanted: LargeInput) -> Document:
        try:
            return self._read_in_process(wanted)
        except InvalidDocumentError:
            raise
        except OSError as error:
            _log.warning("a large input is read by the gateway itself", extra={"problem": str(error)})
            self._end_process()
            wanted.meanwhile()
            return _read(wanted.raw, wanted.max_bytes, wanted.max_depth)
        except BaseException:
            # What it has still to say would be taken for the answer to the next.
            self._end_process()
            raise

    def _read_in_process(self, wanted: LargeInput) -> Document:
        """Read it behind all others; who gets no turn there gives its place to one that goes on, behind some."""
        if self._process is None:
            self._process = ReadingProcess(gives_way=True)
        try:
            return self._process.read(wanted.raw, wanted.max_depth, wanted.schema, wanted.meanwhile)
        except StarvedError:
            self._end_process()
            self._process = ReadingProcess(gives_way=False)
            return self._process.read(wanted.raw, wanted.max_depth, wanted.schema, wanted.meanwhile)

    def _end_process(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.end()
            give_back()


class _Turns:
    """Lets one in at a time, and the next one of another principal before the same one's next."""

    def __init__(self) -> None:
        self._taken = False
        self._waiting: OrderedDict[str, deque[asyncio.Future[None]]] = OrderedDict()

    async def take(self, principal_id: str) -> None:
        """Wait for a turn. Whoever is cancelled meanwhile has none."""
        if not self._taken:
            self._taken = True
            return
        place = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(principal_id, deque()).append(place)
        try:
            await place
        except asyncio.CancelledError:
            if not place.cancelled():
                self.pass_on()
            raise

    def pass_on(self) -> None:
        """The turn is over: it is the next one's."""
        while self._waiting:
            principal_id, places = next(iter(self._waiting.items()))
            place = places.popleft()
            if places:
                self._waiting.move_to_end(principal_id)
            else:
                del self._waiting[principal_id]
            if not place.done():
                place.set_result(None)
                return
        self._taken = False


def _read(raw: bytes, max_bytes: int, max_depth: int) -> Document:
    document = read_input(raw, max_bytes=max_bytes, max_depth=max_depth)
    hashed = hashlib.sha256(INPUT_FIRST)
    for piece in canonical_pieces(document.value, exact_integers_only=document.exact_integers_only):
        hashed.update(piece)
    return replace(document, hashed=hashed)
