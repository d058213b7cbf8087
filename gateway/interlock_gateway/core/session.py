"""Principals and sessions: who calls, and in which conversation (AUTH-2, README glossary)."""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from hashlib import sha256

from interlock_gateway.core.jsonvalue import FrozenJsonObject

DEFAULT_DEFERRED_THRESHOLD = 15
"""With more tools than this, those that were not asked for are deferred (DEFER-1)."""


class Role(StrEnum):
    """What a principal may do; the table of RPCs by role is in `identity/access.py` (AUTH-2)."""

    AGENT = "agent"
    PROVIDER = "provider"
    APPROVER = "approver"
    OPERATOR = "operator"
    AUDITOR = "auditor"


_DECIDING = frozenset({Role.APPROVER, Role.OPERATOR})


def contradict(roles: Iterable[Role]) -> bool:
    """Whether nobody may hold all of `roles`: an approver's or operator's credential is never an agent's (CHK-6)."""
    held = frozenset(roles)
    return Role.AGENT in held and bool(held & _DECIDING)


@dataclass(frozen=True, slots=True)
class Principal:
    """The authenticated caller. `kind` says how it was authenticated: `unix`, `token`, `jwt`, `mtls`, `anonymous`.

    An `id` stands for one caller whatever the kind: what tokens and certificates say by themselves lies in name spaces
    of their own (docs/identity.md). `expires_at` is when the credential ends, in Unix seconds, if it does by itself.
    """

    id: str
    kind: str
    roles: frozenset[Role]
    groups: tuple[str, ...] = ()
    claims: FrozenJsonObject = field(default_factory=dict)
    expires_at: float | None = None

    def has(self, role: Role) -> bool:
        """Whether the principal holds `role`."""
        return role in self.roles


PROXIED = "extmcp:"
"""How the ids of principals begin that another gateway speaks for: then comes who that is, then whom it speaks for."""


def circle_of(owner: str) -> str:
    """Who `owner` shares private tools with: nobody else, but for those that one gateway speaks for (EXT-1).

    >>> circle_of("spiffe://example.org/agent")
    'spiffe://example.org/agent'
    >>> circle_of("extmcp:proxy:alice")
    'extmcp:proxy'
    """
    return owner if not owner.startswith(PROXIED) else PROXIED + owner[len(PROXIED) :].partition(":")[0]


_MADE = re.compile(r"(?:mcp|extmcp)-([0-9a-f]{32})-[0-9a-f]{32}")


def session_for(surface: str, owner: str, what: str) -> str:
    """The id of the session that `surface` (`mcp`, `extmcp`) makes for `owner` and `what`, which name none.

    Anybody can work it out, so it says whose it is: see `is_made_for_another`.
    """
    return f"{surface}-{_short(owner)}-{_short(what)}"


def is_made_for_another(session_id: str, owner: str) -> bool:
    """Whether it is an id of `session_for`, and for somebody else than `owner`, who could keep them out by opening it.

    >>> is_made_for_another(session_for("mcp", "alice", "claude"), "bob")
    True
    >>> is_made_for_another("mcp-of-mine", "bob")
    False
    """
    made = _MADE.fullmatch(session_id)
    return made is not None and made[1] != _short(owner)


def _short(text: str) -> str:
    return sha256(text.encode(errors="surrogatepass")).hexdigest()[:32]


@dataclass(frozen=True, slots=True)
class Session:
    """One agent conversation, owned by the principal that opened it. Times are Unix seconds.

    `tools` empty means every tool; otherwise those alone (TOOL-10). `roots` are the workspace roots. With more tools
    than `deferred_threshold` (the gateway's when `None`, never below 1) only those `always_loaded`, by name or alias,
    and those `activated`, by name, are listed and callable (DEFER-1); `activated` is empty once it is closed.
    `owner_kind` and `owner_roles` are what was known of the owner when it was opened; nothing is decided by them.
    """

    session_id: str
    owner: str
    opened_at: float
    intent: str = ""
    labels: FrozenJsonObject = field(default_factory=dict)
    tools: tuple[str, ...] = ()
    roots: tuple[str, ...] = ()
    closed_at: float | None = None
    always_loaded: tuple[str, ...] = ()
    deferred_threshold: int | None = None
    activated: tuple[str, ...] = ()
    owner_kind: str = ""
    owner_roles: tuple[str, ...] = ()

    @property
    def is_open(self) -> bool:
        """Whether calls may still be made in it."""
        return self.closed_at is None

    def sees(self, tool: str) -> bool:
        """Whether the session may see and call `tool` (its canonical name)."""
        return not self.tools or tool in self.tools


def label_texts(labels: FrozenJsonObject) -> dict[str, str]:
    """Labels as the contract has them: what is no text, as JSON."""
    return {key: value if isinstance(value, str) else json.dumps(value) for key, value in labels.items()}


@dataclass(frozen=True, slots=True)
class WantedSessions:
    """Which sessions are asked for: the owner's (empty: anybody's), open or closed ones, with all of `labels`."""

    owner: str = ""
    open: bool = True
    closed: bool = True
    labels: Mapping[str, str] = field(default_factory=dict)

    def has_labels(self, session: Session) -> bool:
        """Whether a session has all of the labels."""
        return not self.labels or self.labels.items() <= label_texts(session.labels).items()


EVERY_SESSION = WantedSessions()
