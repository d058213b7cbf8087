"""The document that policy sees (policy.md, Input): encoded parts, put together around the input's own bytes."""

import json
from datetime import UTC, datetime
from functools import lru_cache
from typing import NamedTuple

from interlock_gateway.core.call import CallKind
from interlock_gateway.core.document import Document
from interlock_gateway.core.jsonvalue import FrozenJsonObject, JsonObject
from interlock_gateway.core.session import Principal

INPUT_VERSION = 1
NO_FACTS: JsonObject = {"class": "", "extracted": True}
_json = json.JSONEncoder(check_circular=False).encode
_NO_FACTS_JSON = _json(NO_FACTS)
_ABSENT = object()
LONG = 64 * 1024
"""Of arguments with more bytes no second copy is made."""


class CallFacts(NamedTuple):
    """What policy sees of one call. `checkpoint` is JSON text. A tuple, because one is made for each call."""

    call_id: str
    kind: CallKind
    document: Document
    digest: str
    facts: JsonObject
    workdir: str
    intent: str
    labels: FrozenJsonObject
    deliverable: FrozenJsonObject | None
    checkpoint: str
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


def call_json(call: CallFacts) -> str:
    """The policy input's `call` part, as far as the arguments: they are its last member, and stand for themselves."""
    document = call.document
    confidence = document.value.get(call.confidence_field, _ABSENT)
    spoken = "" if confidence is _ABSENT else f'"confidence":{_json(confidence)},'
    kind = call.kind
    return (
        f'{{"id":{_json(call.call_id)},"kind":"{kind}","phase":"{call.phase}",'
        f'"input_bytes":{len(document.raw)},"digest":"{call.digest}",'
        f'"facts":{_NO_FACTS_JSON if call.facts is NO_FACTS else _json(call.facts)},'
        f'"confidence_field":"{call.confidence_field}",{spoken}'
        f'"deliverable":{"null" if call.deliverable is None else _json(dict(call.deliverable))},'
        f'"checkpoint":{call.checkpoint},'
        f'"labels":{_json(dict(call.labels)) if call.labels else "{}"},"intent":{_json(call.intent)},'
        f'"workdir":{_json(call.workdir)},"time":"{rfc3339(call.time)}","time_unix_s":{call.time!r},'
        f'"input":'
    )


@lru_cache(maxsize=8)
def _second(unix_s: int) -> str:
    return datetime.fromtimestamp(unix_s, UTC).strftime("%Y-%m-%dT%H:%M:%S")


def rfc3339(unix_s: float) -> str:
    """A time in UTC with milliseconds (RFC 3339)."""
    whole = int(unix_s)
    return f"{_second(whole)}.{int((unix_s - whole) * 1000):03d}Z"


class PolicyInput(NamedTuple):
    """The whole document, and what is sent to an engine of it."""

    whole: bytes
    asked: bytes


def policy_input(
    *,
    principal: str,
    recent: str,
    session: str,
    previous: str,
    call: str,
    arguments: bytes,
    tool: bytes,
    gateway: str,
    reads_previous: bool = True,
) -> PolicyInput:
    """The document, from its encoded parts; `recent` is put into `principal`, `arguments` behind `call`.

    `session` lacks its last brace, and `previous` is put there. What is asked lacks that when no rule reads it: it
    takes an engine as long to read as all the rest. The arguments may be megabytes: they are copied once, byte for
    byte, and never decoded.
    """
    first = f'{{"version":{INPUT_VERSION},"principal":{principal[:-1]},"recent":{recent}}},"session":{session}'
    past = f',"previous":{previous}'
    last = (b'},"tool":', tool, f',"gateway":{gateway}}}'.encode())
    middle = f'}},"call":{call}'.encode()
    whole = b"".join((first.encode(), past.encode(), middle, arguments, *last))
    if reads_previous or len(arguments) > LONG:
        return PolicyInput(whole, whole)
    return PolicyInput(whole, b"".join((first.encode(), middle, arguments, *last)))
