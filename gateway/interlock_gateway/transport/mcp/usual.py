"""Calls of the usual form, told from all others by their types alone: for these the SDK's models would find no fault.

Whatever else there can be in a request (progress, rounds, tasks, members that are not known here) is left to the SDK,
and so is everything that is wrong.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from mcp.server.connection import Connection
from mcp_types import (
    CLIENT_CAPABILITIES_META_KEY,
    CLIENT_INFO_META_KEY,
    PROTOCOL_VERSION_META_KEY,
    ClientCapabilities,
)
from mcp_types.methods import validate_client_request
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import ValidationError

from interlock_gateway.transport.mcp.heads import Head
from interlock_gateway.transport.mcp.requests import CALL_ID_META, INTENT_META, WORKDIR_META
from interlock_gateway.transport.mcp.wires import SESSION_META

CALL = "tools/call"
MOST_KNOWN, LONGEST_KNOWN = 256, 4096
"""Envelopes that are remembered, and of how many characters each."""
_PARAMS = frozenset({"name", "arguments", "_meta"})
_MEMBERS = 4
_TEXTS = frozenset({"traceparent", "tracestate", CALL_ID_META, WORKDIR_META, INTENT_META, SESSION_META})
_ENVELOPE = frozenset({PROTOCOL_VERSION_META_KEY, CLIENT_CAPABILITIES_META_KEY, CLIENT_INFO_META_KEY})
_NOTHING: dict[str, Any] = {}
_BASE64 = "=?"
"""How a header begins that is not sent as it is."""
_encode = json.JSONEncoder(separators=(",", ":")).encode


@dataclass(frozen=True, slots=True)
class UsualCall:
    """A request for `tools/call`. `arguments` is `None` for none; `enveloped`: its `_meta` says who sends it."""

    request_id: int | str
    name: str
    arguments: dict[str, Any] | None
    meta: dict[str, Any]
    enveloped: bool


def usual_call(message: Mapping[str, Any]) -> UsualCall | None:
    """The call that a message asks for, if that is all there is to it."""
    request_id, params = message.get("id"), message.get("params")
    if message.get("method") != CALL or message.get("jsonrpc") != "2.0" or len(message) != _MEMBERS:
        return None
    if type(request_id) not in {int, str} or type(params) is not dict or not params.keys() <= _PARAMS:
        return None
    name, arguments, meta = params.get("name"), params.get("arguments", _NOTHING), params.get("_meta", _NOTHING)
    if type(name) is not str or type(arguments) is not dict or type(meta) is not dict:
        return None
    enveloped = False
    for key, value in meta.items():
        if key in _ENVELOPE:
            enveloped = True
        elif key not in _TEXTS or type(value) is not str:
            return None
    given = None if arguments is _NOTHING else arguments
    assert isinstance(request_id, int | str)
    return UsualCall(request_id, name, given, meta, enveloped)


@dataclass(frozen=True, slots=True)
class Envelope:
    """What a request without a session says of its client, as the SDK reads it."""

    version: str
    client_info: Any
    client_capabilities: Any
    client_name: str
    able: ClientCapabilities | None

    def connection(self) -> Connection:
        """The SDK's connection of one request."""
        return Connection.from_envelope(self.version, self.client_info, self.client_capabilities)


class Envelopes:
    """Reads envelopes. One that was good is good whoever sends it, and clients send the same with every request."""

    def __init__(self) -> None:
        self._known: dict[str, Envelope] = {}

    def of(self, call: UsualCall, head: Head) -> Envelope | None:
        """The call's, if the headers say the same, and nothing is odd about it."""
        meta, version = call.meta, head.version
        if version not in MODERN_PROTOCOL_VERSIONS or meta.get(PROTOCOL_VERSION_META_KEY) != version:
            return None
        if head.method != CALL or head.name != call.name or head.name.startswith(_BASE64):
            return None
        info, able = meta.get(CLIENT_INFO_META_KEY), meta.get(CLIENT_CAPABILITIES_META_KEY)
        key = f"{version}{_encode([info, able])}"
        return self._known.get(key) or self._read(key, version, call)

    def _read(self, key: str, version: str, call: UsualCall) -> Envelope | None:
        envelope = {name: value for name, value in call.meta.items() if name in _ENVELOPE}
        try:
            validate_client_request(CALL, version, {"name": call.name, "_meta": envelope})
        except ValidationError:
            return None
        info, able = envelope.get(CLIENT_INFO_META_KEY), envelope[CLIENT_CAPABILITIES_META_KEY]
        said = Connection.from_envelope(version, info, able)
        name = said.client_params.client_info.name if said.client_params is not None else ""
        found = Envelope(version, info, able, name, said.client_capabilities)
        if len(key) <= LONGEST_KNOWN:
            if len(self._known) >= MOST_KNOWN:
                self._known.clear()
            self._known[key] = found
        return found
