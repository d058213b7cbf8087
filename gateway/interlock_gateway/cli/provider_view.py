"""How providers and their tools are shown to operators."""

import json
from collections.abc import Iterable, Sequence
from typing import Any

from interlock.v1 import decision_pb2, registry_pb2, tool_pb2

from interlock_gateway.cli.jsonable import enum_word
from interlock_gateway.cli.screen import Table

_FLAGS = ("concurrency_safe", "requires_checkpoint", "requires_reverse_thinking", "open_world")
_LONGEST = 400


def declared_table(provider: str, tools: Sequence[registry_pb2.ProviderTool]) -> Table:
    """What each tool says of itself, and what is in force now."""
    rows = [
        (
            one.name,
            _effect(one.declared_classification),
            _effect(one.effective_classification),
            _words(one.declared),
            one.declared.metadata.permission_class or None,
            pin_word(one.pin_state),
            one.current_hash[:12],
        )
        for one in tools
    ]
    columns = ("tool", "declares", "in force", "also declares", "class", "pin", "hash")
    return Table(columns, rows, title=f"what {provider} declares")


def difference_table(tool: registry_pb2.ProviderTool) -> Table:
    """What changed since the definition was pinned."""
    rows = [(one.field, _json(one.before), _json(one.after)) for one in tool.differences]
    title = f"{tool.name} changed since it was pinned ({tool.pinned_hash[:12]} -> {tool.current_hash[:12]})"
    return Table(("field", "was", "is now"), rows, title=title)


def pin_word(state: Any) -> str:
    """A pin's state as a word."""
    return enum_word(tool_pb2.PinState.DESCRIPTOR, state)


def _effect(classification: decision_pb2.Classification) -> str:
    effect = enum_word(decision_pb2.Effect.DESCRIPTOR, classification.effect)
    return f"{effect}, level {classification.safety_level}"


def _words(definition: tool_pb2.ToolDefinition) -> str:
    flags: Iterable[str] = (name.replace("_", " ") for name in _FLAGS if getattr(definition.metadata, name))
    confidence = definition.capability.min_confidence
    return ", ".join((*flags, *((f"confidence {confidence}",) if confidence else ())))


def _json(value: bytes) -> str:
    if not value:
        return "(absent)"
    try:
        text = json.dumps(json.loads(value), ensure_ascii=False)
    except ValueError:
        text = value.decode("utf-8", "replace")
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."
