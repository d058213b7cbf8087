"""From what a provider declares to what holds: trust, then the operator's overrides (TOOL-3)."""

from collections.abc import Mapping
from dataclasses import replace
from fnmatch import fnmatchcase

from interlock_gateway.config import ToolOverride
from interlock_gateway.core.tool import ResultLimits, ToolCapability, ToolDefinition, ToolMetadata

_METADATA_FIELDS = (
    "concurrency_safe",
    "read_only",
    "destructive",
    "open_world",
    "permission_class",
    "audit_operation",
    "requires_checkpoint",
    "requires_reverse_thinking",
)
_AS_UNDECLARED = ToolMetadata(destructive=True, open_world=True)
_CAPABILITY_FIELDS = ("dry_run", "reversible", "undo_method", "undo_tool", "min_confidence")


def floored(definition: ToolDefinition, *, keep_class: bool = True) -> ToolDefinition:
    """The definition with only those claims kept that make the tool look less safe than an undeclared one.

    A class brings facts and refusals of its own, but also what it allows: without `keep_class` it is dropped, for when
    nothing else is left that makes a person decide.
    """
    declared = definition.metadata
    metadata = None
    if declared is not None and (
        declared.destructive or declared.requires_checkpoint or declared.requires_reverse_thinking
    ):
        metadata = ToolMetadata(
            destructive=True,
            open_world=True,
            permission_class=declared.permission_class if keep_class else "",
            requires_checkpoint=declared.requires_checkpoint,
            requires_reverse_thinking=declared.requires_reverse_thinking,
        )
    confidence = definition.capability.min_confidence if definition.capability else 0
    capability = ToolCapability(min_confidence=confidence) if confidence else None
    return replace(definition, metadata=metadata, capability=capability)


def classified_by_operator(name: str, overrides: Mapping[str, ToolOverride]) -> bool:
    """Whether the operator's own configuration says what the tool's effect is."""
    return any(
        fnmatchcase(name, pattern) and (override.read_only is not None or override.destructive is not None)
        for pattern, override in overrides.items()
    )


def overridden(definition: ToolDefinition, overrides: Mapping[str, ToolOverride]) -> ToolDefinition:
    """The definition with every matching override applied, in the order they are written."""
    for pattern, override in overrides.items():
        if fnmatchcase(definition.name, pattern):
            definition = _apply(definition, override)
    return definition


def fact_arguments(name: str, overrides: Mapping[str, ToolOverride]) -> dict[str, tuple[str, ...]]:
    """Which arguments of tool `name` hold which kind of fact, as the operator says (PIPE-5); `dialect` is its SQL's."""
    merged: dict[str, tuple[str, ...]] = {}
    for pattern, override in overrides.items():
        if fnmatchcase(name, pattern):
            merged.update(override.facts)
            if override.sql_dialect is not None:
                merged["dialect"] = (override.sql_dialect,)
    return merged


def _given(override: ToolOverride, fields: tuple[str, ...]) -> dict[str, object]:
    return {name: value for name in fields if (value := getattr(override, name)) is not None}


def _apply(definition: ToolDefinition, override: ToolOverride) -> ToolDefinition:
    metadata = definition.metadata
    if given := _given(override, _METADATA_FIELDS):
        if metadata is None:
            # Saying something else about a tool must not say in passing that it is harmless.
            metadata = ToolMetadata() if given.keys() & {"read_only", "destructive"} else _AS_UNDECLARED
        metadata = replace(metadata, **given)  # type: ignore[arg-type]  # the config model names and types them
    capability = definition.capability
    if given := _given(override, _CAPABILITY_FIELDS):
        capability = replace(capability or ToolCapability(), **given)  # type: ignore[arg-type]  # as above
    limits = definition.result_limits
    limits = ResultLimits(
        max_bytes=override.max_result_bytes or limits.max_bytes,
        max_lines=override.max_result_lines or limits.max_lines,
        strategy=override.truncation or limits.strategy,
    )
    return replace(
        definition,
        metadata=metadata,
        capability=capability,
        result_limits=limits,
        timeout_s=override.timeout_s or definition.timeout_s,
    )
