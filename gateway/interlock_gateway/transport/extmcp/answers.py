"""What the other gateway is answered: passed, changed, or an error that tells the model what to do next."""

import json
from typing import Any, TypeVar

from mcp_types.version import LATEST_PROTOCOL_VERSION

from interlock_gateway.core.call import CallResult, CallStatus
from interlock_gateway.core.content import Text
from interlock_gateway.errors import RequestError, RequestFault
from interlock_gateway.transport.extmcp.stubs import ext_mcp_pb2 as pb
from interlock_gateway.transport.mcp.reflecting import words_for, words_for_reading
from interlock_gateway.transport.mcp.results import UNKNOWN, call_result, meta_of

Code = pb.AuthorizationError.Code
R = TypeVar("R", pb.McpRequestResult, pb.McpResponseResult)
RPC_CODES: dict[int, int] = {Code.PERMISSION_DENIED: -32001, Code.RESOURCE_EXHAUSTED: -32005, Code.INVALID: -32600}
INTERNAL = -32603
AGAIN = (
    "To go on, make this very call again with exactly the same arguments once a person has decided: it is the same "
    "call, and nobody is asked twice. Do not change it and do not look for another way to do it."
)
NO_PREVIEW = "It cannot be applied through this MCP gateway: do not try again, and tell a person what you wanted to do."
RAN_BEFORE = "This call was answered already, and was not sent again:"
_EXHAUSTED = {RequestFault.OVERLOADED, RequestFault.LIMIT_REACHED, RequestFault.DRAINING, RequestFault.TOO_LARGE}
_INVALID = {RequestFault.INVALID_FIELD, RequestFault.CALL_ID_REUSED, RequestFault.NAME_TAKEN}
_DENIED = {RequestFault.NOT_YOUR_SESSION, RequestFault.ROLE_MISSING, RequestFault.SESSION_CLOSED}
MOST_WORDS = 8000


def passed(answer: R) -> R:
    """`answer`, which lets what was asked about go on as it is."""
    getattr(answer, "pass").SetInParent()  # a word of Python's own
    return answer


def refusal(code: pb.AuthorizationError.Code, words: str, data: Any = None) -> pb.AuthorizationError:
    """An error. `mcp_error` is the same as an error of JSON-RPC, with what programs read in `data`."""
    words = words[:MOST_WORDS]
    error: dict[str, Any] = {"code": RPC_CODES.get(code, INTERNAL), "message": words}
    if data is not None:
        error["data"] = data
    return pb.AuthorizationError(code=code, reason=words, mcp_error=json.dumps(error, ensure_ascii=False).encode())


def of_request_error(error: RequestError) -> pb.AuthorizationError:
    """What became of a request that the core did not take."""
    if error.fault in _EXHAUSTED:
        return refusal(Code.RESOURCE_EXHAUSTED, f"{error.message}; try again later")
    if error.fault in _DENIED:
        return refusal(Code.PERMISSION_DENIED, error.message)
    return refusal(Code.INVALID if error.fault in _INVALID else Code.UNKNOWN, error.message)


def not_sent(result: CallResult, *, reads: bool) -> pb.AuthorizationError:
    """Why a call is not let through, in words that a model can act on; `reads`: it is no tool's (`content_call`)."""
    lines = [part.text for part in result.content if isinstance(part, Text)]
    code = Code.PERMISSION_DENIED
    match result.status:
        case CallStatus.DENIED:
            denied = result.decision.message if result.decision is not None else ""
            lines = lines or [denied or "The call was denied."]
        case CallStatus.PREVIEW:
            lines = ["The call was not run: it has to be previewed first.", *lines, NO_PREVIEW]
        case CallStatus.AWAITING_CHECKPOINT:
            lines = [*lines, AGAIN]
        case CallStatus.REFLECTION_REQUIRED:
            form = result.reflection
            words = words_for_reading if reads else words_for
            lines = [*lines, *(() if form is None else (words(form),))]
        case CallStatus.OUTCOME_UNKNOWN:
            code, lines = Code.UNKNOWN, [*lines, UNKNOWN]
        case CallStatus.FAILED:
            code = Code.UNKNOWN
        case CallStatus.COMPLETED:
            lines = [RAN_BEFORE, *lines]
    return refusal(code, "\n".join((*lines, *result.steering)), meta_of(result))


def mutated(result: CallResult, given: dict[str, Any]) -> bytes:
    """A result as JSON in which something was changed; what MCP has besides is kept as `given`."""
    made = call_result(result, LATEST_PROTOCOL_VERSION)
    if "resultType" not in given:
        made.pop("resultType", None)
    meta = given.get("_meta")
    made["_meta"] = {**(meta if isinstance(meta, dict) else {}), **made["_meta"]}
    more = {key: value for key, value in given.items() if key not in made and key not in _OF_RESULTS}
    return json.dumps({**more, **made}, ensure_ascii=False, separators=(",", ":")).encode()


_OF_RESULTS = frozenset({"content", "structuredContent", "isError", "resultType", "_meta"})
