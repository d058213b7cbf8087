"""The embedded engine and the real OPA read policies alike, made-up ones too (ENG-2, CON-3)."""

import json
import os
from collections.abc import Iterator
from typing import Any

import pytest
from builtin_arguments import NOT_ASKED
from engine_differences import compare, compare_functions
from interlock_gateway.policy.checks.builtin_list import allowed_builtins
from known_differences import ERROR, EXCEPTIONS, FAIL_ONLY_IN_OPA, REFUSED, UNDEFINED, KnownDifference
from opa_cases import builtin_declarations, module_directory
from opa_server import OpaServer, running_opa
from policy_runs import PolicyRequest, run_policies

POLICIES = int(os.environ.get("INTERLOCK_FUZZ_POLICIES", "600"))
SEED = int(os.environ.get("INTERLOCK_FUZZ_SEED", "2026"))


@pytest.fixture(scope="module")
def server(program: Any) -> Iterator[OpaServer]:
    with running_opa(program("opa")) as running:
        yield running


def name_of(difference: KnownDifference) -> str:
    return difference.name


@pytest.mark.timeout(0)
@pytest.mark.req("ENG-2", "CON-3")
def test_no_policy_that_can_be_loaded_is_read_differently(server: OpaServer) -> None:
    tally = compare(server, SEED, POLICIES)
    assert not tally.disagreeing, "\n".join(map(str, tally.disagreeing[:3]))
    assert tally.evaluated > POLICIES
    assert tally.defined > tally.evaluated / 3, "the policies say too little to compare"
    assert len(tally.only_ours) + len(tally.only_theirs) < tally.evaluated / 10


@pytest.mark.timeout(0)
@pytest.mark.req("ENG-2", "ENG-5")
def test_no_declared_function_answers_differently(server: OpaServer, program: Any) -> None:
    declarations = builtin_declarations(module_directory(program("go")))
    asked = {name: declarations[name] for name in sorted(allowed_builtins() - NOT_ASKED)}
    tally = compare_functions(server, asked, SEED, POLICIES // 40)
    assert not tally.disagreeing, "\n".join(map(str, tally.disagreeing[:5]))
    assert tally.defined > tally.evaluated / 3
    assert {found.rule for found in tally.only_theirs} <= FAIL_ONLY_IN_OPA


@pytest.mark.req("ENG-2", "CON-3")
@pytest.mark.parametrize("difference", REFUSED, ids=name_of)
def test_what_the_engines_read_differently_is_refused_with_its_line(difference: KnownDifference) -> None:
    (outcome,) = run_policies([PolicyRequest({"house/custom/a.rego": module(difference)}, "data.known.answer")])
    assert difference.refused in {code for _, _, code, _ in outcome.problems}
    places = {(file, line) for file, line, code, _ in outcome.problems if code == difference.refused}
    assert ("house/custom/a.rego", 3) in places


@pytest.mark.req("ENG-2", "CON-3")
@pytest.mark.parametrize("difference", EXCEPTIONS, ids=name_of)
def test_exceptions_are_loaded(difference: KnownDifference) -> None:
    (outcome,) = run_policies([PolicyRequest({"a.rego": module(difference)}, "data.known.answer")])
    assert outcome.problems == ()


@pytest.mark.req("ENG-2")
@pytest.mark.parametrize("difference", [*REFUSED, *EXCEPTIONS], ids=name_of)
def test_the_known_differences_are_there(server: OpaServer, difference: KnownDifference) -> None:
    source, document = module(difference), difference.document or {}
    inputs = (json.dumps(document),)
    request = PolicyRequest({"a.rego": source}, "data.known.answer", inputs, refused_too=True)
    (outcome,) = run_policies([request])
    assert value(outcome.outcomes[0]) == difference.embedded
    assert server.put_policy("known", source) == ""
    theirs = server.evaluate("known/answer", document)
    server.delete_policy("known")
    assert value(theirs) == difference.opa


def module(difference: KnownDifference) -> str:
    return f"package known\n\n{difference.body}\n"


def value(outcome: dict[str, Any]) -> Any:
    if "failed" in outcome:
        return ERROR
    return outcome["values"][0] if outcome["values"] else UNDEFINED
