"""Tools: what a provider declares, and what follows from it (flows.md TOOL-1, TOOL-2, TOOL-6, TOOL-7)."""

from dataclasses import dataclass, field
from enum import StrEnum

from interlock_gateway.core.jsonvalue import FrozenJsonObject

UNKNOWN_TOOL = "unknown"
"""What counters and metrics call a tool that does not exist: they never hold what a client made up."""


class Effect(StrEnum):
    """What a tool's metadata says it does (TOOL-2)."""

    READ_ONLY = "read_only"
    MUTATING = "mutating"
    DESTRUCTIVE = "destructive"
    UNDECLARED = "undeclared"


class UndoMethod(StrEnum):
    """How a tool's effect would be undone, told to people before the call (UNDO-5)."""

    NONE = ""
    TOOL = "tool"
    MANUAL = "manual"


class TruncationStrategy(StrEnum):
    """How a result that is too large is shortened (RES-2)."""

    HEAD = "head"
    HEAD_TAIL = "head_tail"
    TABLE = "table"


class PinState(StrEnum):
    """Where a definition stands against the one that was pinned (TOOL-5) or confirmed (TOOL-3)."""

    PINNED = "pinned"
    CHANGED = "changed"
    UNCONFIRMED = "unconfirmed"


@dataclass(frozen=True, slots=True)
class ToolMetadata:
    """Declared hints. Every flag is false unless declared; no metadata at all is `None`, not this (TOOL-1)."""

    concurrency_safe: bool = False
    read_only: bool = False
    destructive: bool = False
    open_world: bool = False
    permission_class: str = ""
    audit_operation: str = ""
    requires_checkpoint: bool = False
    requires_reverse_thinking: bool = False
    search_hint: str = ""


@dataclass(frozen=True, slots=True)
class ToolCapability:
    """What can be done about the tool's effect. `min_confidence` is 0-100, 0 switches the gate off (CONF-2)."""

    dry_run: bool = False
    reversible: bool = False
    undo_method: UndoMethod = UndoMethod.NONE
    undo_tool: str = ""
    min_confidence: int = 0
    affected_resources: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ResultLimits:
    """How much of a result is returned; 0 bytes means the gateway's default, 0 lines means no line limit (RES-1)."""

    max_bytes: int = 0
    max_lines: int = 0
    strategy: TruncationStrategy = TruncationStrategy.HEAD


@dataclass(frozen=True, slots=True)
class ToolDefinition:
    """One tool as a provider describes it. Schemas are JSON Schema 2020-12; `timeout_s` 0 means the default."""

    name: str
    description: str = ""
    title: str = ""
    aliases: tuple[str, ...] = ()
    input_schema: FrozenJsonObject = field(default_factory=dict)
    output_schema: FrozenJsonObject | None = None
    metadata: ToolMetadata | None = None
    capability: ToolCapability | None = None
    result_limits: ResultLimits = ResultLimits()
    timeout_s: float = 0.0
    prompt_snippet: str = ""
    prompt_guidelines: tuple[str, ...] = ()
    knows_workdir: bool = False


@dataclass(frozen=True, slots=True)
class Classification:
    """What follows from a definition: effect, safety level 0-2, audit operation, and how far its effect reaches."""

    effect: Effect
    safety_level: int
    audit_operation: str
    open_world: bool
    external_effect: bool
    concurrency_safe: bool

    @property
    def read_only(self) -> bool:
        """Whether the call may be repeated and needs no journal."""
        return self.effect is Effect.READ_ONLY


# The words that name an operation, by the first word of a tool's name (TOOL-6).
AUDIT_OPERATION_BY_WORD: dict[str, str] = {
    **dict.fromkeys(("write", "create", "add", "insert", "put", "upload", "save", "append"), "write"),
    **dict.fromkeys(("edit", "update", "modify", "patch", "set", "rename", "move", "replace"), "edit"),
    **dict.fromkeys(
        ("read", "get", "list", "search", "find", "glob", "grep", "fetch", "query", "show", "view", "describe", "stat"),
        "read",
    ),
    **dict.fromkeys(("bash", "exec", "execute", "run", "shell", "eval"), "execute"),
    **dict.fromkeys(("delete", "remove", "drop", "destroy", "purge", "trash", "unlink"), "delete"),
}


def _first_word(name: str) -> str:
    last = name.replace(".", "/").rsplit("/", maxsplit=1)[-1]
    for index, character in enumerate(last):
        if character in "_- " or (index and character.isupper()):
            return last[:index].lower()
    return last.lower()


def derive_audit_operation(name: str, declared: str) -> str:
    """The audit operation of a tool: as declared, else by the first word of its name, else `invoke` (TOOL-6)."""
    return declared or AUDIT_OPERATION_BY_WORD.get(_first_word(name), "invoke")


def _effect(metadata: ToolMetadata | None) -> Effect:
    if metadata is None:
        return Effect.UNDECLARED
    if metadata.destructive:
        return Effect.DESTRUCTIVE
    return Effect.READ_ONLY if metadata.read_only else Effect.MUTATING


def safety_level(capability: ToolCapability | None) -> int:
    """2 when the tool can be previewed, 1 when it can be undone, 0 when neither (TOOL-2)."""
    if capability is None:
        return 0
    if capability.dry_run:
        return 2
    return 1 if capability.reversible else 0


def classify(definition: ToolDefinition) -> Classification:
    """Classify a tool by what it declares; what is not declared is taken as dangerous (TOOL-1, TOOL-2)."""
    metadata = definition.metadata
    effect = _effect(metadata)
    open_world = metadata is None or metadata.open_world
    return Classification(
        effect=effect,
        safety_level=safety_level(definition.capability),
        audit_operation=derive_audit_operation(definition.name, metadata.audit_operation if metadata else ""),
        open_world=open_world,
        external_effect=open_world and effect is not Effect.READ_ONLY,
        concurrency_safe=metadata is not None and metadata.concurrency_safe,
    )


def contradiction(definition: ToolDefinition) -> str | None:
    """The sentence reported at registration when a tool claims to be both read-only and destructive (TOOL-2)."""
    metadata = definition.metadata
    if metadata is not None and metadata.read_only and metadata.destructive:
        return f"{definition.name} claims to be both read-only and destructive; it is treated as destructive"
    return None


def description_for_model(definition: ToolDefinition, confidence_field: str) -> str:
    """The description a model reads, with the safety notes of TOOL-7 at its end."""
    lines = [definition.description] if definition.description else []
    required = definition.capability.min_confidence if definition.capability else 0
    if required > 0:
        lines.append(f"[Safety] requires {confidence_field} (0-100) in input, min={required}")
    kind = classify(definition)
    if kind.effect is Effect.DESTRUCTIVE and kind.safety_level == 0:
        lines.append("[Safety] cannot be previewed or undone")
    return "\n".join(lines)
