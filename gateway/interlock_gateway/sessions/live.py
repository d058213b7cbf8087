"""One session in memory: its record, its facts, its turnstile, and the outcomes it may be asked for again."""

import asyncio
import json
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field

from interlock_gateway.core.call import CallResult
from interlock_gateway.core.content import Audio, Image, Resource, Text
from interlock_gateway.core.session import Session
from interlock_gateway.core.sessionfacts import SessionFacts, together
from interlock_gateway.sessions.turnstile import Turnstile

REMEMBERED_CALLS = 64
REMEMBERED_BYTES = 4 * 1024 * 1024
"""How many finished calls of a session, and how large together, are answered again from memory.

Calls that may have changed something are answered from the database however long ago they were.
"""


@dataclass(frozen=True, slots=True)
class RememberedCall:
    """A finished call: what was asked, by digest, and what was answered."""

    request_digest: str
    result: CallResult
    weight: int


@dataclass(frozen=True, slots=True)
class RunningCall:
    """A call under way: what was asked, by digest, and the answer to come; `resumed` when it had waited for people."""

    digest: Callable[[], str]
    answer: "asyncio.Future[CallResult]"
    resumed: bool = False

    @property
    def request_digest(self) -> str:
        """The digest, made when somebody asks for the same call: nobody does, and of a large one it takes long."""
        return self.digest()


@dataclass(slots=True)
class LiveSession:
    """A session that calls are made in. `pending_count` follows the durable stack of pending actions.

    `facts` is what this replica saw of the session, `elsewhere` what others did. `calls` is how many of its calls are
    being answered here, those among them that do not stand in line yet; `rolling_back` says that a rollback of it is
    under way here. `stale` says that something has changed elsewhere and has to be read again; `taints_kept` are those
    of its taints that are in the database. `destroying` is how many of its destructive calls are being decided, or were
    and are not dispatched yet.
    """

    session: Session
    facts: SessionFacts
    elsewhere: tuple[SessionFacts, ...] = ()
    stale: bool = False
    pending_count: int = 0
    unknown_count: int = 0
    turnstile: Turnstile = field(default_factory=Turnstile)
    running: dict[str, RunningCall] = field(default_factory=dict)
    remembered: OrderedDict[str, RememberedCall] = field(default_factory=OrderedDict)
    remembered_bytes: int = 0
    calls: int = 0
    dirty: bool = False
    taints_kept: frozenset[str] = frozenset()
    destroying: int = 0
    rolling_back: bool = False
    head_json: str = ""

    def __post_init__(self) -> None:
        record = self.session
        head = {"id": record.session_id, "intent": record.intent, "labels": dict(record.labels)}
        self.head_json = json.dumps(head)[:-1]

    @property
    def whole(self) -> SessionFacts:
        """What all replicas together saw of the session; to be read, not to be counted in."""
        return together((*self.elsewhere, self.facts)) if self.elsewhere else self.facts

    @property
    def idle(self) -> bool:
        """Whether it can be dropped from memory without losing anything."""
        return not (self.calls or self.dirty or self.running or self.rolling_back) and self.turnstile.idle

    def remember(self, call_id: str, request_digest: str, result: CallResult) -> None:
        """Keep a finished call's answer for a repeated call id, forgetting the oldest."""
        kept = RememberedCall(request_digest, result, _weight(result))
        if (before := self.remembered.pop(call_id, None)) is not None:
            self.remembered_bytes -= before.weight
        self.remembered[call_id] = kept
        self.remembered_bytes += kept.weight
        while len(self.remembered) > REMEMBERED_CALLS or self.remembered_bytes > REMEMBERED_BYTES:
            _, oldest = self.remembered.popitem(last=False)
            self.remembered_bytes -= oldest.weight

    def policy_json(self, now: float, mode: str) -> tuple[str, str]:
        """The policy input's `session` part without its last brace and the calls before, and those as an array."""
        age = max(0.0, now - self.session.opened_at)
        facts, previous = self.whole.policy_parts(pending=self.pending_count, mode=mode, destroying=self.destroying)
        return f'{self.head_json},"age_s":{age:.3f},{facts}', previous


def _weight(result: CallResult) -> int:
    """About how many bytes a result holds."""
    weight = len(json.dumps(result.data)) if result.has_data else 0
    weight += len(json.dumps(dict(result.details))) if result.details else 0
    if result.preview is not None:
        weight += len(result.preview.preview) + sum(map(len, result.preview.would_affect))
    for part in result.content:
        match part:
            case Text():
                weight += len(part.text)
            case Image() | Audio():
                weight += len(part.data)
            case Resource():
                weight += len(part.text or "") + len(part.blob or b"")
    return weight
