"""Puts an explanation together in the process that evaluates."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import Any

from interlock_gateway.policy.bundle import PolicyBundle
from interlock_gateway.policy.checks.syntax import literal
from interlock_gateway.policy.explain.bodies import one_line
from interlock_gateway.policy.explain.looking import SETTINGS, Looking
from interlock_gateway.policy.explain.matching import SHORT, matched_entry
from interlock_gateway.policy.explain.nearness import Near, Nearness
from interlock_gateway.policy.explain.prober import MISSING, Missing, Prober
from interlock_gateway.policy.explain.report import FailedCondition, FiredRule, NearRule, Report, SettingRead
from interlock_gateway.policy.explain.rulebook import Definition, Name, Rulebook, finding_field

_HEARD = ("interlock", "findings")
_FINDINGS = (("interlock", "rules", "findings"), ("interlock", "custom", "findings"))


def explain_here(bundle: PolicyBundle, input_json: str) -> dict[str, Any]:
    """The report as JSON. Evaluates in this process: give it only what this process may hang or die of."""
    book = Rulebook(bundle)
    definitions = [one for every in book.definitions.values() for one in every if one.rule.kind != "function"]
    prober = Prober(book, definitions, input_json)
    looking = Looking(book, prober, json.loads(input_json))
    nearness = Nearness(book, prober)
    writer = _Writer(book, prober, looking)
    near = tuple(writer.near(one) for one in nearness.near())
    # Last, because it changes what the prober's data are and back.
    fired = tuple(writer.fired(list(nearness.fired())))
    heard = prober.value(_HEARD)
    return asdict(Report(fired, near, tuple(heard) if isinstance(heard, list) else ()))


class _Writer:
    def __init__(self, book: Rulebook, prober: Prober, looking: Looking) -> None:
        self._book = book
        self._prober = prober
        self._looking = looking

    def fired(self, definitions: list[Definition]) -> Iterator[FiredRule]:
        found = self._findings()
        by_rule: dict[str, list[Definition]] = {}
        for one in definitions:
            by_rule.setdefault(self._book.rule_id(one), []).append(one)
        for rule, places in by_rule.items():
            own = tuple(one for one in found if one.get("rule") == rule)
            settings = tuple(self._setting(path, rule) for path in self._read(places))
            yield FiredRule(rule, self._book.title(places[0]), places[0].place, own, settings)
        for rule in sorted({str(one.get("rule")) for one in found} - by_rule.keys()):
            # What its place is cannot be told, but it is part of the decision.
            yield FiredRule(rule, "", "", tuple(one for one in found if str(one.get("rule")) == rule))

    def near(self, near: Near) -> NearRule:
        definition = near.definition
        return NearRule(
            rule=self._book.rule_id(definition),
            title=self._book.title(definition),
            place=definition.place,
            verdict=self._verdict(definition),
            code=_text(literal(finding_field(definition, "code"))),
            failing=tuple(
                FailedCondition(
                    text=one_line(one.condition.text),
                    place=f"{one.definition.file.path}:{one.condition.line}",
                    via=tuple(map(one_line, one.via)),
                    values=tuple(value.as_json() for value in self._looking.values(one)),
                )
                for one in near.failing
            ),
            held=near.held,
            settings=tuple(self._setting(path) for path in self._read([definition])),
        )

    def _read(self, definitions: list[Definition]) -> tuple[Name, ...]:
        gates = [gate for one in definitions for gate in self._book.gates(one)]
        return tuple(sorted(self._looking.settings(definitions) | self._looking.gate_settings(gates)))

    def _setting(self, path: Name, rule: str = "") -> SettingRead:
        value: Any = self._book.data
        for part in (*SETTINGS, *path):
            value = value.get(part, MISSING) if isinstance(value, Mapping) else MISSING
        name = ".".join(path)
        if isinstance(value, Missing):
            return SettingRead(name)
        if not isinstance(value, Mapping | list) or len(value) <= SHORT:
            return SettingRead(name, value)
        matched = matched_entry(self._prober, self._book.data, path, lambda: self._gives(rule)) if rule else None
        return SettingRead(name, entries=len(value), matched=matched)

    def _gives(self, rule: str) -> bool:
        return any(one.get("rule") == rule for one in self._findings())

    def _findings(self) -> list[Mapping[str, Any]]:
        found = [self._prober.value(name) for name in _FINDINGS]
        return [one for some in found if isinstance(some, list) for one in some if isinstance(one, Mapping)]

    def _verdict(self, definition: Definition) -> str:
        field = finding_field(definition, "verdict")
        said = literal(field)
        if isinstance(said, str):
            return said
        return _text(self._looking.expression(definition, field))


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""
