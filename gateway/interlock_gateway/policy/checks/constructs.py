"""Constructs that the embedded engine reads differently from OPA, or not at all (ENG-2, CON-3).

Each was found by running OPA's own cases, or by the fuzzer that holds the two engines against each other.
"""

import re
from collections.abc import Iterator
from typing import Any

from interlock_gateway.policy.checks.problems import Problem
from interlock_gateway.policy.checks.program import Program
from interlock_gateway.policy.checks.syntax import RegoFile, literal, nodes, reference

# The verbs of `sprintf` that both engines write alike, whatever the value.
_FORMAT = re.compile(r"(?:[^%]|%[svd%])*")
_WALK_ARGUMENTS = 2


def check_imports(program: Program) -> Iterator[Problem]:
    """Imports are of data or input: the words of Rego v1 need none, and others are not known to both engines."""
    for file in program.files:
        for name, target in file.imports.items():
            if target.base not in {"data", "input"} and str(target) != "rego.v1":
                message = f"imports {target}, which is not data or input" + (
                    f"; {name} needs no import" if target.base == "future" else ""
                )
                yield Problem(file.path, target.line, "import_refused", message)


def check_replaced(program: Program) -> Iterator[Problem]:
    """`with` puts values in the place of input or data, and never in the place of a function."""
    for file in program.files:
        for rule in file.rules:
            for modifiers in nodes(rule.node, "with_mods"):
                for modifier in modifiers:
                    target = reference(modifier["refr"])
                    if target is not None and (
                        target.base not in {"data", "input"} or target.literal in program.functions
                    ):
                        message = f"replaces {target}; `with` may only replace what is in input or data"
                        yield Problem(file.path, target.line, "with_refused", message)


def check_memberships(program: Program) -> Iterator[Problem]:
    """`key, value in collection` is not asked: for a set, the embedded engine says no."""
    for file in program.files:
        for rule in file.rules:
            for node in nodes(rule.node, "Membership"):
                if node["key"] is not None:
                    message = "asks for a key and a value with `in`; write `collection[key] == value`"
                    yield Problem(file.path, node["span"]["line"], "membership_refused", message)


def check_call_forms(program: Program) -> Iterator[Problem]:
    """Functions are called in the form in which both engines give the same answer."""
    for file in program.files:
        for rule in file.rules:
            for call in nodes(rule.node, "Call"):
                complaint = _complaint(file, call)
                if complaint:
                    yield Problem(file.path, call["span"]["line"], "call_refused", complaint)


def _complaint(file: RegoFile, call: Any) -> str:
    name = str(reference(call["fcn"]) or "")
    if name in file.imports:
        return ""
    if name == "walk" and len(call["params"]) != _WALK_ARGUMENTS:
        return "takes the value of walk, which the embedded engine leaves empty; write `walk(value, [path, part])`"
    if name == "sprintf" and call["params"]:
        text = literal(call["params"][0])
        if not isinstance(text, str):
            return "gives sprintf a format that is not written out, so that nobody knows its verbs"
        if not _FORMAT.fullmatch(text):
            return "uses a verb of sprintf that the engines write differently; there are %s, %v, %d and %%"
    return ""
