"""What the gateway's own reasons mean, in words for people: no rule of the policies gave them."""

from interlock_gateway.core.decision import GatewayErrorCode

PREFIX = "gateway_error."

MEANINGS: dict[GatewayErrorCode, str] = {
    GatewayErrorCode.POLICY_UNDEFINED: "the policies had no decision for this call",
    GatewayErrorCode.POLICY_MALFORMED: "what the policies answered is not a decision",
    GatewayErrorCode.POLICY_CONFLICT: "rules contradict each other, so that there were several decisions",
    GatewayErrorCode.POLICY_TIMEOUT: "the policies took longer than policy.timeout_s",
    GatewayErrorCode.POLICY_CRASHED: "the policy engine crashed on this call, and was started again",
    GatewayErrorCode.POLICY_ERROR: "the policy engine reported an error",
    GatewayErrorCode.POLICY_UNAVAILABLE: "no policy engine was free or could be reached",
    GatewayErrorCode.POLICY_INPUT_TOO_LARGE: "the call was too large to decide about",
    GatewayErrorCode.OBLIGATION_FAILED: (
        "what the policies wanted changed in the input could not be sent, or was what they had decided about"
    ),
    GatewayErrorCode.FACTS_FAILED: "what the call would do was not found out in time",
    GatewayErrorCode.STATE_UNAVAILABLE: "the gateway's database could not be written",
    GatewayErrorCode.AUDIT_UNAVAILABLE: "receipts could not be written",
    GatewayErrorCode.INPUT_UNCHECKED: "the input could not be checked against the tool's schema in time",
    GatewayErrorCode.INTERCEPTOR_FAILED: "an interceptor failed, was too slow, or gave no answer that counts",
    GatewayErrorCode.INTERNAL: "the gateway failed while deciding; its log has the reason",
}

# Refused on the way to the policies or behind them.
REFUSALS: dict[str, str] = {
    "unknown_tool": "there is no tool of this name",
    "tool_deferred": "the tool is not active in the session; activate_tools makes it so",
    "invalid_input": "the input is not one JSON object that everybody reads alike",
    "invalid_arguments": "the input does not fit the tool's schema",
    "invalid_deliverable": "the deliverable of reverse thinking cannot be taken",
    "outside_workspace": "the working directory lies outside the session's workspace",
    "session_closed": "the session was closed",
    "approval_void": "the approval was for another call, tool, definition or policy",
    "not_what_was_previewed": "what would be applied is not what was previewed",
    "preview_at_apply": "the policies asked for a preview of what was being applied",
    "not_applied": "the pending action was not applied",
    "checkpoint_denied": "a person denied the call",
    "checkpoint_expired": "nobody decided in time",
    "checkpoint_withdrawn": "nobody is asked any more",
    "checkpoint_unavailable": "there is nobody to ask",
}


def in_words(code: str) -> str:
    """What a reason of the gateway means; empty for one that has no words here."""
    if code.startswith(PREFIX):
        known = code.removeprefix(PREFIX)
        return MEANINGS[GatewayErrorCode(known)] if known in set(GatewayErrorCode) else ""
    return REFUSALS.get(code, "")
