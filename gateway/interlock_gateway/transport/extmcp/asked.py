"""From the params of a request to the core's own: the call of a tool, or of what brings content like one."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from interlock_gateway.core.call import CallRequest, CheckpointMode
from interlock_gateway.errors import RequestError, RequestFault
from interlock_gateway.providers.mcp.passing import passing_name
from interlock_gateway.transport.mcp.reflecting import deliverable_in
from interlock_gateway.transport.mcp.requests import CALL_ID_META, INTENT_META, encoded, text_in, trace_in

CALL = "tools/call"


@dataclass(frozen=True, slots=True)
class AskedFor:
    """The core's request, without its session; the input as it came, and the params with another one in its place."""

    request: CallRequest
    given: bytes
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
    others = {key: value for key, value in params.items() if key != "arguments"}

    def with_arguments(sent: bytes) -> bytes:
        return encoded(others)[:-1] + b',"arguments":' + sent + b"}"

    request = _request(f"{service}/{name}", encoded(left or {}), params, deliverable)
    return AskedFor(request, encoded(arguments or {}), with_arguments)


def content_call(provider: str, method: str, params: dict[str, Any]) -> AskedFor:
    """What `resources/read` or `prompts/get` asks for: a call of what stands for it (`providers.mcp.passing`)."""
    meta = {"_meta": params["_meta"]} if _meta(params) else {}
    given = encoded({key: value for key, value in params.items() if key != "_meta"})

    def with_meta(sent: bytes) -> bytes:
        return encoded(meta)[:-1] + (b"," if meta and sent != b"{}" else b"") + sent[1:]

    return AskedFor(_request(passing_name(provider, method), given, params, None), given, with_meta)


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
