"""Server reflection: what services there are, so that tools can call them without our protos. Anybody may ask."""

from collections.abc import AsyncGenerator, AsyncIterator, Iterable

from google.protobuf.message import DecodeError
from grpc_reflection.v1alpha import reflection_pb2

from interlock_gateway.http2.status import Status, StatusError
from interlock_gateway.transport.grpc.endpoint import Served

SERVICE = reflection_pb2.DESCRIPTOR.services_by_name["ServerReflection"].full_name


def reflected(services: Iterable[str]) -> dict[str, Served]:
    """The RPCs that describe `services`, by path."""
    names = (SERVICE, *services)

    async def described(requests: AsyncIterator[bytes]) -> AsyncGenerator[bytes, None]:
        # All of grpcio takes 18 MB: only who is asked pays for it.
        from grpc_reflection.v1alpha import reflection  # noqa: PLC0415 -- as said above

        servicer = reflection.aio.ReflectionServicer(names)
        async for answer in servicer.ServerReflectionInfo(_decoded(requests), None):
            yield answer.SerializeToString()

    return {f"/{SERVICE}/ServerReflectionInfo": Served(dialogue=described)}


async def _decoded(requests: AsyncIterator[bytes]) -> AsyncIterator[reflection_pb2.ServerReflectionRequest]:
    async for raw in requests:
        try:
            yield reflection_pb2.ServerReflectionRequest.FromString(raw)
        except DecodeError:
            raise StatusError(Status.INVALID_ARGUMENT, "what was sent is not a ServerReflectionRequest") from None
