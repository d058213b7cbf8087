"""What a `resolve` call says, and what its answer's details hold (PREV-3, PREV-9)."""

from dataclasses import dataclass, replace

from interlock_gateway.core.call import CallResult
from interlock_gateway.core.jsonvalue import FrozenJsonObject, JsonObject
from interlock_gateway.core.pending import ResolutionNote, ResolveAction

OUTCOMES = ("applied", "not_applied")
"""What `extra.outcome` may say about an action of unknown outcome (PREV-14)."""

MAX_REASON = 4096
"""In characters."""

RESOLVE_SCHEMA: JsonObject = {
    "type": "object",
    "properties": {
        "action": {"enum": ["apply", "discard"], "description": "Apply the previewed change, or discard it."},
        "reason": {"type": "string", "pattern": r"\S", "maxLength": MAX_REASON, "description": "Why; never blank."},
        "extra": {"type": "object", "description": "Passed on untouched to whoever made the preview."},
        "pending_id": {"type": "string", "description": "The pending action you mean; it must be the top one."},
    },
    "required": ["action", "reason"],
    "additionalProperties": False,
}


class Answered(Exception):  # noqa: N818 - an answer to give, not an error
    """The call has its answer already: a sentence for the model, and its code."""

    def __init__(self, code: str, text: str) -> None:
        super().__init__(text)
        self.code = code
        self.text = text


@dataclass(frozen=True, slots=True)
class ResolveArguments:
    """The arguments of one `resolve` call. `outcome` is empty unless the agent says what happened (PREV-14)."""

    action: ResolveAction
    reason: str
    extra: FrozenJsonObject
    has_extra: bool
    pending_id: str
    outcome: str

    @classmethod
    def of(cls, value: JsonObject) -> "ResolveArguments":
        """The arguments in an input that is valid by `RESOLVE_SCHEMA`. Raises `Answered` for an unknown outcome."""
        extra = value.get("extra")
        given = extra if isinstance(extra, dict) else {}
        outcome = given.get("outcome", "")
        # `extra` belongs to the provider: an `outcome` of another kind is its own affair.
        return cls(
            action=ResolveAction(str(value["action"])),
            reason=str(value["reason"]),
            extra=given,
            has_extra=isinstance(extra, dict),
            pending_id=str(value.get("pending_id", "")),
            outcome=outcome if isinstance(outcome, str) and outcome in OUTCOMES else "",
        )

    @property
    def note(self) -> ResolutionNote:
        """What is asked for, about nothing yet."""
        return ResolutionNote(self.action.value, self.reason, self.extra if self.has_extra else None)


def resolution_details(said: ResolutionNote) -> JsonObject:
    """The `details` of a `resolve` answer, without the provider's own; what is not known yet is left out (PREV-9)."""
    details: JsonObject = {"action": said.action, "reason": said.reason}
    if said.label or said.source_tool:
        details |= {"sourceToolName": said.source_tool, "label": said.label}
    if said.extra is not None:
        details["extra"] = dict(said.extra)
    return details


def with_details(result: CallResult, said: ResolutionNote | None) -> CallResult:
    """`result` with what was asked for in its details, whatever came of it (PREV-9)."""
    if said is None:
        return result
    return replace(result, details={**resolution_details(said), **result.details})
