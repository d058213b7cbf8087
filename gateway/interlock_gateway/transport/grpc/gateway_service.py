"""`GatewayService`: what agents call. Each handler decodes, calls once, and encodes."""

import asyncio
import json
import uuid
from collections.abc import AsyncIterator
from contextlib import aclosing

from interlock.v1 import gateway_service_pb2 as pb
from interlock.v1 import session_pb2

from interlock_gateway.core.call import CallRequest, CallResult
from interlock_gateway.core.document import InvalidDocumentError
from interlock_gateway.core.outcome import OutputEvent, ProgressEvent, ToolEvent, WaitingEvent
from interlock_gateway.core.session import Principal, Role
from interlock_gateway.errors import RequestError, RequestFault
from interlock_gateway.pipeline.batch import run_batch
from interlock_gateway.pipeline.call_records import CallRecords, KnownCall
from interlock_gateway.pipeline.core import CallPipeline
from interlock_gateway.pipeline.parts import Parts
from interlock_gateway.pipeline.read_input import read_input
from interlock_gateway.pipeline.resolve import RESOLVE_TOOL
from interlock_gateway.pipeline.settle_pending import PendingSettlement
from interlock_gateway.pipeline.shadow_port import ShadowOpinion
from interlock_gateway.sessions.live import LiveSession
from interlock_gateway.transport.grpc import decode, encode
from interlock_gateway.transport.grpc.endpoint import Caller, Rpc
from interlock_gateway.transport.grpc.errors import inside_a_stream
from interlock_gateway.transport.grpc.journal_service import JournalRpcs
from interlock_gateway.transport.grpc.paging import page_of

EVENTS_BUFFERED = 1000
"""Progress and output events held for a slow reader; beyond that the oldest are dropped, never the result."""


class GatewayRpcs:
    """The handlers of `GatewayService` that this gateway serves."""

    def __init__(self, parts: Parts, pipeline: CallPipeline) -> None:
        self._parts = parts
        self._pipeline = pipeline
        self._calls = CallRecords(parts, pipeline)
        self._settlement = PendingSettlement(parts)

    def rpcs(self) -> dict[str, Rpc]:
        """The served RPCs by name."""
        return {
            "OpenSession": Rpc(pb.OpenSessionRequest, pb.OpenSessionResponse, unary=self.open_session),
            "CloseSession": Rpc(pb.CloseSessionRequest, pb.CloseSessionResponse, unary=self.close_session),
            "Evaluate": Rpc(pb.EvaluateRequest, pb.EvaluateResponse, unary=self.evaluate),
            "CallTool": Rpc(pb.CallToolRequest, pb.CallToolResponse, unary=self.call_tool),
            "StreamTool": Rpc(pb.StreamToolRequest, pb.StreamToolResponse, stream=self.stream_tool),
            "CallBatch": Rpc(pb.CallBatchRequest, pb.CallBatchResponse, stream=self.call_batch),
            "GetCall": Rpc(pb.GetCallRequest, pb.GetCallResponse, unary=self.get_call),
            "WaitCall": Rpc(pb.WaitCallRequest, pb.WaitCallResponse, unary=self.wait_call),
            "Resolve": Rpc(pb.ResolveRequest, pb.ResolveResponse, unary=self.resolve),
            "ListPending": Rpc(pb.ListPendingRequest, pb.ListPendingResponse, unary=self.list_pending),
            **JournalRpcs(self._parts, self._pipeline).rpcs(),
        }

    async def open_session(self, caller: Caller, request: pb.OpenSessionRequest) -> pb.OpenSessionResponse:
        """Open a session, or return the caller's open one of that id."""
        session_id = request.session_id or str(uuid.uuid4())
        live = await self._parts.sessions.open(caller.principal, decode.wanted_session(request, session_id))
        return pb.OpenSessionResponse(session=self._session(live, caller))

    async def close_session(self, caller: Caller, request: pb.CloseSessionRequest) -> pb.CloseSessionResponse:
        """Close a session; its pending actions are discarded."""
        live, discarded = await self._pipeline.close_session(caller.principal, request.session_id)
        session = self._session(live, caller)
        return pb.CloseSessionResponse(session=session, discarded_pending_actions=len(discarded))

    def _session(self, live: LiveSession, caller: Caller) -> session_pb2.Session:
        threshold = self._parts.deferral.threshold_of(live.session)
        return encode.session(live, encode.principal(caller.principal), threshold)

    async def evaluate(self, caller: Caller, request: pb.EvaluateRequest) -> pb.EvaluateResponse:
        """The decision for a call, and nothing else."""
        call = decode.call_request(request.call, caller.deadline_s, caller.trace)
        decision, run = await self._pipeline.evaluate(caller.principal, call)
        kind = run.tool.classification if run.tool is not None else None
        return pb.EvaluateResponse(decision=encode.decision(decision, kind))

    async def call_tool(self, caller: Caller, request: pb.CallToolRequest) -> pb.CallToolResponse:
        """One call through the whole pipeline."""
        call = decode.call_request(request.call, caller.deadline_s, caller.trace)
        return pb.CallToolResponse(result=encode.call_result(await self._pipeline.handle(caller.principal, call)))

    async def stream_tool(self, caller: Caller, request: pb.StreamToolRequest) -> AsyncIterator[pb.StreamToolResponse]:
        """The same, with what happens on the way."""
        call = decode.call_request(request.call, caller.deadline_s, caller.trace)
        async for event in _Events(self._pipeline, self._parts).of(caller.principal, call):
            yield event

    async def call_batch(self, caller: Caller, request: pb.CallBatchRequest) -> AsyncIterator[pb.CallBatchResponse]:
        """Several calls; what became of each as it ends."""
        asked = decode.batch_request(request, caller.deadline_s, caller.trace)
        async with aclosing(run_batch(self._parts, self._pipeline, caller.principal, asked)) as answers:
            async for answer in answers:
                if isinstance(answer.outcome, CallResult):
                    yield pb.CallBatchResponse(index=answer.index, result=encode.call_result(answer.outcome))
                else:
                    yield pb.CallBatchResponse(index=answer.index, error=inside_a_stream(answer.outcome))

    async def get_call(self, caller: Caller, request: pb.GetCallRequest) -> pb.GetCallResponse:
        """Where a call stands."""
        known = await self._calls.get(caller.principal, request.session_id, request.call_id)
        return pb.GetCallResponse(call=encode.call_record(known, self._opinion(known)))

    async def wait_call(self, caller: Caller, request: pb.WaitCallRequest) -> pb.WaitCallResponse:
        """Where a call stands once it is settled, or when the time is up."""
        timeout_s = decode.shorter(request.timeout if request.HasField("timeout") else None, caller.deadline_s)
        asked = (caller.principal, request.session_id, request.call_id)
        known = await self._calls.wait(*asked, timeout_s, trace=caller.trace)
        return pb.WaitCallResponse(call=encode.call_record(known, self._opinion(known)))

    def _opinion(self, known: KnownCall) -> ShadowOpinion | None:
        shadow, result = self._parts.shadow, known.result
        if shadow is None or result is None or result.decision is None:
            return None
        return shadow.opinion(result.decision.decision_id)

    async def resolve(self, caller: Caller, request: pb.ResolveRequest) -> pb.ResolveResponse:
        """Apply or discard the top pending action: the `resolve` tool under its own name; for operators see PREV-14."""
        call = CallRequest(
            session_id=request.session_id,
            call_id=request.call_id,
            tool=RESOLVE_TOOL,
            input=self._resolve_input(request),
            deadline_s=caller.deadline_s,
            trace=caller.trace,
        )
        if caller.principal.has(Role.OPERATOR):  # never an agent too, and the owner of no session
            result = await self._settlement.by_operator(caller.principal, call)
        else:
            result = await self._pipeline.handle(caller.principal, call)
        return pb.ResolveResponse(result=encode.call_result(result))

    async def list_pending(self, caller: Caller, request: pb.ListPendingRequest) -> pb.ListPendingResponse:
        """The session's pending actions, top first, and then those of which nobody knows whether they were applied."""
        sessions, store = self._parts.sessions, self._parts.store
        everybodys = caller.principal.has(Role.OPERATOR)
        live = await (
            sessions.any(request.session_id) if everybodys else sessions.owned(caller.principal, request.session_id)
        )
        actions = await store.pending.list_pending(live.session.session_id, self._parts.clock.now())
        handler = await store.handlers.get_handler(live.session.session_id)
        unknown = await store.pending.unknown_pending(live.session.session_id)
        page, token = page_of((*actions, *unknown), request.page_size, request.page_token)
        return pb.ListPendingResponse(
            pending=[encode.pending_action(action) for action in page],
            standing_handler=handler.label if handler is not None else "",
            next_page_token=token,
        )

    def _resolve_input(self, request: pb.ResolveRequest) -> bytes:
        text = json.dumps(decode.resolve_input(request))
        if not request.extra:
            return text.encode()
        limits = self._parts.settings
        try:
            read_input(request.extra, max_bytes=limits.max_input_bytes, max_depth=limits.max_depth - 1)
        except InvalidDocumentError as error:
            raise RequestError(RequestFault.INVALID_FIELD, f"extra: {error.message}", field="extra") from None
        return f'{text[:-1]},"extra":'.encode() + request.extra + b"}"


class _Events:
    """Runs one call and yields its events, then its result."""

    def __init__(self, pipeline: CallPipeline, parts: Parts) -> None:
        self._pipeline = pipeline
        self._parts = parts
        self._queue: asyncio.Queue[ToolEvent | None] = asyncio.Queue(EVENTS_BUFFERED)

    async def of(self, principal: Principal, call: CallRequest) -> AsyncIterator[pb.StreamToolResponse]:
        """The events of `call`, then its result."""
        task = asyncio.create_task(self._run(principal, call))
        try:
            while (event := await self._queue.get()) is not None:
                yield self._encoded(event)
            yield pb.StreamToolResponse(result=encode.call_result(await task))
        finally:
            task.cancel()

    async def _run(self, principal: Principal, call: CallRequest) -> CallResult:
        try:
            return await self._pipeline.handle(principal, call, self._put)
        finally:
            self._put(None)

    def _put(self, event: ToolEvent | None) -> None:
        if self._queue.full():
            self._queue.get_nowait()
        self._queue.put_nowait(event)

    def _encoded(self, event: ToolEvent) -> pb.StreamToolResponse:
        match event:
            case ProgressEvent():
                return pb.StreamToolResponse(progress=encode.progress(event))
            case OutputEvent():
                return pb.StreamToolResponse(output=encode.output(event))
            case WaitingEvent():
                return pb.StreamToolResponse(waiting=encode.waiting(event, self._parts.clock.now()))
