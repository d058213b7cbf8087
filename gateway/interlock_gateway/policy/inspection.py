"""Looks at policies in a process of its own, because reading and running them may hang, explode or crash.

The functions here block. Each starts this module as a script, gives it the bundle on standard input, and reads the
answer from standard output.
"""

import gc
import json
import signal
import subprocess
import sys
from collections.abc import Collection
from dataclasses import asdict
from functools import partial
from typing import Any, Literal

from interlock_gateway.policy.bundle import PolicyBundle
from interlock_gateway.policy.checks.problems import Problem
from interlock_gateway.policy.checks.report import TestReport, TestResult
from interlock_gateway.policy.explain.report import Report, read_report
from interlock_gateway.policy.settings import PolicySourceError

CHECK_TIMEOUT_S = 60.0
TEST_TIMEOUT_S = 300.0
# How much longer the process that looks may live when there is nobody left to end it.
LAST_RESORT_S = 5.0

Task = Literal["check", "safety", "safety of tests too", "test", "explain"]


class InspectionError(Exception):
    """The policies could not be looked at: it took too long, or ended the process that did."""


def check(bundle: PolicyBundle) -> tuple[Problem, ...]:
    """All problems of a bundle, sorted by place; none when it is fit to decide (LIFE-1). Raises `InspectionError`."""
    return tuple(Problem(**problem) for problem in _ask("check", bundle, CHECK_TIMEOUT_S))


def refuse_unsafe(bundle: PolicyBundle, *, tests_are_loaded: bool = False) -> None:
    """Raise `PolicySourceError`, naming file and line, for policies that must not be loaded.

    These are policies that cannot be read, that use a built-in function which is not on the list (ENG-5), or that the
    embedded engine would read differently (ENG-2). Where `tests_are_loaded` with them, as OPA does, those too are held
    to the list. Raises `InspectionError` when that cannot be told.
    """
    task: Task = "safety of tests too" if tests_are_loaded else "safety"
    problems = [Problem(**problem) for problem in _ask(task, bundle, CHECK_TIMEOUT_S)]
    if problems:
        first, more = problems[0], len(problems) - 1
        others = f" (and {more} more)" if more else ""
        raise PolicySourceError(f"{first.file}:{first.line}", f"{first.message} [{first.code}]{others}")


def run_rego_tests(bundle: PolicyBundle, counted: Collection[str] | None = None) -> TestReport:
    """The outcome of the bundle's `_test.rego` files, with the coverage of the files `counted`, or of all.

    Raises `InspectionError`.
    """
    answer = _ask("test", bundle, TEST_TIMEOUT_S, counted=None if counted is None else sorted(counted))
    return TestReport(
        results=tuple(TestResult(**result) for result in answer["results"]),
        not_covered={file: tuple(lines) for file, lines in answer["not_covered"].items()},
        covered_lines=answer["covered_lines"],
    )


def explain(bundle: PolicyBundle, input_json: str, timeout_s: float = CHECK_TIMEOUT_S) -> Report:
    """Which rules fired for an input, which nearly did, and what they read (LIFE-2). Raises `InspectionError`."""
    return read_report(_ask("explain", bundle, timeout_s, input_json))


def _ask(
    task: Task, bundle: PolicyBundle, timeout_s: float, input_json: str = "", *, counted: list[str] | None = None
) -> Any:
    try:
        done = subprocess.run(  # noqa: S603 - our own module, and no shell
            [sys.executable, "-I", "-m", __name__, task, str(timeout_s + LAST_RESORT_S)],
            input=json.dumps({"bundle": asdict(bundle), "input": input_json, "counted": counted}).encode(),
            capture_output=True,
            timeout=timeout_s,
            check=False,
            # What it reads came from others, and it needs none of what the environment of a gateway holds.
            env={},
            cwd="/",
        )
    except subprocess.TimeoutExpired as error:
        at = f"; it stands at {last}" if task == "test" and (last := _last_line(error.stderr)) else ""
        raise InspectionError(f"looking at the policies took more than {timeout_s:.0f} s{at}") from None
    if done.returncode != 0:
        last = _last_line(done.stderr)
        raise InspectionError(f"looking at the policies ended with status {done.returncode}: {last}")
    return json.loads(done.stdout)


def _last_line(written: bytes | None) -> str:
    return (written or b"").decode("utf-8", "replace").strip().rpartition("\n")[2]


def _answer(task: str, request: dict[str, Any]) -> Any:
    # Imported here: only the process that looks needs the engine.
    from interlock_gateway.policy.checks.checker import check_bundle  # noqa: PLC0415 - see above
    from interlock_gateway.policy.checks.rego_tests import run_rego_tests as run_here  # noqa: PLC0415 - see above
    from interlock_gateway.policy.document import input_schema  # noqa: PLC0415 - see above

    given = request["bundle"]
    for name in ("modules", "tests"):
        given[name] = tuple((path, source) for path, source in given[name])
    bundle = PolicyBundle(**given)
    if task == "test":
        # On standard error: whoever gives up waiting reads there which test never ended.
        return asdict(run_here(bundle, request["counted"], on_test=partial(print, file=sys.stderr, flush=True)))
    if task == "explain":
        from interlock_gateway.policy.explain.evaluate import explain_here  # noqa: PLC0415 - see above

        return explain_here(bundle, request["input"])
    problems = check_bundle(
        bundle, input_schema(), safety_only=task != "check", tests_are_loaded=task == "safety of tests too"
    )
    return [asdict(problem) for problem in problems]


if __name__ == "__main__":
    # For the day when the one that asked was killed: the kernel ends this process, without the interpreter's help.
    signal.setitimer(signal.ITIMER_REAL, float(sys.argv[2]))
    # Trees of rules have no circles in them, and looking for some takes a sixth of the time.
    gc.disable()
    json.dump(_answer(sys.argv[1], json.load(sys.stdin)), sys.stdout)
