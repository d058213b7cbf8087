"""The alerts that come with the chart, as their file has them, and the cases that play them."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[2]
RULES = ROOT / "helm" / "interlock" / "files" / "alerts.yaml"
CASES = ROOT / "tests" / "prometheus"
RUNBOOKS = ROOT / "docs" / "runbooks.md"
SEVERITIES = ("page", "ticket")
_NAME = re.compile(r"\binterlock[_:][a-z0-9_:]+")


@dataclass(frozen=True, slots=True)
class Alert:
    """One alert. `waits` is how long its condition has to hold."""

    name: str
    group: str
    expression: str
    waits: str
    severity: str
    annotations: dict[str, str]


@dataclass(frozen=True, slots=True)
class Case:
    """One case of `promtool test rules`: an alert, whether it is expected to fire, and with which series."""

    name: str
    alert: str
    fires: bool
    series: tuple[str, ...]


def groups() -> list[dict[str, Any]]:
    """The groups of rules, as they are written."""
    read: list[dict[str, Any]] = yaml.safe_load(RULES.read_text(encoding="utf-8"))["groups"]
    return read


def alerts() -> tuple[Alert, ...]:
    """Every alert, in the order of the file."""
    return tuple(
        Alert(
            name=rule["alert"],
            group=group["name"],
            expression=rule["expr"],
            waits=rule.get("for", ""),
            severity=rule["labels"]["severity"],
            annotations=rule["annotations"],
        )
        for group in groups()
        for rule in group["rules"]
        if "alert" in rule
    )


def expressions() -> Iterator[str]:
    """The expressions of all rules, those that record something too."""
    yield from (rule["expr"] for group in groups() for rule in group["rules"])


def recorded() -> set[str]:
    """The names of what rules record."""
    return {rule["record"] for group in groups() for rule in group["rules"] if "record" in rule}


def names_in(expression: str) -> set[str]:
    """The names of our series that an expression asks for."""
    return set(_NAME.findall(expression))


def cases() -> tuple[Case, ...]:
    """Every case, of every file."""
    return tuple(
        Case(test["name"], played["alertname"], bool(played["exp_alerts"]), _series(test))
        for path in sorted(CASES.glob("*.yaml"))
        for test in yaml.safe_load(path.read_text(encoding="utf-8"))["tests"]
        for played in test["alert_rule_test"]
    )


def _series(test: dict[str, Any]) -> tuple[str, ...]:
    return tuple(re.split(r"[{ ]", one["series"], maxsplit=1)[0] for one in test["input_series"])
