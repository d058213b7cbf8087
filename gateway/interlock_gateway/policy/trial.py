"""Policies tried out without a gateway: one decision, or all tests and cases (LIFE-1)."""

import asyncio
import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from interlock_gateway.core.decision import DecisionError
from interlock_gateway.policy.bundle import PolicyBundle
from interlock_gateway.policy.cases import DecisionCase, by_conditions, differences, load_cases
from interlock_gateway.policy.checks.report import TestReport, TestResult
from interlock_gateway.policy.embedded.engine import EmbeddedEngine, PoolSettings
from interlock_gateway.policy.inspection import run_rego_tests
from interlock_gateway.policy.loader import load_bundle
from interlock_gateway.policy.opa.program import OpaProgram
from interlock_gateway.policy.settings import PolicySourceError

ONE_WORKER = PoolSettings(workers=1, most_workers=1, timeout_s=5.0, longest_wait_s=10.0)


def evaluate_once(bundle: PolicyBundle, input_json: bytes) -> bytes:
    """The decision document's JSON for one input document, as the embedded engine gives it.

    Raises `DecisionError` when there is no single decision, `PolicyUnavailableError` when the bundle does not load.
    """
    return asyncio.run(_evaluate(bundle, input_json))


def run_tests(
    *,
    profile: str = "standard",
    overlays: Sequence[Path] = (),
    directory: Path | None = None,
    cases: Path | None = None,
    opa: OpaProgram | None = None,
) -> TestReport:
    """The outcome of every Rego test of the shipped policies, or of those in `directory`, and of the overlays.

    The tests of the former run on their own settings, which they assume, and those of overlays on the overlays under
    `profile`. With overlays, their lines alone are counted: what is shipped was covered before it was. After it comes
    the outcome of every decision case under `cases`. With `opa` each runs there, too, and fails when it comes out
    otherwise. Raises `PolicySourceError`, `PolicyUnavailableError`, `InspectionError` or `OpaProgramError`.
    """
    whole = load_bundle(profile=profile, overlays=overlays, directory=directory)
    below = load_bundle(directory=directory)
    report = _tested(below, opa)
    if overlays:
        own, files = _of_overlays(whole, below)
        theirs = _tested(own, opa, files)
        report = replace(theirs, results=(*report.results, *theirs.results))
    if cases is None:
        return report
    more = run_cases(cases, overlays=overlays, directory=directory, opa=opa)
    return replace(report, results=(*report.results, *more), cases=len(more))


def _tested(bundle: PolicyBundle, opa: OpaProgram | None, counted: Collection[str] | None = None) -> TestReport:
    report = run_rego_tests(bundle, counted)
    if opa is None or not bundle.tests:
        return report
    return replace(report, results=_also(report.results, opa.test(bundle)))


def _of_overlays(whole: PolicyBundle, below: PolicyBundle) -> tuple[PolicyBundle, frozenset[str]]:
    """The policies with the tests of the overlays alone, and the files of these."""
    shipped = {path for path, _ in (*below.modules, *below.tests)}
    tests = tuple((path, source) for path, source in whole.tests if path not in shipped)
    return replace(whole, tests=tests), frozenset(path for path, _ in whole.modules if path not in shipped)


def _also(results: tuple[TestResult, ...], theirs: Mapping[tuple[str, str], str]) -> tuple[TestResult, ...]:
    """The results with what OPA made of the same tests; one that came out otherwise there has failed."""

    def judged(one: TestResult) -> TestResult:
        there = theirs.get((one.file, one.name), "it did not run")
        if one.passed == (not there):
            return one
        return replace(one, message=f"OPA: {there or 'ok'}; the embedded engine: {one.message or 'ok'}")

    return tuple(map(judged, results))


def run_cases(
    cases: Path, *, overlays: Sequence[Path] = (), directory: Path | None = None, opa: OpaProgram | None = None
) -> tuple[TestResult, ...]:
    """The outcome of every decision case under `cases`, each under its own profile, settings and exemptions."""
    results: list[TestResult] = []
    loaded = load_cases(cases)
    if not loaded:
        raise PolicySourceError(str(cases), "is no directory with decision cases: they are in NAME.yaml, also below it")
    for conditions, group in by_conditions(loaded):
        bundle = load_bundle(overlays=overlays, directory=directory, **conditions)
        theirs = opa.decide(bundle, [case.input_json for case in group]) if opa is not None else None
        results += asyncio.run(_judge(bundle, group, theirs))
    return tuple(sorted(results, key=lambda result: result.name))


def otherwise(ours: Any, theirs: Any) -> str:
    """In what OPA's decision differs from that of the embedded engine (`None`: none); empty when it does not."""
    if ours is None or theirs is None:
        return "" if ours is theirs else f"{'OPA' if theirs is None else 'the embedded engine'} decides nothing"
    parts = sorted(name for name in ours.keys() | theirs.keys() if ours.get(name) != theirs.get(name))
    said = (f"{name} is {json.dumps(theirs.get(name))}, here {json.dumps(ours.get(name))}" for name in parts)
    return "; ".join(said)


async def _judge(bundle: PolicyBundle, cases: Sequence[DecisionCase], theirs: Sequence[Any] | None) -> list[TestResult]:
    engine = EmbeddedEngine(bundle, ONE_WORKER)
    await engine.start()
    results = []
    try:
        for index, case in enumerate(cases):
            decision, complaint = await _decided(engine, case)
            differs = otherwise(decision, theirs[index]) if theirs is not None else ""
            told = [one for one in (complaint, f"OPA: {differs}" if differs else "") if one]
            results.append(TestResult(str(case.path), 1, case.name, "; ".join(told)))
    finally:
        await engine.close()
    return results


async def _decided(engine: EmbeddedEngine, case: DecisionCase) -> tuple[Any, str]:
    """The decision, and in what it is not as expected."""
    try:
        decision = json.loads((await engine.evaluate(case.input_json)).document)
    except DecisionError as error:
        return None, f"no decision: {error.message}"
    return decision, "; ".join(differences(case, decision))


async def _evaluate(bundle: PolicyBundle, document: bytes) -> bytes:
    engine = EmbeddedEngine(bundle, ONE_WORKER)
    await engine.start()
    try:
        return (await engine.evaluate(document)).document
    finally:
        await engine.close()
