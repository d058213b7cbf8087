"""The two drivers of flows: they carry steps out, and decide nothing."""

import asyncio
import time
from collections.abc import AsyncIterator, Iterator
from typing import Any, TypeVar

import grpc
import grpc.aio

from interlock._connection import AsyncChannel, Connection, SyncChannel
from interlock._flow import Answer, Ask, Emit, End, Failure, Flow, Method, Open, Rest
from interlock._status import DETAILS_KEY
from interlock.tracing import current_trace

T = TypeVar("T")


class SyncDriver:
    """Carries flows out on the calling thread; any number of threads may share it."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._channel: SyncChannel | None = None
        self._calls: dict[str, Any] = {}

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
        if self._channel is None:
            self._channel = self._connection.open()
        return _begin(self._calls, self._channel, step, self._connection)

    def close(self) -> None:
        """Close the channel; the driver can be used again, and opens another."""
        if self._channel is not None:
            self._channel.close()
        self._channel = None
        self._calls.clear()


class _SyncCarrier:
    """Carries out the steps of one flow."""

    def __init__(self, driver: SyncDriver) -> None:
        self._driver = driver
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
            return Answer(self._driver.begin(step))
        except grpc.RpcError as error:
            return failure_of(error, self._begun)

    def _read(self) -> Answer | End | Failure:
        try:
            return Answer(next(self._stream))
        except StopIteration:
            return End()
        except grpc.RpcError as error:
            return failure_of(error, self._begun)

    def close(self) -> None:
        if self._stream is not None:
            self._stream.cancel()


class AsyncDriver:
    """Carries flows out on the running event loop; tasks of that loop may share it."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._channel: AsyncChannel | None = None
        self._calls: dict[str, Any] = {}

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
        """Begin a step's RPC."""
        if self._channel is None:
            self._channel = self._connection.open_async()
        return _begin(self._calls, self._channel, step, self._connection)

    async def close(self) -> None:
        """Close the channel; the driver can be used again, and opens another."""
        if self._channel is not None:
            await self._channel.close()
        self._channel = None
        self._calls.clear()


class _AsyncCarrier:
    """Carries out the steps of one flow."""

    def __init__(self, driver: AsyncDriver) -> None:
        self._driver = driver
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
            return Answer(await self._driver.begin(step))
        except grpc.RpcError as error:
            return failure_of(error, self._begun)

    async def _read(self) -> Answer | End | Failure:
        try:
            message = await self._stream.read()
        except grpc.RpcError as error:
            return failure_of(error, self._begun)
        return End() if message is grpc.aio.EOF else Answer(message)

    def close(self) -> None:
        if self._stream is not None:
            self._stream.cancel()


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
