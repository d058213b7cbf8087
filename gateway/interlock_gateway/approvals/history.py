"""What ran before in the session that asks, as an approver is shown it (CHK-10).

The journal knows what may have changed something, for ever and at every replica. Besides, each replica remembers the
last calls of the sessions that were busy last, so that reads and denials are shown too: what a call follows often says
more than itself.
"""

import json
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

from interlock_gateway.core.call import CallResult
from interlock_gateway.core.checkpoint import Checkpoint
from interlock_gateway.core.decision import Verdict
from interlock_gateway.core.operation import Operation
from interlock_gateway.core.tool import Effect
from interlock_gateway.core.visible import visible_line
from interlock_gateway.pipeline.ports import Journal
from interlock_gateway.pipeline.run import CallRun

MOST_ENTRIES = 20
SESSIONS_REMEMBERED = 500
_LONGEST_SUMMARY = 200
_LONGEST_INPUT = 1024
_UNKNOWN_TOOL = "unknown tool"


@dataclass(frozen=True, slots=True)
class PastCall:
    """An earlier call, as people may look at it; `time` is Unix seconds, `status` how it ended or stands."""

    call_id: str
    tool: str
    summary: str
    effect: Effect
    verdict: Verdict
    status: str
    time: float


@dataclass(frozen=True, slots=True)
class _Remembered:
    call_id: str
    tool: str
    input: bytes
    size: int
    effect: Effect
    verdict: Verdict
    status: str
    time: float


class RecentCalls:
    """The last calls of the sessions in which one ended last, in memory."""

    def __init__(self) -> None:
        self._sessions: OrderedDict[str, OrderedDict[str, _Remembered]] = OrderedDict()

    def note(self, run: CallRun, result: CallResult) -> None:
        """Remember a call that has its answer; one that is answered again stands where it was answered last."""
        calls = self._sessions.setdefault(run.request.session_id, OrderedDict())
        self._sessions.move_to_end(run.request.session_id)
        calls[run.call_id] = _remembered(run, result)
        calls.move_to_end(run.call_id)
        if len(calls) > MOST_ENTRIES + 1:
            calls.popitem(last=False)
        if len(self._sessions) > SESSIONS_REMEMBERED:
            self._sessions.popitem(last=False)

    def of(self, session_id: str) -> list[_Remembered]:
        """What is remembered of a session."""
        return list(self._sessions.get(session_id, {}).values())


class SessionHistory:
    """Puts together what ran before. `redact` gives a text without its secrets."""

    def __init__(self, journal: Journal, redact: Callable[[str], str], recent: RecentCalls | None = None) -> None:
        self._journal = journal
        self._redact = redact
        self.recent = recent or RecentCalls()

    async def before(self, checkpoint: Checkpoint) -> tuple[PastCall, ...]:
        """The session's calls but for the one that waits, newest first, at most 20."""
        operations = await self._journal.newest_operations(checkpoint.session_id, MOST_ENTRIES + 1)
        found = {operation.call_id: _journaled(operation) for operation in operations}
        # Of what is known twice the journal has the last word, for another replica may have gone on with it.
        found = {one.call_id: one for one in self.recent.of(checkpoint.session_id)} | found
        found.pop(checkpoint.call_id, None)
        newest = sorted(found.values(), key=lambda one: one.time, reverse=True)
        return tuple(self._past(one) for one in newest[:MOST_ENTRIES])

    def _past(self, one: _Remembered) -> PastCall:
        return PastCall(
            call_id=visible_line(one.call_id),
            tool=visible_line(one.tool),
            summary=visible_line(self._summary(one)),
            effect=one.effect,
            verdict=one.verdict,
            status=one.status,
            time=one.time,
        )

    def _summary(self, one: _Remembered) -> str:
        if one.size > len(one.input):
            return f"an input of {one.size} bytes"
        # Redacted before it is cut: half a secret is not recognised as one.
        text = " ".join(self._redact(_one_line(one.input)).split())
        return text if len(text) <= _LONGEST_SUMMARY else f"{text[:_LONGEST_SUMMARY]}..."


def _remembered(run: CallRun, result: CallResult) -> _Remembered:
    raw = run.request.input
    return _Remembered(
        call_id=run.call_id,
        tool=run.tool.name if run.tool is not None else _UNKNOWN_TOOL,
        # A part of an input is never shown, so none is kept.
        input=raw if len(raw) <= _LONGEST_INPUT else b"",
        size=len(raw),
        effect=run.tool.classification.effect if run.tool is not None else Effect.UNDECLARED,
        verdict=run.decision.verdict if run.decision is not None else Verdict.DENY,
        status=result.status.value,
        time=run.received_at,
    )


def _journaled(operation: Operation) -> _Remembered:
    raw = operation.input
    return _Remembered(
        call_id=operation.call_id,
        tool=operation.tool,
        input=raw if len(raw) <= _LONGEST_INPUT else b"",
        size=len(raw),
        effect=Effect(operation.effect),
        # What is in the journal was let through, at once or in the end.
        verdict=Verdict.ALLOW,
        status=operation.state.value,
        time=operation.intended_at,
    )


def _one_line(raw: bytes) -> str:
    try:
        value = json.loads(raw or b"{}")
    except ValueError:
        return "an input that is no JSON"
    if not isinstance(value, dict):
        return "an input that is no object"
    return ", ".join(f"{name}: {json.dumps(item, ensure_ascii=False)}" for name, item in value.items())
