"""How the result of a call is shown, and which exit code it is."""

from collections.abc import Mapping
from typing import Any

from interlock.results import CallResult, CallStatus, Content, ContentKind

from interlock_gateway.cli.exit_codes import ExitCode
from interlock_gateway.cli.jsonable import jsonable, to_json
from interlock_gateway.cli.screen import Block, Fields, Screen, Text

_CODE = {
    CallStatus.COMPLETED: ExitCode.OK,
    CallStatus.DENIED: ExitCode.REFUSED,
    CallStatus.FAILED: ExitCode.REFUSED,
    CallStatus.PREVIEW: ExitCode.WAITING,
    CallStatus.AWAITING_CHECKPOINT: ExitCode.WAITING,
    CallStatus.REFLECTION_REQUIRED: ExitCode.WAITING,
}


def exit_code(result: CallResult) -> ExitCode:
    """The exit code of a call's result; a status that nobody knows is an unknown outcome."""
    code = _CODE.get(result.status, ExitCode.UNKNOWN)
    return ExitCode.REFUSED if code is ExitCode.OK and result.is_error else code


def show_result(
    screen: Screen, result: CallResult, session_id: str, *, with_content: bool = True, resolving: bool = False
) -> None:
    """Show what became of a call, and to people what to do next; `resolving` says that it was a call of `resolve`."""
    document = {"session_id": session_id, **jsonable(result)}
    resolution = _resolution(result) if resolving else ()
    screen.show(document, *resolution, *_blocks(result, session_id, with_content=with_content))
    if hint := _next_step(result, session_id):
        screen.hint(f"\nNext: {hint}")


def _blocks(result: CallResult, session_id: str, *, with_content: bool) -> list[Block]:
    blocks: list[Block] = []
    text = "\n".join(part for part in map(content_text, result.content) if part)
    if with_content and text:
        blocks.append(Text(text))
    if result.data is not None and not text:
        blocks.append(Text(to_json(result.data)))
    if result.reflection is not None:
        blocks.append(Text(result.reflection.instructions, title="deliverable wanted"))
    blocks.append(Fields(_facts(result, session_id)))
    return blocks


def _resolution(result: CallResult) -> tuple[Block, ...]:
    """How a pending action was resolved, as one block (PREV-9). None while that is not known."""
    details = result.details or {}
    word = _word(result, details)
    if not word:
        return ()
    about = (
        ("label", details.get("label")),
        ("tool", details.get("sourceToolName")),
        ("reason", details.get("reason")),
    )
    return (Fields(about, title=word),)


def _word(result: CallResult, details: Mapping[str, Any]) -> str:
    if result.status is CallStatus.AWAITING_CHECKPOINT or exit_code(result) is ExitCode.UNKNOWN:
        return ""
    if exit_code(result) is not ExitCode.OK:  # nothing was applied: a fresh preview is no success either
        return "Failed"
    extra = details.get("extra")
    outcome = extra.get("outcome") if isinstance(extra, Mapping) else None
    if outcome in ("applied", "not_applied"):  # somebody said what came of it
        return "Accept" if outcome == "applied" else "Discard"
    return "Accept" if details.get("action") == "apply" else "Discard"


def _facts(result: CallResult, session_id: str) -> list[tuple[str, Any]]:
    decision, artifact, undo, pending = result.decision, result.artifact, result.undo, result.pending
    reasons = "\n".join(f"{one.code}: {one.message} ({one.rule})" for one in decision.reasons)
    return [
        ("status", f"{result.status}, an error" if result.is_error else str(result.status)),
        ("verdict", f"{decision.verdict}, observed only" if decision.observe_only else str(decision.verdict)),
        ("reasons", reasons if result.status is not CallStatus.COMPLETED else None),
        ("would affect", result.preview.would_affect if result.preview else None),
        ("artifact", f"{artifact.uri} ({artifact.total_bytes} bytes, {artifact.lines} lines)" if artifact else None),
        ("undo", (undo.manual_guide if undo.irreversible else undo.description or undo.tool) if undo else None),
        ("pending", f"{pending.label or pending.source_tool} ({pending.pending_id})" if pending else None),
        ("checkpoint", result.checkpoint.checkpoint_id if result.checkpoint else None),
        ("session", session_id),
        ("call", result.call_id),
        ("decision", decision.decision_id),
    ]


def content_text(part: Content) -> str:
    """A part of a result as text; what is no text is described."""
    if part.text:
        return part.text
    if part.kind is ContentKind.TEXT:
        return ""
    size = f", {len(part.data)} bytes" if part.data else ""
    named = f" {part.uri}" if part.uri else ""
    return f"[{part.kind}{named}{f', {part.media_type}' if part.media_type else ''}{size}]"


def _next_step(result: CallResult, session_id: str) -> str:
    if result.status is CallStatus.PREVIEW:
        return f"interlock resolve apply --session {session_id} --reason '...'   (or discard)"
    if result.artifact is not None:
        return f"interlock artifact read {result.artifact.uri} --session {session_id}"
    if result.status is CallStatus.REFLECTION_REQUIRED:
        return "repeat the call with --deliverable @deliverable.json"
    codes = {reason.code for reason in result.decision.reasons}
    if "tool_deferred" in codes:
        return f"interlock tools --activate NAME --session {session_id}, and the call again in that session"
    if "unknown_tool" in codes:
        return "interlock tools, or interlock providers when all tools of a provider are missing"
    return ""
