"""What is wrong with a deliverable (REV-1), in words that a model can mend it by."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from interlock_gateway.pipeline.deliverable import MAX_BYTES, SCHEMA, problems_of
from interlock_gateway.pipeline.schema import CompiledSchema

WHOLE: dict[str, Any] = {
    "hidden_assumptions": ["the table is empty"],
    "failure_scenarios": ["it is not"],
    "verdict": "proceed",
    "verdict_reason": "checked",
}
anything = st.one_of(st.none(), st.text(max_size=3), st.integers(), st.lists(st.text(max_size=3), max_size=3))


@pytest.mark.req("REV-1")
def test_a_whole_deliverable_has_nothing_wrong_with_it() -> None:
    for verdict in ("proceed", "revise", "abort"):
        assert problems_of({**WHOLE, "verdict": verdict}) == []


@pytest.mark.req("REV-1")
@pytest.mark.parametrize("name", WHOLE)
def test_what_is_missing_is_named(name: str) -> None:
    rest = {key: value for key, value in WHOLE.items() if key != name}
    (problem,) = problems_of(rest)
    assert problem.startswith(name)


@pytest.mark.req("REV-1")
def test_one_that_is_too_large_is_refused() -> None:
    assert problems_of({**WHOLE, "hidden_assumptions": ["é" * MAX_BYTES]}) == [f"it has more than {MAX_BYTES} bytes"]


@pytest.mark.req("REV-1")
@given(st.fixed_dictionaries({}, optional={name: st.one_of(anything, st.just(value)) for name, value in WHOLE.items()}))
def test_the_form_and_the_check_agree(deliverable: dict[str, Any]) -> None:
    assert bool(problems_of(deliverable)) is bool(CompiledSchema(SCHEMA).problems(deliverable))
