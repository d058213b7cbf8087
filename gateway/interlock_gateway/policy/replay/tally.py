"""What a replay counts, in memory that does not grow with the receipts; tallies of processes are added up."""

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from interlock_gateway.policy.replay.comparing import Change, Direction
from interlock_gateway.policy.replay.lines import Recorded

MOST_NAMES = 2000
MOST_CHANGES = 500
EXAMPLES = 5
LONGEST_INPUT = 60
OTHERS = "(others)"
_COUNTS = ("decisions", "partial", "by_gateway", "without_input", "unreadable", "not_reproduced")


class Example(NamedTuple):
    """A recorded decision that would change; `given` is the beginning of its input, as the receipt has it."""

    sequence: int
    decision_id: str
    tool: str
    principal: str
    given: str = ""


@dataclass(slots=True)
class Seen:
    """How often a kind of change was seen, the first decisions of it, and how many of them rest on a partial input."""

    count: int = 0
    partial: int = 0
    examples: list[Example] = field(default_factory=list)

    def add(self, other: "Seen") -> None:
        """Count another's as well; of the examples the first are kept."""
        self.count += other.count
        self.partial += other.partial
        self.examples = sorted([*self.examples, *other.examples])[:EXAMPLES]


@dataclass(slots=True)
class Tally:
    """The counts.

    `decisions` were evaluated again; `partial` of them with an input that is masked or left out in part. Not evaluated
    were `by_gateway`, which policy did not decide, `without_input`, and `unreadable`. `not_reproduced` are those that
    the policies that decided them decide differently now. `failed` counts the codes of evaluations without a decision.
    By tool and by principal there are all decisions, and those loosened, tightened and otherwise changed.
    """

    decisions: int = 0
    partial: int = 0
    by_gateway: int = 0
    without_input: int = 0
    unreadable: int = 0
    not_reproduced: int = 0
    revisions: Counter[str] = field(default_factory=Counter)
    failed: Counter[str] = field(default_factory=Counter)
    tools: dict[str, Counter[str]] = field(default_factory=dict)
    principals: dict[str, Counter[str]] = field(default_factory=dict)
    changes: dict[Change, Seen] = field(default_factory=dict)

    def count(self, one: Recorded, found: Change | None) -> None:
        """Count a decision that was evaluated again."""
        self.decisions += 1
        self.partial += not one.is_whole
        self.revisions[one.revision] += 1
        kind = "same" if found is None else found.direction.value
        _of(self.tools, one.tool)[kind] += 1
        _of(self.principals, one.principal)[kind] += 1
        if found is not None:
            seen = self._seen(found)
            # The lines come in their order: those that follow are no first ones, and need not be read.
            more = len(seen.examples) < EXAMPLES
            given = _beginning(one.policy_input) if more else ""
            example = Example(one.sequence, one.decision_id, one.tool, one.principal, given)
            seen.add(Seen(1, int(not one.is_whole), [example] if more else []))

    def add(self, other: "Tally") -> None:
        """Count what another has counted."""
        for name in _COUNTS:
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.revisions.update(other.revisions)
        self.failed.update(other.failed)
        for mine, others in ((self.tools, other.tools), (self.principals, other.principals)):
            for name, counts in others.items():
                _of(mine, name).update(counts)
        for found, seen in other.changes.items():
            self._seen(found).add(seen)

    def changed(self, direction: Direction) -> int:
        """How many decisions would change in this direction."""
        return sum(seen.count for found, seen in self.changes.items() if found.direction is direction)

    def as_json(self) -> dict[str, Any]:
        """Everything, to be read by `read_tally`."""
        return {
            "counts": [getattr(self, name) for name in _COUNTS],
            "revisions": self.revisions,
            "failed": self.failed,
            "tools": self.tools,
            "principals": self.principals,
            "changes": [[*found, seen.count, seen.partial, seen.examples] for found, seen in self.changes.items()],
        }

    def _seen(self, found: Change) -> Seen:
        if found not in self.changes and len(self.changes) >= MOST_CHANGES:
            found = found._replace(lost=(OTHERS,), gained=(OTHERS,), duties=False)
        return self.changes.setdefault(found, Seen())


def read_tally(given: Mapping[str, Any]) -> Tally:
    """The tally that `as_json` gave."""
    tally = Tally(**dict(zip(_COUNTS, given["counts"], strict=True)))
    tally.revisions, tally.failed = Counter(given["revisions"]), Counter(given["failed"])
    tally.tools = {name: Counter(counts) for name, counts in given["tools"].items()}
    tally.principals = {name: Counter(counts) for name, counts in given["principals"].items()}
    for direction, before, after, lost, gained, duties, count, partial, examples in given["changes"]:
        found = Change(Direction(direction), before, after, tuple(lost), tuple(gained), duties)
        tally.changes[found] = Seen(count, partial, [Example(*one) for one in examples])
    return tally


def _beginning(policy_input: bytes) -> str:
    try:
        return short_input(json.loads(policy_input)["call"]["input"])
    except (ValueError, LookupError, TypeError, RecursionError):
        return ""


def short_input(given: Any) -> str:
    """A call's input on one line, shortened: of one with a single text that text, such as a command."""
    texts = list(given.values()) if isinstance(given, dict) else []
    whole = texts[0] if len(texts) == 1 and isinstance(texts[0], str) else json.dumps(given, ensure_ascii=False)
    line = " ".join(whole[: 4 * LONGEST_INPUT].split())
    return line if len(line) <= LONGEST_INPUT else f"{line[: LONGEST_INPUT - 1]}…"


def _of(counts: dict[str, Counter[str]], name: str) -> Counter[str]:
    known = counts.get(name)
    if known is None:
        name = name if len(counts) < MOST_NAMES else OTHERS
        known = counts.setdefault(name, Counter())
    return known
