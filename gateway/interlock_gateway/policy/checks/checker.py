"""Everything that is checked about policies before they may decide (LIFE-1, ENG-5)."""

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from interlock_gateway.policy.bundle import PolicyBundle
from interlock_gateway.policy.checks import constructs, contradictions, reach, recursion, rules, types, undefined
from interlock_gateway.policy.checks.problems import Problem
from interlock_gateway.policy.checks.program import Program
from interlock_gateway.policy.checks.syntax import RegoFile, parse, unloadable
from interlock_gateway.policy.embedded.linking import link, relocate
from interlock_gateway.policy.embedded.wire import pack
from interlock_gateway.policy.embedded.worker import build
from interlock_gateway.policy.settings import PolicySourceError

_TEST_PACKAGE = "_test"
Check = Callable[[Program], Iterator[Problem]]

# Without these no policy is loaded at all: it would decide something else than it says.
SAFETY_CHECKS: tuple[Check, ...] = (
    reach.check_builtins,
    reach.check_heads,
    recursion.check_recursion,
    rules.check_names,
    constructs.check_imports,
    constructs.check_replaced,
    constructs.check_memberships,
    constructs.check_every,
    constructs.check_negated_constants,
    constructs.check_minus,
    constructs.check_call_forms,
    undefined.check_undefined,
)
# These tell an author what is wrong or missing.
AUTHOR_CHECKS: tuple[Check, ...] = (
    rules.check_described,
    rules.check_tested,
    rules.check_findings,
    reach.check_input,
    reach.check_data,
    reach.check_use,
    reach.check_conditions,
    reach.check_settings_read,
    contradictions.check_contradictions,
    types.check_types,
)


def check_bundle(
    bundle: PolicyBundle,
    input_schema: Mapping[str, Any],
    *,
    safety_only: bool = False,
    tests_are_loaded: bool = False,
) -> tuple[Problem, ...]:
    """All problems of a bundle, sorted by place; none when it is fit to decide.

    Where `tests_are_loaded` too, they may call no more than rules may.
    Reads the policies in this process: give it only what this process may hang or die of.
    """
    read = [parse(path, source) for path, source in (*bundle.modules, *bundle.tests)]
    unreadable = [one for one in read if isinstance(one, Problem)]
    tests = frozenset(path for path, _ in bundle.tests)
    files = tuple(one for one in read if isinstance(one, RegoFile) and one.path not in tests)
    program = Program(files, tests, json.loads(bundle.data_json), input_schema)
    checks = SAFETY_CHECKS if safety_only else (*SAFETY_CHECKS, *AUTHOR_CHECKS)
    found = {problem for check in checks for problem in check(program)}
    if tests_are_loaded:
        whole = Program(
            tuple(one for one in read if isinstance(one, RegoFile)), frozenset(), program.data, input_schema
        )
        found |= set(reach.check_builtins(whole))
    found |= {_deciding(one) for one in read if isinstance(one, RegoFile) and one.path in tests and _decides(one)}
    return tuple(sorted({*unreadable, *_unloadable(bundle, readable=not unreadable), *found}))


def _decides(test: RegoFile) -> bool:
    """Whether a file that is called a test is in a package whose rules decide.

    The gateway leaves tests out when it decides, and OPA does not: a rule there would hold in the one and not in the
    other, and the test beside it would pass all the same.
    """
    return not test.package[-1].endswith(_TEST_PACKAGE)


def _deciding(test: RegoFile) -> Problem:
    message = f"is called a test, so no rule in it ever decides, and is in the package {test.package_name}, which does"
    return Problem(test.path, 1, "test_decides", f"{message}; tests are in {test.package_name}{_TEST_PACKAGE}")


def _unloadable(bundle: PolicyBundle, *, readable: bool) -> Iterator[Problem]:
    """What keeps the engine from taking all modules together, as its workers would be given them."""
    try:
        linked = link(bundle.modules)
    except PolicySourceError as error:
        file, _, line = error.place.rpartition(":")
        yield Problem(file, int(line), "cannot_be_joined", error.problem)
        return
    if not readable:
        return
    try:
        build(pack([bundle.data_json, *(text for module in linked for text in (module.package, module.source))]))
    except RuntimeError as error:
        yield unloadable(linked[0].files[0], relocate(str(error), linked))
