"""Both engines decide alike: every case, and thousands of generated inputs (ENG-2); `make parity` makes more."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from engines_side_by_side import Comparison, Disagreement, compare
from interlock_gateway.policy.cases import by_conditions, load_cases
from interlock_gateway.policy.loader import read_bundle
from opa_process import running_opa
from parity_run import CASES, compared
from run_parity import said

MANY = 10
INPUTS, POLICIES, SEED = 2000, 5, 2026


@pytest.mark.req("ENG-2", "ENG-1")
async def test_cases_are_decided_alike_by_an_opa_that_a_gateway_asks(program: Any, socket_directory: Path) -> None:
    # Those under conditions that few share go through `opa eval` alone, because bringing policies takes long.
    groups = [group for group in by_conditions(load_cases(CASES)) if len(group[1]) >= MANY]
    comparison = Comparison(lambda _document: True)
    for number, (conditions, cases) in enumerate(groups):
        with running_opa(program("opa"), f"unix:{socket_directory}/{number}.sock") as server:
            inputs = [case.input_json for case in cases]
            await compare(
                str(conditions), read_bundle(**conditions), inputs, server.path, comparison, count=len(inputs)
            )
    assert comparison.counted >= 100
    assert not comparison.disagreements


@pytest.mark.req("ENG-2", "POL-3")
@pytest.mark.timeout(600)
def test_generated_inputs_are_decided_alike_under_generated_settings(program: Any) -> None:
    comparison = asyncio.run(compared(program("opa"), INPUTS, SEED, POLICIES))
    assert comparison.counted == INPUTS
    assert not comparison.disagreements, comparison.disagreements[0]
    assert comparison.agreed["allow"] > 50, "inputs that nothing allows show little"


@pytest.mark.req("ENG-2")
def test_what_is_set_aside_is_not_counted_and_is_said() -> None:
    comparison = Comparison(lambda document: document == b"sent")
    decided, failed = '{"verdict": "deny"}', "no decision: policy_error"
    for document, embedded, opa in (
        (b"sent", decided, decided),
        (b"never sent", failed, failed),
        (b"never sent", failed, decided),
        (b"sent", failed, decided),
    ):
        comparison.add(Disagreement("default", document, embedded, opa))
    assert (comparison.counted, comparison.strange, len(comparison.disagreements)) == (3, 1, 1)
    assert list(said(comparison)) == [
        "3 inputs counted, 1 of them with a field of a type that no gateway sends",
        "1 disagreements",
        "deny 1, no decision: policy_error 1",
        "1 more set aside, all with such a field",
        "  the embedded engine fails and OPA decides: 1",
    ]
