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
_FORMAT = re.compile(r"(?:[^%]|%[sv%])*")
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
    """`with` is for tests: in a policy, the embedded engine forgets what else was replaced."""
    for file in program.files:
        for rule in file.rules:
            for modifiers in rule.nodes("with_mods"):
                for modifier in modifiers[:1]:
                    target = reference(modifier["refr"])
                    line = target.line if target else rule.line
                    yield Problem(file.path, line, "with_refused", f"replaces {target}; `with` is for tests alone")


def check_every(program: Program) -> Iterator[Problem]:
    """What `every` binds is not given a value by `=`, and is no index in what is negated.

    The embedded engine takes such a variable for a new one: `=` always holds then, and `not` never does.
    """
    for file in program.files:
        for rule in file.rules:
            for every in rule.nodes("Every"):
                for node in nodes(every["query"], "AssignExpr"):
                    if node["op"] == "Eq":
                        message = "unifies within `every`; compare with `==`, or assign with `:=`"
                        yield Problem(file.path, node["span"]["line"], "unification_refused", message)
                bound = {_text(file, every[name]) for name in ("key", "value") if every[name]}
                for node in nodes(every["query"], "NotExpr"):
                    for variable in sorted(bound & set(_index_variables(node))):
                        message = f"negates what is looked up by {variable}, which `every` binds; assign it first"
                        yield Problem(file.path, node["span"]["line"], "negation_refused", message)


def _index_variables(tree: Any) -> Iterator[str]:
    """The variables in the brackets of references."""
    for node in nodes(tree, "RefBrack"):
        yield from (variable["value"] for variable in nodes(node["index"], "Var"))


def _text(file: RegoFile, span: Any) -> str:
    return file.source.encode()[span["start"] : span["end"]].decode()


def check_negated_constants(program: Program) -> Iterator[Problem]:
    """No constant is negated: OPA loses a body of `not true` alone, and the rule holds always."""
    for file in program.files:
        for rule in file.rules:
            for negated in rule.nodes("NotExpr"):
                if literal(negated["expr"]) is not NotImplemented:
                    yield Problem(file.path, negated["span"]["line"], "negation_refused", "negates a constant")


def check_memberships(program: Program) -> Iterator[Problem]:
    """`key, value in collection` is not asked: for a set, the embedded engine says no."""
    for file in program.files:
        for rule in file.rules:
            for node in rule.nodes("Membership"):
                if node["key"] is not None:
                    message = "asks for a key and a value with `in`; write `collection[key] == value`"
                    yield Problem(file.path, node["span"]["line"], "membership_refused", message)


def check_minus(program: Program) -> Iterator[Problem]:
    """A minus sign stands before numbers alone: before anything else the embedded engine ends in an error."""
    for file in program.files:
        for rule in file.rules:
            for node in rule.nodes("UnaryExpr"):
                yield Problem(file.path, node["span"]["line"], "minus_refused", "negates a number; write `0 - x`")


def check_call_forms(program: Program) -> Iterator[Problem]:
    """Functions are called in the form in which both engines give the same answer."""
    for file in program.files:
        for rule in file.rules:
            for call in rule.nodes("Call"):
                complaint = _complaint(file, call)
                if complaint:
                    yield Problem(file.path, call["span"]["line"], "call_refused", complaint)


def _complaint(file: RegoFile, call: Any) -> str:
    name = str(reference(call["fcn"]) or "")
    if name in file.imports:
        return ""
    if name == "walk" and len(call["params"]) != _WALK_ARGUMENTS:
        return "takes the value of walk, which the embedded engine leaves empty; write `walk(value, [path, part])`"
    if name == "regex.split" and call["params"] and not _splits_at_something(literal(call["params"][0])):
        return "splits by an expression that is not written out, or that matches nothing, where the engines differ"
    if name == "sprintf" and call["params"]:
        text = literal(call["params"][0])
        if not isinstance(text, str):
            return "gives sprintf a format that is not written out, so that nobody knows its verbs"
        if not _FORMAT.fullmatch(text):
            return "uses a verb of sprintf that the engines write differently; there are %s, %v and %%"
    return ""


def _splits_at_something(expression: Any) -> bool:
    """Whether it is an expression that never matches the empty text."""
    try:
        return isinstance(expression, str) and re.search(expression, "") is None
    except re.error:
        return False
