"""From the params of a request to the core's own: the call of a tool, or of what brings content like one."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from interlock_gateway.core.call import CallRequest, CheckpointMode
from interlock_gateway.errors import RequestError, RequestFault
from interlock_gateway.providers.mcp.passing import passing_name
from interlock_gateway.transport.mcp.reflecting import META as DELIVERABLE
from interlock_gateway.transport.mcp.reflecting import deliverable_in
from interlock_gateway.transport.mcp.requests import CALL_ID_META, INTENT_META, encoded, text_in, trace_in

CALL = "tools/call"


@dataclass(frozen=True, slots=True)
class AskedFor:
    """The core's request, without its session; and the params as they are sent on, with the input that is to be sent.

    `given` is the input as it came, with which the params may go on as they are; `None` when they may not, because what
    an agent thought of a call is not the server's to read.
    """

    request: CallRequest
    given: bytes | None
    with_input: Callable[[bytes], bytes]


def tool_call(service: str, params: dict[str, Any]) -> AskedFor:
    """What `tools/call` asks for. Raises `RequestError`."""
    name, arguments = params.get("name"), params.get("arguments")
    if not isinstance(name, str) or not isinstance(arguments, dict | None):
        words = "tools/call has a name, and perhaps arguments, which are an object"
        raise RequestError(RequestFault.INVALID_FIELD, words)
    if "task" in params:
        raise RequestError(RequestFault.INVALID_FIELD, "the call is to go on as a task, which is not let through here")
    left, deliverable = deliverable_in(arguments, _meta(params))
    others = {key: value for key, value in _sent_on(params).items() if key != "arguments"}

    def with_arguments(sent: bytes) -> bytes:
        return encoded(others)[:-1] + b',"arguments":' + sent + b"}"

    request = _request(f"{service}/{name}", encoded(left or {}), params, deliverable)
    return AskedFor(request, _given(params, arguments or {}), with_arguments)


def content_call(provider: str, method: str, params: dict[str, Any]) -> AskedFor:
    """What `resources/read` or `prompts/get` asks for: a call of what stands for it (`providers.mcp.passing`)."""
    sent_on = _sent_on(params)
    meta = {"_meta": sent_on["_meta"]} if _meta(sent_on) else {}
    given = {key: value for key, value in params.items() if key != "_meta"}
    _, deliverable = deliverable_in(None, _meta(params))

    def with_meta(sent: bytes) -> bytes:
        return encoded(meta)[:-1] + (b"," if meta and sent != b"{}" else b"") + sent[1:]

    request = _request(passing_name(provider, method), encoded(given), params, deliverable)
    return AskedFor(request, _given(params, given), with_meta)


def _sent_on(params: dict[str, Any]) -> dict[str, Any]:
    """Params without what only the gateway reads."""
    if DELIVERABLE not in _meta(params):
        return params
    return {**params, "_meta": {key: value for key, value in _meta(params).items() if key != DELIVERABLE}}


def _given(params: dict[str, Any], given: dict[str, Any]) -> bytes | None:
    return encoded(given) if DELIVERABLE not in _meta(params) else None


def _request(tool: str, given: bytes, params: dict[str, Any], deliverable: Any) -> CallRequest:
    meta = _meta(params)
    call_id = text_in(meta, CALL_ID_META)
    return CallRequest(
        session_id="",
        call_id=call_id,
        tool=tool,
        input=given,
        intent=text_in(meta, INTENT_META),
        deliverable=deliverable,
        checkpoint_mode=CheckpointMode.DETACH,
        trace=trace_in(meta),
        rejoins=not call_id,
    )


def _meta(params: dict[str, Any]) -> dict[str, Any]:
    meta = params.get("_meta", {})
    if not isinstance(meta, dict):
        raise RequestError(RequestFault.INVALID_FIELD, "_meta is not an object")
    return meta
