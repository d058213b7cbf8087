"""Asks a candidate policy about calls that are decided already, in a worker of its own, within a small budget (LIFE-5).

Nothing here is waited for by a call. What the candidate is too slow for is skipped and counted; one that loops or
crashes costs itself pauses that grow, and its worker, which runs at the lowest priority.
"""

import asyncio
from collections import Counter, OrderedDict, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

from interlock_gateway.config_bundles import ShadowConfig
from interlock_gateway.core.clock import Clock
from interlock_gateway.core.decision import Decision, DecisionError, GatewayErrorCode, denial_for_failure
from interlock_gateway.pipeline.policy_result import read_decision
from interlock_gateway.pipeline.shadow_port import ShadowOpinion
from interlock_gateway.policy.bundle import PolicyBundle
from interlock_gateway.policy.embedded.engine import EmbeddedEngine, PoolSettings
from interlock_gateway.policy.shadow.difference import Difference, Subject, differ, difference, shown

MAX_DOCUMENT_BYTES = 1024 * 1024
MAX_WAITING_BYTES = 8 * 1024 * 1024
BURST_S = 0.25
"""How much of a second's allowance may be used at once."""
_DENIALS = frozenset(
    {
        GatewayErrorCode.POLICY_UNDEFINED,
        GatewayErrorCode.POLICY_CONFLICT,
        GatewayErrorCode.POLICY_MALFORMED,
        GatewayErrorCode.POLICY_ERROR,
    }
)
# The other failures come of its small budget too, and say little of what it would do.
FIRST_PAUSE_S, LONGEST_PAUSE_S = 1.0, 60.0
OPINIONS_KEPT = 1000
"""Decisions of which it is known what the candidate says; of older ones only differences are, on disk."""


class ShadowObserver(Protocol):
    """Counts what a candidate does."""

    def shadow_evaluated(self, active: str, candidate: str, *, differs: bool) -> None:
        """The candidate has decided about a call."""
        ...

    def shadow_skipped(self, why: str) -> None:
        """The candidate was not asked about a call, or did not answer."""
        ...


@dataclass(slots=True)
class ShadowFigures:
    """What came of a candidate so far."""

    evaluated: int = 0
    differed: int = 0
    skips: Counter[str] = field(default_factory=Counter)
    differences: Counter[tuple[str, str]] = field(default_factory=Counter)


@dataclass(frozen=True, slots=True)
class _Asked:
    subject: Subject
    active: Decision
    document: bytes


class ShadowEvaluator:
    """One candidate. `record` is told each difference; `mask` takes secrets out of texts."""

    def __init__(
        self,
        bundle: PolicyBundle,
        config: ShadowConfig,
        clock: Clock,
        observer: ShadowObserver,
        *,
        record: Callable[[Difference], None],
        mask: Callable[[str], str],
    ) -> None:
        self.bundle = bundle
        self.figures = ShadowFigures()
        self.since = clock.now()
        self._config = config
        self._clock = clock
        self._observer = observer
        self._record = record
        self._mask = mask
        settings = PoolSettings(
            workers=1,
            most_workers=1,
            timeout_s=config.timeout_s,
            longest_wait_s=config.timeout_s,
            window=1,
            memory_bytes=config.max_worker_bytes,
            in_background=True,
        )
        self._engine = EmbeddedEngine(bundle, settings, max_input_bytes=MAX_DOCUMENT_BYTES)
        self._waiting: deque[_Asked] = deque()
        self._waiting_bytes = 0
        self._working: asyncio.Task[None] | None = None
        self._most_at_once = max(1.0, config.max_per_s * BURST_S)
        self._allowance, self._allowed_at = self._most_at_once, clock.monotonic()
        self._paused_until, self._pause_s = 0.0, 0.0
        self._opinions: OrderedDict[str, ShadowOpinion] = OrderedDict()

    @property
    def process_ids(self) -> tuple[int, ...]:
        """The processes that evaluate it."""
        return self._engine.process_ids

    async def start(self) -> None:
        """Start its worker. Raises `PolicyUnavailableError` when the candidate cannot be loaded."""
        await self._engine.start()

    def ask(self, subject: Subject, active: Decision, document: bytes) -> None:
        """Have the candidate asked about a call that was decided; returns at once."""
        why = self._why_not(len(document))
        if why:
            self._skip(why)
            return
        self._waiting.append(_Asked(subject, active, document))
        self._waiting_bytes += len(document)
        if self._working is None or self._working.done():
            self._working = asyncio.create_task(self._work())

    def opinion(self, decision_id: str) -> ShadowOpinion | None:
        """What the candidate said of this decision, if it was asked about it of late and has answered."""
        return self._opinions.get(decision_id)

    async def settled(self) -> None:
        """Wait until all that waits was asked."""
        while self._working is not None and not self._working.done():
            await asyncio.wait([self._working])

    async def close(self) -> None:
        """End its worker; what waits is skipped."""
        if self._working is not None:
            self._working.cancel()
            await asyncio.wait([self._working])
        self._waiting.clear()
        await self._engine.close()

    def _why_not(self, size: int) -> str:
        """Why a call is skipped; empty when it is not."""
        now = self._clock.monotonic()
        earned = (now - self._allowed_at) * self._config.max_per_s
        self._allowance = min(self._most_at_once, self._allowance + earned)
        self._allowed_at = now
        if size > MAX_DOCUMENT_BYTES:
            return "too_large"
        if now < self._paused_until:
            return "paused"
        if len(self._waiting) >= self._config.queue or self._waiting_bytes + size > MAX_WAITING_BYTES:
            return "busy"
        if self._allowance < 1.0:
            return "rate"
        self._allowance -= 1.0
        return ""

    async def _work(self) -> None:
        """Ask about one call after the other, until none waits."""
        while self._waiting:
            asked = self._waiting.popleft()
            self._waiting_bytes -= len(asked.document)
            if self._clock.monotonic() < self._paused_until:
                self._skip("paused")
                continue
            try:
                answer = await self._engine.evaluate(asked.document)
                candidate = read_decision(answer.document, decision_id=asked.active.decision_id, policy=answer.policy)
            except DecisionError as error:
                if error.code not in _DENIALS:
                    self._failed(error.code.value)
                    continue
                candidate = self._denial(asked.active.decision_id, error)
            self._pause_s = 0.0
            self._compare(asked, candidate)

    def _denial(self, decision_id: str, error: DecisionError) -> Decision:
        """What would become of a call when the candidate were in force and gave no decision."""
        bundle = self.bundle
        return denial_for_failure(
            decision_id, error.code, error.message, revision=bundle.revision, profile=bundle.profile
        )

    def _compare(self, asked: _Asked, candidate: Decision) -> None:
        pair = (asked.active.verdict.value, candidate.verdict.value)
        differs = differ(asked.active, candidate)
        self._opinions[asked.active.decision_id] = ShadowOpinion(shown(candidate, self._mask), differs)
        if len(self._opinions) > OPINIONS_KEPT:
            self._opinions.popitem(last=False)
        self.figures.evaluated += 1
        self._observer.shadow_evaluated(*pair, differs=differs)
        if differs:
            self.figures.differed += 1
            self.figures.differences[pair] += 1
            self._record(difference(asked.subject, asked.active, candidate, self._mask))

    def _failed(self, why: str) -> None:
        """Leave the candidate alone for a while: each failure may have cost a worker, and starting one costs time."""
        self._pause_s = min(LONGEST_PAUSE_S, max(FIRST_PAUSE_S, 2 * self._pause_s))
        self._paused_until = self._clock.monotonic() + self._pause_s
        self._skip(why)

    def _skip(self, why: str) -> None:
        self.figures.skips[why] += 1
        self._observer.shadow_skipped(why)
