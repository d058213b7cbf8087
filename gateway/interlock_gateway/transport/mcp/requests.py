"""From a request of MCP to the core's own: the arguments are encoded once, and no parser reads them again."""

import json
from collections.abc import Mapping
from typing import Any

from interlock_gateway.core.call import CallRequest, CheckpointMode
from interlock_gateway.core.trace import TraceContext, read_trace
from interlock_gateway.errors import RequestError, RequestFault
from interlock_gateway.transport.grpc.decode import MAX_NAME, MAX_TEXT
from interlock_gateway.transport.mcp.reflecting import deliverable_in
from interlock_gateway.transport.mcp.wires import McpCaller

CALL_ID_META = "dev.interlock/call_id"
WORKDIR_META = "dev.interlock/workdir"
INTENT_META = "dev.interlock/intent"
_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


def call_request(caller: McpCaller, name: str, arguments: Mapping[str, Any] | None) -> CallRequest:
    """The call that is asked for. Raises `RequestError` naming what is malformed."""
    if len(name) > MAX_NAME:
        raise RequestError(RequestFault.INVALID_FIELD, f"name is longer than {MAX_NAME} characters", field="name")
    given, deliverable = deliverable_in(arguments, caller.meta)
    call_id = text_in(caller.meta, CALL_ID_META)
    return CallRequest(
        session_id=caller.session_id,
        call_id=call_id,
        tool=name,
        input=b"" if given is None else encoded(given),
        workdir=text_in(caller.meta, WORKDIR_META),
        intent=text_in(caller.meta, INTENT_META),
        deliverable=deliverable,
        trace=trace_in(caller.meta),
        checkpoint_mode=CheckpointMode.DETACH,
        rejoins=not call_id,
        mcp_revision=caller.version,
    )


def read_request(caller: McpCaller, method: str, tool: str, given: Mapping[str, Any]) -> CallRequest:
    """The call of `tool` that `method` is: `resources/read` or `prompts/get`. Raises `RequestError`.

    Their params have no place for an argument of ours: the deliverable comes in `_meta` alone.
    """
    call_id = text_in(caller.meta, CALL_ID_META)
    return CallRequest(
        session_id=caller.session_id,
        call_id=call_id,
        tool=tool,
        input=encoded(given),
        workdir=text_in(caller.meta, WORKDIR_META),
        intent=text_in(caller.meta, INTENT_META),
        deliverable=deliverable_in(None, caller.meta)[1],
        trace=trace_in(caller.meta),
        checkpoint_mode=CheckpointMode.DETACH,
        rejoins=not call_id,
        mcp_revision=caller.version,
        mcp_method=method,
    )


def encoded(value: Mapping[str, Any]) -> bytes:
    """`value` as JSON: what policy, receipts, people and the tool are shown from here on."""
    return _encode(value).encode()


def text_in(meta: Mapping[str, Any], key: str) -> str:
    """The text under `key` of a request's `_meta`, empty without. Raises `RequestError` for anything else there."""
    found = meta.get(key, "")
    if not isinstance(found, str) or len(found) > MAX_TEXT:
        words = f"_meta of {key} is not a text of at most {MAX_TEXT} characters"
        raise RequestError(RequestFault.INVALID_FIELD, words, field=key)
    return found


def trace_in(meta: Mapping[str, Any]) -> TraceContext | None:
    """The trace that the request is a part of (OBS-2): what is not valid counts as not sent, as in gRPC."""
    parent, state = meta.get("traceparent"), meta.get("tracestate")
    if not isinstance(parent, str):
        return None
    return read_trace((parent,), (state,) if isinstance(state, str) else ())
