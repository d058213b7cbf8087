"""Call ids that clients choose (PIPE-10)."""

from interlock_gateway.core.rollback import COMPENSATION_PREFIX
from interlock_gateway.errors import RequestError, RequestFault

MAX_CALL_ID = 128


def check_call_id(call_id: str) -> None:
    """Raise `RequestError` for an id that is too long, or is one of the gateway's own."""
    if len(call_id) > MAX_CALL_ID:
        raise RequestError(RequestFault.INVALID_FIELD, f"call_id is longer than {MAX_CALL_ID}", field="call_id")
    if call_id.startswith(COMPENSATION_PREFIX):
        words = f"call ids that begin with {COMPENSATION_PREFIX!r} are the gateway's own"
        raise RequestError(RequestFault.INVALID_FIELD, words, field="call_id")
