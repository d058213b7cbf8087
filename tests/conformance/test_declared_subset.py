"""OPA's own cases on the embedded engine, as the gateway uses it: all of the declared subset pass (CON-3)."""

import json
from typing import Any

import pytest
from case_judging import JudgedCase, Verdict
from declared_subset import LEFT_OUT, REFUSED_BUILTIN, refusals, written
from interlock_gateway.policy.checks.builtin_list import SUBSET, allowed_builtins
from make_subset import subset_of_run
from opa_cases import builtin_declarations, module_directory
from subset_document import DOCUMENT, with_figures

Run = tuple[dict[str, Any], tuple[JudgedCase, ...]]


@pytest.fixture(scope="module")
def run(program: Any) -> Run:
    return subset_of_run(program("go"), program("opa"))


@pytest.fixture(scope="module")
def known(program: Any) -> frozenset[str]:
    return frozenset(builtin_declarations(module_directory(program("go"))))


@pytest.mark.timeout(600)
@pytest.mark.req("CON-3")
def test_the_declared_subset_is_what_a_run_of_opas_cases_says(run: Run) -> None:
    assert SUBSET.read_text(encoding="utf-8") == written(run[0]), "run `make subset`, and read what changed"


@pytest.mark.req("CON-3")
def test_the_document_says_what_the_subset_file_says() -> None:
    text = DOCUMENT.read_text(encoding="utf-8")
    assert text == with_figures(text, json.loads(SUBSET.read_text(encoding="utf-8"))), "run `make subset`"


@pytest.mark.timeout(600)
@pytest.mark.req("CON-3", "ENG-2")
def test_every_case_of_opas_passes_or_is_refused_at_load(run: Run, known: frozenset[str]) -> None:
    failed = [
        f"{case.case.name}: {case.words}"
        for case in run[1]
        if case.verdict is Verdict.FAILED
        and case.case.name not in LEFT_OUT
        and not refusals(case, allowed_builtins(), known)
    ]
    assert failed == []


@pytest.mark.timeout(600)
@pytest.mark.req("CON-3", "ENG-5")
def test_every_refusal_names_file_and_line(run: Run, known: frozenset[str]) -> None:
    for case in run[1]:
        called = case.calls & (known - allowed_builtins())
        assert all(file.startswith("case/") and line > 0 and words for file, line, _, words in case.problems)
        if called and not any(code == "parse_error" for _, _, code, _ in case.problems):
            assert any(code == REFUSED_BUILTIN for _, _, code, _ in case.problems), case.case.name


@pytest.mark.timeout(600)
@pytest.mark.req("CON-3")
def test_no_case_left_out_is_unknown_or_passes(run: Run) -> None:
    judged = {case.case.name: case for case in run[1]}
    assert all(judged[name].verdict is Verdict.FAILED for name in LEFT_OUT)
    assert all(LEFT_OUT.values())


@pytest.mark.req("ENG-5")
def test_no_function_that_is_not_pure_is_declared() -> None:
    for name in ("http.send", "net.lookup_ip_addr", "opa.runtime", "time.now_ns", "rand.intn", "uuid.rfc4122"):
        assert name not in allowed_builtins()
