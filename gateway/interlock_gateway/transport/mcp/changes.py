"""Tells clients that the tools have changed: by a notification, or on the streams that they listen on (MCP-1)."""

import asyncio
from functools import partial

from mcp.server.session import ServerSession
from mcp.server.subscriptions import InMemorySubscriptionBus, ToolsListChanged

from interlock_gateway.registry.registry import ToolRegistry
from interlock_gateway.transport.mcp.wires import Wire

SOON_S = 0.1
"""Changes that come so shortly after each other are told as one."""


class ToolChanges:
    """Follows the registry. One notification is under way to a client at a time: who does not read gets no second."""

    def __init__(self, registry: ToolRegistry) -> None:
        self.bus = InMemorySubscriptionBus()
        self._sessions: dict[Wire, ServerSession] = {}
        self._telling: dict[Wire, asyncio.Task[None]] = {}
        self._publishing: asyncio.Task[None] | None = None
        self._soon: asyncio.TimerHandle | None = None
        self._end = registry.when_changed(self.changed)

    def attach(self, wire: Wire, session: ServerSession) -> None:
        """Tell the client of `wire` from now on, as long as it is there."""
        if wire not in self._sessions:
            wire.on_close.append(partial(self._detach, wire))
        self._sessions[wire] = session

    def _detach(self, wire: Wire) -> None:
        self._sessions.pop(wire, None)
        if (task := self._telling.pop(wire, None)) is not None:
            task.cancel()

    def changed(self) -> None:
        """Tell everybody, in a moment."""
        if self._soon is None:
            self._soon = asyncio.get_running_loop().call_later(SOON_S, self._tell_all)

    def tell(self, wire: Wire) -> None:
        """Tell one client, if it does not hear of it yet: what its session sees has changed."""
        session = self._sessions.get(wire)
        under_way = self._telling.get(wire)
        if session is not None and (under_way is None or under_way.done()):
            self._telling[wire] = asyncio.create_task(session.send_tool_list_changed())

    def activated(self, wire: Wire) -> None:
        """The session of `wire` sees more tools. Who stands for itself in each request may be told on any stream."""
        if wire in self._sessions:
            self.tell(wire)
        else:
            self._publish()

    def close(self) -> None:
        """Tell nobody any more."""
        self._end()
        if self._soon is not None:
            self._soon.cancel()
        for task in (*self._telling.values(), self._publishing):
            if task is not None:
                task.cancel()

    def _tell_all(self) -> None:
        self._soon = None
        for wire in tuple(self._sessions):
            self.tell(wire)
        self._publish()

    def _publish(self) -> None:
        if self._publishing is None or self._publishing.done():
            self._publishing = asyncio.create_task(self.bus.publish(ToolsListChanged()))
