"""No field of what the gateway says stays empty for want of anybody who sets it: zeros look like figures."""

import ast

import pytest
from google.protobuf.descriptor import Descriptor
from promised_fields import GATEWAY, Field, answers, filled, left_out, messages, reachable, requests, set_in

ROOTS: list[Descriptor] = [
    *answers("GatewayService", "AdminService", "ApprovalService", "ProviderHubService"),
    *requests("ToolProviderService"),
]
LATER = "QueryReceipts and ExportReceipts are not served yet; they answer UNIMPLEMENTED"
BY_NAME = "the attached link puts it in by name, whatever it is, and the time that is left when it is sent"
GIVEN_BACK = "a provider's answer goes back to it with its text, errors, data and details alone, to ask for its undo"
NOT_SET: dict[str, str] = {
    "QueryReceiptsResponse.*": LATER,
    "ExportReceiptsResponse.*": LATER,
    "Receipt.*": LATER,
    "AttachResponse.*": BY_NAME,
    "ToolResult.*": GIVEN_BACK,
    "PushedPendingAction.*": GIVEN_BACK,
    "StandingHandlerChange.*": GIVEN_BACK,
}

NOT_KEPT = "a checkpoint keeps of people what it shows of them: who they are, how that was known, what they answer for"
LEFT_OUT = {
    "encode.decision: Decision.shadow": "nothing waits for the candidate: GetCall and WaitCall tell, once it has said",
    "encode_checkpoint.checkpoint: Principal.roles": NOT_KEPT,
    "encode_checkpoint._answer: Principal.roles": NOT_KEPT,
}


def excused(field: Field) -> bool:
    message, name = field
    return f"{message}.{name}" in NOT_SET or f"{message}.*" in NOT_SET


@pytest.fixture(scope="module")
def unset() -> set[Field]:
    return reachable(ROOTS) - filled()


def test_every_field_of_what_the_gateway_says_is_set_somewhere(unset: set[Field]) -> None:
    assert sorted(f"{message}.{name}" for message, name in unset if not excused((message, name))) == []


def test_nothing_is_excused_that_needs_no_excuse(unset: set[Field]) -> None:
    about = {message for message, _ in unset} | {f"{message}.{name}" for message, name in unset}
    assert [name for name in NOT_SET if name.removesuffix(".*") not in about] == []


def test_no_encoder_leaves_out_what_another_one_fills() -> None:
    encoders = sorted((GATEWAY / "transport" / "grpc").glob("encode*.py"))
    assert len(encoders) > 5
    found = {
        f"{file.stem}.{place}"
        for file in encoders
        for place in left_out(ast.parse(file.read_text("utf-8")), messages())
    }
    assert found == LEFT_OUT.keys()


SOURCE = """
def decision(made):
    message = decision_pb2.Decision(verdict=1, **more)
    message.reasons.add(code="c")
    at, whole = message.decided_at, 0
    message.shadow.verdict = 2
    fill(message.classification)
    message.notes.extend(made.notes)
    return message.policy_revision, message.profile == "x"
"""


def test_reading_tells_what_is_set_from_what_is_only_looked_at() -> None:
    found = set_in(ast.parse(SOURCE), messages())
    wanted = {"verdict", "reasons", "decided_at", "shadow", "classification", "notes"}
    assert {name for message, name in found if message == "Decision"} == wanted
    assert ("Reason", "code") in found
    assert ("ShadowDecision", "verdict") in found
