"""Between what handlers return and what travels (`interlock.v1`)."""

import dataclasses
import json
from collections.abc import Mapping
from typing import Any

from interlock.provider._values import DryRunResult, Image, Part, PendingAction, ToolResult, UndoInfo
from interlock.v1 import content_pb2, provider_pb2, tool_provider_service_pb2, undo_pb2

SUMMARY_CHARACTERS = 200
EXPANDED_CHARACTERS = 16 * 1024  # 64 KiB of UTF-8 at most, as Rendering promises


def json_bytes(value: Any) -> bytes:
    """Compact UTF-8 JSON; dataclasses become objects.

    Raises TypeError or ValueError for what JSON cannot hold: NaN, Infinity, lone surrogates, foreign types.
    """
    return json.dumps(value, default=_plain, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()


def _plain(value: Any) -> Any:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return dataclasses.asdict(value)
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"{type(value).__name__} is not JSON")


def optional_json(value: Any) -> bytes:
    """JSON, or nothing for None."""
    return b"" if value is None else json_bytes(value)


def as_result(returned: Any) -> ToolResult:
    """What a handler returned, as a result. Text is content; pictures too; everything else is data."""
    if isinstance(returned, ToolResult):
        return returned
    if returned is None:
        return ToolResult()
    if isinstance(returned, (str, bytes, Image, content_pb2.Content)):
        return ToolResult(content=returned)
    if isinstance(returned, (bool, int, float)):
        return ToolResult(content=json_bytes(returned).decode())
    return ToolResult(data=returned)


def put_returned(made: provider_pb2.ToolResult, returned: Any, source: str, *, has_reject: bool) -> None:
    """Write what a handler returned into a message; plain text, the usual case, costs one field."""
    if type(returned) is str:
        made.output = returned
    else:
        put_result(made, as_result(returned), source, has_reject=has_reject)


def put_result(made: provider_pb2.ToolResult, result: ToolResult, source: str, *, has_reject: bool) -> None:
    """Write a result into a message. `source` is the tool's name, which its tokens begin with on the wire."""
    parts = result.parts
    if result.data is not None:
        made.data = json_bytes(result.data)
        if not parts:
            made.output = made.data.decode()
    if len(parts) == 1 and isinstance(parts[0], str):
        made.output = parts[0]
    else:
        made.content.extend(map(_content, parts))
    if result.details is not None:
        made.details = json_bytes(result.details)
    made.is_error = made.tool_error = result.is_error
    made.state_changed = result.state_changed
    made.taint.extend(result.taint)
    if result.undo is not None:
        made.undo.CopyFrom(undo_message(result.undo))
    _put_pending(made, result, source, has_reject=has_reject)


def _put_pending(made: provider_pb2.ToolResult, result: ToolResult, source: str, *, has_reject: bool) -> None:
    if result.pending_action is not None:
        _put_action(made.pending_action, result.pending_action, source, has_reject=has_reject)
    if result.standing_handler is not None:
        _put_action(made.standing_handler.register, result.standing_handler, source, has_reject=has_reject)
    elif result.clear_standing_handler:
        made.standing_handler.clear_token = wire_token(source, result.clear_standing_handler)


def _put_action(
    made: provider_pb2.PushedPendingAction | provider_pb2.StandingHandler,
    action: PendingAction,
    source: str,
    *,
    has_reject: bool,
) -> None:
    made.label = action.label
    made.token = wire_token(source, action.token)
    made.source_tool = action.source_tool
    made.details = optional_json(action.details)
    made.has_reject = has_reject if action.has_reject is None else action.has_reject


def wire_token(source: str, token: str) -> str:
    """A token that says which tool it belongs to; tool names hold no colon."""
    return f"{source}:{token}"


def split_token(wire: str) -> tuple[str, str]:
    """The tool and the token of a `wire_token`."""
    source, _, token = wire.partition(":")
    return source, token


def undo_message(undo: UndoInfo) -> undo_pb2.UndoInfo:
    """Undo info as it travels."""
    return undo_pb2.UndoInfo(
        tool=undo.tool,
        input=json_bytes(undo.input) if undo.tool else b"",
        description=undo.description,
        irreversible=undo.irreversible,
        manual_guide=undo.manual_guide,
    )


def dry_run_message(returned: Any) -> tool_provider_service_pb2.DryRunResponse:
    """What a dry run returned, as it travels; a `str` is the preview.

    Raises TypeError for anything but a DryRunResult or a str.
    """
    result = DryRunResult(preview=returned) if isinstance(returned, str) else returned
    if not isinstance(result, DryRunResult):
        raise TypeError(f"a dry run returns a DryRunResult or a str, not {type(returned).__name__}")
    return tool_provider_service_pb2.DryRunResponse(
        would_affect=result.would_affect,
        preview=result.preview,
        estimated_impact=optional_json(result.estimated_impact),
        state_token=result.state_token,
        label=result.label,
        details=optional_json(result.details),
    )


def rendering_message(returned: Any) -> provider_pb2.Rendering:
    """What a renderer returned, as it travels: a line and a long form, or one text whose first line is the line."""
    if isinstance(returned, tuple):
        summary, expanded = returned
    else:
        text = str(returned)
        summary, _, rest = text.partition("\n")
        expanded = text if rest else ""
    return provider_pb2.Rendering(summary=summary[:SUMMARY_CHARACTERS], expanded=expanded[:EXPANDED_CHARACTERS])


def _content(part: Part) -> content_pb2.Content:
    if isinstance(part, content_pb2.Content):
        return part
    if isinstance(part, str):
        return content_pb2.Content(text=content_pb2.TextContent(text=part))
    image = Image(part) if isinstance(part, bytes) else part
    return content_pb2.Content(image=content_pb2.ImageContent(data=image.data, media_type=image.media_type))


def result_from(message: provider_pb2.ToolResult) -> ToolResult:
    """A result that comes back to a handler (undo, render_result), as far as a handler may want it."""
    parts: list[Part] = [message.output] if message.output else []
    for part in message.content:
        kind = part.WhichOneof("part")
        if kind == "text":
            parts.append(part.text.text)
        elif kind == "image":
            parts.append(Image(part.image.data, part.image.media_type or "application/octet-stream"))
        else:
            parts.append(part)
    return ToolResult(
        content=tuple(parts),
        data=json.loads(message.data) if message.data else None,
        details=json.loads(message.details) if message.details else None,
        is_error=message.is_error,
        state_changed=message.state_changed,
        undo=_undo_from(message.undo) if message.HasField("undo") else None,
        taint=tuple(message.taint),
    )


def _undo_from(message: undo_pb2.UndoInfo) -> UndoInfo:
    return UndoInfo(
        tool=message.tool,
        input=json.loads(message.input) if message.input else {},
        description=message.description,
        irreversible=message.irreversible,
        manual_guide=message.manual_guide,
    )
