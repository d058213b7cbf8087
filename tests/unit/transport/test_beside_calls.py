"""Which requests need a place, and who gets one (REL-8)."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import pytest
from interlock.v1 import admin_service_pb2, approval_service_pb2, gateway_service_pb2
from interlock_gateway.config import LimitsConfig
from interlock_gateway.core.session import Principal, Role
from interlock_gateway.errors import RequestError, RequestFault
from interlock_gateway.transport.grpc.beside_calls import KIND_OF, BesideCalls, Kind
from interlock_gateway.transport.grpc.endpoint import NEW_WORK

LIMITS = LimitsConfig(max_requests=5, max_reading_requests=5, max_waiting_calls=5)


@dataclass(frozen=True)
class Asker:
    principal: Principal


def asker(name: str) -> Asker:
    return Asker(Principal(name, "unix", frozenset({Role.AGENT})))


def paths(module: Any, service: str) -> set[str]:
    methods = module.DESCRIPTOR.services_by_name[service].methods
    return {f"/interlock.v1.{service}/{method.name}" for method in methods}


@pytest.mark.req("REL-8")
def test_every_request_of_an_agent_is_bounded_in_one_way_and_no_other_is() -> None:
    of_agents = paths(gateway_service_pb2, "GatewayService")
    assert of_agents == NEW_WORK | set(KIND_OF)
    assert not NEW_WORK & set(KIND_OF)
    others = paths(approval_service_pb2, "ApprovalService") | paths(admin_service_pb2, "AdminService")
    assert all(BesideCalls(LIMITS).of(path) is None for path in others)


@pytest.mark.req("REL-8")
@pytest.mark.parametrize("kind", Kind)
async def test_one_principal_leaves_places_and_gets_its_own_back(kind: Kind) -> None:
    places = BesideCalls(LIMITS)[kind]
    with ExitStack() as taken:
        for _ in range(4):
            taken.enter_context(places.one("a"))
        with pytest.raises(RequestError) as refused:
            places.check("a")
        assert refused.value.fault is RequestFault.OVERLOADED
        assert refused.value.retry_s is not None
        assert refused.value.retry_s > 0
        with places.one("b"), pytest.raises(RequestError):
            places.check("c")
    assert places.taken == 0
    places.check("a")


async def test_a_place_is_given_back_however_an_answer_ends() -> None:
    places = BesideCalls(LIMITS)[Kind.QUICK]
    begun = asyncio.Event()

    async def failing(_caller: Asker, _request: Any) -> Any:
        raise RequestError(RequestFault.INTERNAL, "failed")

    async def endless(_caller: Asker, _request: Any) -> Any:
        begun.set()
        await asyncio.Event().wait()

    with pytest.raises(RequestError, match="failed"):
        await places.unary(failing)(asker("a"), None)
    task = asyncio.ensure_future(places.unary(endless)(asker("a"), None))
    await asyncio.wait_for(begun.wait(), 30)
    assert places.taken == 1
    task.cancel()
    await asyncio.wait((task,))
    assert places.taken == 0


async def test_a_stream_has_its_place_until_nobody_reads_it_any_more() -> None:
    places = BesideCalls(LIMITS)[Kind.READING]
    closed = []

    async def counting(_caller: Asker, _request: Any) -> AsyncIterator[Any]:
        try:
            for number in range(10):
                yield number
        finally:
            closed.append(True)

    placed: Callable[[Asker, Any], Any] = places.stream(counting)
    stream = placed(asker("a"), None)
    assert places.taken == 0
    assert await anext(stream) == 0
    assert places.taken == 1
    await stream.aclose()
    assert places.taken == 0
    assert closed
