"""The input's bytes, read strictly (PIPE-3), and what is sent of them once policy has spoken (CONF-5, PIPE-4)."""

from interlock_gateway.core.decision import DecisionError, GatewayErrorCode, Obligations
from interlock_gateway.core.document import Document, InvalidDocumentError, parse


def read_input(raw: bytes, *, max_bytes: int, max_depth: int) -> Document:
    """The call's input; nothing at all counts as an empty object. Raises `InvalidDocumentError`."""
    if len(raw) > max_bytes:
        raise InvalidDocumentError(f"input has {len(raw)} bytes; at most {max_bytes} are accepted")
    return parse(raw or b"{}", max_depth=max_depth)


def input_to_send(document: Document, obligations: Obligations) -> Document:
    """The input as the tool will get it: what policy strips is cut out, what it sets is put in, the rest is untouched.

    Raises `DecisionError` when what policy wants set cannot be sent.
    """
    sent = document
    if strip := frozenset(obligations.strip) & document.value.keys():
        sent = sent.without(strip)
    if obligations.set_fields:
        try:
            sent = sent.with_fields(dict(obligations.set_fields))
        except (ValueError, TypeError):
            raise DecisionError(
                GatewayErrorCode.OBLIGATION_FAILED, "policy asked to set something unsendable"
            ) from None
    return sent


def changed_fields(document: Document, obligations: Obligations) -> frozenset[str]:
    """The top-level fields in which what is sent may differ from what came."""
    return frozenset(obligations.strip) & document.value.keys() | obligations.set_fields.keys()
