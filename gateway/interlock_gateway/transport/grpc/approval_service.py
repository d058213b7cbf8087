"""`ApprovalService`: what people answer checkpoints through. Each handler decodes, calls once, and encodes."""

import math
from collections.abc import AsyncIterator
from typing import Any

from interlock.v1 import approval_service_pb2 as pb

from interlock_gateway.approvals.answers import Said
from interlock_gateway.approvals.room import ApprovalRoom
from interlock_gateway.approvals.watches import WatchEvent, WatchEventKind
from interlock_gateway.core.checkpoint import CheckpointState
from interlock_gateway.core.tool import Classification
from interlock_gateway.errors import RequestError, RequestFault
from interlock_gateway.registry.registry import ToolRegistry
from interlock_gateway.transport.grpc import encode_checkpoint as encode
from interlock_gateway.transport.grpc.endpoint import Caller, Rpc
from interlock_gateway.transport.grpc.paging import DEFAULT_PAGE, MAX_PAGE

EVENT: dict[WatchEventKind, Any] = {
    kind: pb.CheckpointEvent.Value(f"CHECKPOINT_EVENT_{kind.name}") for kind in WatchEventKind
}
_STATE_OF = {number: state for state, number in encode.STATE.items()}
_DECISION_OF = {number: decision for decision, number in encode.DECISION.items()}


class ApprovalRpcs:
    """The handlers of `ApprovalService`."""

    def __init__(self, room: ApprovalRoom, registry: ToolRegistry) -> None:
        self._room = room
        self._registry = registry

    def rpcs(self) -> dict[str, Rpc]:
        """The served RPCs by name."""
        return {
            "ListCheckpoints": Rpc(pb.ListCheckpointsRequest, pb.ListCheckpointsResponse, unary=self.list_checkpoints),
            "GetCheckpoint": Rpc(pb.GetCheckpointRequest, pb.GetCheckpointResponse, unary=self.get_checkpoint),
            "WatchCheckpoints": Rpc(pb.WatchCheckpointsRequest, pb.WatchCheckpointsResponse, stream=self.watch),
            "DecideCheckpoint": Rpc(pb.DecideCheckpointRequest, pb.DecideCheckpointResponse, unary=self.decide),
        }

    async def list_checkpoints(self, caller: Caller, request: pb.ListCheckpointsRequest) -> pb.ListCheckpointsResponse:
        """Checkpoints that the approver may see, those that expire first in front."""
        page = await self._room.desk.page(
            caller.principal,
            _states(request) or (CheckpointState.OPEN,),
            min(request.page_size or DEFAULT_PAGE, MAX_PAGE),
            session_id=request.session_id,
            after=_after(request.page_token),
        )
        return pb.ListCheckpointsResponse(
            checkpoints=[encode.checkpoint(one, self._classify) for one in page.checkpoints],
            next_page_token="" if page.next is None else f"{page.next[0].hex()}/{page.next[1]}",
        )

    async def get_checkpoint(self, caller: Caller, request: pb.GetCheckpointRequest) -> pb.GetCheckpointResponse:
        """One checkpoint, with what ran before in its session."""
        found = await self._room.desk.look(caller.principal, request.checkpoint_id)
        history = await self._room.history.before(found)
        return pb.GetCheckpointResponse(checkpoint=encode.checkpoint(found, self._classify, history))

    async def watch(
        self, caller: Caller, request: pb.WatchCheckpointsRequest
    ) -> AsyncIterator[pb.WatchCheckpointsResponse]:
        """The open checkpoints and every change; whoever watches is a handler."""
        async for event in self._room.desk.watch(caller.principal, tuple(request.groups)):
            yield self._told(event)

    async def decide(self, caller: Caller, request: pb.DecideCheckpointRequest) -> pb.DecideCheckpointResponse:
        """Record what the approver says."""
        after = await self._room.desk.decide(caller.principal, _said(request))
        return pb.DecideCheckpointResponse(checkpoint=encode.checkpoint(after, self._classify))

    def _told(self, event: WatchEvent) -> pb.WatchCheckpointsResponse:
        one = event.checkpoint
        return pb.WatchCheckpointsResponse(
            event=EVENT[event.kind], checkpoint=encode.checkpoint(one, self._classify) if one is not None else None
        )

    def _classify(self, tool: str, caller: str) -> Classification | None:
        found = self._registry.find(tool, caller)
        return found.classification if found is not None else None


def _said(request: pb.DecideCheckpointRequest) -> Said:
    decision = _DECISION_OF.get(request.decision)
    if decision is None:
        raise RequestError(RequestFault.INVALID_FIELD, "say approve, deny, edit or respond", field="decision")
    return Said(
        checkpoint_id=request.checkpoint_id,
        decision=decision,
        reason=request.reason,
        edited_input=request.edited_input,
        response=request.response,
        call_digest=request.call_digest,
    )


def _states(request: pb.ListCheckpointsRequest) -> tuple[CheckpointState, ...]:
    unknown = [number for number in request.states if number not in _STATE_OF]
    if unknown:
        raise RequestError(RequestFault.INVALID_FIELD, "there is no such state of a checkpoint", field="states")
    return tuple(_STATE_OF[number] for number in request.states)


def _after(token: str) -> tuple[float, str] | None:
    """From behind which checkpoint a page goes on."""
    if not token:
        return None
    expiry, _, checkpoint_id = token.partition("/")
    try:
        expires_at = float.fromhex(expiry)
    except (ValueError, OverflowError):
        expires_at = math.nan
    if not math.isfinite(expires_at) or not checkpoint_id:
        raise RequestError(RequestFault.INVALID_PAGE_TOKEN, "page_token is not one of ours", field="page_token")
    return expires_at, checkpoint_id
