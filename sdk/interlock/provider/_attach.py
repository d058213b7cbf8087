"""Offering tools from inside an agent's own process: the gateway calls them over a stream that the agent opened."""

import asyncio
import logging
import threading
import time
from collections.abc import Coroutine, Iterable, Mapping
from types import TracebackType
from typing import Any, Self, TypeVar

import grpc
import grpc.aio

from interlock._connection import DEFAULT_TIMEOUT, Connection
from interlock._drivers import failure_of
from interlock._flow import error_from
from interlock.errors import GatewayUnavailableError, RequestError
from interlock.provider._attached_stream import AttachedStream
from interlock.provider._provider import ToolProvider
from interlock.provider._tool import Tool
from interlock.tls import ClientTls
from interlock.v1 import provider_hub_service_pb2 as hub

T = TypeVar("T")

_LOGGER = logging.getLogger("interlock.provider")
_ATTACH = "/interlock.v1.ProviderHubService/Attach"
_FIRST_PAUSE = 0.2
_LONGEST_PAUSE = 10.0


class Attachment:
    """Tools offered from this process, while the context lasts; made by `attach_tools`.

    `provider` is the name the gateway gave, `tools` are the names that it took, `refused` says of the others why. When
    the connection breaks the tools are offered again, as soon as a gateway answers.
    """

    def __init__(self, provider: ToolProvider, connection: Connection, window: int) -> None:
        self.provider = ""
        self.tools: tuple[str, ...] = ()
        self.refused: Mapping[str, str] = {}
        self._provider = provider
        self._connection = connection
        self._window = window
        self._channel: grpc.aio.Channel | None = None
        self._keeper: asyncio.Task[None] | None = None
        self._thread: _LoopThread | None = None

    async def __aenter__(self) -> Self:
        try:
            stream = await self._attach()
        except BaseException:
            await self._close()
            raise
        self._keeper = asyncio.create_task(self._keep(stream))
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._keeper is not None:
            self._keeper.cancel()
            await asyncio.gather(self._keeper, return_exceptions=True)
        await self._close()

    def __enter__(self) -> Self:
        self._thread = _LoopThread()
        try:
            self._thread.run(self.__aenter__())
        except BaseException:
            self._thread.stop()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._thread is not None:
            self._thread.run(self.__aexit__(None, None, None))
            self._thread.stop()

    async def _attach(self) -> AttachedStream:
        if self._channel is None:
            self._channel = self._connection.open_async()
        call = self._channel.stream_stream(
            _ATTACH,
            request_serializer=hub.AttachRequest.SerializeToString,
            response_deserializer=hub.AttachResponse.FromString,
        )(metadata=self._connection.metadata)
        stream = AttachedStream(self._provider, call, self._window)
        begun = time.monotonic()
        try:
            async with asyncio.timeout(DEFAULT_TIMEOUT):
                welcome = await stream.attach()
        except grpc.RpcError as error:
            raise error_from(failure_of(error, begun)) from None
        except TimeoutError:
            raise GatewayUnavailableError(
                "the gateway did not answer", code=grpc.StatusCode.DEADLINE_EXCEEDED
            ) from None
        self.provider = welcome.provider
        self.tools = tuple(welcome.accepted_tools)
        self.refused = {one.name: one.message for one in welcome.refused_tools}
        return stream

    async def _keep(self, stream: AttachedStream | None) -> None:
        pause = _FIRST_PAUSE
        while True:
            try:
                if stream is None:
                    stream = await self._attach()
                pause = _FIRST_PAUSE
                await stream.serve()
                _LOGGER.info("the gateway ended the attachment; attaching again")
            except (grpc.RpcError, RequestError) as error:
                _LOGGER.warning("the attachment broke (%s); attaching again", type(error).__name__)
            stream = None
            await asyncio.sleep(pause)
            pause = min(_LONGEST_PAUSE, pause * 2)

    async def _close(self) -> None:
        if self._channel is not None:
            await self._channel.close()
            self._channel = None
        self._provider.close()


class _LoopThread:
    """An event loop in a thread of its own, for agents that have none."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="interlock-attach", daemon=True)
        self._thread.start()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Do async work in the thread, and wait for it."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    def stop(self) -> None:
        """End the loop and its thread."""
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


def attach_tools(
    tools: Iterable[Tool[..., Any]] | ToolProvider,
    address: str = "",
    *,
    token: str | None = None,
    root_certificates: bytes | None = None,
    credentials: grpc.ChannelCredentials | None = None,
    plaintext: bool = False,
    tls: ClientTls | None = None,
    name: str = "",
    version: str = "",
    window: int = 16,
) -> Attachment:
    """Offer tools from inside the agent's process, to be used as an async or a plain context manager.

    The gateway is found as `interlock.Gateway` finds it. `window` is how many requests may be under way at once.
    Entering raises a RequestError when the gateway cannot be reached or refuses; leaving takes the tools away.
    """
    provider = tools if isinstance(tools, ToolProvider) else ToolProvider(tools, name=name, version=version)
    return Attachment(provider, Connection(address, token, root_certificates, credentials, plaintext, tls), window)
