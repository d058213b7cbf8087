"""What is made of a call without `dataclasses.replace`, and its digest put together from parts (CHK-3)."""

import hashlib
from dataclasses import replace

import pytest
import rfc8785
from interlock_gateway.core.call import CallResult, CallStatus
from interlock_gateway.core.content import Artifact, Text
from interlock_gateway.core.decision import Decision, Obligations, Reason, Verdict
from interlock_gateway.core.digest import BoundCall
from interlock_gateway.core.jsonvalue import JsonObject
from interlock_gateway.core.operation import UndoInfo
from interlock_gateway.core.tool import Classification, Effect
from interlock_gateway.pipeline.canonical import canonical

DECISION = Decision(
    "one", Verdict.ALLOW, (Reason("a", "b", "c"),), Obligations(timeout_s=1.0), ("note",), "revision", "standard", "was"
)


@pytest.mark.req("CHK-3")
@pytest.mark.parametrize(
    "given", [{}, {"b": [1, {"z": "é"}], "a": None}, {"\U0001f600": 1, "\ue000": 2}, {"half": 0.5}]
)
def test_a_digest_is_that_of_the_whole_document_in_canonical_form(given: JsonObject) -> None:
    bound = BoundCall("me", "session", "tool", "pin", "/work \U0001f600", given, "revision")
    whole: JsonObject = {
        "principal": "me",
        "session": "session",
        "tool": "tool",
        "pin": "pin",
        "workdir": "/work \U0001f600",
        "input": given,
        "policy_revision": "revision",
    }
    assert bound.digest(canonical) == hashlib.sha256(rfc8785.dumps(whole)).hexdigest()


def test_a_decision_bound_to_a_call_keeps_everything_else() -> None:
    assert DECISION.bound_to("is", 5.0) == replace(DECISION, call_digest="is", decided_at=5.0)


def test_a_result_that_answers_a_call_keeps_everything_else() -> None:
    kind = Classification(Effect.READ_ONLY, 0, "invoke", open_world=True, external_effect=False, concurrency_safe=True)
    result = CallResult(
        "",
        CallStatus.COMPLETED,
        content=(Text("said"),),
        data=[1],
        has_data=True,
        truncated=True,
        artifact=Artifact("uri", 1, 2, "text/plain", "sha"),
        undo=UndoInfo(irreversible=True),
        redactions=3,
        steering=("line",),
        details={"a": 1},
    )
    made = result.of_call("id", CallStatus.FAILED, DECISION, kind, is_error=True)
    expected = replace(
        result, call_id="id", status=CallStatus.FAILED, decision=DECISION, classification=kind, is_error=True
    )
    assert made == expected
