"""Bodies whose conditions cannot all hold, whatever the input: their rules never fire (LIFE-1)."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from interlock_gateway.policy.checks.problems import Problem
from interlock_gateway.policy.checks.program import RULES, Program
from interlock_gateway.policy.checks.syntax import Reference, RegoFile, literal, reference

FACTS = ("call", "facts")
_TURNED = {"Lt": "Gt", "Le": "Ge", "Gt": "Lt", "Ge": "Le", "Eq": "Eq", "Ne": "Ne"}


def check_contradictions(program: Program) -> Iterator[Problem]:
    """No two conditions of a body exclude each other; no rule reads facts that only other calls have."""
    for file in program.files:
        for rule in file.rules:
            for block in rule.nodes("stmts"):
                conditions = _conditions(file, block)
                for name, line, words in conditions.impossible():
                    message = f"{name} {words}, so the rule never fires"
                    yield Problem(file.path, line, "never_fires", message)
        yield from _foreign_facts(program, file)


@dataclass
class _Values:
    """What the conditions so far leave of one reference's values."""

    allowed: frozenset[Any] | None = None
    refused: set[Any] = field(default_factory=set)
    least: tuple[float, bool] = (float("-inf"), True)
    greatest: tuple[float, bool] = (float("inf"), True)
    negated: bool = False
    line: int = 0

    def complaint(self) -> str:
        """Why nothing is left, or nothing at all."""
        low, high = self.least, self.greatest
        if low[0] > high[0] or (low[0] == high[0] and not (low[1] and high[1])):
            return "is to be both less and greater"
        if self.allowed is None:
            return ""
        left = [value for value in self.allowed - self.refused if self._within(value)]
        if not left:
            return "is to be several values at once, or one that is excluded"
        if self.negated and ("boolean", False) not in left:
            return "is negated, and compared with what it cannot be then"
        return ""

    def _within(self, value: Any) -> bool:
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            return True
        low, high = self.least, self.greatest
        return (value > low[0] or (low[1] and value == low[0])) and (value < high[0] or (high[1] and value == high[0]))


@dataclass
class _Conditions:
    values: dict[str, _Values] = field(default_factory=dict)

    def of(self, found: Reference) -> _Values:
        """What is known of a reference; the last line that speaks of it is where it is reported."""
        known = self.values.setdefault(str(found), _Values())
        known.line = found.line
        return known

    def impossible(self) -> Iterator[tuple[str, int, str]]:
        """Each reference that no value satisfies."""
        for name, known in self.values.items():
            if complaint := known.complaint():
                yield name, known.line, complaint


def _conditions(file: RegoFile, block: list[Any]) -> _Conditions:
    found = _Conditions()
    for statement in block:
        ((kind, inner),) = statement["literal"].items()
        if kind == "NotExpr" and (negated := _steady(file, inner["expr"])):
            found.of(negated).negated = True
        elif kind == "Expr":
            _read(file, inner["expr"], found)
    return found


def _read(file: RegoFile, expression: Any, found: _Conditions) -> None:
    ((kind, inner),) = expression.items()
    if kind == "Membership" and inner["key"] is None:
        one = _steady(file, inner["value"])
        listed = inner["collection"].get("Set") or inner["collection"].get("Array")
        values = [_hashable(literal(item)) for item in listed["items"]] if listed else [NotImplemented]
        if one is not None and NotImplemented not in values:
            _allow(found.of(one), frozenset(values))
    elif kind == "BoolExpr" and inner["op"] in _TURNED:
        for side, other, sign in ((inner["lhs"], inner["rhs"], inner["op"]), (inner["rhs"], inner["lhs"], None)):
            one, value = _steady(file, side), _hashable(literal(other))
            if one is not None and value is not NotImplemented:
                _compare(found.of(one), sign or _TURNED[inner["op"]], value)


def _compare(known: _Values, sign: str, value: Any) -> None:
    if sign == "Eq":
        _allow(known, frozenset({value}))
    elif sign == "Ne":
        known.refused.add(value)
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        if sign in {"Lt", "Le"}:
            known.greatest = min(known.greatest, (value, sign == "Le"))
        else:
            # Of two equal bounds the one that leaves the value out is the narrower.
            known.least = max(known.least, (value, sign == "Ge"), key=lambda bound: (bound[0], not bound[1]))


def _allow(known: _Values, values: frozenset[Any]) -> None:
    known.allowed = values if known.allowed is None else known.allowed & values


def _hashable(value: Any) -> Any:
    """A constant, told apart from others that Python takes for equal."""
    return ("boolean", value) if isinstance(value, bool) else value


def _steady(file: RegoFile, node: Any) -> Reference | None:
    """A reference that has one value within a body: nothing in it is looked for."""
    found = reference(node)
    if found is None or None in found.parts or found.base == "_":
        return None
    target = file.imports.get(found.base)
    return Reference(target.base, (*target.parts, *found.parts), found.line) if target else found


def _foreign_facts(program: Program, file: RegoFile) -> Iterator[Problem]:
    """Facts of a class are only there for calls of that class."""
    sections = _sections(program.input_schema)
    own = file.package[len(RULES)] if file.package[: len(RULES)] == RULES and len(file.package) > len(RULES) else ""
    for rule in file.rules:
        for body in rule.node.get("Spec", {}).get("bodies", []):
            read: dict[str, int] = {own: 0} if own in sections else {}
            for found in _needed(file, body["query"]["stmts"]):
                named = found.parts[: len(FACTS) + 1]
                if found.base == "input" and named[:-1] == FACTS and named[-1] in sections:
                    read.setdefault(str(named[-1]), found.line)
            if len(read) > 1:
                one, other = list(read)[:2]
                message = f"reads facts of {other}, which calls of the class {one} do not have; the rule never fires"
                yield Problem(file.path, read[other], "never_fires", message)


def _needed(file: RegoFile, block: list[Any]) -> Iterator[Reference]:
    """References in the positive statements of a block, and not in what stands within them."""
    for statement in block:
        ((kind, inner),) = statement["literal"].items()
        if kind in {"Expr", "SomeIn"}:
            yield from _outside_blocks(file, inner)


def _outside_blocks(file: RegoFile, tree: Any) -> Iterator[Reference]:
    if isinstance(tree, list):
        for part in tree:
            yield from _outside_blocks(file, part)
        return
    for kind, inner in tree.items() if isinstance(tree, dict) else ():
        found = reference({kind: inner}) if kind in {"Var", "RefDot", "RefBrack"} else None
        if found is not None:
            target = file.imports.get(found.base)
            yield Reference(target.base, (*target.parts, *found.parts), found.line) if target else found
        elif kind not in {"ArrayCompr", "SetCompr", "ObjectCompr"}:
            yield from _outside_blocks(file, inner)


def _sections(schema: Mapping[str, Any]) -> frozenset[str]:
    call = schema.get("$defs", {}).get("Call", {}).get("properties", {})
    listed = call.get("facts", {}).get("properties", {})
    return frozenset(name for name, section in listed.items() if "properties" in section)
