"""Makes up small Rego policies: what an author might write, and much that nobody would.

Every construct of the language that the checks at load let through is made, with operands that may be undefined or of
another type. Policies are typed loosely, so that most of them mean something.
"""

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

DATA = {"k": {"num": 3, "words": ["a", "b", "ab"], "flags": {"a": True, "b": False}, "nested": {"a": {"x": 1}}}}
_WORDS = ("a", "b", "ab", "", "B", "a.b", "ä")
_TYPES = ("num", "str", "bool", "nums", "words", "set", "obj")
_DEEPEST = 3


def make_input(chance: random.Random) -> dict[str, Any]:
    """An input document in which fields may be missing, or of another type."""
    fields: dict[str, Callable[[], Any]] = {
        "n": lambda: chance.choice([0, 1, 3, -2, 2.5]),
        "m": lambda: chance.choice([0, 1, 3]),
        "s": lambda: chance.choice(_WORDS),
        "b": lambda: chance.choice([True, False]),
        "l": lambda: [chance.randint(0, 3) for _ in range(chance.randint(0, 3))],
        "t": lambda: [chance.choice(_WORDS) for _ in range(chance.randint(0, 3))],
        "o": lambda: {chance.choice(_WORDS): chance.randint(0, 3) for _ in range(chance.randint(0, 3))},
        "q": lambda: {"a": {"b": chance.randint(0, 3)}} if chance.random() < 0.7 else {"a": None},
        "z": lambda: None,
    }
    document = {name: made() for name, made in fields.items() if chance.random() < 0.8}
    if document and chance.random() < 0.3:
        document[chance.choice(sorted(document))] = chance.choice([None, "a", 1, [], {}, False, [1], {"a": 1}])
    return document


@dataclass
class _Scope:
    names: dict[str, str] = field(default_factory=dict)

    def inner(self) -> "_Scope":
        return _Scope(dict(self.names))

    def of(self, kind: str) -> list[str]:
        return [name for name, held in self.names.items() if held == kind]


class Grammar:
    """Makes one policy after another from a source of chance."""

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance
        self._rules: dict[str, str] = {}
        self._functions: dict[str, tuple[str, ...]] = {}
        self._number = 0

    def policy(self, package: str) -> tuple[str, tuple[str, ...]]:
        """A module of `package`, and the names of its rules."""
        self._rules, self._functions, self._number = {}, {}, 0
        parts = [text for _ in range(self._chance.randint(1, 4)) for text in self._definitions()]
        return f"package {package}\n\n" + "\n\n".join(parts) + "\n", tuple(self._rules)

    def _definitions(self) -> Iterator[str]:
        name, kind = self._new("r"), self._pick(_TYPES)
        shape = self._pick(("value", "value", "value", "else", "set", "object", "function", "default", "several"))
        if shape == "set":
            for _ in range(self._chance.randint(1, 2)):
                scope, body = self._body()
                yield f"{name} contains {self._expression(self._pick(('num', 'str')), scope)} if {body}"
            kind = "set"
        elif shape == "object":
            scope, body = self._body()
            yield f"{name}[{self._expression('str', scope)}] := {self._expression('num', scope)} if {body}"
            kind = "obj"
        elif shape == "function":
            yield from self._function()
            return
        elif shape == "several":
            for _ in range(2):
                yield f"{name} if {self._body()[1]}"
            kind = "bool"
        else:
            yield from self._values(name, kind, shape)
        self._rules[name] = kind

    def _values(self, name: str, kind: str, shape: str) -> Iterator[str]:
        if shape == "default":
            yield f"default {name} := {self._constant(kind)}"
        if shape == "value" and self._chance.random() < 0.2:
            yield f"{name} := {self._expression(kind, _Scope())}"
            return
        scope, body = self._body()
        text = f"{name} := {self._expression(kind, scope)} if {body}"
        if shape == "else":
            scope, body = self._body()
            text += f" else := {self._expression(kind, scope)} if {body}"
            text += f" else := {self._constant(kind)}" if self._chance.random() < 0.5 else ""
        yield text

    def _function(self) -> Iterator[str]:
        name, kinds = self._new("f"), tuple(self._pick(_TYPES) for _ in range(self._chance.randint(1, 2)))
        result = self._pick(_TYPES)
        for _ in range(self._chance.randint(1, 2)):
            scope = _Scope()
            arguments = []
            for kind in kinds:
                if self._chance.random() < 0.2:
                    arguments.append(self._constant(kind))
                else:
                    arguments.append(variable := self._new("a"))
                    scope.names[variable] = kind
            value = "" if result == "bool" else f" := {self._expression(result, scope)}"
            scope, body = self._body(scope)
            yield f"{name}({', '.join(arguments)}){value} if {body}"
        self._functions[name] = (*kinds, result)

    def _body(self, scope: _Scope | None = None, depth: int = 0) -> tuple[_Scope, str]:
        """Statements in braces, and the names that they leave behind."""
        scope = scope.inner() if scope else _Scope()
        statements = [self._statement(scope, depth) for _ in range(self._chance.randint(1, 3 if depth == 0 else 2))]
        return scope, "{\n\t" + "\n\t".join(statements) + "\n}"

    def _statement(self, scope: _Scope, depth: int) -> str:
        made: str = self._pick(
            (
                self._assigned,
                self._assigned,
                self._some,
                self._compared,
                self._compared,
                self._negated,
                self._negated,
                self._truth,
                self._every,
                self._iterated,
                self._unified,
                self._unpacked,
            )
        )(scope, depth)
        return made

    def _assigned(self, scope: _Scope, depth: int) -> str:
        kind = self._pick(_TYPES)
        text = self._expression(kind, scope, depth)
        scope.names[name := self._new("x")] = kind
        return f"{name} := {text}"

    def _some(self, scope: _Scope, depth: int) -> str:
        kind = self._pick(("nums", "words", "set", "obj"))
        text = self._expression(kind, scope, depth)
        value = self._new("v")
        element = {"nums": "num", "words": "str", "set": "str", "obj": "num"}[kind]
        if kind != "set" and self._chance.random() < 0.4:
            key = self._new("k")
            scope.names[key] = "str" if kind == "obj" else "num"
            scope.names[value] = element
            return f"some {key}, {value} in {text}"
        scope.names[value] = element
        return f"some {value} in {text}"

    def _compared(self, scope: _Scope, depth: int) -> str:
        kind = self._pick(("num", "num", "str", "set", "words", "obj", "bool"))
        operator = self._pick(("==", "==", "!=", "<", "<=", ">", ">="))
        return f"{self._expression(kind, scope, depth)} {operator} {self._expression(kind, scope, depth)}"

    def _truth(self, scope: _Scope, depth: int) -> str:
        return self._expression("bool", scope, depth)

    def _negated(self, scope: _Scope, depth: int) -> str:
        """A negation: half of them of what is certain to have a value, which the checks let through."""
        if self._chance.random() < 0.5:
            kind = self._pick(("str", "num", "nums", "set", "obj"))
            value = self._expression(kind, scope, depth)
            scope.names[name := self._new("x")] = kind
            certain = {
                "str": 'startswith({0}, "a")|{0} in {{"a", "b"}}|lower({0}) == "b"|{0} in data.k.words|input.o[{0}]',
                "num": "{0} > 1|{0} in {{0, 1}}|({0} + 1) == 2|{0} == input.m|is_number({0})",
                "nums": "count({0}) > 1|1 in {0}|sum({0}) == 3|{0} == input.l",
                "set": '"a" in {0}|({0} & {{"a"}}) == {{"a"}}|count({0}) == 1',
                "obj": 'object.get({0}, "a", 0) == 1|object.keys({0}) == {{"a"}}|{0}.a',
            }[kind]
            return f"{name} := {value}\n\tnot {str(self._pick(certain.split('|'))).format(name)}"
        shape = self._chance.choice((self._compared, self._truth, self._truth, self._reference))
        return f"not {shape(scope, depth)}"

    def _reference(self, scope: _Scope, _depth: int) -> str:
        paths = ["input.n", "input.b", "input.q.a.b", "input.o[input.s]", "input.missing", "data.k.flags.a"]
        paths += [f"{of}[{name}]" for name in scope.of("str") for of in ("input.o", "data.k.flags")]
        return self._chance.choice([*paths, *self._rules])

    def _every(self, scope: _Scope, depth: int) -> str:
        kind = self._pick(("nums", "words", "set", "obj"))
        domain = self._expression(kind, scope, depth)
        inner = scope.inner()
        value = self._new("v")
        inner.names[value] = {"nums": "num", "words": "str", "set": "str", "obj": "num"}[kind]
        key = ""
        if kind in {"obj", "nums"} and self._chance.random() < 0.4:
            key = self._new("k")
            inner.names[key] = "str" if kind == "obj" else "num"
            key += ", "
        if depth >= _DEEPEST:
            return f"every {key}{value} in {domain} {{ {value} == {value} }}"
        return f"every {key}{value} in {domain} {self._body(inner, depth + 1)[1]}"

    def _iterated(self, scope: _Scope, depth: int) -> str:
        lists = (("input.l", "num"), ("input.t", "str"), ("input.o", "num"), ("data.k.words", "str"))
        over, element = self._chance.choice(lists)
        index = self._chance.choice(("_", self._new("i")))
        if index == "_":
            return f"{over}[_] == {self._expression(element, scope, depth)}"
        scope.names[index] = "str" if over == "input.o" else "num"
        return f"some {index}\n\t{over}[{index}] == {self._expression(element, scope.inner(), depth)}"

    def _unified(self, scope: _Scope, depth: int) -> str:
        kind = self._pick(("num", "str", "set"))
        return f"{self._expression(kind, scope, depth)} = {self._expression(kind, scope, depth)}"

    def _unpacked(self, scope: _Scope, depth: int) -> str:
        one, other = self._new("x"), self._new("x")
        parts = [self._expression("num", scope, depth), self._expression("str", scope, depth)]
        scope.names |= {one: "num", other: "str"}
        if self._chance.random() < 0.5:
            return f'{{"a": {one}, "b": {other}}} := {{"a": {parts[0]}, "b": {parts[1]}}}'
        return f"[{one}, {other}] := [{parts[0]}, {parts[1]}]"

    def _expression(self, kind: str, scope: _Scope, depth: int = 0) -> str:
        """An expression that is mostly of `kind`."""
        simple = [self._constant(kind), *scope.of(kind), *self._read(kind)]
        if depth >= _DEEPEST or self._chance.random() < 0.45:
            return str(self._pick(simple))
        one = self._expression
        deeper = depth + 1
        functions = [name for name, kinds in self._functions.items() if kinds[-1] == kind]
        if functions and self._chance.random() < 0.4:
            name = self._pick(functions)
            return f"{name}({', '.join(one(part, scope, deeper) for part in self._functions[name][:-1])})"
        made: str = self._pick(_MADE[kind])(self, scope, deeper)
        return made

    def _read(self, kind: str) -> list[str]:
        read = {
            "num": ["input.n", "input.m", "input.q.a.b", "input.l[0]", "data.k.num", 'input.o["a"]'],
            "str": ["input.s", "input.t[0]", "data.k.words[1]"],
            "bool": ["input.b", "data.k.flags.a", "data.k.flags[input.s]"],
            "nums": ["input.l"],
            "words": ["input.t", "data.k.words"],
            "set": [],
            "obj": ["input.o", "data.k.flags", "data.k.nested.a"],
        }[kind]
        return [*read, *(name for name, held in self._rules.items() if held == kind)]

    def _constant(self, kind: str) -> str:
        written: dict[str, Callable[[], str]] = {
            "num": lambda: self._pick(("0", "1", "3", "-2", "2.5")),
            "str": lambda: f'"{self._pick(_WORDS)}"',
            "bool": lambda: self._pick(("true", "false")),
            "nums": lambda: self._pick(("[]", "[1, 2]", "[3, 0, 1]")),
            "words": lambda: self._pick(("[]", '["a", "b"]', '["ab"]')),
            "set": lambda: self._pick(("set()", '{"a", "b"}', '{"ab", "a"}')),
            "obj": lambda: self._pick(("{}", '{"a": 1}', '{"a": 1, "b": 3}')),
        }
        return written[kind]()

    def _comprehension(self, scope: _Scope, depth: int, kinds: str, opening: str, closing: str) -> str:
        inner, body = self._body(scope, depth)
        on_a_line = body.replace("{\n\t", "{ ").replace("\n}", " }").replace("\n\t", "; ")
        statements = on_a_line.removeprefix("{ ").removesuffix(" }")
        head = ": ".join(self._expression(kind, inner, _DEEPEST) for kind in kinds.split())
        return f"{opening}{head} | {statements}{closing}"

    def _new(self, letter: str) -> str:
        self._number += 1
        return f"{letter}{self._number}"

    def _pick(self, options: Any) -> Any:
        return self._chance.choice(list(options))


_Made = Callable[[Grammar, _Scope, int], str]


def _of(template: str, *kinds: str) -> _Made:
    """An expression with operands of these kinds in the places of the template."""

    def made(grammar: Grammar, scope: _Scope, depth: int) -> str:
        return template.format(*(grammar._expression(kind, scope, depth) for kind in kinds))

    return made


def _collected(kinds: str, opening: str, closing: str) -> _Made:
    return lambda grammar, scope, depth: grammar._comprehension(scope, depth, kinds, opening, closing)


_MADE: dict[str, tuple[_Made, ...]] = {
    "num": (
        *(_of(f"({{}} {operator} {{}})", "num", "num") for operator in ("+", "-", "*", "/", "%")),
        *(_of("count({})", kind) for kind in ("nums", "words", "set", "obj", "str")),
        *(_of(f"{name}({{}})", "nums") for name in ("sum", "max", "min", "product")),
        _of("abs({})", "num"),
        _of("object.get({}, {}, {})", "obj", "str", "num"),
        _of("round({})", "num"),
        _of("to_number({})", "str"),
        _of("indexof({}, {})", "str", "str"),
    ),
    "str": (
        _of("concat({}, {})", "str", "words"),
        _of("concat({}, {})", "str", "set"),
        _of('sprintf("%s-%v", [{}, {}])', "str", "num"),
        _of("lower({})", "str"),
        _of("substring({}, 0, {})", "str", "num"),
        _of("replace({}, {}, {})", "str", "str", "str"),
        _of("trim_prefix({}, {})", "str", "str"),
        _of("type_name({})", "num"),
        _of("format_int({}, 10)", "num"),
        _of('trim({}, "a")', "str"),
    ),
    "bool": (
        *(_of(f"({{}} {operator} {{}})", "num", "num") for operator in ("==", "!=", "<", ">=")),
        _of("({} == {})", "set", "set"),
        _of("({} in {})", "num", "nums"),
        _of("({} in {})", "str", "words"),
        _of("({} in {})", "str", "set"),
        _of("({} in {})", "num", "obj"),
        _of("startswith({}, {})", "str", "str"),
        _of("contains({}, {})", "str", "str"),
        _of("is_number({})", "num"),
        _of("is_string({})", "str"),
        _of('regex.match("^a", {})', "str"),
    ),
    "nums": (
        _of("[{}, {}]", "num", "num"),
        _of("array.concat({}, {})", "nums", "nums"),
        _of("array.slice({}, 0, {})", "nums", "num"),
        _of("numbers.range({}, {})", "num", "num"),
        _collected("num", "[", "]"),
        _of("sort({})", "nums"),
    ),
    "words": (
        _of("[{}, {}]", "str", "str"),
        _of("split({}, {})", "str", "str"),
        _collected("str", "[", "]"),
        _of("sort({})", "set"),
        _of("array.reverse({})", "words"),
    ),
    "set": (
        _of("{{{}, {}}}", "str", "str"),
        *(_of(f"({{}} {operator} {{}})", "set", "set") for operator in ("|", "&", "-")),
        _collected("str", "{", "}"),
        _of("object.keys({})", "obj"),
        _of("union({{{}, {}}})", "set", "set"),
        _of("intersection({{{}, {}}})", "set", "set"),
    ),
    "obj": (
        _of('{{"a": {}, {}: {}}}', "num", "str", "num"),
        _of("object.union({}, {})", "obj", "obj"),
        _of("object.remove({}, {})", "obj", "set"),
        _of("object.filter({}, {})", "obj", "words"),
        _collected("str num", "{", "}"),
    ),
}
