"""Types: what rules do with values that, by the input's schema, can never be of the kind it takes (LIFE-1).

What nobody knows is let through: a value out of a function, a tool's arguments, a label.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from interlock_gateway.policy.checks.builtin_list import signature
from interlock_gateway.policy.checks.input_paths import NoSuchFieldError
from interlock_gateway.policy.checks.problems import Problem
from interlock_gateway.policy.checks.program import Program
from interlock_gateway.policy.checks.shapes import ANY, Shape, of_schema, of_value, step
from interlock_gateway.policy.checks.suggestions import meant
from interlock_gateway.policy.checks.syntax import Reference, RegoFile, literal, reference

_MADE = {
    "Array": "array",
    "ArrayCompr": "array",
    "Object": "object",
    "ObjectCompr": "object",
    "Set": "set",
    "SetCompr": "set",
    "BoolExpr": "boolean",
    "Membership": "boolean",
}
_SIGNS = {"Eq": "==", "Ne": "!=", "Lt": "<", "Le": "<=", "Gt": ">", "Ge": ">="}
_NUMBERS = frozenset({"number"})
_NUMBERS_OR_SETS = frozenset({"number", "set"})
_COLLECTIONS = frozenset({"array", "object", "set"})


def check_types(program: Program) -> Iterator[Problem]:
    """No value is compared, iterated over or given to a function as what it can never be."""
    for file in program.files:
        for rule in file.rules:
            spec = rule.node.get("Spec")
            for body in spec["bodies"] if spec else ():
                reader = _Reader(program, file)
                reader.statements(body["query"]["stmts"])
                yield from reader.found
            if spec and not spec["bodies"]:
                reader = _Reader(program, file)
                reader.expression(spec["head"])
                yield from reader.found


@dataclass
class _Reader:
    """Reads one body, statement after statement. `names` are the variables whose shape is known by now."""

    program: Program
    file: RegoFile
    names: dict[str, Shape] = field(default_factory=dict)
    found: list[Problem] = field(default_factory=list)

    def statements(self, statements: list[Any]) -> None:
        """Read statements in order."""
        for statement in statements:
            ((kind, inner),) = statement["literal"].items()
            if kind == "SomeIn":
                self._bound(inner, inner["collection"], (inner["key"], inner["value"]))
            elif kind == "Every":
                self._every(inner)
            elif kind in {"Expr", "NotExpr"}:
                self.expression(inner["expr"])
                self._assigned(inner["expr"])

    def expression(self, tree: Any) -> None:
        """Read an expression and all that is in it."""
        if isinstance(tree, list):
            for part in tree:
                self.expression(part)
            return
        for kind, inner in tree.items() if isinstance(tree, dict) else ():
            if kind == "query":
                continue
            if kind in {"ArrayCompr", "SetCompr", "ObjectCompr"}:
                within = _Reader(self.program, self.file, dict(self.names), self.found)
                within.statements(inner["query"]["stmts"])
                within.expression({name: part for name, part in inner.items() if name != "query"})
                continue
            if kind in {"Var", "RefDot", "RefBrack"}:
                self._check_reference(reference({kind: inner}))
            elif isinstance(inner, dict):
                self._check(kind, inner)
            self.expression([part for name, part in inner.items() if name != "fcn"] if kind == "Call" else inner)

    def shape(self, node: Any) -> Shape:
        """What is known of an expression's value."""
        value = literal(node)
        if value is not NotImplemented:
            return of_value(value)
        ((kind, inner),) = node.items()
        if kind in _MADE:
            return Shape(frozenset({_MADE[kind]}))
        if kind == "ArithExpr":
            return Shape(_NUMBERS_OR_SETS if inner["op"] == "Sub" else _NUMBERS)
        if kind == "BinExpr":
            return Shape(frozenset({"set"}))
        if kind == "Call":
            known = signature(self._called(inner))
            return Shape(known[1]) if known else ANY
        found = reference(node)
        return self._referred(found) if found is not None else ANY

    def _check(self, kind: str, inner: Any) -> None:
        if kind == "BoolExpr":
            one, other = self.shape(inner["lhs"]), self.shape(inner["rhs"])
            if one.cannot_be(other.kinds):
                self._report(inner, f"compares {one} with {other} by {_SIGNS.get(inner['op'], inner['op'])}")
        elif kind == "Membership":
            listed = self.shape(inner["collection"])
            if listed.cannot_be(_COLLECTIONS):
                self._report(inner, f"looks with `in` into {listed}")
        elif kind == "ArithExpr":
            wanted = _NUMBERS_OR_SETS if inner["op"] == "Sub" else _NUMBERS
            for side in (inner["lhs"], inner["rhs"]):
                if (shape := self.shape(side)).cannot_be(wanted):
                    self._report(inner, f"calculates with {shape}")
        elif kind == "Call":
            self._check_call(inner)

    def _check_call(self, call: Any) -> None:
        name = self._called(call)
        known = signature(name)
        for given, taken in zip(call["params"], known[0] if known else (), strict=False):
            if (shape := self.shape(given)).cannot_be(taken):
                self._report(call, f"gives {name} {shape}, which takes {Shape(taken)}")

    def _called(self, call: Any) -> str:
        found = reference(call["fcn"])
        own = found is not None and (*self.file.package, found.base) in self.program.functions
        return "" if found is None or own else str(found)

    def _bound(self, node: Any, collection: Any, variables: tuple[Any, Any]) -> None:
        self.expression(collection)
        shape = self.shape(collection)
        if shape.cannot_be(_COLLECTIONS):
            self._report(node, f"iterates over {shape}")
            return
        key, value = ((reference(variable) if variable else None) for variable in variables)
        if value is not None and not value.parts:
            self.names[value.base] = self._element(shape)
        if key is not None and not key.parts:
            self.names[key.base] = ANY

    def _every(self, every: Any) -> None:
        self.expression(every["domain"])
        shape = self.shape(every["domain"])
        if shape.cannot_be(_COLLECTIONS):
            self._report(every, f"iterates over {shape}")
            return
        within = _Reader(self.program, self.file, dict(self.names), self.found)
        span = every["value"]
        within.names[self.file.source.encode()[span["start"] : span["end"]].decode()] = self._element(shape)
        within.statements(every["query"]["stmts"])

    def _element(self, shape: Shape) -> Shape:
        try:
            return step(self.program.input_schema, shape, None) if shape.nodes else ANY
        except NoSuchFieldError:
            return ANY

    def _assigned(self, expression: Any) -> None:
        assigned = expression.get("AssignExpr")
        target = reference(assigned["lhs"]) if assigned and assigned["op"] == "ColEq" else None
        if target is not None and not target.parts:
            self.names[target.base] = self.shape(assigned["rhs"])

    def _referred(self, found: Reference) -> Shape:
        try:
            return self._followed(found)
        except NoSuchFieldError:
            return ANY

    def _followed(self, found: Reference) -> Shape:
        target = self.file.imports.get(found.base)
        base, parts = (target.base, (*target.parts, *found.parts)) if target else (found.base, found.parts)
        if base == "input":
            shape = of_schema(self.program.input_schema, [self.program.input_schema])
        else:
            shape = self.names.get(base, ANY)
        for part in parts:
            shape = step(self.program.input_schema, shape, part)
        return shape

    def _check_reference(self, found: Reference | None) -> None:
        if found is None:
            return
        try:
            self._followed(found)
        except NoSuchFieldError as error:
            message = f"{found}: the input has no {error.name} here{meant(error.name, error.known)}"
            self.found.append(Problem(self.file.path, found.line, "input_unknown", message))

    def _report(self, node: Any, what: str) -> None:
        self.found.append(Problem(self.file.path, node["span"]["line"], "type_mismatch", f"{what}; it never can be"))
