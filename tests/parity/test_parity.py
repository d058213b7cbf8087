"""Both engines decide alike: every case, and thousands of generated inputs (ENG-2); `make parity` makes more."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from engines_side_by_side import Comparison, compare
from interlock_gateway.policy.cases import by_conditions, load_cases
from interlock_gateway.policy.loader import read_bundle
from opa_process import running_opa
from parity_run import CASES, compared

MANY = 10
INPUTS, POLICIES, SEED = 2000, 5, 2026


@pytest.mark.req("ENG-2", "ENG-1")
async def test_cases_are_decided_alike_by_an_opa_that_a_gateway_asks(program: Any, socket_directory: Path) -> None:
    # Those under conditions that few share go through `opa eval` alone, because bringing policies takes long.
    groups = [group for group in by_conditions(load_cases(CASES)) if len(group[1]) >= MANY]
    comparison = Comparison(lambda _document: True)
    for number, (conditions, cases) in enumerate(groups):
        with running_opa(program("opa"), f"unix:{socket_directory}/{number}.sock") as server:
            documents = [case.input_json for case in cases]
            await compare(str(conditions), read_bundle(**conditions), documents, server.path, comparison)
    assert comparison.compared >= 100
    assert not comparison.disagreements


@pytest.mark.req("ENG-2", "POL-3")
@pytest.mark.timeout(600)
def test_generated_inputs_are_decided_alike_under_generated_settings(program: Any) -> None:
    comparison = asyncio.run(compared(program("opa"), INPUTS, SEED, POLICIES))
    assert comparison.compared == INPUTS
    assert not comparison.disagreements, comparison.disagreements[0]
    assert comparison.agreed["allow"] > 50, "inputs that nothing allows show little"
