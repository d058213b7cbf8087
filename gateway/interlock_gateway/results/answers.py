"""Processed results in the shape the pipeline answers with."""

from interlock_gateway.core.call import CallResult, CallStatus
from interlock_gateway.core.decision import Obligations
from interlock_gateway.core.outcome import ToolOutcome
from interlock_gateway.core.tool import ResultLimits
from interlock_gateway.results.process import ResultProcessor


class ProcessedAnswers:
    """The pipeline's `ResultProcessor`: redacts, limits and stores, and gives a `CallResult` whose rest is blank."""

    def __init__(self, processor: ResultProcessor) -> None:
        self._processor = processor

    async def process(
        self, outcome: ToolOutcome, limits: ResultLimits, obligations: Obligations, session_id: str
    ) -> CallResult:
        """The result's content, data, details, truncation and artifact."""
        done = await self._processor.process(outcome, limits, obligations, session_id)
        return CallResult(
            call_id="",
            status=CallStatus.COMPLETED,
            content=done.content,
            data=done.data,
            has_data=done.has_data,
            truncated=done.truncated,
            artifact=done.artifact,
            details=done.details or {},
            undo=done.undo,
            redactions=done.redactions,
        )
