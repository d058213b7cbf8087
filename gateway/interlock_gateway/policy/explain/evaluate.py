"""Puts an explanation together in the process that evaluates."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, replace
from functools import partial
from typing import Any

from interlock_gateway.policy.bundle import PolicyBundle
from interlock_gateway.policy.checks.syntax import literal, reference
from interlock_gateway.policy.explain.bodies import one_line
from interlock_gateway.policy.explain.looking import SETTINGS, Looking
from interlock_gateway.policy.explain.matching import SHORT, Matching
from interlock_gateway.policy.explain.nearness import Failing, Near, Nearness
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
    return asdict(Report(fired, near, tuple(_findings_in(prober.value(_HEARD)))))


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
            own = tuple(self._of(rule))
            matching = Matching(self._prober, self._book.data, partial(self._of, rule))
            settings = tuple(one for path in self._read(places) for one in self._settings(path, matching))
            yield FiredRule(rule, self._book.title(places[0]), places[0].place, own, settings)
        for rule in sorted({str(one.get("rule")) for one in found} - by_rule.keys()):
            # What its place is cannot be told, but it is part of the decision.
            yield FiredRule(rule, "", "", tuple(one for one in found if str(one.get("rule")) == rule))

    def near(self, near: Near) -> NearRule:
        definition = near.definition
        failing = tuple(self._failing(one) for one in near.failing)
        decides = self._verdict_setting(definition)
        return NearRule(
            rule=self._book.rule_id(definition),
            title=self._book.title(definition),
            place=definition.place,
            verdict=self._verdict(definition),
            code=_text(literal(finding_field(definition, "code"))),
            failing=failing,
            held=near.held,
            settings=tuple(self._setting(path) for path in self._read([definition])),
            off=bool(decides) and all(decides in {value["name"] for value in one.values} for one in failing),
        )

    def _failing(self, failing: Failing) -> FailedCondition:
        return FailedCondition(
            text=one_line(failing.condition.text),
            place=f"{failing.definition.file.path}:{failing.condition.line}",
            via=tuple(map(one_line, failing.via)),
            values=tuple(value.as_json() for value in self._looking.values(failing)),
        )

    def _read(self, definitions: list[Definition]) -> tuple[Name, ...]:
        gates = [gate for one in definitions for gate in self._book.gates(one)]
        return tuple(sorted(self._looking.settings(definitions) | self._looking.gate_settings(gates)))

    def _settings(self, path: Name, matching: Matching) -> Iterator[SettingRead]:
        """A setting that a rule which fired reads, once for each part of it that made the rule fire."""
        read = self._setting(path)
        matters = matching.of(path)
        if not matters:
            yield read
        for matter in matters:
            below = matter.path[len(path) :]
            yield replace(
                read,
                matched=(below[0] if below else matter.item) if read.entries is not None else None,
                decides=True,
                path=below,
                at=None if matter.item is not None else matter.value,
                item=matter.item,
                needed=matter.needed,
            )

    def _setting(self, path: Name) -> SettingRead:
        value: Any = self._book.data
        for part in (*SETTINGS, *path):
            value = value.get(part, MISSING) if isinstance(value, Mapping) else MISSING
        name = ".".join(path)
        if isinstance(value, Missing):
            return SettingRead(name)
        is_long = isinstance(value, Mapping | list) and len(value) > SHORT
        return SettingRead(name, entries=len(value)) if is_long else SettingRead(name, value)

    def _of(self, rule: str) -> list[Mapping[str, Any]]:
        return [one for one in self._findings() if one.get("rule") == rule]

    def _findings(self) -> list[Mapping[str, Any]]:
        return [one for name in _FINDINGS for one in _findings_in(self._prober.value(name))]

    def _verdict_setting(self, definition: Definition) -> str:
        """The setting that a rule's verdict is, by its full name; empty when it is none."""
        found = reference(finding_field(definition, "verdict"))
        resolved = self._book.resolve(definition.file, found) if found is not None else None
        if resolved is None or resolved.base != "data" or resolved.literal[:2] != SETTINGS:
            return ""
        return ".".join(resolved.literal)

    def _verdict(self, definition: Definition) -> str:
        field = finding_field(definition, "verdict")
        said = literal(field)
        if isinstance(said, str):
            return said
        return _text(self._looking.expression(definition, field))


def _findings_in(value: Any) -> list[Mapping[str, Any]]:
    """Those that are findings at all: a rule may give anything, and what is none denies the call."""
    return [one for one in value if isinstance(one, Mapping)] if isinstance(value, list) else []


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""
