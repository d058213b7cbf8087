"""`grpc.health.v1.Health`: whether calls are served. Anybody who can connect may ask."""

import asyncio
from collections.abc import AsyncGenerator

from google.protobuf.message import DecodeError
from grpc_health.v1 import health_pb2

from interlock_gateway.core.session import Principal
from interlock_gateway.core.trace import TraceContext
from interlock_gateway.http2.status import Status, StatusError
from interlock_gateway.transport.grpc.endpoint import Served

_Answer = health_pb2.HealthCheckResponse
SERVICE = health_pb2.DESCRIPTOR.services_by_name["Health"].full_name
LIVE = "live"
"""The name under which health says that the process answers at all, whether it serves calls or not."""
_PATH = f"/{SERVICE}"


class Health:
    """What `grpc.health.v1.Health` says, on every listener of the process, of `services` and of the whole.

    The service `live` is always serving: who has no answer about it asks a process that should be started again.
    """

    def __init__(self, services: tuple[str, ...]) -> None:
        self.serving = False
        self._services = frozenset(("", LIVE, *services))
        self._changed = asyncio.Event()

    def set(self, *, serving: bool) -> None:
        """Say whether calls are served."""
        if serving != self.serving:
            self.serving = serving
            self._changed.set()
            self._changed = asyncio.Event()

    def served(self) -> dict[str, Served]:
        """The RPCs by path."""
        return {f"{_PATH}/Check": Served(unary=self._check), f"{_PATH}/Watch": Served(stream=self._watch)}

    async def _check(
        self, raw: bytes, principal: Principal | None, deadline_s: float | None, trace: TraceContext | None
    ) -> bytes:
        del principal, deadline_s, trace
        service = _service(raw)
        if service not in self._services:
            raise StatusError(Status.NOT_FOUND, "there is no such service here")
        return self._answer(service)

    async def _watch(
        self, raw: bytes, principal: Principal | None, deadline_s: float | None, trace: TraceContext | None
    ) -> AsyncGenerator[bytes, None]:
        del principal, deadline_s, trace
        service = _service(raw)
        while True:
            changed = self._changed
            yield self._answer(service)
            if service not in self._services:
                changed = asyncio.Event()  # no service is ever added: nothing will change
            await changed.wait()

    def _answer(self, service: str) -> bytes:
        if service not in self._services:
            answer = _Answer(status=_Answer.SERVICE_UNKNOWN)
        else:
            serving = self.serving or service == LIVE
            answer = _Answer(status=_Answer.SERVING if serving else _Answer.NOT_SERVING)
        return bytes(answer.SerializeToString())


def _service(raw: bytes) -> str:
    try:
        return str(health_pb2.HealthCheckRequest.FromString(raw).service)
    except DecodeError:
        raise StatusError(Status.INVALID_ARGUMENT, "what was sent is not a HealthCheckRequest") from None
