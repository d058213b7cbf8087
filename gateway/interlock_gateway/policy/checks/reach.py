"""What rules refer to: built-in functions, input, settings, other rules; and conditions that can never hold."""

import operator
from collections.abc import Iterator
from typing import Any

from interlock_gateway.policy.checks.builtin_list import allowed_builtins, why_refused
from interlock_gateway.policy.checks.input_paths import NoSuchFieldError, possible_values
from interlock_gateway.policy.checks.problems import Problem
from interlock_gateway.policy.checks.program import CUSTOM, FINDINGS, Program, is_collected
from interlock_gateway.policy.checks.suggestions import meant
from interlock_gateway.policy.checks.syntax import Reference, RegoFile, Rule, literal, reference

SETTINGS = ("interlock", "settings")
_BETWEEN = {"Lt": operator.lt, "Le": operator.le, "Gt": operator.gt, "Ge": operator.ge}
_TURNED = {"Lt": "Gt", "Le": "Ge", "Gt": "Lt", "Ge": "Le"}
# What is asked of the policies: by the gateway of its own engine, and of an OPA server.
ENTRY_POINTS = (("interlock", "decision"), ("interlock", "response"))
# What a bundle for an OPA server has in its data, and a directory has not.
BUNDLE_DATA = frozenset(("interlock", name) for name in ("revision", "profile", "enforced"))


def check_builtins(program: Program) -> Iterator[Problem]:
    """Only built-in functions on the declared list are called (ENG-5)."""
    for file in program.files:
        for call in file.calls:
            own = (*file.package, call.base) if call.base != "data" else call.literal
            name = str(call)
            if own not in program.functions and name not in allowed_builtins():
                why = f": it {why_refused(name)}" if why_refused(name) else _near(name)
                yield Problem(file.path, call.line, "builtin_refused", f"calls {name}, which policies may not use{why}")


def check_heads(program: Program) -> Iterator[Problem]:
    """No rule defines a part of a document by name: the embedded engine reads that differently."""
    for file in program.files:
        for rule in file.rules:
            if any(part is not None for part in rule.head.parts):
                message = f"defines {rule.head}; the embedded engine wants `{rule.head.base}[name] := ...` instead"
                yield Problem(file.path, rule.line, "head_unsupported", message)


def check_input(program: Program) -> Iterator[Problem]:
    """Every reference into the input leads to a field that it can have."""
    for file in program.files:
        for found in file.references:
            if found.base == "input":
                yield from _check_path(program, file, found)


def check_data(program: Program) -> Iterator[Problem]:
    """Every reference into data leads to a setting or to a rule."""
    for file in program.files:
        for found in file.references:
            known = found.literal
            if found.base != "data" or not known or known in BUNDLE_DATA or _exists(program, known):
                continue
            kind = "setting_unknown" if known[:2] == SETTINGS else "reference_unknown"
            what = f"there is no setting {'.'.join(known[2:])}" if known[:2] == SETTINGS else f"there is no {found}"
            yield Problem(file.path, found.line, kind, what + _meant_in_data(program, known))


def check_settings_read(program: Program) -> Iterator[Problem]:
    """Every setting is read by a rule: one that is not says something that is not so."""
    read = {
        found.literal
        for file in program.files
        for found in file.references
        if found.base == "data" and found.literal[: len(SETTINGS)] == SETTINGS and found.literal != SETTINGS
    }
    settings = program.value_at(SETTINGS)
    for path in _leaves(settings, SETTINGS) if isinstance(settings, dict) else ():
        if not any(path[: len(prefix)] == prefix or prefix[: len(path)] == path for prefix in read):
            concern, name = path[len(SETTINGS)], ".".join(path[len(SETTINGS) :])
            yield Problem(f"settings/{concern}/data.yaml", 1, "setting_unread", f"no rule reads the setting {name}")


def _leaves(node: dict[str, Any], path: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """The settings: the values of each concern, whole, whatever is in them."""
    for concern, values in node.items():
        yield from ((*path, concern, name) for name in values) if isinstance(values, dict) else [(*path, concern)]


def check_use(program: Program) -> Iterator[Problem]:
    """Every rule is a finding, or part of one: anything else would never have an effect."""
    for file in program.files:
        reported: set[str] = set()
        for rule in file.rules:
            name = (*file.package, rule.name)
            if is_collected(file, rule) or name in ENTRY_POINTS or name in program.used or rule.name in reported:
                continue
            reported.add(rule.name)
            message = f"nothing uses {rule.name}, so it has no effect{_meant_to_be_found(file, rule)}"
            yield Problem(file.path, rule.line, "rule_unused", message)


def _meant_to_be_found(file: RegoFile, rule: Rule) -> str:
    """What may be meant by an operator's rule that is no finding, by its name or its package."""
    if file.package[: len(CUSTOM)] != CUSTOM:
        return ""
    if rule.name == FINDINGS:
        return f"; findings are in the package {'.'.join(CUSTOM)}"
    return meant(rule.name, (FINDINGS,)) if "did you mean" in meant(rule.name, (FINDINGS,)) else ""


def check_conditions(program: Program) -> Iterator[Problem]:
    """No condition compares with a value that can never be there, or is false as it stands."""
    for file in program.files:
        for rule in file.rules:
            yield from _constant_conditions(file, rule)
            for compared, value, line in _comparisons(rule):
                values = _values(program, file, compared)
                if values is not None and value not in values:
                    listed = ", ".join(sorted(str(one) for one in values))
                    message = f"{compared} is never {value!r}; it is one of {listed}"
                    yield Problem(file.path, line, "never_fires", message)
            for compared, sign, bound in _bounds(rule):
                values = _values(program, file, compared)
                numbers = sorted(value for value in values or () if _is_number(value))
                if numbers and not any(_BETWEEN[sign](value, bound) for value in numbers):
                    message = f"{compared} is one of {', '.join(map(str, numbers))}, so this never holds"
                    yield Problem(file.path, compared.line, "never_fires", message)


def _check_path(program: Program, file: RegoFile, found: Reference) -> Iterator[Problem]:
    try:
        possible_values(program.input_schema, found.parts)
    except NoSuchFieldError as error:
        message = f"{found}: the input has no {error.name} here{meant(error.name, error.known)}"
        yield Problem(file.path, found.line, "input_unknown", message)


def _exists(program: Program, parts: tuple[str, ...]) -> bool:
    if parts[: len(CUSTOM)] == CUSTOM and CUSTOM not in program.packages:
        return True
    for length in range(len(parts), 0, -1):
        package = parts[:length]
        if package in program.packages:
            rest = parts[length:]
            return not rest or rest[0] in program.packages[package] or program.has_data(parts)
    return program.has_data(parts) or any(package[: len(parts)] == parts for package in program.packages)


def _near(name: str) -> str:
    """A built-in function whose name is nearly this, as words; none are listed when there is none."""
    found = meant(name, allowed_builtins())
    return found if "did you mean" in found else ""


def _meant_in_data(program: Program, parts: tuple[str, ...]) -> str:
    """What may be meant: a name beside the first part that there is not."""
    for length in range(len(parts)):
        node: Any = program.value_at(parts[:length])
        names = {package[length] for package in program.packages if package[:length] == parts[:length] != package}
        names |= program.packages.get(parts[:length], frozenset())
        names |= node.keys() if isinstance(node, dict) else set()
        if parts[length] not in names:
            return meant(parts[length], names)
    return ""


def _constant_conditions(file: RegoFile, rule: Rule) -> Iterator[Problem]:
    for body in rule.node.get("Spec", {}).get("bodies", []):
        for statement in body["query"]["stmts"]:
            expression = statement["literal"].get("Expr")
            if expression is not None and literal(expression["expr"]) is False:
                line = expression["span"]["line"]
                yield Problem(file.path, line, "never_fires", "the condition is always false, so the rule never fires")


def _bounds(rule: Rule) -> Iterator[tuple[Reference, str, Any]]:
    """References that are compared with numbers by their size, as if they stood on the left: `ref > 2`."""
    for node in rule.nodes("BoolExpr"):
        if node["op"] in _BETWEEN:
            for one, other, sign in (
                (node["lhs"], node["rhs"], node["op"]),
                (node["rhs"], node["lhs"], _TURNED[node["op"]]),
            ):
                found, bound = reference(one), literal(other)
                if found is not None and _is_number(bound):
                    yield found, sign, bound


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _comparisons(rule: Rule) -> Iterator[tuple[Reference, Any, int]]:
    """References into anything that are compared with constants: `ref == "x"`, `ref in {"x", "y"}`."""
    for node in rule.nodes("BoolExpr"):
        if node["op"] == "Eq":
            for one, other in ((node["lhs"], node["rhs"]), (node["rhs"], node["lhs"])):
                yield from _compared(one, [other], node["span"]["line"])
    for node in rule.nodes("Membership"):
        listed = node["collection"].get("Set") or node["collection"].get("Array")
        if listed is not None and node["key"] is None:
            yield from _compared(node["value"], listed["items"], node["span"]["line"])


def _compared(one: Any, others: list[Any], line: int) -> Iterator[tuple[Reference, Any, int]]:
    found = reference(one)
    for other in others:
        value = literal(other)
        if found is not None and (isinstance(value, str) or _is_number(value)):
            yield found, value, line


def _values(program: Program, file: RegoFile, found: Reference) -> frozenset[Any] | None:
    target = file.imports.get(found.base)
    parts = found.parts if target is None else (*target.parts, *found.parts)
    if (target.base if target else found.base) != "input":
        return None
    try:
        return possible_values(program.input_schema, parts)
    except NoSuchFieldError:
        return None
