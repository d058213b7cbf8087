"""What policy knows of a session's past: counters, previous tools, taints (policy.md, Input)."""

import json
from collections import Counter, deque
from collections.abc import Iterable
from dataclasses import dataclass, field, fields
from functools import lru_cache
from operator import itemgetter
from typing import cast

from interlock_gateway.core.jsonvalue import FrozenJsonObject
from interlock_gateway.core.operation import Operation, OperationState
from interlock_gateway.core.tool import Effect

PREVIOUS_KEPT = 20
_VERSION = 1
_DESTRUCTIVE = (Effect.DESTRUCTIVE, Effect.UNDECLARED)
_STATUS_OF = {
    OperationState.FAILED: "failed",
    OperationState.INTENDED: "outcome_unknown",
    OperationState.OUTCOME_UNKNOWN: "outcome_unknown",
}
_json = json.JSONEncoder(check_circular=False).encode


def _previous(tool: str, effect: str, labels: FrozenJsonObject) -> str:
    return _json({"tool": tool, "effect": effect, "labels": dict(labels)})


@lru_cache(maxsize=1024)
def _without_labels(tool: str, effect: str) -> str:
    return _previous(tool, effect, {})


@dataclass(slots=True)
class SessionFacts:
    """Counts of one session, changed in place by the calls that end in it.

    `destructive_calls` counts those that were dispatched, not known to be harmless, and no undo; `journaled` whatever
    is counted here of what the journal holds, so that what a crash kept from being counted can be found.
    `previous` holds the last 20 calls that ran, each as encoded JSON, and `previous_at` when they did, in Unix seconds.
    `last_call_at` is when the last call arrived, in Unix seconds; 0 when none has.
    """

    calls: int = 0
    destructive_calls: int = 0
    journaled: int = 0
    denials: Counter[str] = field(default_factory=Counter)
    calls_by_tool: Counter[str] = field(default_factory=Counter)
    calls_by_status: Counter[str] = field(default_factory=Counter)
    destructive_outcomes: Counter[tuple[str, str]] = field(default_factory=Counter)
    previews: Counter[str] = field(default_factory=Counter)
    checkpoints: Counter[str] = field(default_factory=Counter)
    previous: deque[str] = field(default_factory=lambda: deque(maxlen=PREVIOUS_KEPT))
    previous_at: deque[float] = field(default_factory=lambda: deque(maxlen=PREVIOUS_KEPT))
    taints: set[str] = field(default_factory=set)
    last_call_at: float = 0.0

    def count_call(self, tool: str, *, destructive: bool, status: str) -> None:
        """Count one finished call, whatever came of it; `destructive` unless its tool cannot be, or it was harmless."""
        self.calls += 1
        self.calls_by_tool[tool] += 1
        self.calls_by_status[status] += 1
        if destructive:
            self.destructive_outcomes[tool, status] += 1

    def count_dispatch(self, *, destructive: bool) -> None:
        """Count an operation whose intent is in the journal, before anything is sent."""
        self.journaled += 1
        self.destructive_calls += destructive

    def settle_call(self, tool: str, *, waited_as_destructive: bool, destructive: bool, status: str) -> None:
        """Put the outcome of a call that waited for a person in the place of its waiting."""
        self.calls_by_status["awaiting_checkpoint"] -= 1
        self.calls_by_status[status] += 1
        if waited_as_destructive:
            self.destructive_outcomes[tool, "awaiting_checkpoint"] -= 1
        if destructive:
            self.destructive_outcomes[tool, status] += 1

    def catch_up(self, operations: Iterable[Operation]) -> None:
        """Count operations that a crash kept from being counted: the journal knows them, and their labels it does not.

        Of a call whose tool destroys, the journal knows whether it was let through as one that only reads; whether as
        routine work it does not, and such a call counts as one that destroyed.
        """
        only_dispatched, self.journaled = self.journaled < 0, max(0, self.journaled)
        for operation in operations:
            destructive = operation.effect in _DESTRUCTIVE and not operation.only_reads
            self.count_dispatch(destructive=destructive and not operation.undoes)
            if only_dispatched:
                continue
            status = _STATUS_OF.get(operation.state, "completed")
            self.count_call(operation.tool, destructive=destructive, status=status)
            if status == "completed":
                self.remember(operation.tool, operation.effect, {}, operation.finished_at or operation.intended_at)

    def count_denial(self, code: str) -> None:
        """Count one denial by its first reason's code."""
        self.denials[code] += 1

    def remember(self, tool: str, effect: str, labels: FrozenJsonObject, at: float = 0.0) -> None:
        """Add a call that ran, and ended at `at`, to the previous ones."""
        self.previous_at.append(at)
        self.previous.append(_without_labels(tool, effect) if not labels else _previous(tool, effect, labels))

    def policy_part(self, *, pending: int, mode: str) -> str:
        """What policy sees of them, as the inside of a JSON object."""
        facts, previous = self.policy_parts(pending=pending, mode=mode)
        return f'{facts},"previous":{previous}'

    def policy_parts(self, *, pending: int, mode: str, destroying: int = 0) -> tuple[str, str]:
        """The counters, taints and pending count as the inside of a JSON object, and the previous calls as an array.

        `destroying` destructive calls have been let through, or may be yet, and are not dispatched.
        """
        counters = (
            f'{{"calls":{self.calls},"destructive_calls":{self.destructive_calls + destroying},'
            f'"denials":{_json(self.denials) if self.denials else "{}"},"calls_by_tool":{_json(self.calls_by_tool)}}}'
        )
        taints = json.dumps(sorted(self.taints)) if self.taints else "[]"
        return (
            f'"counters":{counters},"taints":{taints},"pending":{{"count":{pending},"mode":"{mode}"}}',
            f"[{','.join(self.previous)}]",
        )

    def to_json(self) -> bytes:
        """All of it, for keeping."""
        document = {
            "version": _VERSION,
            "calls": self.calls,
            "destructive_calls": self.destructive_calls,
            "journaled": self.journaled,
            "denials": self.denials,
            "calls_by_tool": self.calls_by_tool,
            "calls_by_status": self.calls_by_status,
            "destructive_outcomes": [[*key, count] for key, count in self.destructive_outcomes.items()],
            "previews": self.previews,
            "checkpoints": self.checkpoints,
            "previous": list(self.previous),
            "previous_at": list(self.previous_at),
            "taints": sorted(self.taints),
            "last_call_at": self.last_call_at,
        }
        return json.dumps(document).encode()

    @classmethod
    def from_json(cls, raw: bytes) -> "SessionFacts":
        """What `to_json` wrote. Raises `ValueError` for anything else.

        In a document from before `journaled` was counted it is -1, and destruction left to `catch_up`.
        """
        kept = cast("dict[str, object]", json.loads(raw))
        if kept.get("version") != _VERSION:
            raise ValueError("session facts are of an unknown version")
        facts = cls(
            calls=cast("int", kept["calls"]),
            destructive_calls=cast("int", kept["destructive_calls"]) if "journaled" in kept else 0,
            journaled=cast("int", kept.get("journaled", -1)),
            denials=Counter(cast("dict[str, int]", kept["denials"])),
            calls_by_tool=Counter(cast("dict[str, int]", kept["calls_by_tool"])),
            calls_by_status=Counter(cast("dict[str, int]", kept["calls_by_status"])),
            previews=Counter(cast("dict[str, int]", kept["previews"])),
            checkpoints=Counter(cast("dict[str, int]", kept.get("checkpoints", {}))),
            taints=set(cast("list[str]", kept["taints"])),
            last_call_at=cast("float", kept.get("last_call_at", 0.0)),
        )
        for tool, status, count in cast("list[tuple[str, str, int]]", kept["destructive_outcomes"]):
            facts.destructive_outcomes[tool, status] = count
        previous = cast("list[str]", kept["previous"])
        facts.previous.extend(previous)
        facts.previous_at.extend(cast("list[float]", kept.get("previous_at", [0.0] * len(previous))))
        return facts


def together(parts: Iterable[SessionFacts]) -> SessionFacts:
    """What several replicas know of one session, as if one had seen it all; `parts` stay as they are."""
    whole = SessionFacts()
    ran: list[tuple[float, str]] = []
    for part in parts:
        whole.calls += part.calls
        whole.destructive_calls += part.destructive_calls
        whole.journaled += part.journaled
        whole.taints |= part.taints
        whole.last_call_at = max(whole.last_call_at, part.last_call_at)
        for counts in fields(SessionFacts):
            if isinstance(counter := getattr(whole, counts.name), Counter):
                counter.update(getattr(part, counts.name))
        ran += zip(part.previous_at, part.previous, strict=True)
    for at, previous in sorted(ran, key=itemgetter(0))[-PREVIOUS_KEPT:]:
        whole.previous_at.append(at)
        whole.previous.append(previous)
    return whole
