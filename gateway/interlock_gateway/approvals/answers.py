"""What an approver says, as it comes in by any channel, and what is wrong with it (CHK-7)."""

from dataclasses import dataclass

from interlock_gateway.core.checkpoint import ApproverDecision
from interlock_gateway.errors import RequestError, RequestFault

MAX_REASON_BYTES = 4 * 1024
MAX_RESPONSE_BYTES = 16 * 1024


@dataclass(frozen=True, slots=True)
class Said:
    """An approver's words, before anybody has looked whether they count.

    `call_digest`, when given, is the digest of the call that the approver saw. `channel` is `grpc`, `console`, `cli`,
    `webhook` or `mcp`.
    """

    checkpoint_id: str
    decision: ApproverDecision
    reason: str = ""
    edited_input: bytes = b""
    response: str = ""
    call_digest: str = ""
    channel: str = "grpc"


def check(said: Said) -> None:
    """Raise `RequestError` unless what is said is complete, and holds nothing that its decision has no use for."""
    _bounded("reason", said.reason, MAX_REASON_BYTES)
    _bounded("response", said.response, MAX_RESPONSE_BYTES)
    if said.decision is ApproverDecision.DENY and not said.reason.strip():
        raise _wrong("reason", "say why: a denial's reason is what the model learns from it")
    edits, responds = said.decision is ApproverDecision.EDIT, said.decision is ApproverDecision.RESPOND
    if edits and not said.edited_input:
        raise _wrong("edited_input", "an edit needs the input to run instead")
    if said.edited_input and not edits:
        raise _wrong("edited_input", "only an edit has an edited input")
    if responds and not said.response.strip():
        raise _wrong("response", "a response needs the text that the model gets")
    if said.response and not responds:
        raise _wrong("response", "only a response has a text for the model")


def _bounded(field: str, text: str, limit: int) -> None:
    if len(text.encode(errors="surrogatepass")) > limit:
        raise RequestError(RequestFault.TOO_LARGE, f"{field} has more than {limit} bytes", field=field)


def _wrong(field: str, message: str) -> RequestError:
    return RequestError(RequestFault.INVALID_FIELD, message, field=field)
