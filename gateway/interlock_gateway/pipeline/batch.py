"""Several calls of one session (BATCH-1, BATCH-2): safe neighbours side by side, every other call alone, in order.

Each call goes through the core like any other and takes its turn at the session's turnstile itself; a batch holds none
between its calls. It only decides which of them may be begun, so calls from elsewhere are neither passed nor held up.
"""

import asyncio
from collections.abc import AsyncGenerator
from dataclasses import dataclass, field, replace
from functools import partial

from interlock_gateway.core.call import CallRequest, CallResult, CallStatus
from interlock_gateway.core.outcome import ToolEvent, WaitingEvent
from interlock_gateway.core.session import Principal
from interlock_gateway.errors import RequestError, RequestFault
from interlock_gateway.pipeline.core import CallPipeline
from interlock_gateway.pipeline.parts import Parts
from interlock_gateway.pipeline.resolve_tool import resolve_tool
from interlock_gateway.sessions.live import LiveSession

MAX_CALLS = 100
DEFAULT_PARALLEL = 10


@dataclass(frozen=True, slots=True)
class BatchRequest:
    """What is asked: the calls in the order of their effects, all of `session_id`; an error is a call that cannot be.

    `deadline_s` is the seconds left to the client for all of it, `None` when it set no deadline. `max_parallel` 0 means
    the default.
    """

    session_id: str
    calls: tuple[CallRequest | RequestError, ...]
    stop_on_error: bool = False
    max_parallel: int = 0
    deadline_s: float | None = None


@dataclass(frozen=True, slots=True)
class BatchAnswer:
    """What became of the call at `index`: a result, or the error that it would have ended with by itself."""

    index: int
    outcome: CallResult | BaseException


def check_batch(request: BatchRequest) -> None:
    """Raise `RequestError` for a batch that makes no sense as a whole: nothing of it is begun then."""
    if len(request.calls) > MAX_CALLS:
        raise RequestError(RequestFault.INVALID_FIELD, f"calls holds at most {MAX_CALLS} calls", field="calls")
    seen: dict[str, int] = {}
    for index, call in enumerate(request.calls):
        if isinstance(call, RequestError):
            continue
        if call.session_id != request.session_id:
            raise RequestError(
                RequestFault.INVALID_FIELD,
                "the session id of a batch's call is empty or the batch's",
                field=f"calls[{index}].session_id",
            )
        # Answering the second with the first's outcome would have it wait behind whatever the first waits for.
        if call.call_id and (first := seen.setdefault(call.call_id, index)) != index:
            raise RequestError(
                RequestFault.INVALID_FIELD,
                f"the calls at {first} and {index} have the same call id",
                field=f"calls[{index}].call_id",
            )


async def run_batch(
    parts: Parts, pipeline: CallPipeline, principal: Principal, request: BatchRequest
) -> AsyncGenerator[BatchAnswer, None]:
    """Take every call through the core and yield what becomes of each as it ends, every index exactly once.

    Closing the iteration cancels the calls that have not ended. Raises `RequestError` before anything is begun: the
    batch makes no sense as a whole, or the session is not the caller's or takes no calls.
    """
    check_batch(request)
    live = await parts.sessions.admit(principal, request.session_id)
    batch = _Batch(parts, pipeline, principal, request, live)
    directing = asyncio.create_task(batch.direct())
    directing.add_done_callback(batch.directed)
    try:
        for _ in request.calls:
            answer = await batch.answers.get()
            if not isinstance(answer, BatchAnswer):
                raise answer
            yield answer
    finally:
        directing.cancel()
        batch.cancel()


@dataclass(slots=True)
class _Batch:
    """A batch under way. `shared` and `alone` are the calls that were begun and hold others back: safe ones, or one."""

    parts: Parts
    pipeline: CallPipeline
    principal: Principal
    request: BatchRequest
    live: LiveSession
    answers: "asyncio.Queue[BatchAnswer | BaseException]" = field(default_factory=asyncio.Queue)
    tasks: "set[asyncio.Task[CallResult]]" = field(default_factory=set)
    shared: set[int] = field(default_factory=set)
    alone: int | None = None
    stopped_by: int | None = None
    changed: asyncio.Event = field(default_factory=asyncio.Event)
    deadline_at: float | None = None

    def __post_init__(self) -> None:
        if self.request.deadline_s is not None:
            self.deadline_at = self.parts.clock.monotonic() + self.request.deadline_s

    async def direct(self) -> None:
        """Begin the calls in their order, each as soon as those before it let it."""
        for index, call in enumerate(self.request.calls):
            if self.stopped_by is not None:
                self._report_stopped(index, self.stopped_by)
            elif isinstance(call, RequestError):
                self._answer(index, call)
            else:
                await self._begun_or_stopped(index, call)

    def directed(self, directing: "asyncio.Task[None]") -> None:
        """Wake whoever waits for answers that will not come any more."""
        if not directing.cancelled() and (error := directing.exception()) is not None:
            self.answers.put_nowait(error)

    def cancel(self) -> None:
        """Cancel every call that has not ended."""
        for task in self.tasks:
            task.cancel()

    async def _begun_or_stopped(self, index: int, call: CallRequest) -> None:
        while self.stopped_by is None:
            # Looked up when it may be this call's turn: the one before it may have taken minutes, and tools change.
            shared = self._safe(call)
            if self._may_begin(shared=shared):
                self._begin(index, call, shared=shared)
                return
            self.changed.clear()
            await self.changed.wait()
        self._report_stopped(index, self.stopped_by)

    def _safe(self, call: CallRequest) -> bool:
        tool = resolve_tool(self.parts.registry, self.live.session, call.tool)
        return tool is not None and tool.classification.concurrency_safe

    def _may_begin(self, *, shared: bool) -> bool:
        if self.alone is not None:
            return False
        most = min(self.request.max_parallel or DEFAULT_PARALLEL, self.parts.settings.max_batch_parallel)
        return len(self.shared) < most if shared else not self.shared

    def _begin(self, index: int, call: CallRequest, *, shared: bool) -> None:
        if self.deadline_at is not None:
            call = replace(call, deadline_s=max(0.001, self.deadline_at - self.parts.clock.monotonic()))
        if shared:
            self.shared.add(index)
        else:
            self.alone = index
        work = self.pipeline.handle(self.principal, call, partial(self._event, index))
        task = asyncio.create_task(work)
        self.tasks.add(task)
        task.add_done_callback(partial(self._ended, index))

    def _event(self, index: int, event: ToolEvent) -> None:
        if isinstance(event, WaitingEvent) and event.checkpoint_id:
            self._let_go(index)  # it waits for a person, and the later ones do not wait with it (BATCH-2)
            self._stop(index)

    def _ended(self, index: int, task: "asyncio.Task[CallResult]") -> None:
        self.tasks.discard(task)
        self._let_go(index)
        if task.cancelled():
            self._answer(index, RequestError(RequestFault.CANCELLED, "the call was cancelled"))
        else:
            self._answer(index, task.exception() or task.result())

    def _let_go(self, index: int) -> None:
        self.shared.discard(index)
        if self.alone == index:
            self.alone = None
        self.changed.set()

    def _answer(self, index: int, outcome: CallResult | BaseException) -> None:
        if not isinstance(outcome, CallResult) or outcome.is_error or outcome.status is not CallStatus.COMPLETED:
            self._stop(index)
        self.answers.put_nowait(BatchAnswer(index, outcome))

    def _stop(self, index: int) -> None:
        if self.request.stop_on_error and self.stopped_by is None:
            self.stopped_by = index
            self.changed.set()

    def _report_stopped(self, index: int, stopped_by: int) -> None:
        message = f"the batch stopped at the call at {stopped_by}, before this one was begun"
        error = RequestError(RequestFault.BATCH_STOPPED, message, metadata={"stopped_by_index": str(stopped_by)})
        self.answers.put_nowait(BatchAnswer(index, error))
