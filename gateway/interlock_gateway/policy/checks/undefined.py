"""Expressions whose operands may be undefined, where the engines disagree about what follows (ENG-2).

OPA evaluates what stands inside a negated expression before it negates: `not input.x in {1}` is undefined when there
is no input.x, and true for the embedded engine. `y := input.x in {1}` is undefined in OPA, and false for the embedded
engine. Neither is what an author thinks of, so both are refused; a rule of its own says what is meant, in both.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import Any

from interlock_gateway.policy.checks.builtin_list import allowed_builtins
from interlock_gateway.policy.checks.problems import Problem
from interlock_gateway.policy.checks.program import Program
from interlock_gateway.policy.checks.syntax import FLAT, Reference, RegoFile, Rule, literal, reference

_WAY_OUT = "; give the expression a rule of its own"
_COMPREHENSIONS = {"ArrayCompr", "SetCompr", "ObjectCompr"}
# What may have a value although something in it has none.
_BLOCKS = {*_COMPREHENSIONS, "Every", "Membership"}
_NOT_READ = frozenset({*_BLOCKS, "fcn", *FLAT})
_POSITIVE = {"Expr", "SomeIn"}
_OPERATIONS = {"ArithExpr", "BinExpr", "BoolExpr"}
# These have no value for an empty collection, which is no error.
_MAYBE_UNDEFINED = {"max", "min", "walk"}


def check_undefined(program: Program) -> Iterator[Problem]:
    """What is negated, and each membership that is used as a value, is defined whatever the input lacks."""
    for file in program.files:
        for rule in file.rules:
            yield from _in_rule(_Certainty(program, file), rule)


def _in_rule(certainty: "_Certainty", rule: Rule) -> Iterator[Problem]:
    spec = rule.node.get("Spec")
    if spec is None:
        return
    heads = [spec["head"], *(body["assign"] for body in spec["bodies"] if body["is_else"])]
    for head, body in zip_longest(heads, spec["bodies"]):
        inside = certainty.within(body["query"]["stmts"] if body else [])
        yield from _in_expression(inside, head)
        for statement in body["query"]["stmts"] if body else []:
            yield from _in_statement(inside, statement["literal"])


def _in_statement(certainty: "_Certainty", statement: Any) -> Iterator[Problem]:
    ((kind, inner),) = statement.items()
    expression = inner.get("expr") if kind in {"Expr", "NotExpr"} else None
    if kind == "NotExpr" and (found := certainty.doubtful_negated(expression)):
        message = f"negates an expression although {found} may be undefined{_WAY_OUT}, and negate that"
        yield Problem(certainty.file.path, inner["span"]["line"], "negation_refused", message)
    # A membership that is a statement by itself fails whether it is false or undefined.
    whole = expression.get("Membership") if expression else None
    yield from _in_expression(certainty, whole or inner)


def _in_expression(certainty: "_Certainty", tree: Any) -> Iterator[Problem]:
    """Each membership whose value is taken, and each block of statements, in an expression."""
    if isinstance(tree, list):
        for part in tree:
            yield from _in_expression(certainty, part)
        return
    for kind, inner in tree.items() if isinstance(tree, dict) else ():
        if kind == "stmts":
            inside = certainty.within(inner)
            for statement in inner:
                yield from _in_statement(inside, statement["literal"])
            continue
        if kind == "Membership" and (found := certainty.first_doubtful([inner["value"], inner["collection"]])):
            message = f"takes the value of `in` although {found} may be undefined{_WAY_OUT}"
            yield Problem(certainty.file.path, inner["span"]["line"], "membership_refused", message)
        if kind not in FLAT and isinstance(inner, dict | list):
            yield from _in_expression(certainty, inner)


@dataclass(frozen=True)
class _Certainty:
    """Tells which expressions have a value whatever the input is, or wherever all statements around them hold.

    `needed` are references without which those statements fail.
    """

    program: Program
    file: RegoFile
    needed: frozenset[str] = frozenset()

    def within(self, statements: list[Any]) -> "_Certainty":
        """For what stands among these statements."""
        positive = [statement["literal"] for statement in statements if statement["literal"].keys() & _POSITIVE]
        read = [inner.get("expr", {}).get("Membership", inner) for one in positive for inner in one.values()]
        needed = {str(found) for found in _references(read) if None not in found.parts}
        return replace(self, needed=self.needed | needed)

    def doubtful_negated(self, node: Any) -> str:
        """The first part that may be undefined without the negated expression being so; empty when there is none."""
        ((kind, inner),) = node.items()
        if self._is_reference(node):
            return self._doubtful_index(node)
        if kind in {"BoolExpr", "AssignExpr"} and inner["op"] == "Eq":
            # An equation is undefined with its sides, in both engines.
            sides = (inner["lhs"], inner["rhs"])
            return next(filter(None, (self._doubtful_side(side) for side in sides)), "")
        if kind == "Call":
            return self.first_doubtful(inner["params"])
        if kind in _OPERATIONS:
            return self.first_doubtful([inner["lhs"], inner["rhs"]])
        if kind == "Membership":
            return self.first_doubtful([inner["value"], inner["collection"]])
        return self.first_doubtful([node])

    def first_doubtful(self, expressions: list[Any]) -> str:
        """The first expression that may be undefined, as it is written; empty when there is none."""
        return next((self._written(node) for node in expressions if not self._is_certain(node)), "")

    def _doubtful_side(self, node: Any) -> str:
        return self._doubtful_index(node) if self._is_reference(node) else self.first_doubtful([node])

    def _doubtful_index(self, node: Any) -> str:
        """The first index of a reference that may be undefined."""
        while isinstance(node, dict) and (node.keys() & {"RefDot", "RefBrack"}):
            ((kind, inner),) = node.items()
            if kind == "RefBrack" and not self._is_certain(inner["index"]):
                return self._written(inner["index"])
            node = inner["refr"]
        return ""

    @staticmethod
    def _is_reference(node: Any) -> bool:
        return reference(node) is not None

    def _is_certain(self, node: Any) -> bool:  # noqa: PLR0911 - a table of the kinds of expressions
        ((kind, inner),) = node.items()
        if literal(node) is not NotImplemented or kind in _COMPREHENSIONS:
            return True
        if kind in {"Var", "RefDot", "RefBrack"}:
            found = reference(node)
            return found is not None and self._is_there(found)
        if kind in {"Array", "Set"}:
            return all(map(self._is_certain, inner["items"]))
        if kind == "Object":
            return all(self._is_certain(part) for _, key, value in inner["fields"] for part in (key, value))
        if kind in _OPERATIONS:
            return self._is_certain(inner["lhs"]) and self._is_certain(inner["rhs"])
        if kind == "Membership":
            return self._is_certain(inner["value"]) and self._is_certain(inner["collection"])
        if kind == "Call":
            name = str(reference(inner["fcn"]))
            known = (
                name in allowed_builtins() - _MAYBE_UNDEFINED and name not in self.program.packages[self.file.package]
            )
            return known and all(map(self._is_certain, inner["params"]))
        return False

    def _is_there(self, found: Reference) -> bool:
        """Whether a reference always has a value: a variable, a rule that has a default, a setting."""
        if str(found) in self.needed:
            return True
        base, parts = found.base, found.parts
        if base in self.file.imports:
            target = self.file.imports[base]
            base, parts = target.base, (*target.parts, *parts)
        if base == "data":
            known = tuple(part for part in parts if part is not None)
            return len(known) == len(parts) and (known in self.program.always_defined or self._is_data(known))
        if base in {"input", "_"}:
            return base == "input" and not parts
        if base in self.program.packages[self.file.package]:
            return not parts and (*self.file.package, base) in self.program.always_defined
        return not parts

    def _is_data(self, parts: tuple[str, ...]) -> bool:
        """Whether a setting stands there, and no rule in its place."""
        return self.program.has_data(parts) and not any(
            parts[: len(package)] == package and (len(parts) == len(package) or parts[len(package)] in names)
            for package, names in self.program.packages.items()
        )

    def _written(self, node: Any) -> str:
        """What an expression is called in a message: its reference, or what it is on its line."""
        found = reference(node)
        if found is not None:
            return str(found)
        ((kind, inner),) = node.items()
        if kind == "Call":
            return f"{reference(inner['fcn'])}(...)"
        for part in _references(node):
            if not self._is_there(part):
                return str(part)
        return "a part of it"


def _references(node: Any) -> Iterator[Reference]:
    """References that are read wherever the tree is evaluated at all: not those in blocks and memberships."""
    if isinstance(node, dict):
        found = reference(node) if len(node) == 1 else None
        if found is not None:
            yield found
        for kind, part in node.items():
            if kind not in _NOT_READ and isinstance(part, dict | list):
                yield from _references(part)
    elif isinstance(node, list):
        for part in node:
            yield from _references(part)
