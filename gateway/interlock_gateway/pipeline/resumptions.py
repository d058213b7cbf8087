"""Calls as they go on from a checkpoint: who asks, and the run that is made of what was kept (CHK-9)."""

import json
from dataclasses import dataclass

from interlock_gateway.core.call import CallKind, CallRequest
from interlock_gateway.core.checkpoint import Checkpoint
from interlock_gateway.core.jsonvalue import FrozenJsonObject
from interlock_gateway.core.pending import ResolutionNote
from interlock_gateway.core.session import Principal
from interlock_gateway.core.trace import TraceContext
from interlock_gateway.ids import Ids
from interlock_gateway.pipeline.approval import goes_on_edited
from interlock_gateway.pipeline.parts import Parts
from interlock_gateway.pipeline.resolution import ResolveArguments
from interlock_gateway.pipeline.resolve_tool import resolve_tool
from interlock_gateway.pipeline.run import CallRun
from interlock_gateway.pipeline.under_way import take_up
from interlock_gateway.providers.port import EventSink, ignore_events
from interlock_gateway.registry.catalog import RESOLVE_TOOL
from interlock_gateway.registry.registered import RegisteredTool
from interlock_gateway.sessions.live import LiveSession


@dataclass(frozen=True, slots=True)
class Caller:
    """Who asks for a call. `until` is when they stop waiting, in monotonic seconds; `None` when they do not.

    `lends_deadline` says that the call has to be done by then, too; else it takes as long as it may. `deliverable` is
    what the agent thought of the call, when that came with this request; `trace` what this request sent of its trace.
    """

    principal: Principal
    session_id: str
    call_id: str
    until: float | None = None
    on_event: EventSink = ignore_events
    lends_deadline: bool = False
    deliverable: FrozenJsonObject | None = None
    trace: TraceContext | None = None

    @property
    def key(self) -> tuple[str, str]:
        """The call."""
        return self.session_id, self.call_id


class Resumptions:
    """Makes the runs of calls that waited for a person."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._ids = Ids()

    def run(self, caller: Caller, live: LiveSession, checkpoint: Checkpoint) -> CallRun:
        """The run that goes on with the call of `checkpoint`."""
        clock = self._parts.clock
        edited = goes_on_edited(checkpoint)
        tool = self._tool(live, checkpoint)
        started = clock.monotonic()
        deadline_at = started + self._parts.settings.max_timeout_s
        if caller.lends_deadline and caller.until is not None:
            deadline_at = min(deadline_at, caller.until)
        run = CallRun(
            principal=caller.principal,
            live=live,
            request=_request(checkpoint, caller, edited=edited),
            call_id=checkpoint.call_id,
            tool=tool,
            received_at=clock.now(),
            started=started,
            deadline_at=deadline_at,
            decision_id=self._ids.next(),
            clock=clock,
            kind=_kind(checkpoint, edited=edited),
            on_event=caller.on_event,
            checkpoint=checkpoint,
            resuming=checkpoint,
            undoes=checkpoint.operation_id if checkpoint.kind is CallKind.UNDO else "",
            digest_of_request=checkpoint.request_digest,
            follows=checkpoint.traceparent,
        )
        run.trace = self._parts.tracer.begun(run)
        take_up(run)
        return run

    def ending(self, caller: Caller, live: LiveSession, checkpoint: Checkpoint) -> CallRun:
        """The run that ends the call of `checkpoint`, named after the tool it was for and not after `resolve`."""
        run = self.run(caller, live, checkpoint)
        run.kind = checkpoint.kind
        run.tool = self._parts.registry.find(checkpoint.tool, live.session.owner)
        run.digest = checkpoint.digest
        return run

    async def said(self, checkpoint: Checkpoint) -> ResolutionNote | None:
        """What the `resolve` call that waited asks for, and about what; `None` for a call of another kind."""
        if checkpoint.kind is not CallKind.APPLY or not checkpoint.resolve_input:
            return None
        said = ResolveArguments.of(json.loads(checkpoint.resolve_input)).note
        action = await self._parts.store.pending.get_pending(checkpoint.pending_id)
        return said.about(action) if action is not None else said

    def _tool(self, live: LiveSession, checkpoint: Checkpoint) -> RegisteredTool | None:
        registry = self._parts.registry
        if checkpoint.kind is CallKind.APPLY:
            return registry.find(RESOLVE_TOOL)
        if checkpoint.kind is CallKind.UNDO:
            return registry.find(checkpoint.tool, live.session.owner)
        return resolve_tool(registry, live.session, checkpoint.tool)


def _kind(checkpoint: Checkpoint, *, edited: bool) -> CallKind:
    if edited:
        return CallKind.EDIT
    # An apply goes on as the `resolve` call that asked for it.
    return CallKind.CALL if checkpoint.kind is CallKind.APPLY else checkpoint.kind


def _request(checkpoint: Checkpoint, caller: Caller, *, edited: bool) -> CallRequest:
    applies = checkpoint.kind is CallKind.APPLY
    raw = checkpoint.resolve_input if applies else checkpoint.input
    if edited and checkpoint.ending is not None:
        raw = checkpoint.ending.edited_input
    return CallRequest(
        session_id=checkpoint.session_id,
        call_id=checkpoint.call_id,
        tool=RESOLVE_TOOL if applies else checkpoint.tool,
        input=raw,
        workdir="" if applies else checkpoint.workdir,
        intent=checkpoint.intent,
        labels=checkpoint.labels,
        deliverable=checkpoint.deliverable or caller.deliverable,
        checkpoint_mode=checkpoint.mode,
        trace=caller.trace,
    )


def requester(checkpoint: Checkpoint) -> Caller:
    """Whoever asked, when it is not they who ask now: nothing is run in their name like this, only ended."""
    principal = Principal(checkpoint.requester, checkpoint.requester_kind, frozenset())
    return Caller(principal, checkpoint.session_id, checkpoint.call_id)
