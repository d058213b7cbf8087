"""The contract's messages for what a fake gateway answers."""

import json
from collections.abc import Mapping
from typing import Any

from interlock.provider._encode import as_result, json_bytes, put_result
from interlock.provider._values import ToolResult
from interlock.testing._scripts import Preview
from interlock.v1 import call_pb2, content_pb2, decision_pb2, pending_pb2, provider_pb2, tool_pb2

REMINDER = (
    "<system-reminder>\n"
    "This is a preview. Call the `resolve` tool to apply or discard these changes.\n"
    "</system-reminder>"
)
RESOLVE = tool_pb2.ToolDefinition(
    name="resolve",
    description=(
        "Apply or discard the previewed change on top of the stack. "
        "Nothing that was previewed has happened until you call this with action=apply."
    ),
    input_schema=json.dumps(
        {
            "type": "object",
            "properties": {
                "action": {"enum": ["apply", "discard"]},
                "reason": {"type": "string", "pattern": r"\S"},
                "extra": {"type": "object"},
                "pending_id": {"type": "string"},
            },
            "required": ["action", "reason"],
            "additionalProperties": False,
        }
    ).encode(),
)
NOTHING_PENDING = "No pending action to resolve. Nothing to apply or discard."
NO_HANDLER = "checkpoint required but no approval handler is registered"

_VERDICTS = {
    call_pb2.CALL_STATUS_DENIED: decision_pb2.VERDICT_DENY,
    call_pb2.CALL_STATUS_PREVIEW: decision_pb2.VERDICT_PREVIEW,
    call_pb2.CALL_STATUS_AWAITING_CHECKPOINT: decision_pb2.VERDICT_CHECKPOINT,
    call_pb2.CALL_STATUS_REFLECTION_REQUIRED: decision_pb2.VERDICT_REFLECT,
}


def text_part(text: str) -> content_pb2.Content:
    """A text for the model."""
    return content_pb2.Content(text=content_pb2.TextContent(text=text))


def answer(
    call_id: str,
    status: call_pb2.CallStatus,
    text: str = "",
    *,
    code: str = "",
    is_error: bool = False,
    details: Mapping[str, Any] | None = None,
) -> call_pb2.CallResult:
    """A result with one text, and the decision that goes with its status."""
    decision = decision_pb2.Decision(
        decision_id=f"decision-{call_id}",
        verdict=_VERDICTS.get(status, decision_pb2.VERDICT_ALLOW),
        reasons=[decision_pb2.Reason(code=code, message=text)] if code else [],
        policy_revision="fake",
        profile="standard",
    )
    return call_pb2.CallResult(
        call_id=call_id,
        status=status,
        decision=decision,
        content=[text_part(text)] if text else [],
        is_error=is_error,
        details=json_bytes(details) if details is not None else b"",
    )


def ran(call_id: str, returned: Any) -> tuple[call_pb2.CallResult, ToolResult]:
    """The result of a call that ran, and what the tool returned."""
    result = as_result(returned)
    sent = provider_pb2.ToolResult()
    put_result(sent, result, "fake", has_reject=False)
    made = answer(call_id, call_pb2.CALL_STATUS_COMPLETED, sent.output, is_error=sent.is_error)
    made.content.extend(sent.content)
    made.data = sent.data
    made.details = sent.details
    if sent.HasField("undo"):
        made.undo.CopyFrom(sent.undo)
    return made, result


def previewed(call_id: str, script: Preview, pending: pending_pb2.PendingAction) -> call_pb2.CallResult:
    """The answer to a previewed call (PREV-1)."""
    made = answer(call_id, call_pb2.CALL_STATUS_PREVIEW, script.preview, code="preview")
    made.preview.CopyFrom(pending.preview)
    made.pending.pending_id = pending.pending_id
    made.pending.label = pending.label
    made.pending.source_tool = pending.source_tool
    made.steering.append(REMINDER)
    return made


def resolution_details(
    action: str, reason: str, extra: bytes, pending: pending_pb2.PendingAction, source: bytes = b""
) -> dict[str, Any]:
    """The details of a resolve's answer (PREV-9)."""
    details = {"action": action, "reason": reason, "sourceToolName": pending.source_tool, "label": pending.label}
    if extra:
        details["extra"] = json.loads(extra)
    if source:
        details["sourceResultDetails"] = json.loads(source)
    return details
