"""A signed answer from a generic webhook's side: one JSON object (CHK-8)."""

import json
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from interlock_gateway.approvals.answers import Said
from interlock_gateway.core.checkpoint import ApproverDecision
from interlock_gateway.core.document import InvalidDocumentError, parse
from interlock_gateway.errors import RequestError, RequestFault

_MAX_DEPTH = 64


class SignedAnswer(BaseModel):
    """What the holder of a webhook's secret says in the name of one of its approvers."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    checkpoint_id: str = Field(min_length=1, max_length=256)
    decision: str
    approver: str = Field(min_length=1, max_length=256)
    call_digest: str = Field(min_length=1, max_length=256)
    """The digest that was posted with the checkpoint: what was shown is what is answered."""
    reason: str = ""
    edited_input: dict[str, Any] | None = None
    response: str = ""


def read_answer(body: bytes) -> tuple[str, Said]:
    """Which approver says what. Raises `RequestError` naming the field."""
    try:
        given = SignedAnswer.model_validate(parse(body, max_depth=_MAX_DEPTH).value)
        decision = ApproverDecision(given.decision)
    except InvalidDocumentError as error:
        raise RequestError(RequestFault.INVALID_FIELD, error.message) from None
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(map(str, first["loc"]))
        raise RequestError(RequestFault.INVALID_FIELD, f"{field}: {first['msg']}", field=field) from None
    except ValueError:
        words = "decision: say approve, deny, edit or respond"
        raise RequestError(RequestFault.INVALID_FIELD, words, field="decision") from None
    edited = b"" if given.edited_input is None else json.dumps(given.edited_input, ensure_ascii=False).encode()
    return given.approver, Said(
        checkpoint_id=given.checkpoint_id,
        decision=decision,
        reason=given.reason,
        edited_input=edited,
        response=given.response,
        call_digest=given.call_digest,
        channel="webhook",
    )
