"""Reads what OPA answered: a decision together with the policy that gave it, or what is the matter."""

import json

from interlock_gateway.core.answer import ActivePolicy, PolicyAnswer
from interlock_gateway.core.decision import DecisionError, GatewayErrorCode
from interlock_gateway.core.jsonvalue import JsonObject, JsonValue
from interlock_gateway.policy.opa.client import Reply, check_status
from interlock_gateway.policy.opa.faults import OpaFaultError, Trouble

_LONGEST_NAME = 256
_CONFLICTS = frozenset({"eval_conflict_error"})
_EVALUATION = ("eval_", "rego_")
_SERVER_ERROR = 500
_BAD_REQUEST = 400


def read_policy(reply: Reply) -> ActivePolicy:
    """Which policy OPA has, asked for that alone. Raises `OpaFaultError`: `no_policy` for none, or not all of it."""
    return _policy(_document(reply).get("result"))


def read_answer(reply: Reply) -> PolicyAnswer:
    """The decision and its policy. Raises `OpaFaultError`; and `DecisionError` when it was the policy that failed."""
    result = _document(reply).get("result", {})
    if not isinstance(result, dict):
        raise OpaFaultError(Trouble.MALFORMED, "its answer is not what policies of the gateway answer")
    policy = _policy(result.get("policy"))
    if "decision" not in result:
        raise DecisionError(GatewayErrorCode.POLICY_UNDEFINED, "the policy has no decision for this call")
    # As ASCII: what is no text in the answer is for the reader of decisions to find.
    document = json.dumps(result["decision"], separators=(",", ":"), sort_keys=True)
    return PolicyAnswer(document.encode("ascii"), policy)


def _document(reply: Reply) -> JsonObject:
    if reply.status == _SERVER_ERROR:
        raise _server_error(reply)
    if reply.status == _BAD_REQUEST:
        _errors(reply, Trouble.UNEXPECTED)
        # OPA speaks, and cannot read this one input.
        raise DecisionError(GatewayErrorCode.POLICY_ERROR, "the policy server cannot read this call")
    check_status(reply)
    return reply.document()


def _policy(found: JsonValue) -> ActivePolicy:
    if found is None:
        raise OpaFaultError(Trouble.NO_POLICY, "it has no policies of the gateway, or not all of them")
    if not isinstance(found, dict):
        raise OpaFaultError(Trouble.MALFORMED, "it does not say which policy decided")
    revision, profile, enforced = found.get("revision"), found.get("profile"), found.get("enforced")
    if not _is_name(revision) or not _is_name(profile) or not isinstance(enforced, bool):
        raise OpaFaultError(Trouble.MALFORMED, "it does not say which policy decided")
    return ActivePolicy(str(revision), str(profile), enforced)


def _is_name(value: JsonValue) -> bool:
    return isinstance(value, str) and 0 < len(value) <= _LONGEST_NAME and value.isprintable()


def _server_error(reply: Reply) -> Exception:
    """What a 500 means: OPA sends one when rules contradict each other, and when it is broken itself."""
    errors = _errors(reply, Trouble.FAILING)
    codes = {one.get("code") for one in errors if isinstance(one, dict)} if isinstance(errors, list) else set()
    if codes & _CONFLICTS:
        return DecisionError(GatewayErrorCode.POLICY_CONFLICT, "the policy has several decisions for this call")
    if codes and all(isinstance(code, str) and code.startswith(_EVALUATION) for code in codes):
        return DecisionError(GatewayErrorCode.POLICY_ERROR, "the policy failed on this call")
    return OpaFaultError(Trouble.FAILING, f"it answered {_SERVER_ERROR}")


def _errors(reply: Reply, otherwise: Trouble) -> JsonValue:
    """The errors that OPA lists. Raises `OpaFaultError` when it was not OPA that answered."""
    try:
        document = reply.document()
    except OpaFaultError:
        raise OpaFaultError(otherwise, f"it answered {reply.status}") from None
    return document.get("errors")
