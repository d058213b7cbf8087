"""One attachment to a gateway's `ProviderHubService`, from the description to the end of the stream."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from typing import Any

import grpc
import grpc.aio

from interlock.errors import RequestError
from interlock.provider._context import Event, discard
from interlock.provider._provider import Caller, RequestFailed, ToolProvider
from interlock.tracing import read_metadata
from interlock.v1 import provider_hub_service_pb2 as hub

MAX_WAITING_EVENTS = 256
FIRST_WORDS_S = 1.0
LAST_WORDS_S = 0.01
"""How long a gateway may take to say that we are in, and to say all of it when we are not."""

_NUMBERS: Mapping[grpc.StatusCode, int] = {code: code.value[0] for code in grpc.StatusCode}


class AttachedStream:
    """Answers the gateway's requests on one stream."""

    def __init__(self, provider: ToolProvider, call: Any, window: int) -> None:
        self._provider = provider
        self._call = call
        self._window = window
        self._out: asyncio.Queue[hub.AttachRequest | None] = asyncio.Queue()
        self._loop = asyncio.get_running_loop()
        self._running: dict[int, asyncio.Task[None]] = {}
        self._methods: Mapping[str, Callable[[Any, Caller], Awaitable[Any]]] = {
            "dry_run": provider.dry_run,
            "generate_undo": provider.generate_undo,
            "apply_pending": provider.apply_pending,
            "reject_pending": provider.reject_pending,
            "render_call": provider.render_call,
            "render_result": provider.render_result,
        }

    async def attach(self) -> hub.AttachWelcome:
        """Describe the tools, and read the welcome."""
        await self._let_in()
        await self._call.write(hub.AttachRequest(description=self._provider.describe(), window=self._window))
        frame = await self._call.read()
        if frame is grpc.aio.EOF or frame.WhichOneof("frame") != "welcome":
            raise RequestError("the gateway did not welcome the provider", code=grpc.StatusCode.INTERNAL)
        welcome: hub.AttachWelcome = frame.welcome
        return welcome

    async def _let_in(self) -> None:
        """Return when the gateway has let us in, or says nothing yet; raises what it refuses us with.

        grpcio loses that when it is written to a stream that was refused.
        """
        head = asyncio.ensure_future(self._call.initial_metadata())
        try:
            if not (await asyncio.wait((head,), timeout=FIRST_WORDS_S))[0]:
                return
        finally:
            head.cancel()
        ended = asyncio.ensure_future(self._call.code())
        try:
            await asyncio.wait((ended,), timeout=LAST_WORDS_S)
        finally:
            ended.cancel()
        if self._call.done():
            await self._call.read()  # raises what it ended with

    async def serve(self) -> None:
        """Answer requests until the gateway drains or the stream ends; the requests under way then still finish."""
        writer = asyncio.create_task(self._write())
        try:
            while True:
                frame = await self._call.read()
                if frame is grpc.aio.EOF or frame.WhichOneof("frame") == "drain":
                    break
                self._take(frame)
            await asyncio.gather(*self._running.values(), return_exceptions=True)
            self._out.put_nowait(None)
            await writer
        finally:
            left = (writer, *self._running.values())
            for task in left:
                task.cancel()
            self._call.cancel()
            await asyncio.gather(*left, return_exceptions=True)

    def _take(self, frame: hub.AttachResponse) -> None:
        kind = frame.WhichOneof("frame")
        if kind == "cancel":
            running = self._running.get(frame.request_id)
            if running is not None:
                running.cancel()
        elif kind == "describe":
            self._send(hub.AttachRequest(request_id=frame.request_id, description=self._provider.describe()))
        elif kind is not None and frame.request_id:
            task = self._loop.create_task(self._answer(frame, kind))
            self._running[frame.request_id] = task
            task.add_done_callback(lambda _: self._running.pop(frame.request_id, None))

    async def _answer(self, frame: hub.AttachResponse, kind: str) -> None:
        timeout = frame.timeout.ToNanoseconds() / 1e9 if frame.HasField("timeout") else None
        trace = read_metadata(frame.metadata.items())
        answer = hub.AttachRequest(request_id=frame.request_id)
        try:
            async with asyncio.timeout(timeout):
                until = None if timeout is None else time.monotonic() + timeout
                await self._fill(answer, frame, kind, Caller(self._sender(frame.request_id), until, trace))
        except RequestFailed as error:
            answer.error.code, answer.error.message = _NUMBERS[error.code], error.message
            answer.error.reason = error.reason
        except TimeoutError:
            answer.error.code = _NUMBERS[grpc.StatusCode.DEADLINE_EXCEEDED]
            answer.error.message = "the tool did not answer in time"
        self._send(answer)

    async def _fill(self, answer: hub.AttachRequest, frame: hub.AttachResponse, kind: str, caller: Caller) -> None:
        if kind == "execute":
            answer.execute.CopyFrom(await self._provider.execute(frame.execute, caller))
            return
        method = self._methods.get(kind)
        if method is None:
            raise RequestFailed(grpc.StatusCode.UNIMPLEMENTED, f"{kind} is not offered")
        getattr(answer, kind).CopyFrom(await method(getattr(frame, kind), replace(caller, send=discard)))

    def _sender(self, request_id: int) -> Callable[[Event], None]:
        def send(event: Event) -> None:
            if self._out.qsize() < MAX_WAITING_EVENTS:  # progress may be dropped, answers never
                frame = hub.AttachRequest(request_id=request_id, execute=event)
                self._loop.call_soon_threadsafe(self._out.put_nowait, frame)

        return send

    def _send(self, frame: hub.AttachRequest) -> None:
        self._loop.call_soon_threadsafe(self._out.put_nowait, frame)

    async def _write(self) -> None:
        while (frame := await self._out.get()) is not None:
            await self._call.write(frame)
