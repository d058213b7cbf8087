"""`GatewayService`, the journal's part: what a session did, taking it back, and settling what is unknown."""

from collections.abc import AsyncIterator
from contextlib import aclosing

from interlock.v1 import gateway_service_pb2 as pb
from interlock.v1 import operation_pb2

from interlock_gateway.core.operation import OperationState
from interlock_gateway.errors import RequestError, RequestFault
from interlock_gateway.pipeline.core import CallPipeline
from interlock_gateway.pipeline.parts import Parts
from interlock_gateway.pipeline.rollback import Rollback
from interlock_gateway.pipeline.settle_operation import Settlement
from interlock_gateway.pipeline.shown_operation import shown_operation
from interlock_gateway.transport.grpc import decode, encode_operation
from interlock_gateway.transport.grpc.endpoint import Caller, Rpc
from interlock_gateway.transport.grpc.paging import DEFAULT_PAGE, MAX_DIGITS, MAX_PAGE

_STATE = {number: state for state, number in encode_operation.OPERATION_STATE.items()}


class JournalRpcs:
    """The handlers of the RPCs about operations."""

    def __init__(self, parts: Parts, pipeline: CallPipeline) -> None:
        self._parts = parts
        self._rollback = Rollback(parts, pipeline)
        self._settlement = Settlement(parts)

    def rpcs(self) -> dict[str, Rpc]:
        """The served RPCs by name."""
        return {
            "Rollback": Rpc(pb.RollbackRequest, pb.RollbackResponse, stream=self.rollback),
            "ListOperations": Rpc(pb.ListOperationsRequest, pb.ListOperationsResponse, unary=self.list_operations),
            "SettleOperation": Rpc(pb.SettleOperationRequest, pb.SettleOperationResponse, unary=self.settle_operation),
        }

    async def rollback(self, caller: Caller, request: pb.RollbackRequest) -> AsyncIterator[pb.RollbackResponse]:
        """Undo operations, newest first, with a line for each."""
        asked = decode.rollback_request(request, caller.trace)
        async with aclosing(self._rollback.run(caller.principal, asked)) as lines:
            async for line in lines:
                yield encode_operation.rollback_line(line)

    async def list_operations(self, caller: Caller, request: pb.ListOperationsRequest) -> pb.ListOperationsResponse:
        """The session's journal, newest first."""
        live = await self._parts.sessions.owned(caller.principal, request.session_id)
        size = min(request.page_size or DEFAULT_PAGE, MAX_PAGE)
        before = _sequence(request.page_token)
        states = tuple(_state(number) for number in request.states)
        found = await self._parts.store.journal.newest_operations(live.session.session_id, size, before, states)
        return pb.ListOperationsResponse(
            operations=[encode_operation.operation(await shown_operation(self._parts.results, one)) for one in found],
            next_page_token=str(found[-1].sequence) if len(found) == size else "",
        )

    async def settle_operation(self, caller: Caller, request: pb.SettleOperationRequest) -> pb.SettleOperationResponse:
        """Take somebody's word for what became of an operation or its undo."""
        settled = await self._settlement.settle(
            caller.principal,
            request.session_id,
            request.operation_id,
            decode.given_reason(request.reason),
            took_effect=_took_effect(request),
        )
        return pb.SettleOperationResponse(operation=encode_operation.operation(settled))


def _took_effect(request: pb.SettleOperationRequest) -> bool:
    if request.effect not in (operation_pb2.OPERATION_EFFECT_TOOK_EFFECT, operation_pb2.OPERATION_EFFECT_NONE):
        raise RequestError(RequestFault.INVALID_FIELD, "effect is took_effect or none", field="effect")
    return request.effect == operation_pb2.OPERATION_EFFECT_TOOK_EFFECT


def _state(number: int) -> OperationState:
    state = _STATE.get(number)
    if state is None:
        raise RequestError(RequestFault.INVALID_FIELD, f"{number} is no state of an operation", field="states")
    return state


def _sequence(token: str) -> int | None:
    if not token:
        return None
    if not token.isascii() or not token.isdigit() or len(token) > MAX_DIGITS:
        raise RequestError(RequestFault.INVALID_PAGE_TOKEN, "page_token is not one of ours", field="page_token")
    return int(token)
