"""The gateway's end of `ProviderHubService`, just enough to call attached tools."""

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any, Self

import grpc
import grpc.aio
from interlock.v1 import provider_hub_service_pb2 as hub

WAIT = 10.0


class Hub:
    """Serves Attach on a port of its own; a test sends requests, and reads what comes back."""

    def __init__(self, *, token: str = "", port: int = 0) -> None:
        self._token = token
        self._port = port
        self._server: grpc.aio.Server | None = None
        self.address = ""
        self.descriptions: asyncio.Queue[hub.AttachRequest] = asyncio.Queue()
        self.answers: asyncio.Queue[hub.AttachRequest] = asyncio.Queue()
        self.requests: asyncio.Queue[hub.AttachResponse | None] = asyncio.Queue()
        self.gone = asyncio.Event()

    async def __aenter__(self) -> Self:
        server = grpc.aio.server(options=(("grpc.so_reuseport", 0),))
        handler = grpc.stream_stream_rpc_method_handler(
            self._attach,
            request_deserializer=hub.AttachRequest.FromString,
            response_serializer=hub.AttachResponse.SerializeToString,
        )
        service = grpc.method_handlers_generic_handler("interlock.v1.ProviderHubService", {"Attach": handler})
        server.add_generic_rpc_handlers((service,))
        self._port = server.add_insecure_port(f"127.0.0.1:{self._port}")
        self.address = f"127.0.0.1:{self._port}"
        await server.start()
        self._server = server
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._server is not None:
            await self._server.stop(None)

    @property
    def port(self) -> int:
        """Where it listens, for another one to take over."""
        return self._port

    async def ask(self, **frame: Any) -> None:
        """Send a request."""
        await self.requests.put(hub.AttachResponse(**frame))

    async def answer(self) -> hub.AttachRequest:
        """The next frame that came back."""
        return await asyncio.wait_for(self.answers.get(), WAIT)

    async def _attach(
        self, frames: AsyncIterator[hub.AttachRequest], context: Any
    ) -> AsyncIterator[hub.AttachResponse]:
        metadata = dict(context.invocation_metadata())
        if self._token and metadata.get("authorization") != f"Bearer {self._token}":
            await context.abort(grpc.StatusCode.UNAUTHENTICATED, "no")
        await context.send_initial_metadata(())
        reader = asyncio.create_task(self._read(frames, lambda: self.requests.put_nowait(None)))
        try:
            description = await asyncio.wait_for(self.descriptions.get(), WAIT)
            names = [one.name for one in description.description.tools]
            welcome = hub.AttachWelcome(provider="agent/test", accepted_tools=names[:-1] or names)
            if len(names) > 1:
                welcome.refused_tools.add(name=names[-1], message="the name is taken")
            yield hub.AttachResponse(welcome=welcome)
            while (frame := await self.requests.get()) is not None:
                yield frame
        finally:
            reader.cancel()
            self.gone.set()

    async def _read(self, frames: AsyncIterator[hub.AttachRequest], ended: Callable[[], None]) -> None:
        async for frame in frames:
            await (self.descriptions if frame.WhichOneof("frame") == "description" else self.answers).put(frame)
        ended()
