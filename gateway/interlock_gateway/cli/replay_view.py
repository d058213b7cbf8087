"""What a replay found, as a table that a reviewer can decide from: what would be loosened first."""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from interlock_gateway.cli.screen import Block, Fields, Table, Text
from interlock_gateway.core.visible import visible_line
from interlock_gateway.policy.replay.comparing import Change, Direction
from interlock_gateway.policy.replay.running import Plan
from interlock_gateway.policy.replay.tally import Seen, Tally

_ORDER = (Direction.LOOSENED, Direction.TIGHTENED, Direction.FAILED, Direction.OTHER)
_MARK = {one: one.value for one in Direction} | {Direction.LOOSENED: "! loosened"}
_KINDS = tuple(one.value for one in _ORDER)
MOST_ROWS = 15
_EXAMPLES = 2


def blocks(tally: Tally, plan: Plan) -> list[Block]:
    """The result for people."""
    if not tally.decisions:
        said = "no decision was replayed, so nothing is known: these receipts have none of policy in this period"
        return [Fields(_facts(tally, plan)), Text(said)]
    found = [Fields(_facts(tally, plan))]
    if not tally.changes:
        return [*found, Text("nothing would change")]
    columns = ("", "from", "to", "rules", "decisions", "share")
    listed = ordered(tally)
    rows = [_row(one, seen, tally) for one, seen in listed]
    hint = f"{len(rows) - MOST_ROWS} more kinds of change: --output json" if len(rows) > MOST_ROWS else ""
    return [
        *found,
        Table(columns, rows[:MOST_ROWS], title="what would change"),
        *([Text(hint)] if hint else []),
        Text("\n".join(_examples(listed[:MOST_ROWS])), title="for example"),
        _by("tool", tally.tools),
        _by("principal", tally.principals),
    ]


def ordered(tally: Tally) -> list[tuple[Change, Seen]]:
    """The changes, those that loosen first, then by how often."""
    return sorted(tally.changes.items(), key=lambda it: (_ORDER.index(it[0].direction), -it[1].count, it[0]))


def as_json(tally: Tally, plan: Plan) -> dict[str, Any]:
    """The result for programs."""
    return {
        "candidate": _named(plan.candidate.revision, plan.candidate.profile),
        "baseline": None if plan.baseline is None else _named(plan.baseline.revision, plan.baseline.profile),
        "decisions": tally.decisions,
        "partial_inputs": tally.partial,
        "left_out": {"by_gateway": tally.by_gateway, "without_input": tally.without_input,
                     "unreadable": tally.unreadable},
        "not_reproduced": tally.not_reproduced,
        "failed": tally.failed,
        "recorded_under": tally.revisions,
        "changed": {one.value: tally.changed(one) for one in _ORDER},
        "changes": [_change(one, seen) for one, seen in ordered(tally)],
        "rules": {rule: dict(counts) for rule, counts in rules(tally).items()},
        "tools": tally.tools,
        "principals": tally.principals,
    }  # fmt: skip


def rules(tally: Tally) -> Mapping[str, Counter[str]]:
    """For each rule, how many decisions it would begin to give (`gained`) and cease to give (`lost`)."""
    found: dict[str, Counter[str]] = {}
    for one, seen in tally.changes.items():
        for kind, names in (("lost", one.lost), ("gained", one.gained)):
            for name in names:
                found.setdefault(name, Counter())[kind] += seen.count
    return dict(sorted(found.items()))


def _facts(tally: Tally, plan: Plan) -> list[tuple[str, Any]]:
    changed = ", ".join(f"{tally.changed(one)} {one.value}" for one in _ORDER if tally.changed(one))
    left_out = (
        (tally.by_gateway, "decided by the gateway itself"),
        (tally.without_input, "without a recorded input"),
        (tally.unreadable, "unreadable"),
    )
    partial = sum(seen.partial for seen in tally.changes.values())
    return [
        ("candidate", f"{plan.candidate.revision}, profile {plan.candidate.profile}"),
        ("decisions", f"{tally.decisions:,} replayed; {changed or 'none'} would change" if tally.decisions else "none"),
        ("left out", ", ".join(f"{count:,} {words}" for count, words in left_out if count)),
        ("partial inputs", _partial(tally, partial)),
        ("not reproduced", _not_reproduced(tally)),
        ("no decision", ", ".join(f"{code}: {count:,}" for code, count in sorted(tally.failed.items()))),
        ("recorded under", _revisions(tally, plan)),
    ]


def _partial(tally: Tally, changed: int) -> str:
    if not tally.partial:
        return ""
    return (
        f"{tally.partial:,} inputs are masked or left out in part; {changed:,} of those would change, or only seem to"
    )


def _not_reproduced(tally: Tally) -> str:
    if not tally.not_reproduced:
        return ""
    return f"{tally.not_reproduced:,}: the configured policies, which made them, decide them differently now"


def _revisions(tally: Tally, plan: Plan) -> str:
    now = plan.baseline.revision if plan.baseline is not None else ""
    listed = [
        f"{revision or 'none'}{' (configured)' if revision == now else ''}: {count:,}"
        for revision, count in tally.revisions.most_common(3)
    ]
    more = len(tally.revisions) - len(listed)
    return ", ".join([*listed, *([f"{more} more"] if more > 0 else [])])


def _row(one: Change, seen: Seen, tally: Tally) -> tuple[Any, ...]:
    names = [f"{'-' if name not in one.gained else '~'} {name}" for name in one.lost]
    names += [f"+ {name}" for name in one.gained if name not in one.lost]
    if one.duties:
        names.append("obligations differ")
    share = f"{seen.count / tally.decisions:.1%}"
    return _MARK[one.direction], one.before, one.after, ", ".join(names), seen.count, share


def _examples(listed: Iterable[tuple[Change, Seen]]) -> Iterable[str]:
    """Decisions on lines of their own, where their ids can be copied; what they are about on the next."""
    for one, seen in listed:
        yield f"{_MARK[one.direction]}, {one.before} to {one.after}:"
        for example in seen.examples[:_EXAMPLES]:
            yield f"  {example.decision_id}"
            yield f"    {visible_line(f'{example.tool} by {example.principal}: {example.given}'.rstrip(': '))}"


def _by(what: str, counts: Mapping[str, Counter[str]]) -> Table:
    changed = {name: one for name, one in counts.items() if any(one[kind] for kind in _KINDS)}
    most = sorted(changed.items(), key=lambda it: (-it[1][Direction.LOOSENED.value], -_changed(it[1]), it[0]))
    rows = [
        (name, *(one[kind] or "" for kind in _KINDS), sum(one.values()), f"{_changed(one) / sum(one.values()):.1%}")
        for name, one in most[:MOST_ROWS]
    ]
    return Table((what, *_KINDS, "of", "changed"), rows, title=f"by {what}")


def _changed(counts: Counter[str]) -> int:
    return sum(_values(counts, _KINDS))


def _values(counts: Counter[str], names: Iterable[str]) -> Iterable[int]:
    return (counts[name] for name in names)


def _change(one: Change, seen: Seen) -> dict[str, Any]:
    return {
        **one._asdict(),
        "decisions": seen.count,
        "partial_inputs": seen.partial,
        "examples": [example._asdict() for example in seen.examples],
    }


def _named(revision: str, profile: str) -> dict[str, str]:
    return {"revision": revision, "profile": profile}
