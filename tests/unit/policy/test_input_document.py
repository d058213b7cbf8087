"""The input document's schema: fresh, and true of what the gateway sends."""

import json
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
from interlock_gateway.core.call import CallKind
from interlock_gateway.core.document import parse
from interlock_gateway.core.recent import PrincipalCalls
from interlock_gateway.core.session import Principal, Role
from interlock_gateway.core.sessionfacts import SessionFacts
from interlock_gateway.core.tool import PinState, ToolCapability, ToolDefinition, ToolMetadata
from interlock_gateway.pipeline.policy_input import NO_FACTS, CallFacts, call_json, policy_input, principal_json
from interlock_gateway.pipeline.schemas_aside import SchemasAside
from interlock_gateway.policy.cases import load_cases
from interlock_gateway.policy.document import input_schema, input_schema_text
from interlock_gateway.policy.loader import shipped_policies
from interlock_gateway.registry.registered import register
from interlock_gateway.registry.schemas import schema_of

CASES = Path(__file__).parents[2] / "cases"


@pytest.fixture(scope="module")
def validator() -> Any:
    return jsonschema_rs.validator_for(input_schema())


def test_the_committed_schema_is_fresh() -> None:
    committed = (shipped_policies() / "input.schema.json").read_text(encoding="utf-8")
    assert committed == input_schema_text(), "run `python -m interlock_gateway.policy.document`"


def test_the_schema_describes_every_case(validator: Any) -> None:
    for case in load_cases(CASES):
        document = json.loads(case.input_json)
        if not case.file.without and isinstance(document["call"]["input"], dict):
            assert [error.message for error in validator.iter_errors(document)] == [], case.name


@pytest.mark.parametrize("declared", [True, False])
@pytest.mark.parametrize("kind", list(CallKind))
def test_the_schema_describes_what_the_pipeline_sends(validator: Any, *, declared: bool, kind: CallKind) -> None:
    facts = SessionFacts()
    facts.count_call("notes.get", destructive=False, status="completed")
    facts.remember("notes.get", "read_only", {"a": "b"})
    tool = ToolDefinition(
        name="notes.get",
        metadata=ToolMetadata(read_only=True, search_hint="hidden") if declared else None,
        capability=ToolCapability(min_confidence=50, affected_resources=("notes",)) if declared else None,
    )
    registered = register(
        provider="notes",
        declared=tool,
        effective=tool,
        schema=schema_of(tool, SchemasAside()),
        sha256="",
        pin_state=PinState.PINNED,
        fact_arguments={},
    )
    call = CallFacts(
        checkpoint="null",
        call_id="call-1",
        kind=kind,
        document=parse(b'{"name": "x", "_flyto_confidence": 80}', max_depth=64),
        digest="0" * 64,
        facts=NO_FACTS,
        workdir="",
        intent="",
        labels={},
        deliverable=None,
        confidence_field="_flyto_confidence",
        time=1767225600.0,
    )
    session, previous = facts.policy_parts(pending=1, mode="steer")
    sent = policy_input(
        principal=principal_json(Principal("agent-1", "token", frozenset({Role.AGENT}))),
        recent=PrincipalCalls().seen("notes.get", 1767225600.0).json,
        session='{"id":"s","intent":"","labels":{},"age_s":1.5,' + session,
        previous=previous,
        call=call_json(call),
        arguments=call.document.raw,
        tool=registered.policy_json,
        gateway='{"replica":"r","mode":"standard","revision":"0"}',
    )
    assert [error.message for error in validator.iter_errors(json.loads(sent.whole))] == []
