"""An explanation as people read it: one screen for the usual case, everything with `--all`."""

import textwrap
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from interlock_gateway.cli.explained import Explained
from interlock_gateway.cli.explaining import verdicts
from interlock_gateway.cli.gateway_denials import in_words
from interlock_gateway.cli.jsonable import to_json
from interlock_gateway.cli.screen import Line
from interlock_gateway.core.decision import Reason, Verdict
from interlock_gateway.policy.explain.report import FailedCondition, FiredRule, SettingRead, setting_path
from interlock_gateway.policy.replay.tally import short_input

_STYLE = {"deny": "bold red", "reflect": "magenta", "checkpoint": "yellow", "preview": "cyan", "allow": "green"}
_INDENT = 13
_NO_LIMIT = 10_000
_BRIEF = 2
_VALUES = 2
_DECIDED = {
    Verdict.ALLOW: "allowed",
    Verdict.PREVIEW: "previewed; resolve applies or discards it",
    Verdict.CHECKPOINT: "asked of a person (interlock checkpoints)",
    Verdict.REFLECT: "sent back, to think in reverse first",
    Verdict.DENY: "denied",
}


@dataclass(frozen=True, slots=True)
class Shown:
    """How much is shown, and how wide a line is: rules that nearly fired, ways to change it, what is not known.

    `settings` is how many each rule names. A brief one has no titles of rules, two lines of each reason, and says of
    the operator's own settings no more than that they made a rule fire.
    """

    width: int = 80
    near: int = 2
    changes: int = 3
    unknown: int = 3
    settings: int = 9
    is_brief: bool = False
    is_everything: bool = False


# From much to little: the first that fits the screen is shown.
_FITS = (
    Shown(near=8, changes=9, unknown=9),
    Shown(near=5, changes=9, unknown=6),
    Shown(near=2, changes=6, unknown=4),
    Shown(near=1, changes=6, unknown=3),
    Shown(near=1, changes=4, unknown=2),
    Shown(near=0, changes=4, unknown=2),
    Shown(near=0, changes=4, unknown=2, is_brief=True),
    Shown(near=0, changes=3, unknown=2, settings=2, is_brief=True),
    Shown(near=0, changes=3, unknown=1, settings=1, is_brief=True),
    Shown(near=0, changes=2, unknown=1, settings=1, is_brief=True),
    Shown(near=0, changes=1, unknown=1, settings=1, is_brief=True),
    Shown(near=0, changes=1, unknown=1, settings=0, is_brief=True),
)


def everything(explained: Explained, width: int) -> tuple[Line, ...]:
    """The whole explanation."""
    return tuple(_lines(explained, Shown(width, _NO_LIMIT, _NO_LIMIT, _NO_LIMIT, _NO_LIMIT, is_everything=True)))


def one_screen(explained: Explained, width: int, height: int) -> tuple[Line, ...]:
    """As much of the explanation as a screen has room for, what decided first."""
    said: tuple[Line, ...] = ()
    for fit in _FITS:
        said = tuple(_lines(explained, replace(fit, width=width)))
        # The last line is the shell's.
        if len(said) < height:
            return said
    return (*said[: height - 2], Line("... and more, with --all", "dim"))


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
        yield from _reason(reason, shown)
    if given := _given(explained):
        yield from _wrapped("input", given, shown)
    unknown = explained.unknown
    for number, one in enumerate(unknown[: shown.unknown]):
        more = len(unknown) - shown.unknown if number == shown.unknown - 1 else 0
        yield from _wrapped("not known" if number == 0 else "", f"{one} ({more} more)" if more > 0 else one, shown)
    for number, one in enumerate(explained.touched):
        yield from _wrapped("files" if number == 0 else "", one, shown)
    # What a call that does not run is to be sent with says nothing of why.
    if decision.verdict is Verdict.ALLOW or shown.is_everything:
        for name, value in explained.obligations.items():
            yield from _wrapped("asks for", f"{name}: {_short(value)}", shown)
    for note in decision.notes:
        yield from _wrapped("note", note, shown)
    for caution in explained.cautions:
        yield from _wrapped("caution", caution, shown, "yellow")


def _reason(reason: Reason, shown: Shown) -> Iterator[Line]:
    words = in_words(reason.code) if reason.rule == "gateway" else ""
    said = f"{reason.message or reason.code}" + (f" ({words})" if words and words != reason.message else "")
    lines = list(_wrapped("", said, shown))
    if shown.is_brief and len(lines) > _BRIEF:
        lines = [*lines[: _BRIEF - 1], Line(f"{lines[_BRIEF - 1].text[: shown.width - 4]} ...")]
    yield from lines


def _given(explained: Explained) -> str:
    """The beginning of what the call was given; empty when nothing was, or nothing is known."""
    call = explained.explanation.document.get("call")
    given = call.get("input") if isinstance(call, Mapping) else None
    return short_input(given) if given else ""


def _fired(explained: Explained, shown: Shown) -> Iterator[Line]:
    fired = explained.explanation.fired
    if not fired:
        return
    deciding = [one for one in fired if shown.is_everything or one in explained.explanation.deciding]
    yield from _titled("Rules that fired")
    for rule in deciding:
        yield from _rule(rule, explained, shown)
    others = [f"{one.rule} ({_part_played(one, explained)})" for one in fired if one not in deciding]
    if others:
        yield from _wrapped("  besides", ", ".join(others), shown)


def _part_played(rule: FiredRule, explained: Explained) -> str:
    """What became of a rule that fired and did not decide."""
    verdict = verdicts(rule)[0]
    if verdict != "none":
        return f"{verdict}, {_remark(rule, explained).strip(' ()')}"
    adds = sorted({name for one in rule.findings for name in one.get("obligations") or ()})
    return f"only adds {' and '.join(adds)}" if adds else "only adds a note"


def _rule(rule: FiredRule, explained: Explained, shown: Shown) -> Iterator[Line]:
    verdict = verdicts(rule)[0]
    said = f"{rule.rule}: {rule.title}{_remark(rule, explained)}" if not shown.is_brief else rule.rule
    more = [setting_shown(one, explained.set_at(one)) for one in rule.telling[: shown.settings]]
    if shown.is_everything and (rest := [one.name for one in rule.settings if not one.decides]):
        more.append(f"it read besides, and these are not why it fired: {', '.join(rest)}")
    yield from _placed(f"  {verdict}", said, rule.place, more, shown, _STYLE.get(verdict, ""))


def _remark(rule: FiredRule, explained: Explained) -> str:
    if any(one.rule == rule.rule and one.standing == "applied" for one in explained.exemptions):
        return " (exempted)"
    is_heard = verdicts(rule)[0] == "none" or rule in explained.explanation.deciding
    return "" if is_heard else " (overruled)"


def _near(explained: Explained, shown: Shown) -> Iterator[Line]:
    explanation = explained.explanation
    # Of a call that rules refuse, those that nearly allowed it tell nothing: what refuses it would stand.
    is_refused = explanation.decision.verdict is Verdict.DENY and bool(explanation.deciding)
    near = [
        one for one in explanation.near if shown.is_everything or (explanation.would_matter(one) and not is_refused)
    ]
    if not near[: shown.near]:
        return
    yield from _titled("Rules that one condition kept from firing")
    for rule in near[: shown.near]:
        off = " (switched off)" if rule.off else ""
        yield from _wrapped(f"  {rule.verdict}", f"{rule.rule}: {rule.title}{off}", shown, _STYLE.get(rule.verdict, ""))
        for failing in rule.failing if shown.is_everything else rule.failing[:_VALUES]:
            yield from _failing(failing, shown)


def _failing(failing: FailedCondition, shown: Shown) -> Iterator[Line]:
    values = sorted(failing.values, key=_rank)
    if not shown.is_everything:
        told = [one for one in values if not _is_long(one)]
        failed = [one for one in told if one.get("fails")]
        values = failed or told[:_VALUES]
    yield from _placed("    fails", failing.text, failing.place, list(map(_value_shown, values)), shown, "bold")


def _changes(explained: Explained, shown: Shown) -> Iterator[Line]:
    changes = list(explained.changes(own_settings=not shown.is_brief))
    if not changes:
        return
    yield from _titled("What would change this")
    for change in changes[: shown.changes]:
        yield from _wrapped("  -", change, shown)


def _policy(explained: Explained, shown: Shown) -> Iterator[Line]:
    yield Line("")
    yield from _wrapped("policies", explained.policies, shown, "dim")
    if explained.directory and not shown.is_brief:
        yield from _wrapped("rules", f"rules/ and terms/ lie in {explained.directory}", shown, "dim")
    if not shown.is_everything:
        yield from _wrapped("more", "with --all: each rule that fired or nearly did, setting and value", shown, "dim")


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


def _titled(title: str) -> Iterable[Line]:
    return [Line(""), Line(title, "bold")]


def setting_shown(setting: SettingRead, origin: str) -> str:
    """A setting with its value or the entry that matched, and who set it."""
    if not setting.decides:
        value = f", {setting.entries} entries" if setting.entries is not None else f": {_short(setting.value)}"
        return f"{setting.name}{value} ({origin})"
    if setting.item is not None:
        return f"{setting_path(setting)} has {_short(setting.item)} ({origin})"
    if setting.path and setting.at == {}:
        return f"{setting_path(replace(setting, path=setting.path[:-1]))} has {_short(setting.path[-1])} ({origin})"
    needed = f"; {setting.needed} would do" if setting.needed is not None else ""
    return f"{setting_path(setting)} is {_short(setting.at)}{needed} ({origin})"


def _value_shown(value: Mapping[str, Any]) -> str:
    name = str(value["name"]).removeprefix("interlock.")
    if "value" not in value:
        return f"{name} is not there"
    more = f" and {value['others']} more" if value.get("others") else ""
    if value.get("fails"):
        return f"not so of {_short(value['value'])}{more}"
    return f"{name} is {_short(value['value'])}{more.replace('and', 'or one of')}"


def _rank(value: Mapping[str, Any]) -> tuple[bool, bool]:
    """What can be read at a glance comes first, and the call before the settings."""
    return _is_long(value), str(value["name"]).startswith("interlock.settings")


def _is_long(value: Mapping[str, Any]) -> bool:
    held = value.get("value")
    return isinstance(held, Mapping | list) and not value.get("fails") and held != []


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
