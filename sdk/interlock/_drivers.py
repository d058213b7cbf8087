"""The two drivers of flows: they carry steps out, and decide nothing."""

import asyncio
import contextlib
import time
from collections import deque
from collections.abc import AsyncIterator, Iterator
from typing import Any, Generic, TypeVar

import grpc
import grpc.aio

from interlock._connection import AsyncChannel, Connection, Files, SyncChannel
from interlock._connection_trouble import explained
from interlock._contact import Contact
from interlock._flow import Answer, Ask, Emit, End, Failure, Flow, Method, Open, Rest
from interlock._status import DETAILS_KEY
from interlock.tracing import current_trace

T = TypeVar("T")

FORMER = 4
"""Channels that are kept when others are in their place: calls may be under way on them. Without any they go idle."""


class _Opened(Generic[T]):
    """A channel, its methods as they were asked for, and the state of the files that it was opened with."""

    def __init__(self, files: Files, channel: T) -> None:
        self.files = files
        self.channel = channel
        self.calls: dict[str, Any] = {}


class SyncDriver:
    """Carries flows out on the calling thread; any number of threads may share it."""

    def __init__(self, connection: Connection, patience: float | None = None) -> None:
        self.contact = Contact(patience)
        self._connection = connection
        self._opened: _Opened[SyncChannel] | None = None
        self._former: deque[SyncChannel] = deque()

    def run(self, flow: Flow[T]) -> T:
        """The outcome of a flow that emits nothing."""
        carrier = _SyncCarrier(self)
        try:
            reply: Any = None
            while True:
                try:
                    step = flow.send(reply)
                except StopIteration as stop:
                    outcome: T = stop.value
                    return outcome
                reply = carrier.carry(step)
        finally:
            flow.close()
            carrier.close()

    def items(self, flow: Flow[Any]) -> Iterator[Any]:
        """The items that a flow emits."""
        carrier = _SyncCarrier(self)
        try:
            reply: Any = None
            while True:
                try:
                    step = flow.send(reply)
                except StopIteration:
                    return
                if isinstance(step, Emit):
                    reply = None
                    yield step.item
                else:
                    reply = carrier.carry(step)
        finally:
            flow.close()
            carrier.close()

    def begin(self, step: Ask | Open) -> Any:
        """Begin a step's RPC."""
        opened = self._opened
        if opened is None:
            self._opened = opened = _Opened(self._connection.files(), self._connection.open())
        return _begin(opened.calls, opened.channel, step, self._connection)

    def failed(self, failure: Failure) -> Failure:
        """Take note of a failure, and say why there was no connection if there was none.

        The next step goes through another channel if the certificates are others by now.
        """
        opened = self._opened
        if opened is not None and _is_outdated(opened.files, failure, self._connection):
            # Of a pair that is half replaced nothing is taken; the next failure looks again.
            with contextlib.suppress(OSError, ValueError):
                self._opened = _Opened(self._connection.files(), self._connection.open())
                self._former.append(opened.channel)
        while len(self._former) > FORMER:
            self._former.popleft().close()
        return explained(failure, self._connection)

    def close(self) -> None:
        """Close the channel; the driver can be used again, and opens another."""
        opened, self._opened = self._opened, None
        if opened is not None:
            self._former.append(opened.channel)
        while self._former:
            self._former.popleft().close()


class _SyncCarrier:
    """Carries out the steps of one flow."""

    def __init__(self, driver: SyncDriver) -> None:
        self._driver = driver
        self._contact = driver.contact.flow()
        self._stream: Any = None
        self._begun = 0.0

    def carry(self, step: Any) -> Any:
        match step:
            case Rest(seconds):
                time.sleep(seconds)
                return None
            case Open():
                self.close()
                self._begun = time.monotonic()
                self._stream = self._driver.begin(step)
                return None
            case Ask():
                self._begun = time.monotonic()
                return self._answer(step)
        return self._read()

    def _answer(self, step: Ask) -> Answer | Failure:
        try:
            return self._contact.answered(self._driver.begin(step))
        except grpc.RpcError as error:
            return self._contact.failed(self._driver.failed(failure_of(error, self._begun)))

    def _read(self) -> Answer | End | Failure:
        try:
            return self._contact.answered(next(self._stream))
        except StopIteration:
            return End()
        except grpc.RpcError as error:
            return self._contact.failed(self._driver.failed(failure_of(error, self._begun)))

    def close(self) -> None:
        if self._stream is not None:
            self._stream.cancel()


class AsyncDriver:
    """Carries flows out on the running event loop; tasks of that loop may share it.

    When that loop has ended, another may follow it, with connections of its own.
    """

    def __init__(self, connection: Connection, patience: float | None = None) -> None:
        self.contact = Contact(patience)
        self._connection = connection
        self._opened: _Opened[AsyncChannel] | None = None
        self._former: deque[AsyncChannel] = deque()
        self._closing: set[asyncio.Task[None]] = set()
        self._loop: asyncio.AbstractEventLoop | None = None

    async def run(self, flow: Flow[T]) -> T:
        """The outcome of a flow that emits nothing."""
        carrier = _AsyncCarrier(self)
        try:
            reply: Any = None
            while True:
                try:
                    step = flow.send(reply)
                except StopIteration as stop:
                    outcome: T = stop.value
                    return outcome
                reply = await carrier.carry(step)
        finally:
            flow.close()
            carrier.close()

    async def items(self, flow: Flow[Any]) -> AsyncIterator[Any]:
        """The items that a flow emits."""
        carrier = _AsyncCarrier(self)
        try:
            reply: Any = None
            while True:
                try:
                    step = flow.send(reply)
                except StopIteration:
                    return
                if isinstance(step, Emit):
                    reply = None
                    yield step.item
                else:
                    reply = await carrier.carry(step)
        finally:
            flow.close()
            carrier.close()

    def begin(self, step: Ask | Open) -> Any:
        """Begin a step's RPC. Raises RuntimeError on another loop than that of earlier ones, unless that has ended."""
        self._settle_down()
        opened = self._opened
        if opened is None:
            self._opened = opened = _Opened(self._connection.files(), self._connection.open_async())
        return _begin(opened.calls, opened.channel, step, self._connection)

    def failed(self, failure: Failure) -> Failure:
        """Take note of a failure, and say why there was no connection if there was none.

        The next step goes through another channel if the certificates are others by now.
        """
        opened = self._opened
        if opened is not None and _is_outdated(opened.files, failure, self._connection):
            # As above.
            with contextlib.suppress(OSError, ValueError):
                self._opened = _Opened(self._connection.files(), self._connection.open_async())
                self._former.append(opened.channel)
        while len(self._former) > FORMER:
            self._let_go(self._former.popleft())
        return explained(failure, self._connection)

    def _settle_down(self) -> None:
        loop = asyncio.get_running_loop()
        if self._loop is loop:
            return
        if self._loop is not None and not self._loop.is_closed():
            raise RuntimeError("a Gateway belongs to the event loop that first used it: open another one for this loop")
        # What was opened went with its loop.
        self._loop, self._opened = loop, None
        self._former.clear()
        self._closing.clear()

    def _let_go(self, channel: AsyncChannel) -> None:
        closing = asyncio.get_running_loop().create_task(channel.close(None))
        self._closing.add(closing)
        closing.add_done_callback(self._closing.discard)

    async def close(self) -> None:
        """Close the channel; the driver can be used again, and opens another."""
        self._settle_down()
        self._loop = None
        opened, self._opened = self._opened, None
        if opened is not None:
            self._former.append(opened.channel)
        while self._former:
            await self._former.popleft().close()
        if self._closing:
            await asyncio.wait(self._closing)


class _AsyncCarrier:
    """Carries out the steps of one flow."""

    def __init__(self, driver: AsyncDriver) -> None:
        self._driver = driver
        self._contact = driver.contact.flow()
        self._stream: Any = None
        self._begun = 0.0

    async def carry(self, step: Any) -> Any:
        match step:
            case Rest(seconds):
                await asyncio.sleep(seconds)
                return None
            case Open():
                self.close()
                self._begun = time.monotonic()
                self._stream = self._driver.begin(step)
                return None
            case Ask():
                self._begun = time.monotonic()
                return await self._answer(step)
        return await self._read()

    async def _answer(self, step: Ask) -> Answer | Failure:
        try:
            return self._contact.answered(await self._driver.begin(step))
        except grpc.RpcError as error:
            return self._contact.failed(self._driver.failed(failure_of(error, self._begun)))

    async def _read(self) -> Answer | End | Failure:
        try:
            message = await self._stream.read()
        except grpc.RpcError as error:
            return self._contact.failed(self._driver.failed(failure_of(error, self._begun)))
        return End() if message is grpc.aio.EOF else self._contact.answered(message)

    def close(self) -> None:
        if self._stream is not None:
            self._stream.cancel()


def _is_outdated(files: Files, failure: Failure, connection: Connection) -> bool:
    """Whether a connection failed, and not the gateway, and what it was to be proved with has changed since."""
    lost = failure.code is grpc.StatusCode.UNAVAILABLE and not failure.details
    return lost and connection.files() != files


def _begin(calls: dict[str, Any], channel: SyncChannel | AsyncChannel, step: Ask | Open, connection: Connection) -> Any:
    found = calls.get(step.method.path)
    if found is None:
        found = calls[step.method.path] = _callable(channel, step.method, streaming=isinstance(step, Open))
    trace = current_trace()
    metadata = connection.metadata if trace is None else (*connection.metadata, *trace.metadata)
    return found(step.request, timeout=step.timeout, metadata=metadata)


def _callable(channel: SyncChannel | AsyncChannel, method: Method[Any], *, streaming: bool) -> Any:
    make = channel.unary_stream if streaming else channel.unary_unary
    return make(method.path, request_serializer=_serialize, response_deserializer=method.response.FromString)


def _serialize(message: Any) -> bytes:
    return bytes(message.SerializeToString())


def failure_of(error: Any, begun: float) -> Failure:
    """What a `grpc.RpcError` tells, from either kind of channel."""
    details = b""
    for key, value in error.trailing_metadata() or ():
        if key == DETAILS_KEY and isinstance(value, bytes):
            details = value
    return Failure(error.code(), error.details() or "", details, time.monotonic() - begun)
