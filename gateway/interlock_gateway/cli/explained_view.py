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
from interlock_gateway.policy.explain.report import FailedCondition, FiredRule, SettingRead
from interlock_gateway.policy.replay.tally import short_input

_STYLE = {"deny": "bold red", "reflect": "magenta", "checkpoint": "yellow", "preview": "cyan", "allow": "green"}
_INDENT = 13
_NO_LIMIT = 10_000
_DECIDED = {
    Verdict.ALLOW: "allowed",
    Verdict.PREVIEW: "previewed; resolve applies or discards it",
    Verdict.CHECKPOINT: "asked of a person (interlock checkpoints)",
    Verdict.REFLECT: "sent back, to think in reverse first",
    Verdict.DENY: "denied",
}


@dataclass(frozen=True, slots=True)
class Shown:
    """How much is shown, and how wide a line is: rules, ways to change it, and values of one condition."""

    width: int = 80
    fired: int = 3
    near: int = 2
    changes: int = 3
    values: int = 2
    is_everything: bool = False


# From much to little: the first that fits the screen is shown.
_FITS = (
    (12, 8, 8),
    (8, 5, 6),
    (5, 3, 4),
    (4, 2, 3),
    (3, 2, 3),
    (3, 1, 3),
    (2, 1, 3),
    (2, 1, 2),
    (2, 1, 1),
    (1, 1, 1),
    (1, 0, 1),
)


def everything(explained: Explained, width: int) -> tuple[Line, ...]:
    """The whole explanation."""
    shown = Shown(width, _NO_LIMIT, _NO_LIMIT, _NO_LIMIT, _NO_LIMIT, is_everything=True)
    return tuple(_lines(explained, shown))


def one_screen(explained: Explained, width: int, height: int) -> tuple[Line, ...]:
    """As much of the explanation as a screen has room for, what decided first."""
    said: tuple[Line, ...] = ()
    for fired, near, changes in _FITS:
        said = tuple(_lines(explained, Shown(width, fired, near, changes)))
        # The last line is the shell's.
        if len(said) < height:
            break
    return said


def _lines(explained: Explained, shown: Shown) -> Iterator[Line]:
    yield from _decided(explained, shown)
    yield from _fired(explained, shown)
    yield from _near(explained, shown)
    yield from _changes(explained, shown)
    yield from _policy(explained, shown)


def _decided(explained: Explained, shown: Shown) -> Iterator[Line]:
    explanation = explained.explanation
    decision = explanation.decision
    verdict = decision.verdict.value
    about = f"{explained.about}, {_DECIDED[decision.verdict]}"
    if explained.recorded is not None:
        verdict, about = str(explained.recorded.result.get("verdict")), explained.about
    yield from _wrapped(verdict, about, shown, _STYLE.get(verdict, ""))
    for reason in explained.reasons:
        words = in_words(reason.code) if reason.rule == "gateway" else ""
        said = f"{reason.message or reason.code}" + (f" ({words})" if words and words != reason.message else "")
        yield from _wrapped("", said, shown)
    if given := _given(explained):
        yield from _wrapped("input", given, shown)
    asked = {name: value for name, value in explained.obligations.items() if value}
    for name, value in asked.items():
        yield from _wrapped("asks for", f"{name}: {_short(value)}", shown)
    for note in decision.notes:
        yield from _wrapped("note", note, shown)
    for caution in explained.cautions:
        yield from _wrapped("caution", caution, shown, "yellow")


def _given(explained: Explained) -> str:
    """The beginning of what the call was given; empty when nothing was, or nothing is known."""
    call = explained.explanation.document.get("call")
    given = call.get("input") if isinstance(call, Mapping) else None
    return short_input(given) if given else ""


def _fired(explained: Explained, shown: Shown) -> Iterator[Line]:
    fired = explained.explanation.fired
    if not fired:
        return
    yield from _titled("Rules that fired", len(fired) - shown.fired)
    for rule in fired[: shown.fired]:
        yield from _rule(rule, explained, shown)


def _rule(rule: FiredRule, explained: Explained, shown: Shown) -> Iterator[Line]:
    verdict = verdicts(rule)[0]
    exempted = any(one.rule == rule.rule and one.standing == "applied" for one in explained.exemptions)
    decided = verdict == "none" or rule in explained.explanation.deciding
    remark = " (exempted)" if exempted else "" if decided else " (overruled)"
    said = f"{rule.rule}: {rule.title}{remark}"
    read = [setting_shown(one, explained.origin(one)) for one in _told(rule.settings, shown)]
    yield from _placed(f"  {verdict}", said, rule.place, read, shown, _STYLE.get(verdict, ""))


def _told(settings: tuple[SettingRead, ...], shown: Shown) -> list[SettingRead]:
    """The settings worth a line: those an entry of which matched, else short ones."""
    if shown.is_everything:
        return list(settings)
    matched = [one for one in settings if one.matched is not None]
    return matched or [one for one in settings if isinstance(one.value, str | int | float)][:2]


def _near(explained: Explained, shown: Shown) -> Iterator[Line]:
    near = explained.explanation.near
    if not near:
        return
    yield from _titled("Rules that one condition kept from firing", len(near) - shown.near)
    for rule in near[: shown.near]:
        style = _STYLE.get(rule.verdict, "")
        yield from _wrapped(f"  {rule.verdict}", f"{rule.rule}: {rule.title}", shown, style)
        for failing in rule.failing[: shown.values]:
            yield from _failing(failing, shown)


def _failing(failing: FailedCondition, shown: Shown) -> Iterator[Line]:
    values = [_value_shown(one) for one in sorted(failing.values, key=_rank)[: shown.values]]
    yield from _placed("    fails", failing.text, failing.place, values, shown, "bold")


def _changes(explained: Explained, shown: Shown) -> Iterator[Line]:
    changes = list(explained.changes())
    if not changes:
        return
    yield from _titled("What would change this", len(changes) - shown.changes)
    for change in changes[: shown.changes]:
        yield from _wrapped("", change, shown)


def _policy(explained: Explained, shown: Shown) -> Iterator[Line]:
    yield Line("")
    yield from _wrapped("policies", explained.policies, shown, "dim")


def _placed(label: str, text: str, place: str, more: list[str], shown: Shown, style: str) -> Iterator[Line]:  # noqa: PLR0917 - all of one line
    """A text with its place, on the same line when there is room, and what else there is to say below."""
    fits = len(text) + len(place) + 2 <= shown.width - _INDENT
    yield from _wrapped(label, f"{text}  {place}".rstrip() if fits else text, shown, style)
    below = more if fits or not place else [place, *more]
    if below:
        yield from _wrapped("", "; ".join(below), shown, "dim")


def _wrapped(label: str, text: str, shown: Shown, style: str = "") -> Iterator[Line]:
    room = max(shown.width - _INDENT, 20)
    for number, line in enumerate(textwrap.wrap(text, room, break_on_hyphens=False, replace_whitespace=True) or [""]):
        yield Line(f"{label if number == 0 else '':<{_INDENT}}{line}".rstrip(), style)


def _titled(title: str, left_out: int) -> Iterable[Line]:
    return [Line(""), Line(f"{title} ({left_out} more with --all)" if left_out > 0 else title, "bold")]


def setting_shown(setting: SettingRead, origin: str) -> str:
    """A setting with its value or the entry that matched, and who set it."""
    if setting.matched is not None:
        return f"{setting.name}, its entry {setting.matched} ({origin})"
    if setting.entries is not None:
        return f"{setting.name}, {setting.entries} entries ({origin})"
    return f"{setting.name}: {_short(setting.value)} ({origin})"


def _value_shown(value: Mapping[str, Any]) -> str:
    name = str(value["name"]).removeprefix("interlock.")
    if "value" not in value:
        return f"{name} is not there"
    more = f" and of {value['others']} others" if value.get("others") else ""
    if value.get("fails"):
        return f"not so of {_short(value['value'])}{more}"
    return f"{name} is {_short(value['value'])}{more.replace('and of', 'or one of')}"


def _rank(value: Mapping[str, Any]) -> tuple[bool, bool]:
    """What can be read at a glance comes first, and the call before the settings."""
    is_long = isinstance(value.get("value"), Mapping | list) and not value.get("fails") and value.get("value") != []
    return is_long, str(value["name"]).startswith("interlock.settings")


def _short(value: Any, most: int = 60) -> str:
    if isinstance(value, Mapping):
        # What facts say about a thing begins with what people call it.
        for name in ("text", "given", "name"):
            if isinstance(value.get(name), str):
                return _short(value[name], most)
        # What is empty says nothing, and hides what does.
        value = {name: one for name, one in value.items() if one not in ("", None, [], {}, False)} or value
    text = to_json(value, indent=None)
    return text if len(text) <= most else f"{text[: most - 3]}..."
