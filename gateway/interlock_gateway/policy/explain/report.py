"""What an explanation is made of."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class SettingRead:
    """A setting that a rule reads.

    `value` is left out of a long one, which has `entries`; `matched` is the one of them that made the rule fire.
    """

    name: str
    value: Any = None
    entries: int | None = None
    matched: str | None = None


@dataclass(frozen=True, slots=True)
class FiredRule:
    """A rule that fired: its findings as it gave them, where it is, what it read."""

    rule: str
    title: str
    place: str
    findings: tuple[Mapping[str, Any], ...]
    settings: tuple[SettingRead, ...] = ()


@dataclass(frozen=True, slots=True)
class FailedCondition:
    """A condition that kept a rule from firing: its text and place, the conditions that led to it, what it looked at.

    `values` are objects with `name` and, when there is one, `value`; of several values `others` more are not listed,
    and `fails` marks an element for which it does not hold.
    """

    text: str
    place: str
    via: tuple[str, ...]
    values: tuple[Mapping[str, Any], ...]


@dataclass(frozen=True, slots=True)
class NearRule:
    """A rule that one condition kept from firing; were any of `failing` otherwise, it would have fired.

    `verdict` is empty when the rule works it out. `held` is how many other conditions of it held.
    """

    rule: str
    title: str
    place: str
    verdict: str
    code: str
    failing: tuple[FailedCondition, ...]
    held: int
    settings: tuple[SettingRead, ...] = ()


@dataclass(frozen=True, slots=True)
class Report:
    """What rules had to say about one input.

    `heard` are the findings as they count for the decision: weakened by exemptions, and what cannot count left out.
    """

    fired: tuple[FiredRule, ...] = ()
    near: tuple[NearRule, ...] = ()
    heard: tuple[Mapping[str, Any], ...] = ()


def read_report(answer: Mapping[str, Any]) -> Report:
    """The report that `explain_here` gave."""
    return Report(
        fired=tuple(
            FiredRule(**{**one, "findings": tuple(one["findings"]), "settings": _settings(one["settings"])})
            for one in answer["fired"]
        ),
        near=tuple(
            NearRule(
                **{**one, "failing": tuple(map(_condition, one["failing"])), "settings": _settings(one["settings"])}
            )
            for one in answer["near"]
        ),
        heard=tuple(answer["heard"]),
    )


def _settings(given: list[dict[str, Any]]) -> tuple[SettingRead, ...]:
    return tuple(SettingRead(**one) for one in given)


def _condition(given: dict[str, Any]) -> FailedCondition:
    return FailedCondition(given["text"], given["place"], tuple(given["via"]), tuple(given["values"]))
