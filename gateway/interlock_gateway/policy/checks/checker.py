"""Everything that is checked about policies before they may decide (LIFE-1, ENG-5)."""

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from interlock_gateway.policy.bundle import PolicyBundle
from interlock_gateway.policy.checks import constructs, reach, rules
from interlock_gateway.policy.checks.problems import Problem
from interlock_gateway.policy.checks.program import Program
from interlock_gateway.policy.checks.syntax import RegoFile, parse
from interlock_gateway.policy.embedded.linking import link
from interlock_gateway.policy.settings import PolicySourceError

Check = Callable[[Program], Iterator[Problem]]

# Without these no policy is loaded at all: it would decide something else than it says.
SAFETY_CHECKS: tuple[Check, ...] = (
    reach.check_builtins,
    reach.check_heads,
    rules.check_names,
    constructs.check_imports,
    constructs.check_replaced,
    constructs.check_memberships,
    constructs.check_call_forms,
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
)


def check_bundle(
    bundle: PolicyBundle, input_schema: Mapping[str, Any], *, safety_only: bool = False
) -> tuple[Problem, ...]:
    """All problems of a bundle, sorted by place; none when it is fit to decide.

    Reads the policies in this process: give it only what this process may hang or die of.
    """
    read = [parse(path, source) for path, source in (*bundle.modules, *bundle.tests)]
    unreadable = [one for one in read if isinstance(one, Problem)]
    tests = frozenset(path for path, _ in bundle.tests)
    files = tuple(one for one in read if isinstance(one, RegoFile) and one.path not in tests)
    program = Program(files, tests, json.loads(bundle.data_json), input_schema)
    checks = SAFETY_CHECKS if safety_only else (*SAFETY_CHECKS, *AUTHOR_CHECKS)
    found = {problem for check in checks for problem in check(program)}
    return tuple(sorted({*unreadable, *_unlinkable(bundle), *found}))


def _unlinkable(bundle: PolicyBundle) -> Iterator[Problem]:
    try:
        link(bundle.modules)
    except PolicySourceError as error:
        file, _, line = error.place.rpartition(":")
        yield Problem(file, int(line), "cannot_be_joined", error.problem)
