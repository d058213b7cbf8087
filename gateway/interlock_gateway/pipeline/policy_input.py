"""The document that policy sees (policy.md, Input): encoded parts, put together around the input's own bytes."""

import json
from dataclasses import dataclass
from datetime import UTC, datetime

from interlock_gateway.core.call import CallKind
from interlock_gateway.core.document import Document
from interlock_gateway.core.jsonvalue import FrozenJsonObject, JsonObject
from interlock_gateway.core.session import Principal

INPUT_VERSION = 1
NO_FACTS: JsonObject = {"class": "", "extracted": True}


@dataclass(frozen=True, slots=True)
class CallFacts:
    """What policy sees of one call."""

    call_id: str
    kind: CallKind
    document: Document
    digest: str
    facts: JsonObject
    workdir: str
    intent: str
    labels: FrozenJsonObject
    deliverable: FrozenJsonObject | None
    confidence_field: str
    time: float

    @property
    def phase(self) -> str:
        """`apply` when a preview is being applied, else `call` (PREV-6)."""
        return "apply" if self.kind is CallKind.APPLY else "call"


def principal_json(principal: Principal) -> str:
    """The policy input's `principal` part."""
    return json.dumps(
        {
            "id": principal.id,
            "kind": principal.kind,
            "roles": sorted(role.value for role in principal.roles),
            "groups": list(principal.groups),
            "claims": dict(principal.claims),
        }
    )


def call_json(call: CallFacts, *, with_input: bool = True) -> str:
    """The policy input's `call` part; the arguments are spliced in byte for byte, or left out."""
    document: JsonObject = {
        "id": call.call_id,
        "kind": call.kind.value,
        "phase": call.phase,
        "input_bytes": len(call.document.raw),
        "digest": call.digest,
        "facts": call.facts,
        "confidence_field": call.confidence_field,
        "deliverable": dict(call.deliverable) if call.deliverable is not None else None,
        "checkpoint": None,
        "labels": dict(call.labels),
        "intent": call.intent,
        "workdir": call.workdir,
        "time": datetime.fromtimestamp(call.time, UTC).isoformat(timespec="milliseconds"),
        "time_unix_s": call.time,
    }
    if call.confidence_field in call.document.value:
        document["confidence"] = call.document.value[call.confidence_field]
    text = json.dumps(document)
    return f'{text[:-1]},"input":{call.document.raw.decode()}}}' if with_input else text


def policy_input(*, principal: str, session: str, call: str, tool: bytes, gateway: str) -> bytes:
    """The whole document, from its encoded parts."""
    return (
        f'{{"version":{INPUT_VERSION},"principal":{principal},"session":{session},"call":{call},'
        f'"tool":{tool.decode()},"gateway":{gateway}}}'
    ).encode()
