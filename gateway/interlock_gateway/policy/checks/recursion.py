"""Rules that read what is made from them: no engine can evaluate that (ENG-2).

OPA refuses such policies as a whole. The embedded engine ends in an error when it comes to the rule, and every such
call would be denied, by policies that were taken for good.
"""

from collections.abc import Iterator

from interlock_gateway.policy.checks.problems import Problem
from interlock_gateway.policy.checks.program import CUSTOM, Program
from interlock_gateway.policy.checks.syntax import RegoFile

_MAIN = ("interlock",)


def check_recursion(program: Program) -> Iterator[Problem]:
    """No operator's own rule reads the decision, or what else is made from what these rules find."""
    made = _made_from_own_rules(program)
    for file in program.files:
        if file.package[: len(CUSTOM)] != CUSTOM or not made:
            continue
        for found in (*file.references, *file.calls):
            if found.base == "data" and _reads(found.literal, made):
                message = f"reads {found}, which is made from what this rule finds; read `input` and what other rules"
                yield Problem(file.path, found.line, "recursive", f"{message} say, in `data.interlock.rules`")


def _reads(parts: tuple[str, ...], made: frozenset[str]) -> bool:
    """Whether a reference of which this is known leads to one of the main package's rules in `made`."""
    return parts in {(), _MAIN} or (parts[:1] == _MAIN and parts[1] in made)


def _made_from_own_rules(program: Program) -> frozenset[str]:
    """The rules of the package `interlock` that read operators' own rules, or another one that does."""
    main = [file for file in program.files if file.package == _MAIN]
    reads = {name: _read_by(main, name) for name in program.packages.get(_MAIN, frozenset())}
    made = {name for name, (_, direct) in reads.items() if direct}
    while more := {name for name, (names, _) in reads.items() if names & made} - made:
        made |= more
    return frozenset(made)


def _read_by(main: list[RegoFile], name: str) -> tuple[frozenset[str], bool]:
    """What a rule reads by its name alone, and whether it reads operators' own rules itself."""
    found = [one for file in main for rule in file.rules if rule.name == name for one in file.read_by(rule)]
    direct = any(one.base == "data" and one.literal[: len(CUSTOM)] == CUSTOM for one in found)
    return frozenset(one.base for one in found), direct
