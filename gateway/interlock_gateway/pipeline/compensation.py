"""One compensation: the recorded undo of one operation, as a call of kind `undo` (UNDO-2, UNDO-5)."""

import json
from dataclasses import replace

from interlock_gateway.core.call import CallKind, CallRequest, CallResult, CallStatus
from interlock_gateway.core.operation import Operation, UndoInfo
from interlock_gateway.core.rollback import RollbackRequest
from interlock_gateway.pipeline.decide import PolicyEvaluator
from interlock_gateway.pipeline.run import CallRun


def request_for(operation: Operation, undo: UndoInfo, call_id: str, asked: RollbackRequest) -> CallRequest:
    """The call that undoes `operation`: what the journal holds and nothing else, where the operation was done.

    The rollback's reason is what the call is for, so policy and the receipt see it. It has no deadline but the tool's:
    a client that stops waiting ends the rollback behind this operation, not in the middle of it.
    """
    return CallRequest(
        session_id=operation.session_id,
        call_id=call_id,
        tool=undo.tool,
        input=json.dumps(dict(undo.input)).encode(),
        workdir=operation.workdir,
        intent=asked.reason,
        checkpoint_mode=asked.checkpoint_mode,
        trace=asked.trace,
    )


def undoing(run: CallRun, operation: Operation) -> CallRun:
    """`run` as a compensation of `operation`."""
    run.kind = CallKind.UNDO
    run.undoes = operation.operation_id
    run.follows = operation.traceparent
    return run


def refusal(run: CallRun, operation: Operation, engine: PolicyEvaluator) -> CallResult | None:
    """Why the recorded undo cannot be called any more; `None` when it can."""
    name, tool = run.request.tool, run.tool
    if tool is None:
        code, text = "undo_tool_missing", f"the tool {name}, which undoes {operation.tool}, is not registered any more"
    elif tool.provider != operation.provider:
        # A provider says how its own effects are taken back, and has no say over what others do.
        code = "undo_tool_of_another_provider"
        text = f"{name} is a tool of {tool.provider} now, and the operation was done by {operation.provider}"
    else:
        return None
    refused = run.refused(code, f"{text}; nothing was undone", revision=engine.revision, profile=engine.profile)
    return replace(refused, status=CallStatus.FAILED)
