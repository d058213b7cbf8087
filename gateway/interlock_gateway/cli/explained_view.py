"""An explanation as people read it: one screen for the usual case, everything with `--all`."""

import textwrap
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from interlock_gateway.cli.explained import Explained
from interlock_gateway.cli.explaining import verdicts
from interlock_gateway.cli.gateway_denials import in_words
from interlock_gateway.cli.jsonable import to_json
from interlock_gateway.cli.screen import Line
from interlock_gateway.core.decision import Verdict
from interlock_gateway.policy.explain.report import FailedCondition, FiredRule, NearRule, SettingRead

_STYLE = {"deny": "bold red", "reflect": "magenta", "checkpoint": "yellow", "preview": "cyan", "allow": "green"}
_INDENT = 13
_DECIDED = {
    Verdict.ALLOW: "allowed",
    Verdict.PREVIEW: "previewed: `resolve` applies or discards it",
    Verdict.CHECKPOINT: "asked of a person: `interlock checkpoints`",
    Verdict.REFLECT: "sent back: the agent has to think in reverse first",
    Verdict.DENY: "denied",
}


@dataclass(frozen=True, slots=True)
class Shown:
    """How much is shown: `rules` of each kind, `values` of each condition; and how wide a line is."""

    width: int = 80
    rules: int = 4
    near: int = 3
    values: int = 3

    @classmethod
    def everything(cls, width: int) -> "Shown":
        """Without a limit."""
        return cls(width, 10_000, 10_000, 10_000)


def lines(explained: Explained, shown: Shown) -> Iterator[Line]:
    """The explanation, a line at a time."""
    yield from _decided(explained, shown)
    yield from _fired(explained, shown)
    yield from _near(explained, shown)
    yield from _changes(explained, shown)
    yield from _policy(explained, shown)


def _decided(explained: Explained, shown: Shown) -> Iterator[Line]:
    explanation = explained.explanation
    decision = explanation.decision
    if explained.recorded is None:
        yield Line(f"{decision.verdict.value:<11}{explained.about}: {_DECIDED[decision.verdict]}",
                   _STYLE[decision.verdict.value])  # fmt: skip
    else:
        recorded = str(explained.recorded.result.get("verdict"))
        yield Line(f"{recorded:<11}{explained.about}", _STYLE.get(recorded, ""))
    for reason in explained.reasons:
        words = in_words(reason.code) if reason.rule == "gateway" else ""
        said = f"{reason.message or reason.code}" + (f" ({words})" if words and words != reason.message else "")
        yield from _wrapped("", said, shown)
    asked = {name: value for name, value in explained.obligations.items() if value}
    for name, value in asked.items():
        yield from _wrapped("asks for", f"{name}: {_short(value)}", shown)
    for note in decision.notes:
        yield from _wrapped("note", note, shown)
    for caution in explained.cautions:
        yield from _wrapped("caution", caution, shown, "yellow")


def _fired(explained: Explained, shown: Shown) -> Iterator[Line]:
    fired = explained.explanation.fired
    if not fired:
        return
    yield Line("")
    yield Line("Rules that fired", "bold")
    for rule in fired[: shown.rules]:
        yield from _rule(rule, explained, shown)
    yield from _more(len(fired) - shown.rules, "that fired")


def _rule(rule: FiredRule, explained: Explained, shown: Shown) -> Iterator[Line]:
    verdict = verdicts(rule)[0]
    exempted = any(one.rule == rule.rule and one.standing == "applied" for one in explained.exemptions)
    overruled = verdict not in {explained.explanation.decision.verdict.value, "none"}
    remark = " (exempted)" if exempted else " (overruled)" if overruled else ""
    yield _headed(verdict, f"{rule.rule}: {rule.title}{remark}", rule.place, shown, _STYLE.get(verdict, ""))
    for setting in _told(rule.settings, shown):
        yield from _wrapped("", f"read {setting_shown(setting, explained.origin(setting))}", shown, "dim")


def _told(settings: tuple[SettingRead, ...], shown: Shown) -> Iterator[SettingRead]:
    """The settings worth a line: those an entry of which matched, then those that fit on one."""
    told = sorted(settings, key=lambda one: (one.matched is None, one.entries is not None))
    wanted = told if shown.values > 1000 else [one for one in told if one.matched or one.entries is None][:2]  # noqa: PLR2004
    yield from wanted


def _near(explained: Explained, shown: Shown) -> Iterator[Line]:
    near = explained.explanation.near
    if not near:
        return
    yield Line("")
    yield Line("Rules that one condition kept from firing", "bold")
    for rule in near[: shown.near]:
        yield _headed(rule.verdict, f"{rule.rule}: {rule.title}", rule.place, shown, _STYLE.get(rule.verdict, ""))
        for failing in rule.failing[: shown.values]:
            yield from _failing(rule, failing, shown)
    yield from _more(len(near) - shown.near, "that nearly fired")


def _failing(rule: NearRule, failing: FailedCondition, shown: Shown) -> Iterator[Line]:
    place = failing.place if failing.place.partition(":")[0] != rule.place.partition(":")[0] else (
        f"line {failing.place.rpartition(':')[2]}"
    )  # fmt: skip
    yield from _wrapped("  fails", f"{failing.text}  [{place}]", shown, "bold")
    values = sorted(failing.values, key=_size)[: shown.values]
    told = "; ".join(_value_shown(value) for value in values)
    if told:
        yield from _wrapped("", told, shown, "dim")


def _changes(explained: Explained, shown: Shown) -> Iterator[Line]:
    changes = list(explained.changes())
    if not changes:
        return
    yield Line("")
    yield Line("What would change this", "bold")
    for change in changes[: shown.rules]:
        yield from _wrapped("", change, shown)
    yield from _more(len(changes) - shown.rules, "ways")


def _policy(explained: Explained, shown: Shown) -> Iterator[Line]:
    yield Line("")
    yield from _wrapped("policies", explained.policies, shown, "dim")


def _headed(label: str, text: str, place: str, shown: Shown, style: str) -> Line:
    room = shown.width - _INDENT - len(place) - 2
    cut = text if len(text) <= room else f"{text[: max(room - 3, 0)]}..."
    return Line(f"  {label:<{_INDENT - 2}}{cut:<{max(room, 0)}}  {place}".rstrip(), style)


def _wrapped(label: str, text: str, shown: Shown, style: str = "") -> Iterator[Line]:
    room = max(shown.width - _INDENT, 20)
    for number, line in enumerate(textwrap.wrap(text, room, break_long_words=True) or [""]):
        yield Line(f"{label if number == 0 else '':<{_INDENT}}{line}".rstrip(), style)


def _more(count: int, what: str) -> Iterable[Line]:
    return [Line(f"{'':<{_INDENT}}{count} more {what}: --all", "dim")] if count > 0 else []


def setting_shown(setting: SettingRead, origin: str) -> str:
    """A setting with its value, and who set it."""
    if setting.matched is not None:
        return f"setting {setting.name}, its entry {setting.matched} ({origin})"
    if setting.entries is not None:
        return f"setting {setting.name}, {setting.entries} entries ({origin})"
    return f"setting {setting.name}: {_short(setting.value)} ({origin})"


def _value_shown(value: Mapping[str, Any]) -> str:
    name = str(value["name"]).removeprefix("interlock.")
    return f"{name} is {_short(value['value'])}" if "value" in value else f"{name} is not there"


def _size(value: Mapping[str, Any]) -> tuple[bool, int]:
    text = _short(value.get("value"), 10_000)
    return str(value["name"]).startswith("interlock.settings"), len(text)


def _short(value: Any, most: int = 60) -> str:
    if isinstance(value, Mapping):
        # What facts say about a thing begins with what people call it.
        for name in ("text", "given", "name"):
            if isinstance(value.get(name), str):
                return _short(value[name], most)
    text = to_json(value, indent=None)
    return text if len(text) <= most else f"{text[: most - 3]}..."
