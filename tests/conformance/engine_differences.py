"""Holds the embedded engine and the real OPA against each other on policies that are made up (ENG-2)."""

import json
import random
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from builtin_arguments import arguments_for, call_of
from opa_server import OpaServer
from policy_runs import PolicyRequest, run_policies
from rego_grammar import DATA, Grammar, make_input

INPUTS = 4
# OPA looks for nothing between bytes, the embedded engine between characters: one of the known exceptions.
_HALF_A_CHARACTER = "\\ufffd"
_CHUNK = 50


@dataclass(frozen=True, slots=True)
class Difference:
    """A rule, an input, and what the engines say of them."""

    source: str
    rule: str
    document: str
    embedded: str
    opa: str

    def __str__(self) -> str:
        return f"{self.source}\n{self.rule} of {self.document}\nembedded: {self.embedded}\nOPA:      {self.opa}\n"


@dataclass
class Tally:
    """How many policies were made, and what became of them.

    `disagreeing` are those where both engines give an answer, and not the same, or the embedded one did worse than an
    error. `only_ours` and `only_theirs` are errors of one engine where the other gives an answer: such a call is
    denied by the one with the error.
    """

    policies: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    refused_by_opa: Counter[str] = field(default_factory=Counter)
    evaluated: int = 0
    defined: int = 0
    errors: int = 0
    disagreeing: list[Difference] = field(default_factory=list)
    only_ours: list[Difference] = field(default_factory=list)
    only_theirs: list[Difference] = field(default_factory=list)

    def count(self, found: Difference) -> None:
        """Put one evaluation to the others."""
        self.evaluated += 1
        ours, theirs = found.embedded.startswith("error: "), found.opa.startswith("error: ")
        self.errors += ours and theirs
        self.defined += not theirs and found.opa != "undefined"
        if ours != theirs:
            (self.only_ours if ours else self.only_theirs).append(found)
        elif not ours and found.embedded != found.opa and _HALF_A_CHARACTER not in found.opa:
            self.disagreeing.append(found)


def compare(server: OpaServer, seed: int, count: int) -> Tally:
    """Make `count` policies and evaluate each rule of them for a few inputs with both engines."""
    chance = random.Random(seed)
    server.put_data(DATA)
    tally = Tally()
    while tally.policies < count:
        made = [_made(chance) for _ in range(min(_CHUNK, count - tally.policies))]
        requests = [
            PolicyRequest({"p.rego": source}, f"data.fuzz.{rule}", inputs, DATA)
            for source, rules, inputs in made
            for rule in rules or ("none",)
        ]
        outcomes = run_policies(requests)
        for source, rules, inputs in made:
            tally.policies += 1
            ours = [(rule, next(outcomes)) for rule in rules or ("none",)]
            problems = {code for _, outcome in ours for _, _, code, _ in outcome.problems}
            tally.refused.update(problems)
            if problems or not rules:
                continue
            if words := server.put_policy("fuzz", source):
                tally.refused_by_opa[words.partition(":")[2][:60] or words[:60]] += 1
            else:
                for rule, outcome in ours:
                    for document, mine in zip(inputs, outcome.outcomes, strict=True):
                        other = server.evaluate(f"fuzz/{rule}", json.loads(document))
                        tally.count(Difference(source, rule, document, shown(mine), shown(other)))
            server.delete_policy("fuzz")
    return tally


def compare_functions(server: OpaServer, declarations: Mapping[str, Any], seed: int, count: int) -> Tally:
    """Call each function of `declarations` with `count` lists of arguments, in both engines."""
    chance = random.Random(seed)
    tally = Tally()
    for name, declaration in declarations.items():
        made = dict.fromkeys(call_of(name, arguments_for(name, declaration, chance)) for _ in range(count))
        sources = [f"package fuzz\n\nanswer := {call}\n" for call in made]
        outcomes = run_policies(PolicyRequest({"f.rego": source}, "data.fuzz.answer") for source in sources)
        for source, outcome in zip(sources, outcomes, strict=True):
            tally.policies += 1
            if server.put_policy("fuzz", source):
                continue
            if outcome.outcomes:
                theirs = server.evaluate("fuzz/answer", {})
                tally.count(Difference(source, name, "{}", shown(outcome.outcomes[0]), shown(theirs)))
        server.delete_policy("fuzz")
    return tally


def _made(chance: random.Random) -> tuple[str, tuple[str, ...], tuple[str, ...]]:
    source, rules = Grammar(chance).policy("fuzz")
    return source, rules, tuple(json.dumps(make_input(chance)) for _ in range(INPUTS))


def shown(outcome: dict[str, Any]) -> str:
    """An outcome as text that is the same for the same outcome; every error begins with the same word."""
    if "failed" in outcome:
        return f"{outcome['failed']}: {outcome['words'].rpartition('error: ')[2]}"
    return json.dumps(rounded(outcome["values"]), sort_keys=True) if outcome["values"] else "undefined"


def rounded(value: Any) -> Any:
    """A value with its numbers to ten digits: OPA reckons exactly, the embedded engine in binary fractions."""
    if isinstance(value, dict):
        return {name: rounded(part) for name, part in value.items()}
    if isinstance(value, list):
        return [rounded(part) for part in value]
    return float(f"{value:.9e}") if isinstance(value, (int, float)) and not isinstance(value, bool) else value
