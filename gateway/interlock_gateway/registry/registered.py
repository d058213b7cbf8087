"""A registered tool: its definition and everything computed from it once, so that a call computes none of it."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass

from interlock_gateway.core.jsonvalue import JsonObject
from interlock_gateway.core.tool import Classification, PinState, ToolDefinition, classify
from interlock_gateway.pipeline.input_schema import InputSchema
from interlock_gateway.registry.fingerprint import Difference

_HIDDEN_FROM_POLICY = ("search_hint",)


@dataclass(frozen=True, slots=True)
class RegisteredTool:
    """What one call needs to know of its tool.

    `definition` is what holds (trust and overrides applied); `sha256` is the hash of what the provider declared;
    `policy_json` is the policy input's `tool` part; `changes` says what differs from the pinned definition. `shown` is
    what a model reads: the accepted definition while a changed one is in quarantine, because words can do harm without
    a call. `followed` says that its provider's definitions are pinned as they arrive. `only_for` is the circle of whose
    sessions it is there for (`circle_of`), empty when it is for everybody's. `passed` says that it is no tool of the
    provider's: the gateway made it, for what else of the provider is asked for through it.
    """

    provider: str
    definition: ToolDefinition
    declared: ToolDefinition
    sha256: str
    pin_state: PinState
    classification: Classification
    schema: InputSchema
    fact_arguments: Mapping[str, tuple[str, ...]]
    policy_json: bytes
    shown: ToolDefinition
    changes: tuple[Difference, ...] = ()
    pinned_sha256: str = ""
    followed: bool = False
    only_for: str = ""
    passed: bool = False

    @property
    def name(self) -> str:
        """The tool's canonical name."""
        return self.definition.name

    @property
    def permission_class(self) -> str:
        """The permission class, empty when the tool has none."""
        return self.definition.metadata.permission_class if self.definition.metadata else ""


def register(
    *,
    provider: str,
    declared: ToolDefinition,
    effective: ToolDefinition,
    schema: InputSchema,
    sha256: str,
    pin_state: PinState,
    fact_arguments: Mapping[str, tuple[str, ...]],
    shown: ToolDefinition | None = None,
    changes: tuple[Difference, ...] = (),
    pinned_sha256: str = "",
    followed: bool = False,
    only_for: str = "",
    passed: bool = False,
) -> RegisteredTool:
    """Compute everything a call will need."""
    kind = classify(effective)
    return RegisteredTool(
        provider=provider,
        definition=effective,
        declared=declared,
        sha256=sha256,
        pin_state=pin_state,
        classification=kind,
        schema=schema,
        fact_arguments=fact_arguments,
        policy_json=json.dumps(_policy_part(provider, effective, kind, pin_state)).encode(),
        shown=shown or effective,
        changes=changes,
        pinned_sha256=pinned_sha256,
        followed=followed,
        only_for=only_for,
        passed=passed,
    )


def _policy_part(provider: str, tool: ToolDefinition, kind: Classification, pin_state: PinState) -> JsonObject:
    metadata = asdict(tool.metadata) if tool.metadata else {}
    for name in _HIDDEN_FROM_POLICY:
        metadata.pop(name, None)
    return {
        "name": tool.name,
        "provider": provider,
        "declared": tool.metadata is not None,
        "effect": kind.effect.value,
        "safety_level": kind.safety_level,
        "open_world": kind.open_world,
        "external_effect": kind.external_effect,
        "audit_operation": kind.audit_operation,
        "metadata": metadata,
        "capability": asdict(tool.capability) if tool.capability else {},
        "pin_state": pin_state.value,
    }
