"""Decision cases: YAML files that say for one call what policy decides (LIFE-1).

A case is named by its file: `<directory>/<concern>/<sentence>.yaml`. It describes the call as the gateway meets it, a
tool's definition and a request; effect, safety level and facts follow from them as they do in the gateway.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Literal, TypedDict

from pydantic import BaseModel, ConfigDict, JsonValue, ValidationError

from interlock_gateway.core.jsonvalue import JsonObject
from interlock_gateway.core.tool import PinState, ToolCapability, ToolDefinition, ToolMetadata
from interlock_gateway.facts import FactRequest, extract
from interlock_gateway.pipeline.schemas_aside import SchemasAside
from interlock_gateway.policy.settings import PolicySourceError, read_yaml
from interlock_gateway.registry.registered import register
from interlock_gateway.registry.schemas import schema_of

WORKSPACE = "/workspace"
_MISNAMED = frozenset({".yml", ".json"})
CONFIDENCE_FIELD = "_flyto_confidence"
TIME_UNIX_S = 1767225600.0
"""When every case takes place: the first second of 2026, UTC."""


class Conditions(TypedDict):
    """Which policies decide a case, as `load_bundle` takes it."""

    profile: str
    changes: JsonObject
    exemptions: list[JsonValue]


NOT_LATELY = {"minute": 0, "hour": 0, "day": 0}


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class CaseTool(_Part):
    """The tool of a case; without `metadata` it is undeclared."""

    name: str = "tool"
    metadata: dict[str, Any] | None = {"read_only": True}
    capability: dict[str, Any] | None = None
    pin_state: PinState = PinState.PINNED
    input_schema: dict[str, Any] = {"type": "object"}


class CaseCall(_Part):
    """The request of a case. `facts` stand in for those extracted from `input`."""

    input: JsonValue = {}
    kind: Literal["call", "apply", "undo", "edit"] = "call"
    facts: dict[str, Any] | None = None
    deliverable: dict[str, Any] | None = None
    checkpoint: dict[str, Any] | None = None
    labels: dict[str, Any] = {}
    intent: str = ""
    workdir: str = WORKSPACE
    time: str = "2026-01-01T00:00:00.000+00:00"


class CaseSession(_Part):
    """What the session of a case is and has done."""

    labels: dict[str, Any] = {}
    counters: dict[str, Any] = {}
    previous: list[dict[str, Any]] = []
    taints: list[str] = []
    pending: dict[str, Any] = {"count": 0, "mode": "steer"}
    roots: tuple[str, ...] = (WORKSPACE,)


class CasePrincipal(_Part):
    """Who calls in a case."""

    id: str = "agent-1"
    roles: list[str] = ["agent"]
    groups: list[str] = []
    claims: dict[str, Any] = {}
    recent: dict[str, dict[str, int]] = {}


class Expected(_Part):
    """What policy decides; what is not given is not looked at. `codes` and `messages` are all reasons', sorted."""

    verdict: Literal["allow", "preview", "checkpoint", "reflect", "deny"]
    codes: list[str] | None = None
    messages: list[str] | None = None
    obligations: dict[str, Any] | None = None
    notes: list[str] | None = None


class CaseFile(_Part):
    """One case as it is written. `without` names fields of the input document that are taken away, `a/b/0/c`."""

    tool: CaseTool = CaseTool()
    call: CaseCall = CaseCall()
    session: CaseSession = CaseSession()
    principal: CasePrincipal = CasePrincipal()
    without: list[str] = []
    profile: Literal["observe", "standard", "strict"] = "standard"
    settings: dict[str, Any] = {}
    exemptions: list[JsonValue] = []
    expect: Expected

    @property
    def conditions(self) -> Conditions:
        """Which policies decide it."""
        return Conditions(profile=self.profile, changes=self.settings, exemptions=[*self.exemptions])


@dataclass(frozen=True, slots=True)
class DecisionCase:
    """A case ready to be decided: `name` is `concern/sentence`, `input_json` the policy input document."""

    name: str
    path: Path
    file: CaseFile
    input_json: bytes


def load_cases(directory: Path) -> tuple[DecisionCase, ...]:
    """Every case under `directory`, sorted by name. Raises `PolicySourceError` for one that cannot be read."""
    if misnamed := sorted(path for path in directory.rglob("*") if path.suffix.lower() in _MISNAMED):
        raise PolicySourceError(str(misnamed[0]), "is not read: decision cases are in files that end in .yaml")
    return tuple(_load(path, directory) for path in sorted(directory.rglob("*.yaml")))


def by_conditions(cases: Iterable[DecisionCase]) -> tuple[tuple[Conditions, tuple[DecisionCase, ...]], ...]:
    """The cases that the same policies decide, together, with what these are."""
    groups: dict[str, list[DecisionCase]] = {}
    for case in cases:
        groups.setdefault(json.dumps(case.file.conditions, sort_keys=True), []).append(case)
    return tuple((group[0].file.conditions, tuple(group)) for group in groups.values())


def differences(case: DecisionCase, decision: Mapping[str, Any]) -> list[str]:
    """In what a decision document differs from what the case expects; empty when it is as expected."""
    expected = case.file.expect
    reasons = decision.get("reasons", [])
    actual = {
        "verdict": decision.get("verdict"),
        "codes": sorted(reason["code"] for reason in reasons),
        "messages": sorted(reason["message"] for reason in reasons),
        "obligations": decision.get("obligations"),
        "notes": decision.get("notes"),
    }
    wanted = expected.model_dump(exclude_none=True)
    return [
        f"{name} is {json.dumps(actual[name])}, expected {json.dumps(value)}"
        for name, value in wanted.items()
        if actual[name] != value
    ]


def _load(path: Path, directory: Path) -> DecisionCase:
    place = path.relative_to(directory).as_posix()
    try:
        file = CaseFile.model_validate(read_yaml(path, place))
    except ValidationError as error:
        first = error.errors()[0]
        words = "there is no such key" if first["type"] == "extra_forbidden" else first["msg"]
        raise PolicySourceError(place, f"{'.'.join(str(part) for part in first['loc'])}: {words}") from error
    document = document_of(file)
    for pointer in file.without:
        _take_away(document, pointer, place)
    text = json.dumps(document, ensure_ascii=False).encode()
    return DecisionCase(place.removesuffix(".yaml"), path, file, text)


def document_of(file: CaseFile) -> JsonObject:
    """The policy input of a case, with nothing taken away."""
    tool = definition_of(file.tool)
    registered = register(
        provider="provider",
        declared=tool,
        effective=tool,
        schema=schema_of(tool, SchemasAside()),
        sha256="",
        pin_state=file.tool.pin_state,
        fact_arguments={},
    )
    return {
        "version": 1,
        "principal": _principal(file.principal),
        "session": _session(file.session),
        "call": _call(file, tool),
        "tool": json.loads(registered.policy_json),
        "gateway": {"replica": "replica-1", "mode": file.profile, "revision": "0"},
    }


def definition_of(tool: CaseTool) -> ToolDefinition:
    """The definition of a tool that a case describes."""
    return ToolDefinition(
        name=tool.name,
        input_schema=tool.input_schema,
        metadata=None if tool.metadata is None else ToolMetadata(**tool.metadata),
        capability=None if tool.capability is None else ToolCapability(**tool.capability),
    )


def _principal(principal: CasePrincipal) -> JsonObject:
    recent = {name: NOT_LATELY | principal.recent.get(name, {}) for name in ("tool", "all", "destructive")}
    return {"kind": "token", **principal.model_dump(), "recent": recent}


def _session(session: CaseSession) -> JsonObject:
    counters = {"calls": 0, "destructive_calls": 0, "denials": {}, "calls_by_tool": {}, **session.counters}
    part = session.model_dump(exclude={"roots"})
    return {"id": "session-1", "intent": "", "age_s": 1.0, **part, "counters": counters}


def _call(file: CaseFile, tool: ToolDefinition) -> JsonObject:
    call = file.call
    document: JsonObject = {
        "id": "call-1",
        "kind": call.kind,
        "phase": "apply" if call.kind == "apply" else "call",
        "input": call.input,
        "input_bytes": len(json.dumps(call.input)),
        "digest": "0" * 64,
        "facts": call.facts if call.facts is not None else _facts(file, tool),
        "confidence_field": CONFIDENCE_FIELD,
        "deliverable": call.deliverable,
        "checkpoint": call.checkpoint,
        "labels": call.labels,
        "intent": call.intent,
        "workdir": call.workdir,
        "time": call.time,
        "time_unix_s": datetime.fromisoformat(call.time).timestamp(),
    }
    if isinstance(call.input, dict) and CONFIDENCE_FIELD in call.input:
        document["confidence"] = call.input[CONFIDENCE_FIELD]
    return document


def _facts(file: CaseFile, tool: ToolDefinition) -> JsonObject:
    permission_class = tool.metadata.permission_class if tool.metadata else ""
    if not permission_class:
        return {"class": "", "extracted": True}
    given = file.call.input if isinstance(file.call.input, dict) else {}
    return extract(
        FactRequest(
            permission_class=permission_class,
            tool=tool.name,
            input=given,
            input_schema=tool.input_schema,
            argument_names={},
            workdir=file.call.workdir,
            roots=file.session.roots,
            within=file.session.roots,
        )
    )


def _take_away(document: JsonObject, pointer: str, place: str) -> None:
    *parents, last = pointer.split("/")
    node: Any = document
    try:
        for part in parents:
            node = node[int(part)] if isinstance(node, list) else node[part]
        del node[int(last) if isinstance(node, list) else last]
    except (KeyError, IndexError, ValueError, TypeError) as error:
        raise PolicySourceError(place, f"without: the input has no {pointer}") from error
