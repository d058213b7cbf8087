"""Runs the `test_` rules of `_test.rego` files, and says which lines of the policies they reached (LIFE-1)."""

import json
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from typing import Any

import regorus

from interlock_gateway.policy.bundle import TEST_SUFFIX, PolicyBundle
from interlock_gateway.policy.checks.report import TestReport, TestResult
from interlock_gateway.policy.checks.syntax import RegoFile, Rule, parse
from interlock_gateway.policy.embedded.linking import LinkedModule, link, relocate

TEST_PREFIX = "test_"


def run_rego_tests(
    bundle: PolicyBundle,
    counted: Collection[str] | None = None,
    *,
    on_test: Callable[[str], None] = lambda _: None,
) -> TestReport:
    """Run every test of the bundle, each for itself; of the files `counted`, or all, it is told what they reach.

    `on_test` is told each test's place and name before it begins: it may never end.

    Evaluates the policies in this process: give it only what this process may hang or die of.
    """
    linked = link([*bundle.modules, *bundle.tests])
    engine = regorus.Engine()
    engine.set_enable_coverage(True)
    for module in linked:
        engine.add_policy(module.package, module.source)
    engine.add_data_json(bundle.data_json)
    tests = [file for path, source in bundle.tests if isinstance(file := parse(path, source), RegoFile)]
    results = tuple(
        TestResult(file.path, rule.line, rule.name, _failure(engine, file, rule, linked, on_test))
        for file in tests
        for rule in file.rules
        if rule.name.startswith(TEST_PREFIX)
    )
    files = [file for path, source in bundle.modules if isinstance(file := parse(path, source), RegoFile)]
    missed, reached = _coverage(engine, linked, files)
    told = reached.keys() | missed.keys() if counted is None else frozenset(counted)
    not_covered = {file: lines for file, lines in missed.items() if file in told}
    return TestReport(results, not_covered, sum(lines for file, lines in reached.items() if file in told))


def _failure(
    engine: Any, file: RegoFile, rule: Rule, linked: tuple[LinkedModule, ...], on_test: Callable[[str], None]
) -> str:
    on_test(f"{file.path}:{rule.line}: {rule.name}")
    try:
        answer = engine.eval_rule_as_json(f"data.{file.package_name}.{rule.name}")
    except RuntimeError as error:
        return relocate(str(error).split("Stack backtrace:")[0].strip(), linked)
    return "" if answer == "true" else "is not true"


def _coverage(
    engine: Any, linked: tuple[LinkedModule, ...], files: list[RegoFile]
) -> tuple[dict[str, tuple[int, ...]], Counter[str]]:
    """The lines of each file that were not reached, and how many of each were."""
    by_package = {module.package: module for module in linked}
    missed: dict[str, set[int]] = {}
    covered: Counter[str] = Counter()
    reported: set[str] = set()
    for entry in json.loads(engine.get_coverage_report_as_json())["files"]:
        module = by_package[entry["path"]]
        reported.add(module.package)
        covered.update(file for line in entry["covered"] if not _is_test(file := module.place(line)[0]))
        for line in entry["not_covered"]:
            file, place = module.place(line)
            missed.setdefault(file, set()).add(place)
    for unreached in files:
        # The engine says nothing at all about a package of which it evaluated nothing.
        if unreached.package_name not in reported:
            missed[unreached.path] = set(_lines(unreached))
    listed = {file: tuple(sorted(lines)) for file, lines in sorted(missed.items()) if not _is_test(file)}
    return listed, covered


def _lines(file: RegoFile) -> Iterator[int]:
    for rule in file.rules:
        yield rule.line
        for body in rule.node.get("Spec", {}).get("bodies", []):
            yield from (statement["span"]["line"] for statement in body["query"]["stmts"])


def _is_test(file: str) -> bool:
    return file.endswith(TEST_SUFFIX)
