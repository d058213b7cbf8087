"""A journal entry as it may be shown: what undoing needs may be secret (RES-6)."""

from dataclasses import replace

from interlock_gateway.core.decision import NO_OBLIGATIONS
from interlock_gateway.core.operation import Operation
from interlock_gateway.core.outcome import ToolOutcome
from interlock_gateway.core.tool import ResultLimits
from interlock_gateway.pipeline.parts import ResultProcessor


async def shown_operation(results: ResultProcessor, operation: Operation) -> Operation:
    """`operation` without the secrets in its undo."""
    if operation.undo is None:
        return operation
    outcome = ToolOutcome(undo=operation.undo)
    shown = await results.process(outcome, ResultLimits(), NO_OBLIGATIONS, operation.session_id)
    return replace(operation, undo=shown.undo)
