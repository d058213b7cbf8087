"""JSON-RPC 2.0 messages as bytes, with arguments that arrive at the server as policy saw them."""

import json
from typing import Any, cast

from interlock_gateway.errors import ProviderFailedError
from interlock_gateway.providers.mcp.link import RequestId
from interlock_gateway.providers.wire import json_value

_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
_NO_BREAKS = bytes.maketrans(b"\r\n", b"  ")
_CALL = b'"tools/call"'
MAX_BATCH = 64
"""Messages in one batch: all of them are acted on at once, and count once towards what a server may say unasked."""


class NotAMessageError(Exception):
    """Something came that is no JSON-RPC message."""


def encoded(value: object) -> bytes:
    """A value as JSON of one line."""
    return _encode(value).encode()


def request(request_id: RequestId, method: str, params: bytes) -> bytes:
    """A request; `params` is a JSON object."""
    shown = b"%d" % request_id if type(request_id) is int else encoded(request_id)
    named = _CALL if method == "tools/call" else encoded(method)
    return b'{"jsonrpc":"2.0","id":%b,"method":%b,"params":%b}' % (shown, named, params)


def notification(method: str, params: bytes) -> bytes:
    """A notification; `params` is a JSON object, or empty for none."""
    if not params:
        return b'{"jsonrpc":"2.0","method":%b}' % encoded(method)
    return b'{"jsonrpc":"2.0","method":%b,"params":%b}' % (encoded(method), params)


def answer(request_id: RequestId, value: object) -> bytes:
    """The answer to a request of the server's."""
    return b'{"jsonrpc":"2.0","id":%b,"result":%b}' % (encoded(request_id), encoded(value))


def refusal(request_id: RequestId, code: int, message: str, data: object = None) -> bytes:
    """The refusal of a request of the server's."""
    told: dict[str, object] = {"code": code, "message": message}
    if data is not None:
        told["data"] = data
    return encoded({"jsonrpc": "2.0", "id": request_id, "error": told})


def call_params(name: bytes, arguments: bytes, meta: bytes) -> bytes:
    """The params of `tools/call`. `name` and `meta` are JSON; `arguments` is spliced in as it is.

    Line breaks between its members, the only ones that JSON can have, become spaces: a line is a message on stdio.
    """
    if b"\n" in arguments or b"\r" in arguments:
        arguments = arguments.translate(_NO_BREAKS)
    if not meta:
        return b'{"name":%b,"arguments":%b}' % (name, arguments)
    return b'{"name":%b,"arguments":%b,"_meta":%b}' % (name, arguments, meta)


def read(raw: bytes) -> list[dict[str, Any]]:
    """The messages in `raw`: one, or several where a server sends batches, as it might on 2025-03-26.

    Raises `NotAMessageError`; whether members are what they should be is not looked at.
    """
    try:
        value = json_value(raw, "message")
    except ProviderFailedError as problem:
        raise NotAMessageError(problem.message) from None
    found = value if isinstance(value, list) else [value]
    if len(found) > MAX_BATCH:
        raise NotAMessageError(f"it is a batch of more than {MAX_BATCH} messages")
    if any(not isinstance(one, dict) or one.get("jsonrpc") != "2.0" for one in found):
        raise NotAMessageError("it is not a JSON-RPC message")
    return cast("list[dict[str, Any]]", found)


def arguments(raw: bytes) -> dict[str, Any]:
    """The arguments of a call, which were read strictly before."""
    return cast("dict[str, Any]", json.loads(raw))
