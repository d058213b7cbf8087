"""A call described by hand, as the document that policies see: for `interlock policy eval`."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from typing import Any, TypeVar

from pydantic import ValidationError

from interlock_gateway.cli.exit_codes import ExitCode
from interlock_gateway.cli.failures import CommandError
from interlock_gateway.cli.pinned_tools import PinnedTool, pinned_tool
from interlock_gateway.config import Config
from interlock_gateway.core.document import InvalidDocumentError, parse
from interlock_gateway.core.recent import Recent
from interlock_gateway.core.sessionfacts import SessionFacts
from interlock_gateway.core.tool import PinState, ToolCapability, ToolDefinition, ToolMetadata
from interlock_gateway.facts import FactRequest, extract
from interlock_gateway.pipeline.schemas_aside import SchemasAside
from interlock_gateway.policy.document import PolicyInput
from interlock_gateway.registry.effective import fact_arguments, overridden
from interlock_gateway.registry.fingerprint import fingerprint
from interlock_gateway.registry.registered import RegisteredTool, register
from interlock_gateway.registry.schemas import schema_of

Part = TypeVar("Part", ToolMetadata, ToolCapability, ToolDefinition)

_PARTS = frozenset({"tool", "input", "principal", "session", "call", "roots"})
_OF_A_TOOL = frozenset({"provider", "pin_state"})


@dataclass(frozen=True, slots=True)
class DescribedCall:
    """A policy input, and what is to be said of its tool to whoever described it; empty when that is clear."""

    document: dict[str, Any]
    remark: str = ""


def policy_document(written: str, config: Config, *, revision: str) -> DescribedCall:
    """The policy input of a call given as JSON: a whole document (`version` 1), or `tool` and `input`.

    `tool` is a definition (`name`, `metadata`, `capability`, ...), or the name of one that is pinned in the state
    directory; any other name declares nothing. The configuration's overrides hold for it. `principal`, `session` and
    `call` are put over what the gateway would fill in. Raises `CommandError` for what no gateway would send.
    """
    given = _object(written, config)
    described = DescribedCall(given) if "version" in given else _filled(given, config, revision)
    try:
        PolicyInput.model_validate(described.document)
    except ValidationError as error:
        lines = (f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in error.errors(include_url=False))
        raise CommandError("no gateway sends such a call:\n" + "\n".join(lines), ExitCode.USAGE) from None
    return described


def _object(written: str, config: Config) -> dict[str, Any]:
    try:
        return parse(written.encode(), max_depth=config.limits.max_depth + 8).value
    except InvalidDocumentError as error:
        raise CommandError(f"the call cannot be read: {error.message}", ExitCode.USAGE) from None


def _filled(given: Mapping[str, Any], config: Config, revision: str) -> DescribedCall:
    if unknown := sorted(given.keys() - _PARTS):
        known = ", ".join(sorted(_PARTS))
        raise CommandError(f"{unknown[0]} is no part of a described call; those are {known}", ExitCode.USAGE)
    if "input" in _mapping(given, "call"):
        raise CommandError("`input` stands beside `tool`, not in `call`", ExitCode.USAGE)
    if "tool" not in given:
        raise CommandError("the call names no tool: give `tool` and `input`, or a whole document", ExitCode.USAGE)
    named = given["tool"]
    pinned = pinned_tool(named, config) if isinstance(named, str) else None
    tool = _tool(named, config) if pinned is None else _pinned(pinned, config)
    call = _call(given, tool, config)
    document = {
        "version": 1,
        "principal": _with(_caller(), _mapping(given, "principal"), "recent"),
        "session": _with(_session(config), _mapping(given, "session"), "counters"),
        "call": call | _mapping(given, "call"),
        "tool": json.loads(tool.policy_json),
        "gateway": {"replica": "local", "mode": config.policy.profile, "revision": revision},
    }
    return DescribedCall(document, _remark(named, pinned, config) if isinstance(named, str) else "")


def _remark(name: str, pinned: PinnedTool | None, config: Config) -> str:
    if pinned is not None:
        return f"{name} is taken as {pinned.provider} declared it when it was pinned in {config.state_dir}"
    if overridden(ToolDefinition(name), config.tools) != ToolDefinition(name):
        return f"of {name} nothing is known but what the configuration says of it: no definition is pinned here"
    return (
        f"the definition of {name} is not known here, so it is decided about as a tool that declares nothing; give the "
        'definition in place of the name ({"name": ..., "metadata": {...}}), or the --config of a gateway that has it'
    )


def _pinned(pinned: PinnedTool, config: Config) -> RegisteredTool:
    return _registered(pinned.provider, pinned.declared, pinned.believed, PinState.PINNED, config)


def _tool(given: Any, config: Config) -> RegisteredTool:
    described = dict(_mapping({"tool": {"name": given} if isinstance(given, str) else given}, "tool"))
    extra = {name: described.pop(name) for name in _OF_A_TOOL & described.keys()}
    if "metadata" in described:
        described["metadata"] = _made(ToolMetadata, _mapping(described, "metadata"), "tool.metadata")
    if "capability" in described:
        described["capability"] = _made(ToolCapability, _mapping(described, "capability"), "tool.capability")
    declared = _made(ToolDefinition, described, "tool")
    pin_state = str(extra.get("pin_state", PinState.PINNED.value))
    if pin_state not in {state.value for state in PinState}:
        raise CommandError(f"tool.pin_state must be {', '.join(state.value for state in PinState)}", ExitCode.USAGE)
    return _registered(str(extra.get("provider", "described")), declared, declared, PinState(pin_state), config)


def _registered(
    provider: str, declared: ToolDefinition, believed: ToolDefinition, pin_state: PinState, config: Config
) -> RegisteredTool:
    return register(
        provider=provider,
        declared=declared,
        effective=overridden(believed, config.tools),
        schema=schema_of(declared, SchemasAside()),
        sha256=fingerprint(declared),
        pin_state=pin_state,
        fact_arguments=fact_arguments(declared.name, config.tools),
    )


def _made(kind: type[Part], given: dict[str, Any], about: str) -> Part:
    known = [one.name for one in fields(kind)]
    if unknown := sorted(given.keys() - set(known)):
        raise CommandError(f"{about} has no {unknown[0]}; it has {', '.join(known)}", ExitCode.USAGE)
    try:
        return kind(**given)
    except TypeError:
        raise CommandError(f"{about} needs a name", ExitCode.USAGE) from None


def _caller() -> dict[str, Any]:
    recent = json.loads(Recent().json)
    return {"id": "local-agent", "kind": "unix", "roles": ["agent"], "groups": [], "claims": {}, "recent": recent}


def _session(config: Config) -> dict[str, Any]:
    past = SessionFacts().policy_part(pending=0, mode=config.pending.mode.value)
    return {"id": "session-described", "intent": "", "labels": {}, "age_s": 0.0, **json.loads(f"{{{past}}}")}


def _call(given: Mapping[str, Any], tool: RegisteredTool, config: Config) -> dict[str, Any]:
    asked = _mapping(given, "input")
    now = datetime.now(UTC)
    field = config.confidence_field
    workdir = str(_mapping(given, "call").get("workdir", ""))
    return {
        "id": "call-described",
        "kind": "call",
        "phase": "call",
        "input": asked,
        "input_bytes": len(json.dumps(asked, ensure_ascii=False, separators=(",", ":")).encode()),
        "digest": "0" * 64,
        "facts": _facts(given, asked, tool, workdir, config),
        "confidence_field": field,
        "deliverable": None,
        "checkpoint": None,
        "labels": {},
        "intent": "",
        "workdir": workdir,
        "time": now.isoformat(timespec="milliseconds"),
        "time_unix_s": now.timestamp(),
        **({"confidence": asked[field]} if field in asked else {}),
    }


def _facts(
    given: Mapping[str, Any], asked: dict[str, Any], tool: RegisteredTool, workdir: str, config: Config
) -> dict[str, Any]:
    if not tool.permission_class:
        return {"class": "", "extracted": True}
    roots = tuple(given.get("roots", config.workspace_roots))
    return extract(
        FactRequest(
            permission_class=tool.permission_class,
            tool=tool.name,
            input=asked,
            input_schema=tool.definition.input_schema,
            argument_names=tool.fact_arguments,
            workdir=workdir,
            roots=roots,
            within=roots,
        )
    )


def _with(usual: dict[str, Any], given: Mapping[str, Any], counted: str) -> dict[str, Any]:
    """What is given over what is usual; of the counts, those that are given."""
    put = {**usual, **given}
    if isinstance(given.get(counted), dict):
        put[counted] = _filled_in(usual[counted], given[counted])
    return put


def _filled_in(usual: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    both = {name: one for name, one in given.items() if isinstance(one, dict) and isinstance(usual.get(name), dict)}
    return {**usual, **given, **{name: _filled_in(usual[name], one) for name, one in both.items()}}


def _mapping(given: Mapping[str, Any], name: str) -> dict[str, Any]:
    value = given.get(name, {})
    if not isinstance(value, dict):
        raise CommandError(f"{name} must be a JSON object", ExitCode.USAGE)
    return value
