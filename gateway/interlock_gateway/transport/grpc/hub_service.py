"""`ProviderHubService`: one stream for each provider that attaches itself."""

import asyncio
import logging
from collections.abc import AsyncIterator

from interlock.v1 import provider_hub_service_pb2 as pb

from interlock_gateway.errors import RequestError, RequestFault
from interlock_gateway.providers.attached.hub import Attached, Hub
from interlock_gateway.providers.attached.link import FrameLink
from interlock_gateway.transport.grpc.endpoint import Caller, Rpc
from interlock_gateway.transport.grpc.errors import as_request_error

FIRST_S = 10.0
"""How long a stream may take to say what it offers."""
FRAMES_AT_ONCE = 32
"""How many frames are taken in before somebody else has a turn."""
MOST_FRAME_BYTES = 16 * 1024 * 1024
_log = logging.getLogger(__name__)


class HubRpcs:
    """The handler. `most_bytes` is how large a frame of a provider may be."""

    def __init__(self, hub: Hub, most_bytes: int) -> None:
        self._hub = hub
        self._most_bytes = min(most_bytes, MOST_FRAME_BYTES)

    def rpcs(self) -> dict[str, Rpc]:
        """The served RPCs by name."""
        return {"Attach": Rpc(pb.AttachRequest, pb.AttachResponse, talk=self.attach, most_bytes=self._most_bytes)}

    async def attach(self, caller: Caller, frames: AsyncIterator[pb.AttachRequest]) -> AsyncIterator[pb.AttachResponse]:
        """Take the provider in, and call it over the stream until that ends."""
        link = FrameLink()
        first = await _first(frames)
        if first.HasField("window"):
            link.take(pb.AttachRequest(window=first.window))
        attached = await self._hub.attach(caller.principal, first.description, link)
        beside = [asyncio.create_task(_read(frames, link)), asyncio.create_task(self._hub.follow(attached))]
        try:
            yield pb.AttachResponse(welcome=_welcome(attached))
            async for frame in link.frames():
                yield frame
        finally:
            self._hub.detach(attached)
            for task in beside:
                task.cancel()
            await asyncio.gather(*beside, return_exceptions=True)


async def _first(frames: AsyncIterator[pb.AttachRequest]) -> pb.AttachRequest:
    try:
        async with asyncio.timeout(FIRST_S):
            first = await anext(frames, None)
    except TimeoutError:
        raise RequestError(RequestFault.DEADLINE, f"no description came in {FIRST_S:.0f} seconds") from None
    if first is None or first.WhichOneof("frame") != "description" or first.request_id:
        words = "the first frame is a description of the provider, with request_id 0"
        raise RequestError(RequestFault.INVALID_FIELD, words, field="frame")
    return first


async def _read(frames: AsyncIterator[pb.AttachRequest], link: FrameLink) -> None:
    """Hand in what comes, until there is no more or the link has ended."""
    count = 0
    try:
        async for frame in frames:
            link.take(frame)
            count += 1
            if count % FRAMES_AT_ONCE == 0:
                await asyncio.sleep(0)
    except Exception as error:  # noqa: BLE001 - whatever ends the reading ends the stream: nobody may wait on it
        link.close(as_request_error(error))
    finally:
        link.close()


def _welcome(attached: Attached) -> pb.AttachWelcome:
    return pb.AttachWelcome(
        provider=attached.provider.name,
        accepted_tools=attached.tools,
        refused_tools=[pb.RefusedTool(name=name, message=message) for name, message in attached.refused],
    )
