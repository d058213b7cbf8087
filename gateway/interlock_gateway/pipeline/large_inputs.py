"""Large inputs are read, and hashed, beside the event loop: other calls do not wait for them (REL-7).

A thread shares the interpreter with the loop, and gives it back only when it is asked to, between two steps of Python:
what is a single step here is short. It is asked for it after a millisecond or less while there is such work, and not
after five, as usual: the loop asks for it once for each thing that it does.
"""

import asyncio
import hashlib
import sys
from collections import OrderedDict, deque
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

from interlock_gateway.core.digest import INPUT_FIRST
from interlock_gateway.core.document import Document
from interlock_gateway.pipeline.canonical import canonical_pieces
from interlock_gateway.pipeline.read_input import read_input

LARGE_BYTES = 64 * 1024
"""What is no larger is read where it is: handing it over takes as long."""
SWITCH_S = 0.0005


class LargeInputs:
    """Reads inputs on a thread of its own, one after another; principals take turns, as one may send a hundred."""

    def __init__(self) -> None:
        self._thread: ThreadPoolExecutor | None = None
        self._turns = _Turns()
        self._under_way = 0
        self._usual_s = sys.getswitchinterval()

    async def read(self, raw: bytes, *, principal_id: str, max_bytes: int, max_depth: int) -> Document:
        """As `read_input`, with what is needed of its digest."""
        await self._turns.take(principal_id)
        try:
            return await self._read(raw, max_bytes, max_depth)
        finally:
            self._turns.pass_on()

    async def _read(self, raw: bytes, max_bytes: int, max_depth: int) -> Document:
        if self._thread is None:
            self._thread = ThreadPoolExecutor(1, thread_name_prefix="inputs")
        if not self._under_way:
            sys.setswitchinterval(SWITCH_S)
        self._under_way += 1
        try:
            loop = asyncio.get_running_loop()
            return await loop.run_in_executor(self._thread, _read, raw, max_bytes, max_depth)
        finally:
            self._under_way -= 1
            if not self._under_way:
                sys.setswitchinterval(self._usual_s)


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
