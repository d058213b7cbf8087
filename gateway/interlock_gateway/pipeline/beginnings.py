"""Runs as they begin: a call that is asked for, and one that applies what was previewed."""

from dataclasses import replace

from interlock_gateway.core.call import CallKind, CallRequest
from interlock_gateway.core.pending import PendingAction
from interlock_gateway.core.session import Principal
from interlock_gateway.ids import Ids
from interlock_gateway.pipeline.parts import Parts
from interlock_gateway.pipeline.resolve_tool import resolve_tool
from interlock_gateway.pipeline.run import CallRun
from interlock_gateway.pipeline.under_way import take_up
from interlock_gateway.providers.port import EventSink
from interlock_gateway.registry.registered import RegisteredTool
from interlock_gateway.sessions.live import LiveSession


class Beginnings:
    """Makes runs."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._ids = Ids()

    def run(self, principal: Principal, live: LiveSession, request: CallRequest, on_event: EventSink) -> CallRun:
        """The run of a call that was asked for just now."""
        settings, clock = self._parts.settings, self._parts.clock
        tool = resolve_tool(self._parts.registry, live.session, request.tool)
        started = clock.monotonic()
        allowed = (
            settings.max_timeout_s if request.deadline_s is None else min(request.deadline_s, settings.max_timeout_s)
        )
        run = CallRun(
            principal=principal,
            live=live,
            request=request,
            call_id=request.call_id or self._ids.next(),
            tool=tool,
            received_at=clock.now(),
            started=started,
            deadline_at=started + allowed,
            decision_id=self._ids.next(),
            clock=clock,
            on_event=on_event,
        )
        return self._traced(run)

    def for_pending(self, resolving: CallRun, tool: RegisteredTool, action: PendingAction) -> CallRun:
        """The run that applies `action`: the previewed input, in the place of the `resolve` call that asked for it."""
        request = replace(
            resolving.request, tool=tool.name, input=action.input, workdir=action.workdir, labels=action.labels
        )
        run = CallRun(
            principal=resolving.principal,
            live=resolving.live,
            request=request,
            call_id=resolving.call_id,
            tool=tool,
            received_at=resolving.received_at,
            started=resolving.started,
            elsewhere_s=resolving.elsewhere_s,
            deadline_at=resolving.deadline_at,
            decision_id=self._ids.next(),
            clock=resolving.clock,
            kind=CallKind.APPLY,
            on_event=resolving.on_event,
            resolving=resolving,
            pending=action,
            resolution=resolving.resolution,
            checkpoint=resolving.checkpoint,
            resuming=resolving.resuming,
            undoes=action.operation_id,
            follows=action.traceparent,
        )
        return self._traced(run)

    def _traced(self, run: CallRun) -> CallRun:
        run.trace = self._parts.tracer.begun(run)
        take_up(run)
        return run
