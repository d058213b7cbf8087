"""One call on its way: what each step found out, kept for the steps behind it and for the receipt."""

import asyncio
import hashlib
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass, field
from typing import TypeVar

from interlock_gateway.core.call import CallKind, CallRequest, CallResult, CallStatus
from interlock_gateway.core.checkpoint import Checkpoint
from interlock_gateway.core.clock import Clock
from interlock_gateway.core.content import Text
from interlock_gateway.core.decision import Decision, Obligations, Reason, Verdict
from interlock_gateway.core.document import Document
from interlock_gateway.core.jsonvalue import JsonObject
from interlock_gateway.core.outcome import Invocation, ToolOutcome
from interlock_gateway.core.pending import PendingAction, ResolutionNote
from interlock_gateway.core.recent import Counted
from interlock_gateway.core.session import Principal
from interlock_gateway.core.tool import ResultLimits
from interlock_gateway.core.trace import TraceContext
from interlock_gateway.errors import OutcomeUnknownError, ProviderDownError
from interlock_gateway.isolation.priority import let_others_go
from interlock_gateway.pipeline.enforce import binding
from interlock_gateway.pipeline.policy_input import NO_FACTS
from interlock_gateway.pipeline.tracing_port import UNTRACED, CallTrace, word_for
from interlock_gateway.providers.port import EventSink, Provider, ignore_events
from interlock_gateway.registry.registered import RegisteredTool
from interlock_gateway.sessions.live import LiveSession

T = TypeVar("T")
GONE_MESSAGE = "the call was cancelled while it ran; whether it took effect is not known"
DIGESTED_BYTES = 128 * 1024
"""How much of an input is digested in one step: a tenth of a millisecond."""
EMPTY = Document(b"{}", {}, exact_integers_only=True)


@dataclass(slots=True)
class CallRun:
    """One call under way. Times are monotonic seconds, but for `received_at`, which is Unix time.

    `sender`, when set, is used in place of the provider's `execute`; `wrap` has the last word on the answer that a
    dispatch gives, before it is recorded. `speaks_for` is the provider whose standing handler answers instead of the
    tool's own. `elsewhere_s` is how long it waited for its turn and for a preview, besides `dispatch_s`. `journaled`
    says that the journal holds the call, `unkept` that its outcome could not be kept. `previewed` is the pending action
    that its preview left. `undoes` is the operation that it takes back, empty for all but compensations.

    `checkpoint` is the one that holds or held the call; `resuming` the one from which this run goes on, approved or
    edited. `taken` says that the call is somebody else's to run and to record. `before_waiting` is done before the
    call begins to wait for a person. `dry` asks for the decision and nothing else. `counted` is how the call
    stands in what its principal called lately; `destroying` says that its session reckons with what it may destroy.

    `pending` is the action that it applies, `resolution` what a `resolve` call asks for and about what.

    `follows` is the `traceparent` of the call from which this one goes on, in another request: one that waited for a
    person, was previewed, or is taken back. `over` says that the call has its answer.
    """

    principal: Principal
    live: LiveSession
    request: CallRequest
    call_id: str
    tool: RegisteredTool | None
    received_at: float
    started: float
    deadline_at: float
    decision_id: str
    clock: Clock
    kind: CallKind = CallKind.CALL
    on_event: EventSink = ignore_events
    resolving: "CallRun | None" = None
    applying: "CallRun | None" = None
    document: Document = EMPTY
    sent: Document = EMPTY
    policy_input: bytes = b""
    facts: JsonObject = field(default_factory=lambda: NO_FACTS)
    digest: str = ""
    decision: Decision | None = None
    decide_s: float = 0.0
    dispatch_s: float | None = None
    elsewhere_s: float = 0.0
    total_s: float = 0.0
    pending: PendingAction | None = None
    resolution: ResolutionNote | None = None
    checkpoint: Checkpoint | None = None
    resuming: Checkpoint | None = None
    taken: bool = False
    before_waiting: Callable[[], Awaitable[None]] | None = None
    dry: bool = False
    counted: Counted | None = None
    destroying: bool = False
    journaled: bool = False
    unkept: bool = False
    previewed: str = ""
    undoes: str = ""
    outcome: ToolOutcome | None = None
    sender: Callable[[float], Awaitable[ToolOutcome]] | None = None
    wrap: Callable[[CallResult], CallResult] | None = None
    speaks_for: str = ""
    digest_of_request: str = ""
    provider: Provider | None = None
    sending: "asyncio.Task[object] | None" = None
    cancelled: bool = False
    follows: str = ""
    trace: CallTrace = UNTRACED
    over: bool = False

    def cancel(self, *, at_once: bool = False) -> None:
        """Tell the provider that the client has gone; before anything was sent, nothing will be.

        A compensation that was sent is taken to its end, unless the gateway itself ends: an undo of unknown outcome is
        worse than one that nobody waits for.
        """
        if self.undoes and self.sending is not None and not at_once:
            return
        self.cancelled = True
        if self.sending is not None:
            self.sending.cancel()
        if self.applying is not None:
            self.applying.cancel()

    def reckon(self) -> None:
        """Have the session reckon with what this call may destroy, until it is dispatched or has ended."""
        self.destroying = True
        self.live.destroying += 1

    def spare(self) -> None:
        """It is counted as dispatched now, or destroys nothing."""
        if self.destroying:
            self.destroying = False
            self.live.destroying -= 1

    async def to_provider(self, work: Coroutine[object, object, T]) -> T:
        """Do `work` at the provider, until `cancel`. Raises `OutcomeUnknownError` when that came while it was done."""
        if self.cancelled:
            work.close()
            raise ProviderDownError("the call was cancelled before it was sent")
        sending = asyncio.create_task(work)
        self.sending = sending
        try:
            return await sending
        except asyncio.CancelledError:
            if not self.cancelled:
                raise
            raise OutcomeUnknownError(GONE_MESSAGE) from None
        finally:
            self.sending = None

    @property
    def request_digest(self) -> str:
        """What makes two requests with one call id the same (PIPE-10); that of `resolve` when this applies for it."""
        if self.resolving is not None:
            return self.resolving.request_digest
        return self.digest_request()

    def digest_request(self) -> str:
        """The digest of this run's own request, made once; of a large one it takes milliseconds, on any thread."""
        if not self.digest_of_request:
            self.digest_of_request = _digest_of(self.request, self.tool_name)
        return self.digest_of_request

    @property
    def known_tool(self) -> RegisteredTool:
        """The tool, once it is resolved."""
        assert self.tool is not None
        return self.tool

    @property
    def decided(self) -> Decision:
        """The decision, once there is one."""
        assert self.decision is not None
        return self.decision

    @property
    def tool_name(self) -> str:
        """The tool's canonical name, or the name that was asked for."""
        return self.tool.name if self.tool else self.request.tool

    @property
    def session_id(self) -> str:
        """The session's id."""
        return self.live.session.session_id

    @property
    def read_only(self) -> bool:
        """Whether the call changes nothing, as far as its tool's metadata says. What undoes changes something."""
        return self.tool is not None and self.tool.classification.read_only and not self.undoes

    @property
    def obligations(self) -> Obligations:
        """What policy obliges the gateway to do, what is sent left out."""
        return binding(self.decided)

    def limits(self) -> ResultLimits:
        """The tool's result limits."""
        return self.known_tool.definition.result_limits

    def seconds_left(self, now: float, tool_default_s: float) -> float:
        """What the provider may take: the least of the client's deadline, the tool's and policy's (PIPE-7)."""
        allowed = self.known_tool.definition.timeout_s or tool_default_s
        if self.obligations.timeout_s is not None:
            allowed = min(allowed, self.obligations.timeout_s)
        return max(0.001, min(self.deadline_at - now, allowed))

    def invocation(self, deadline_s: float, trace: TraceContext | None = None) -> Invocation:
        """What the provider is sent, as a part of `trace`; without one, of the call's own."""
        said = self.resolution
        return Invocation(
            session_id=self.session_id,
            call_id=self.call_id,
            tool=self.known_tool.name,
            input=self.sent.raw,
            deadline_s=deadline_s,
            workdir=self.request.workdir,
            labels=self.request.labels,
            pending_id=self.pending.pending_id if self.pending else "",
            state_token=self.pending.state_token if self.pending else "",
            reason=said.reason if said else "",
            extra=said.extra if said else None,
            trace=trace or self.trace.context,
        )

    def leave(self, error: BaseException) -> None:
        """It ends without an answer."""
        self.trace.abandoned(word_for(error))

    @property
    def traceparent(self) -> str:
        """The call's span, to be kept for what follows from it; empty without a trace."""
        context = self.trace.context
        return context.traceparent if context is not None else ""

    def answer(self, status: CallStatus, text: str = "", *, is_error: bool = False) -> CallResult:
        """An answer to this call with the decision, the classification and one text."""
        return CallResult(
            call_id=self.call_id,
            status=status,
            decision=self.decision,
            classification=self.tool.classification if self.tool else None,
            content=(Text(text),) if text else (),
            is_error=is_error,
        )

    def refused(self, code: str, message: str, *, revision: str, profile: str) -> CallResult:
        """A denial by the gateway itself, before or beside policy; nothing was dispatched."""
        self.decision = Decision(
            decision_id=self.decision_id,
            verdict=Verdict.DENY,
            reasons=(Reason(code, message, "gateway"),),
            policy_revision=revision,
            profile=profile,
            decided_at=self.clock.now(),
        )
        return self.answer(CallStatus.DENIED, message, is_error=True)


def _digest_of(request: CallRequest, tool: str) -> str:
    digest = hashlib.sha256(f"{len(tool)}:{tool}{len(request.workdir)}:{request.workdir}".encode())
    whole = memoryview(request.input)
    for at in range(0, len(whole), DIGESTED_BYTES):
        if at:
            let_others_go()
        digest.update(whole[at : at + DIGESTED_BYTES])
    return digest.hexdigest()
