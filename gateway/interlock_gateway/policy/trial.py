"""Policies tried out without a gateway: one decision, or all tests and cases (LIFE-1)."""

import asyncio
import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from interlock_gateway.core.decision import DecisionError
from interlock_gateway.policy.bundle import PolicyBundle
from interlock_gateway.policy.cases import DecisionCase, by_conditions, differences, load_cases
from interlock_gateway.policy.checks.report import TestReport, TestResult
from interlock_gateway.policy.embedded.engine import EmbeddedEngine, PoolSettings
from interlock_gateway.policy.inspection import run_rego_tests
from interlock_gateway.policy.loader import load_bundle

ONE_WORKER = PoolSettings(workers=1, most_workers=1, timeout_s=5.0, longest_wait_s=10.0)


def evaluate_once(bundle: PolicyBundle, input_json: bytes) -> bytes:
    """The decision document's JSON for one input document, as the embedded engine gives it.

    Raises `DecisionError` when there is no single decision, `PolicyUnavailableError` when the bundle does not load.
    """
    return asyncio.run(_evaluate(bundle, input_json))


def run_tests(*, overlays: Sequence[Path] = (), directory: Path | None = None, cases: Path | None = None) -> TestReport:
    """The outcome of every Rego test of the shipped policies, or of those in `directory`, and of the overlays.

    After it comes that of every decision case under `cases`. Raises `PolicySourceError`, `PolicyUnavailableError` or
    `InspectionError`.
    """
    report = run_rego_tests(load_bundle(overlays=overlays, directory=directory))
    if cases is None:
        return report
    return replace(report, results=(*report.results, *run_cases(cases, overlays=overlays, directory=directory)))


def run_cases(cases: Path, *, overlays: Sequence[Path] = (), directory: Path | None = None) -> tuple[TestResult, ...]:
    """The outcome of every decision case under `cases`, each under its own profile, settings and exemptions."""
    results: list[TestResult] = []
    for conditions, group in by_conditions(load_cases(cases)):
        bundle = load_bundle(overlays=overlays, directory=directory, **conditions)
        results += asyncio.run(_judge(bundle, group))
    return tuple(sorted(results, key=lambda result: result.name))


async def _judge(bundle: PolicyBundle, cases: Sequence[DecisionCase]) -> list[TestResult]:
    engine = EmbeddedEngine(bundle, ONE_WORKER)
    await engine.start()
    try:
        return [TestResult(str(case.path), 1, case.name, await _complaint(engine, case)) for case in cases]
    finally:
        await engine.close()


async def _complaint(engine: EmbeddedEngine, case: DecisionCase) -> str:
    try:
        decision = json.loads((await engine.evaluate(case.input_json)).document)
    except DecisionError as error:
        return f"no decision: {error.message}"
    return "; ".join(differences(case, decision))


async def _evaluate(bundle: PolicyBundle, document: bytes) -> bytes:
    engine = EmbeddedEngine(bundle, ONE_WORKER)
    await engine.start()
    try:
        return (await engine.evaluate(document)).document
    finally:
        await engine.close()
