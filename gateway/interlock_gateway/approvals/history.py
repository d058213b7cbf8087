"""What ran before in the session that asks: the part of its journal that an approver is shown (CHK-10)."""

import json
from collections.abc import Callable
from dataclasses import dataclass

from interlock_gateway.core.checkpoint import Checkpoint
from interlock_gateway.core.operation import Operation
from interlock_gateway.core.visible import visible_line
from interlock_gateway.pipeline.ports import Journal

MOST_ENTRIES = 20
_LONGEST_SUMMARY = 200
_LONGEST_INPUT = 64 * 1024


@dataclass(frozen=True, slots=True)
class PastCall:
    """An earlier call that may have changed something, as people may look at it; `time` is Unix seconds."""

    call_id: str
    tool: str
    summary: str
    effect: str
    status: str
    time: float


class SessionHistory:
    """Reads what ran before. `redact` gives a text without its secrets."""

    def __init__(self, journal: Journal, redact: Callable[[str], str]) -> None:
        self._journal = journal
        self._redact = redact

    async def before(self, checkpoint: Checkpoint) -> tuple[PastCall, ...]:
        """The session's operations but for the waiting call's own, newest first, at most 20."""
        operations = await self._journal.newest_operations(checkpoint.session_id, MOST_ENTRIES + 1)
        others = [one for one in operations if one.call_id != checkpoint.call_id]
        return tuple(self._past(one) for one in others[:MOST_ENTRIES])

    def _past(self, operation: Operation) -> PastCall:
        return PastCall(
            call_id=visible_line(operation.call_id),
            tool=visible_line(operation.tool),
            summary=visible_line(self._summary(operation.input)),
            effect=operation.effect,
            status=operation.state.value,
            time=operation.intended_at,
        )

    def _summary(self, raw: bytes) -> str:
        # Redacted before it is cut: half a secret is not recognised as one.
        text = " ".join(self._redact(_one_line(raw)).split())
        return text if len(text) <= _LONGEST_SUMMARY else f"{text[:_LONGEST_SUMMARY]}..."


def _one_line(raw: bytes) -> str:
    if len(raw) > _LONGEST_INPUT:
        return f"an input of {len(raw)} bytes"
    try:
        value = json.loads(raw or b"{}")
    except ValueError:
        return ""
    return ", ".join(f"{name}: {json.dumps(item, ensure_ascii=False)}" for name, item in value.items())
