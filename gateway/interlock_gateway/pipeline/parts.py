"""What the pipeline is built from: the rooms around it, as it uses them, and the settings it obeys."""

from dataclasses import dataclass, field
from typing import Protocol

from interlock_gateway.core.call import CallResult
from interlock_gateway.core.clock import Clock
from interlock_gateway.core.decision import Obligations
from interlock_gateway.core.document import Document
from interlock_gateway.core.jsonvalue import JsonObject, JsonValue
from interlock_gateway.core.outcome import ToolOutcome
from interlock_gateway.core.rollback import RollbackOutcome
from interlock_gateway.core.tool import ResultLimits
from interlock_gateway.pipeline.approvals_port import Approvers
from interlock_gateway.pipeline.decide import PolicyEvaluator
from interlock_gateway.pipeline.no_tracer import NoTracer
from interlock_gateway.pipeline.plugin_port import Hooks, Interceptors
from interlock_gateway.pipeline.ports import StateStore, Waiters
from interlock_gateway.pipeline.run import CallRun
from interlock_gateway.pipeline.shadow_port import Shadow
from interlock_gateway.pipeline.tasks import TaskKeeper
from interlock_gateway.pipeline.tracing_port import CallTrace
from interlock_gateway.providers.port import Provider
from interlock_gateway.registry.deferral import Deferral
from interlock_gateway.registry.registry import ToolRegistry
from interlock_gateway.sessions.book import SessionBook
from interlock_gateway.sessions.call_counts import CallCounts


class Recorder(Protocol):
    """Receipts (PIPE-12). Raises `AuditUnavailableError` when they cannot be written."""

    @property
    def healthy(self) -> bool:
        """Whether receipts reach the disk."""
        ...

    def note(self, run: CallRun, result: CallResult) -> None:
        """Hand over a receipt that may wait for the next group commit."""
        ...

    def evaluated(self, run: CallRun) -> None:
        """Hand over the receipt of a decision that was asked for and nothing else; it may wait like any other."""
        ...

    async def intend(self, run: CallRun) -> None:
        """Have it on disk that the call is about to be dispatched."""
        ...

    async def settle(self, run: CallRun, result: CallResult) -> None:
        """Have the receipt on disk before the answer goes out."""
        ...


class ResultProcessor(Protocol):
    """Redact, limit, store (PIPE-11)."""

    async def process(
        self, outcome: ToolOutcome, limits: ResultLimits, obligations: Obligations, session_id: str
    ) -> CallResult:
        """The result's content, data, truncation and artifact; its call id, status and decision are blank."""
        ...

    def redact(self, text: str) -> str:
        """A text that is shown beside a result, without its secrets (RES-6)."""
        ...

    def mask(self, value: JsonValue) -> JsonValue:
        """A JSON value that people are shown, without its secrets (RES-6)."""
        ...


class FactsExtractor(Protocol):
    """Structured facts by permission class (PIPE-5)."""

    async def extract(self, run: CallRun, document: Document) -> JsonObject:
        """The facts about the call, were `document` its input; total, and never blocking the event loop."""
        ...

    def workdir_problem(self, run: CallRun) -> str | None:
        """Why the call's working directory is refused (TOOL-9), or None."""
        ...


class Observer(Protocol):
    """Watches calls end; changes nothing."""

    def call_ended(self, run: CallRun, result: CallResult) -> None:
        """One call has its answer."""
        ...

    def call_evaluated(self, run: CallRun) -> None:
        """A decision was asked for, and nothing else."""
        ...

    def undo_ended(self, outcome: RollbackOutcome) -> None:
        """A rollback is done with one operation."""
        ...

    def pending_changed(self, change: int) -> None:
        """There are `change` more pending actions than before."""
        ...

    def checkpoint_ended(self, outcome: str, waited_s: float) -> None:
        """People have decided about a call, or were not asked any more, after so long."""
        ...


class Tracer(Protocol):
    """Follows calls through their steps (OBS-2); changes nothing, waits for nobody, raises nothing."""

    def begun(self, run: CallRun) -> CallTrace:
        """A call begins; what is to be its `trace`."""
        ...

    def decided(self, run: CallRun) -> None:
        """There is a decision about it."""
        ...

    def ended(self, run: CallRun, result: CallResult | None) -> None:
        """It has its answer; `None` when it was asked for a decision alone."""
        ...


class ProviderDirectory(Protocol):
    """Providers by name."""

    def get(self, name: str) -> Provider | None:
        """The provider, reachable or not; `None` when there is none of that name."""
        ...

    def reached(self) -> frozenset[str]:
        """The names of those that can be called now, from this replica."""
        ...


@dataclass(frozen=True, slots=True)
class PipelineSettings:
    """What the operator configured, as far as a call feels it. Sizes are bytes, times seconds."""

    replica: str
    max_input_bytes: int
    max_depth: int
    default_timeout_s: float
    max_timeout_s: float
    pending_expires_s: float
    pending_mode: str
    confidence_field: str
    max_calls_in_flight: int
    max_waiting_calls: int
    open_checkpoints: Waiters
    checkpoint_expires_s: float
    checkpoint_quorum: int
    max_batch_parallel: int


@dataclass(frozen=True, slots=True)
class Parts:
    """Everything the pipeline needs, put together by the composition root."""

    settings: PipelineSettings
    clock: Clock
    sessions: SessionBook
    counts: CallCounts
    registry: ToolRegistry
    deferral: Deferral
    providers: ProviderDirectory
    engine: PolicyEvaluator
    facts: FactsExtractor
    store: StateStore
    recorder: Recorder
    results: ResultProcessor
    observer: Observer
    approvers: Approvers
    tasks: TaskKeeper
    tracer: Tracer = field(default_factory=NoTracer)
    interceptors: Interceptors | None = None
    hooks: Hooks | None = None
    shadow: Shadow | None = None
