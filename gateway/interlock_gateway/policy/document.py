"""The input document that policies see, version 1 (policy.md, Input), and its JSON Schema.

These models are the one description of it: the schema beside the shipped policies is generated from them, and a test
holds what the pipeline sends against it. The pipeline itself puts the document together from encoded parts.
"""

import json
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue

from interlock_gateway.facts import FACTS_SCHEMA

SCHEMA_ID = "https://interlock.dev/schemas/policy-input-1.json"

Labels = dict[str, JsonValue]
Count = Annotated[int, Field(ge=0)]


class _Part(BaseModel):
    """Every part of the document is closed: a field that is not here is one that no policy may read."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class RecentCalls(_Part):
    """Calls in windows that slide: the last minute, hour and day, and up to a thirtieth more."""

    minute: Count
    hour: Count
    day: Count


class Recent(_Part):
    """What a principal called lately, as far as it was let through; this call is not counted (POL-4)."""

    tool: RecentCalls
    """Of the tool that is called."""
    all: RecentCalls
    destructive: RecentCalls
    """Of tools that can destroy or that declare nothing, without calls that are known to be harmless."""


class Principal(_Part):
    """Who calls."""

    id: str
    kind: str
    """How the caller was authenticated."""
    roles: list[str]
    groups: list[str]
    claims: dict[str, JsonValue]
    recent: Recent


class Counters(_Part):
    """What the session has done so far; this call is not counted."""

    calls: Count
    destructive_calls: Count
    """Dispatched, or about to be; calls that are known to be harmless are left out."""
    denials: dict[str, Count]
    """By reason code."""
    calls_by_tool: dict[str, Count]


class PreviousCall(_Part):
    """A call that ran before this one."""

    tool: str
    effect: str
    labels: Labels


class Pending(_Part):
    """Previews that wait for `resolve` (PREV-10)."""

    count: Count
    mode: Literal["steer", "enforce"]


class Session(_Part):
    """The conversation the call belongs to."""

    id: str
    intent: str
    labels: Labels
    age_s: Annotated[float, Field(ge=0)]
    counters: Counters
    previous: list[PreviousCall]
    """At most 50, oldest first."""
    taints: list[str]
    pending: Pending


class Deliverable(_Part):
    """What reverse thinking came to (REV-1)."""

    hidden_assumptions: list[JsonValue]
    failure_scenarios: list[JsonValue]
    verdict: Literal["proceed", "revise", "abort"]
    verdict_reason: str


class Approver(_Part):
    """Who approved, and the groups of their credential at that time."""

    id: str
    groups: list[str]


class Checkpoint(_Part):
    """What people decided about this call (CHK-5).

    `approved` stands here only when the approval is for this very call, by its digest; `edited` when a person wrote
    this input, and has approved nothing but that; `void` when the approval was for something else.
    """

    id: str
    outcome: Literal["approved", "edited", "void"]
    approvers: list[Approver]


class Call(_Part):
    """The call itself."""

    id: str
    kind: Literal["call", "apply", "undo", "edit"]
    phase: Literal["call", "apply"]
    input: dict[str, JsonValue]
    """The arguments, byte for byte as sent."""
    input_bytes: Count
    digest: str
    facts: dict[str, Any]
    confidence: JsonValue = None
    """Absent when the reserved field is absent."""
    confidence_field: str
    deliverable: Deliverable | None
    checkpoint: Checkpoint | None
    labels: Labels
    intent: str
    workdir: str
    time: str
    """RFC 3339, UTC."""
    time_unix_s: float


class Metadata(_Part):
    """What the tool declares about itself; nothing when it is undeclared (TOOL-1)."""

    concurrency_safe: bool = False
    read_only: bool = False
    destructive: bool = False
    open_world: bool = False
    permission_class: str = ""
    audit_operation: str = ""
    requires_checkpoint: bool = False
    requires_reverse_thinking: bool = False


class Capability(_Part):
    """What can be done about the tool's effect; nothing when it is undeclared (TOOL-1)."""

    dry_run: bool = False
    reversible: bool = False
    undo_method: str = ""
    undo_tool: str = ""
    min_confidence: Annotated[float, Field(ge=0, le=100)] = 0
    affected_resources: list[str] = []


class Tool(_Part):
    """The tool that is called, as the registry knows it."""

    name: str
    provider: str
    declared: bool
    effect: Literal["read_only", "mutating", "destructive", "undeclared"]
    safety_level: Literal[0, 1, 2]
    open_world: bool
    external_effect: bool
    audit_operation: str
    metadata: Metadata
    capability: Capability
    pin_state: Literal["pinned", "changed", "unconfirmed"]


class Gateway(_Part):
    """The gateway that asks."""

    replica: str
    mode: str
    """The active profile."""
    revision: str
    """The active policies' revision."""


class PolicyInput(_Part):
    """One call, as policy sees it."""

    version: Literal[1]
    principal: Principal
    session: Session
    call: Call
    tool: Tool
    gateway: Gateway


def input_schema() -> dict[str, Any]:
    """The JSON Schema (draft 2020-12) of the input document, with that of the facts in it."""
    schema = PolicyInput.model_json_schema()
    facts = {key: value for key, value in FACTS_SCHEMA.items() if key != "$schema"}
    schema["$defs"]["Call"]["properties"]["facts"] = facts
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "$id": SCHEMA_ID, **schema}


def input_schema_text() -> str:
    """The schema as it is committed beside the shipped policies."""
    return json.dumps(input_schema(), indent=2, sort_keys=True) + "\n"


if __name__ == "__main__":
    from interlock_gateway.policy.loader import shipped_policies

    (shipped_policies() / "input.schema.json").write_text(input_schema_text(), encoding="utf-8")
