"""What an explanation is made of."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

_PLAIN = re.compile(r"[\w-]+")


@dataclass(frozen=True, slots=True)
class SettingRead:
    """A setting that a rule reads.

    `value` is left out of a long one, which has `entries`; `matched` is the one of them that made the rule fire.
    `decides` says that the rule would have said something else with another value: `path` are the keys from `name` down
    to what made it say this, `at` is the value there, or `item` an entry of that list, and `needed` the nearest number
    with which it would have had less to say.
    """

    name: str
    value: Any = None
    entries: int | None = None
    matched: str | None = None
    decides: bool = False
    path: tuple[str, ...] = ()
    at: Any = None
    item: str | None = None
    needed: int | None = None


def setting_path(setting: SettingRead) -> str:
    """What made a rule say what it says, by its full name: `bash.destructive["git push"]`."""
    return setting.name + "".join(
        f".{key}" if _PLAIN.fullmatch(key) else f"[{json.dumps(key)}]" for key in setting.path
    )


@dataclass(frozen=True, slots=True)
class FiredRule:
    """A rule that fired: its findings as it gave them, where it is, what it read."""

    rule: str
    title: str
    place: str
    findings: tuple[Mapping[str, Any], ...]
    settings: tuple[SettingRead, ...] = ()

    @property
    def telling(self) -> tuple[SettingRead, ...]:
        """The settings that made it fire, each once: of one inside another the inner one."""
        decides = {setting_path(one): one for one in self.settings if one.decides}
        return tuple(
            one
            for name, one in decides.items()
            if not any(other.startswith((f"{name}.", f"{name}[")) for other in decides)
        )


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

    `verdict` is empty when the rule works it out. `held` is how many other conditions of it held. `off` says that the
    setting which has its verdict is what keeps it from firing: the rule is switched off.
    """

    rule: str
    title: str
    place: str
    verdict: str
    code: str
    failing: tuple[FailedCondition, ...]
    held: int
    settings: tuple[SettingRead, ...] = ()
    off: bool = False


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
    return tuple(SettingRead(**{**one, "path": tuple(one["path"])}) for one in given)


def _condition(given: dict[str, Any]) -> FailedCondition:
    return FailedCondition(given["text"], given["place"], tuple(given["via"]), tuple(given["values"]))
