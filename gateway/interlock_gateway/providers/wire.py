"""Between the protos and our own types, for everything a provider says. The one place that does it."""

import json
import math
from collections.abc import Sequence
from typing import cast

from google.protobuf.duration_pb2 import Duration
from interlock.v1 import content_pb2, provider_pb2, tool_pb2, undo_pb2

from interlock_gateway.core import tool as core
from interlock_gateway.core.content import Audio, Content, Image, Resource, Text
from interlock_gateway.core.jsonvalue import FrozenJsonObject, JsonObject, JsonValue
from interlock_gateway.core.operation import UndoInfo
from interlock_gateway.core.outcome import (
    Invocation,
    PushedPending,
    Resolution,
    StandingChange,
    StandingHandler,
    ToolOutcome,
)
from interlock_gateway.core.session import label_texts
from interlock_gateway.errors import ProviderFailedError

MAX_DEPTH = 200
MAX_SUMMARY = 800
MAX_LABEL = 1024
MAX_MESSAGE = 16 * 1024
MAX_OUTPUT = 64 * 1024
MAX_ITEMS = 1000
"""Limits, in characters, of the texts that stand beside a result; the result itself has its own (RES-1)."""
_STRATEGIES = {
    tool_pb2.TRUNCATION_STRATEGY_HEAD_TAIL: core.TruncationStrategy.HEAD_TAIL,
    tool_pb2.TRUNCATION_STRATEGY_TABLE: core.TruncationStrategy.TABLE,
}
_UNDO_METHODS = {
    undo_pb2.UNDO_METHOD_TOOL: core.UndoMethod.TOOL,
    undo_pb2.UNDO_METHOD_MANUAL: core.UndoMethod.MANUAL,
}


def json_value(raw: bytes, field: str) -> JsonValue:
    """The JSON in a provider's field. Raises `ProviderFailedError` naming the field when it is not JSON.

    That includes what Python reads beyond JSON: NaN, numbers out of range, and halves of characters, none of which
    could be written out again.
    """
    try:
        value = _DECODER.decode(raw.decode())
        if b"\\u" in raw:
            json.dumps(value, ensure_ascii=False).encode()
    except (ValueError, RecursionError):
        raise ProviderFailedError(f"the provider's {field} is not valid JSON") from None
    if raw.count(b"{") + raw.count(b"[") > MAX_DEPTH and _nests_deeper(value, MAX_DEPTH):
        raise ProviderFailedError(f"the provider's {field} nests deeper than {MAX_DEPTH} levels")
    return cast("JsonValue", value)


def _nests_deeper(value: JsonValue, most: int) -> bool:
    level = [value]
    for _ in range(most + 1):
        values = (item.values() if isinstance(item, dict) else item for item in level if isinstance(item, dict | list))
        level = [child for children in values for child in children]
    return bool(level)


def bounded(text: str, most: int) -> str:
    """`text`, or how much of it there was: what is looked through while others wait must be short.

    It is left out whole, because the first half of a secret is no longer recognised as one.
    """
    return text if len(text) <= most else f"[{len(text)} characters left out]"


def bounded_list(texts: Sequence[str]) -> tuple[str, ...]:
    """The first of `texts`, each bounded, and how many more there were."""
    kept = tuple(bounded(text, MAX_LABEL) for text in texts[:MAX_ITEMS])
    return kept if len(texts) <= MAX_ITEMS else (*kept, f"[{len(texts) - MAX_ITEMS} more]")


def _refused(constant: str) -> float:
    raise ValueError(constant)


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(text)
    return number


_DECODER = json.JSONDecoder(parse_constant=_refused, parse_float=_finite)


def json_object(raw: bytes, field: str) -> JsonObject | None:
    """The JSON object in a provider's field, `None` when it is empty or `null`."""
    value = json_value(raw, field) if raw else None
    if value is None or isinstance(value, dict):
        return value
    raise ProviderFailedError(f"the provider's {field} is not a JSON object")


def seconds(duration: Duration) -> float:
    """A duration in seconds."""
    return duration.seconds + duration.nanos / 1e9


MAX_DESCRIPTION = 16 * 1024
MAX_SCHEMA_BYTES = 256 * 1024


def definition_from_wire(tool: tool_pb2.ToolDefinition) -> core.ToolDefinition:
    """A tool as its provider describes it.

    Raises `ProviderFailedError` when its schemas are not JSON objects, or something is larger than tool.proto allows.
    """
    if len(tool.description.encode()) > MAX_DESCRIPTION:
        raise ProviderFailedError(f"the description is larger than {MAX_DESCRIPTION} bytes")
    if max(len(tool.input_schema), len(tool.output_schema)) > MAX_SCHEMA_BYTES:
        raise ProviderFailedError(f"a schema is larger than {MAX_SCHEMA_BYTES} bytes")
    limits = tool.result_limits
    return core.ToolDefinition(
        name=tool.name,
        description=tool.description,
        title=tool.title,
        aliases=tuple(tool.aliases),
        input_schema=json_object(tool.input_schema, f"input schema of {tool.name}") or {},
        output_schema=json_object(tool.output_schema, f"output schema of {tool.name}"),
        metadata=_metadata(tool.metadata) if tool.HasField("metadata") else None,
        capability=_capability(tool.capability) if tool.HasField("capability") else None,
        result_limits=core.ResultLimits(
            limits.max_bytes, limits.max_lines, _STRATEGIES.get(limits.strategy, core.TruncationStrategy.HEAD)
        ),
        timeout_s=seconds(tool.timeout),
        prompt_snippet=tool.prompt_snippet,
        prompt_guidelines=tuple(tool.prompt_guidelines),
        knows_workdir=tool.metadata.knows_workdir,
    )


def _metadata(metadata: tool_pb2.ToolMetadata) -> core.ToolMetadata:
    return core.ToolMetadata(
        concurrency_safe=metadata.concurrency_safe,
        read_only=metadata.read_only,
        destructive=metadata.destructive,
        open_world=metadata.open_world,
        permission_class=metadata.permission_class,
        audit_operation=metadata.audit_operation,
        requires_checkpoint=metadata.requires_checkpoint,
        requires_reverse_thinking=metadata.requires_reverse_thinking,
        search_hint=metadata.search_hint,
    )


def _capability(capability: tool_pb2.ToolCapability) -> core.ToolCapability:
    if capability.min_confidence > 100:  # noqa: PLR2004 - a percentage
        raise ProviderFailedError("a tool's min_confidence is above 100")
    return core.ToolCapability(
        dry_run=capability.dry_run,
        reversible=capability.reversible,
        undo_method=_UNDO_METHODS.get(capability.undo_method, core.UndoMethod.NONE),
        undo_tool=capability.undo_tool,
        min_confidence=capability.min_confidence,
        affected_resources=tuple(capability.affected_resources),
    )


def invocation_to_wire(invocation: Invocation) -> provider_pb2.ToolInvocation:
    """What is sent to a provider."""
    return provider_pb2.ToolInvocation(
        session_id=invocation.session_id,
        call_id=invocation.call_id,
        tool=invocation.tool,
        input=invocation.input,
        workdir=invocation.workdir,
        labels=label_texts(invocation.labels) if invocation.labels else None,
    )


def resolution_to_wire(resolution: Resolution) -> provider_pb2.PendingResolution:
    """How a pushed action is resolved."""
    return provider_pb2.PendingResolution(
        session_id=resolution.session_id,
        call_id=resolution.call_id,
        token=resolution.token,
        pending_id=resolution.pending_id,
        standing=resolution.standing,
        source_tool=resolution.source_tool,
        reason=resolution.reason,
        extra=extra_to_wire(resolution.extra),
    )


def extra_to_wire(extra: FrozenJsonObject | None) -> bytes:
    """What was given besides with `resolve`; nothing is none."""
    return json.dumps(dict(extra)).encode() if extra is not None else b""


def undo_from_wire(undo: undo_pb2.UndoInfo) -> UndoInfo:
    """How an operation would be undone."""
    return UndoInfo(
        tool=undo.tool,
        input=json_object(undo.input, "undo input") or {},
        description=undo.description,
        irreversible=undo.irreversible,
        manual_guide=undo.manual_guide,
    )


def content_from_wire(content: content_pb2.Content) -> Content:
    """One part of a result. Raises `ProviderFailedError` for a part of no known kind."""
    kind = content.WhichOneof("part")
    annotations, meta = content.annotations, content.meta
    if kind == "text":
        return Text(content.text.text, annotations, meta)
    if kind == "image":
        return Image(content.image.data, content.image.media_type, annotations, meta)
    if kind == "audio":
        return Audio(content.audio.data, content.audio.media_type, annotations, meta)
    if kind == "resource":
        part = content.resource
        return Resource(
            uri=part.uri,
            name=part.name,
            title=part.title,
            description=part.description,
            media_type=part.media_type,
            size_bytes=part.size_bytes if part.HasField("size_bytes") else None,
            text=part.text if part.HasField("text") else None,
            blob=part.blob if part.HasField("blob") else None,
            extra=part.extra,
            annotations=annotations,
            meta=meta,
        )
    raise ProviderFailedError("the provider's result holds a part of no known kind")


def outcome_from_wire(result: provider_pb2.ToolResult, provider: str) -> ToolOutcome:
    """A provider's result. Plain `output` comes before the content parts."""
    parts = tuple(map(content_from_wire, result.content)) if result.content else ()
    pending = result.pending_action if result.HasField("pending_action") else None
    return ToolOutcome(
        content=(Text(result.output), *parts) if result.output else parts,
        is_error=result.is_error,
        tool_error=result.tool_error,
        data=json_value(result.data, "data") if result.data else None,
        has_data=bool(result.data),
        undo=undo_from_wire(result.undo) if result.HasField("undo") else None,
        pending=_pushed(pending) if pending is not None else None,
        standing=_standing(result.standing_handler, provider) if result.HasField("standing_handler") else None,
        details=json_object(result.details, "details") if result.details else None,
        state_changed=result.state_changed,
        taint=tuple(result.taint) if result.taint else (),
    )


def _pushed(pending: provider_pb2.PushedPendingAction) -> PushedPending:
    if not pending.label.strip():
        raise ProviderFailedError("the provider pushed a pending action without a label")
    return PushedPending(
        label=bounded(pending.label, MAX_LABEL),
        token=pending.token,
        details=json_object(pending.details, "pending action's details"),
        has_reject=pending.has_reject,
        source_tool=bounded(pending.source_tool, MAX_LABEL) or "custom_tool",
    )


def _standing(change: provider_pb2.StandingHandlerChange, provider: str) -> StandingChange:
    if change.WhichOneof("change") == "clear_token":
        return StandingChange(clear_token=change.clear_token)
    handler = change.register
    return StandingChange(
        register=StandingHandler(
            provider=provider,
            token=handler.token,
            label=bounded(handler.label, MAX_LABEL),
            source_tool=bounded(handler.source_tool, MAX_LABEL) or "custom_tool",
            has_reject=handler.has_reject,
            details=json_object(handler.details, "standing handler's details"),
        )
    )


def outcome_to_wire(outcome: ToolOutcome) -> provider_pb2.ToolResult:
    """A result as its provider gave it, to ask for its undo (UNDO-1): text, errors, data and details."""
    return provider_pb2.ToolResult(
        output="\n".join(part.text for part in outcome.content if isinstance(part, Text)),
        is_error=outcome.is_error,
        tool_error=outcome.tool_error,
        data=json.dumps(outcome.data).encode() if outcome.has_data else b"",
        details=json.dumps(dict(outcome.details)).encode() if outcome.details is not None else b"",
    )
