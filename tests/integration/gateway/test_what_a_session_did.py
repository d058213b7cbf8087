"""What a session's owner can look up of it: the journal, page by page, and what is pending."""

from typing import Any

import pytest
from gateway_bench import Bench
from interlock.journal import OperationState
from interlock.v1 import gateway_service_pb2 as pb
from interlock.v1 import gateway_service_pb2_grpc as rpc


async def pages(at: Bench, method: str, request: Any) -> list[Any]:
    """Every page of a listing."""
    found = []
    async with at.agent.connection.open_async() as channel:
        stub = rpc.GatewayServiceStub(channel)
        while True:
            found.append(await getattr(stub, method)(request, timeout=10))
            request.page_token = found[-1].next_page_token
            if not request.page_token:
                return found


@pytest.mark.req("PIPE-9", "UNDO-1")
async def test_the_journal_is_listed_newest_first_page_by_page(at: Bench) -> None:
    session = at.agent.session("s")
    for n in range(7):
        await session.call("set_value", {"value": str(n)}, call_id=f"c{n}")
        await session.call("echo", {"text": "x"})
    found = await pages(at, "ListOperations", pb.ListOperationsRequest(session_id="s", page_size=3))
    assert [[one.call_id for one in page.operations] for page in found] == [
        ["c6", "c5", "c4"],
        ["c3", "c2", "c1"],
        ["c0"],
    ]
    assert [one.call_id for one in await session.operations()] == [f"c{n}" for n in range(6, -1, -1)]
    assert await session.operations(states=[OperationState.FAILED]) == ()
    assert await at.agent.session("s").operations(states=[OperationState.DONE]) != ()


@pytest.mark.req("PREV-2")
async def test_what_is_pending_is_listed_top_first_page_by_page(at: Bench) -> None:
    session = at.agent.session("s")
    for n in range(5):
        await session.call("replace_value", {"value": str(n)}, call_id=f"c{n}")
    found = await pages(at, "ListPending", pb.ListPendingRequest(session_id="s", page_size=2))
    assert [[one.call_id for one in page.pending] for page in found] == [["c4", "c3"], ["c2", "c1"], ["c0"]]
    assert (await session.pending()).actions[0].label == "replace first by 4"


@pytest.mark.req("PREV-12")
async def test_a_standing_handler_is_named(at: Bench) -> None:
    session = at.agent.session("s")
    await session.call("stand", {"label": "plans"})
    assert (await session.pending()).standing_handler == "plans"
