"""A host, as long as the toolbox lives: one connection at a time, made anew when it was lost and somebody calls.

The connection has an event loop and a thread of its own, so that blocking calls can be made from any other.
"""

import asyncio
import concurrent.futures
import contextlib
import secrets
import threading
import time
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from interlock.toolbox.errors import OperationError, UnreachableError
from interlock.toolbox.remote import answers
from interlock.toolbox.remote.frames import BadFrameError
from interlock.toolbox.remote.link import Call, Link, Peer, fits

CALL_S = 900.0
"""How long a blocking call may take before its connection is let go of; searches and commands have their own limits."""
FIRST_WAIT_S = 1.0
LONGEST_WAIT_S = 30.0
BEGIN_S = 60.0


@dataclass(frozen=True, slots=True)
class Wanted:
    """What the far end is to serve: directories of that host.

    `state_dir` is where undo keeps what it needs, that host's own default when empty; `keep_environment` names the
    variables that commands get beside the allowed ones.
    """

    roots: Sequence[str]
    state_dir: str = ""
    keep_environment: Sequence[str] = ()


class Begun:
    """A call under way, seen from outside of the connection's loop."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._work: Coroutine[Any, Any, tuple[Any, bytes]] | None = None
        self._task: asyncio.Task[tuple[Any, bytes]] | None = None
        self._called_off = False
        self.link: Link | None = None
        self.answer = concurrent.futures.Future[tuple[Any, bytes]]()

    def soon(self, work: Coroutine[Any, Any, tuple[Any, bytes]]) -> None:
        """Begin as soon as the loop comes to it."""
        self._work = work
        self._loop.call_soon_threadsafe(self._begin)

    def _begin(self) -> None:
        assert self._work is not None
        self._task = self._loop.create_task(self._work)
        self._task.add_done_callback(self._done)
        if self._called_off:
            self._task.cancel()

    def call_off(self) -> None:
        """Nobody waits any more. The answer comes all the same, when what was begun has ended."""
        with contextlib.suppress(RuntimeError):  # it has ended, and so has this
            self._loop.call_soon_threadsafe(self._cancel)

    def never_begun(self) -> None:
        """The loop has stopped and did not come to it."""
        if self._task is None and self._work is not None:
            self._work.close()
        if not self.answer.done():
            self.answer.set_exception(_ends())

    def _cancel(self) -> None:
        self._called_off = True
        if self._task is not None:
            self._task.cancel()

    def _done(self, task: asyncio.Task[tuple[Any, bytes]]) -> None:
        if task.cancelled():
            self.answer.set_exception(UnreachableError("it was called off before it began; nothing was changed"))
        elif (error := task.exception()) is not None:
            self.answer.set_exception(error)
        else:
            self.answer.set_result(task.result())


class Reaching:
    """Calls to one host. `dial` connects and starts a far end there; it raises UnreachableError with a sentence."""

    def __init__(self, host: str, dial: Callable[[], Awaitable[Peer]], wanted: Wanted) -> None:
        self.host = host
        self._dial, self._wanted = dial, wanted
        self._toolbox = secrets.token_hex(16)
        self._loop = asyncio.new_event_loop()
        self._turn = asyncio.Lock()
        self._link: Link | None = None
        self._not_before, self._wait_s, self._why = 0.0, FIRST_WAIT_S, ""
        self._begun_calls = set[Begun]()
        self._ending = False
        self._gate = threading.Lock()
        self._thread = threading.Thread(target=self._loop.run_forever, name="interlock-ssh", daemon=True)
        self.roots: tuple[str, ...] = ()
        self.state_dir = ""

    @contextlib.contextmanager
    def running(self) -> Iterator[None]:
        """Connected for the first time, and until the end of the block. Raises UnreachableError, ValueError."""
        self._thread.start()
        try:
            asyncio.run_coroutine_threadsafe(self._linked(), self._loop).result()
            yield
        finally:
            asyncio.run_coroutine_threadsafe(self._close(), self._loop).result()
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()
            for begun in tuple(self._begun_calls):
                begun.never_begun()
            self._loop.close()

    def begin(self, call: Call, on: Link | None = None) -> Begun:
        """Begin a call, connecting first where that is needed; `on` this connection or none. From any thread."""
        fits(call)
        begun = Begun(self._loop)
        begun.answer.add_done_callback(lambda _: self._begun_calls.discard(begun))
        with self._gate:
            if self._ending:
                raise _ends()
            self._begun_calls.add(begun)
            begun.soon(self._made(call, begun, on))
        return begun

    def made(self, call: Call, on: Link | None = None) -> tuple[Any, bytes]:
        """The answer to a call, waited for. From any thread but the connection's."""
        return self.ended(self.begin(call, on))

    def ended(self, begun: Begun) -> tuple[Any, bytes]:
        """The answer to what was begun, waited for. From any thread but the connection's."""
        try:
            return begun.answer.result(CALL_S)
        except TimeoutError:
            begun.call_off()
            return begun.answer.result()

    def soon(self, what: Callable[[], None]) -> None:
        """Call something in the connection's loop, if there still is one."""
        with contextlib.suppress(RuntimeError):
            self._loop.call_soon_threadsafe(what)

    def broken(self, why: str) -> None:
        """The far end answered what makes no sense: go on with a new one."""
        self.soon(lambda: self._drop(why))

    def _drop(self, why: str) -> None:
        if self._link is not None:
            self._link.end(why)

    async def _made(self, call: Call, begun: Begun, on: Link | None) -> tuple[Any, bytes]:
        begun.link = on or await self._linked()
        return await begun.link.made(call)

    async def _linked(self) -> Link:
        """The connection; made anew when there is none. After a failure, nobody tries again for a while."""
        async with self._turn:
            if self._ending:
                raise _ends()
            if self._link is not None and not self._link.lost:
                return self._link
            left = self._not_before - time.monotonic()
            if left > 0:
                raise UnreachableError(f"{self._why}; it is not tried again for {left:.0f} seconds")
            try:
                self._link = await self._begun()
            except (OperationError, ValueError) as error:
                self._why = str(error)
                self._not_before = time.monotonic() + self._wait_s
                self._wait_s = min(LONGEST_WAIT_S, 2 * self._wait_s)
                raise
            self._wait_s = FIRST_WAIT_S
            return self._link

    async def _begun(self) -> Link:
        link = Link(await self._dial(), self.host)
        try:
            async with asyncio.timeout(BEGIN_S):
                await self._begin_on(link)
        except TimeoutError:
            link.end("it did not begin")
            raise UnreachableError(f"{self.host} did not begin within {BEGIN_S:.0f} seconds") from None
        except ValueError as error:
            link.end("it did not begin")
            if not self.roots:
                raise
            raise UnreachableError(f"{self.host} does not serve its roots any more: {error}") from error
        except BaseException:
            link.end("it did not begin")
            raise
        return link

    async def _begin_on(self, link: Link) -> None:
        wanted = self._wanted
        words = {
            "roots": list(wanted.roots),
            "state_dir": wanted.state_dir,
            "keep_environment": list(wanted.keep_environment),
            "toolbox": self._toolbox,
        }
        found, _ = await link.made(Call("begin", words))
        try:
            roots, state_dir = answers.pair(found)
            now = answers.roots(roots, len(wanted.roots)), answers.text(state_dir)
        except BadFrameError as error:
            raise UnreachableError(f"{self.host} answered {error}") from None
        if self.roots and self.roots != now[0]:
            raise UnreachableError(f"the roots on {self.host} lead elsewhere than before: start the toolbox again")
        self.roots, self.state_dir = now

    async def _close(self) -> None:
        with self._gate:  # whatever begins from here on is refused
            self._ending = True
        while True:
            if self._link is not None:
                self._link.end("the toolbox ends")
                await self._link.gone()
            rest = asyncio.all_tasks() - {asyncio.current_task()}
            if not rest:
                return
            for task in rest:
                task.cancel()
            await asyncio.gather(*rest, return_exceptions=True)


def _ends() -> UnreachableError:
    return UnreachableError("the toolbox ends; nothing was changed")
