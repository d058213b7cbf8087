"""What the connections of one listener share, and who of them has to make room."""

import asyncio
import logging
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from interlock_gateway.identity.refusals import Seldom
from interlock_gateway.sessions.gate import Gate
from interlock_gateway.transport.grpc.endpoint import Served

if TYPE_CHECKING:
    from interlock_gateway.transport.http2.connection import ServerConnection

CONNECTIONS = 1024
"""Connections that a listener has at once. One more takes the place of the oldest on which nobody known has called, or
somebody who has most of them."""
SHARES = 4
"""One connection may hold one of so many parts of what the requests that are arriving may hold. One principal may have
all of so many parts of the connections but one."""
_log = logging.getLogger(__name__)


@dataclass(slots=True)
class Intake:
    """What a listener's connections share: what is served there, how large a request may be, what is under way."""

    served: Mapping[bytes, Served]
    max_bytes: int
    most_held: int
    gate: Gate | None = None
    held: int = 0
    unread: int = 0
    dialogues: int = 0
    connections: "set[ServerConnection]" = field(default_factory=set)
    strangers: "dict[ServerConnection, None]" = field(default_factory=dict)
    """Those of the connections on which nobody known has called yet, or who had too many: the oldest first."""
    held_by: Counter[str] = field(default_factory=Counter)
    """How many of the others each principal has."""
    handshakes: "dict[asyncio.Task[None], None]" = field(default_factory=dict)
    """Of TLS, under way: the oldest first."""
    empty: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when the last connection goes."""
    seldom: Seldom = field(default_factory=Seldom)
    """What is said of connections that are closed as they come: anybody may make many."""
    nothing_here: str = "there is no such method here"
    """What is said of methods that are not served."""

    def know(self, connection: "ServerConnection", principal_id: str) -> bool:
        """The principal calls on the connection; false when it has so many that this one goes on making room."""
        if self.held_by[principal_id] >= max(1, CONNECTIONS * (SHARES - 1) // SHARES):
            return False
        self.strangers.pop(connection, None)
        self.held_by[principal_id] += 1
        return True

    def forget(self, connection: "ServerConnection", principal_id: str) -> None:
        """The connection is gone; `principal_id` is empty when it was nobody's."""
        self.connections.discard(connection)
        self.strangers.pop(connection, None)
        if principal_id:
            self.held_by[principal_id] -= 1
            if not self.held_by[principal_id]:
                del self.held_by[principal_id]
        if not self.connections:
            self.empty.set()

    @property
    def is_too_full(self) -> bool:
        """Whether there are more connections than there are to be."""
        return len(self.connections) > CONNECTIONS

    def make_room(self) -> bool:
        """Close the connection of the oldest stranger, one too many being there; whether there was any."""
        _log.info("too many connections: one more was closed", extra={"most": CONNECTIONS})
        oldest = next(iter(self.strangers), None)
        if oldest is not None:
            del self.strangers[oldest]
            oldest.abort()
        return oldest is not None
