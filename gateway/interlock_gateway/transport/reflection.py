"""Server reflection: what services there are, so that tools can call them without our protos. Anybody may ask."""

from collections.abc import AsyncGenerator, AsyncIterator, Iterable

from google.protobuf.message import DecodeError
from grpc_reflection.v1alpha import reflection, reflection_pb2

from interlock_gateway.http2.status import Status, StatusError
from interlock_gateway.transport.grpc.endpoint import Served


def reflected(services: Iterable[str]) -> dict[str, Served]:
    """The RPCs that describe `services`, by path."""
    servicer = reflection.aio.ReflectionServicer((reflection.SERVICE_NAME, *services))

    async def described(requests: AsyncIterator[bytes]) -> AsyncGenerator[bytes, None]:
        async for answer in servicer.ServerReflectionInfo(_decoded(requests), None):
            yield answer.SerializeToString()

    return {f"/{reflection.SERVICE_NAME}/ServerReflectionInfo": Served(dialogue=described)}


async def _decoded(requests: AsyncIterator[bytes]) -> AsyncIterator[reflection_pb2.ServerReflectionRequest]:
    async for raw in requests:
        try:
            yield reflection_pb2.ServerReflectionRequest.FromString(raw)
        except DecodeError:
            raise StatusError(Status.INVALID_ARGUMENT, "what was sent is not a ServerReflectionRequest") from None
