"""What MCP servers say unasked, told to the clients whom it is about (MCP-3).

That a list has changed is told to all. That a resource has changed is told to who subscribed to it. What a server logs
is told in the session whose call it was said in, and in no other: one connection to a server serves many principals.
"""

import asyncio
import logging
from collections import Counter
from collections.abc import Callable, Collection, Coroutine, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any
from weakref import WeakKeyDictionary, WeakSet

from mcp.server.session import ServerSession
from mcp.server.subscriptions import (
    InMemorySubscriptionBus,
    PromptsListChanged,
    ResourcesListChanged,
    ResourceUpdated,
    ServerEvent,
)
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INVALID_PARAMS,
    PromptListChangedNotification,
    ResourceListChangedNotification,
    ResourceUpdatedNotification,
    ResourceUpdatedNotificationParams,
    ServerNotification,
)

from interlock_gateway.errors import ProviderError
from interlock_gateway.providers.mcp.link import LinkError, RpcError
from interlock_gateway.providers.mcp.provider import McpProvider
from interlock_gateway.sessions.shares import Shares
from interlock_gateway.transport.mcp import log_levels
from interlock_gateway.transport.mcp.log_levels import Levels
from interlock_gateway.transport.mcp.relays import Relays
from interlock_gateway.transport.mcp.resource_watch import ResourceWatch
from interlock_gateway.transport.mcp.shelves import Shelves, Upstream
from interlock_gateway.transport.mcp.wires import Wire

LOGGED = "notifications/message"
UPDATED = "notifications/resources/updated"
RESOURCES, PROMPTS = "notifications/resources/list_changed", "notifications/prompts/list_changed"
MOST_SUBSCRIPTIONS = 1000
"""Of one connection."""
MOST_IN_ALL = 20_000
"""Subscriptions; of these one principal never has all."""
MOST_AT_ONCE = 100
"""Notifications under way to one client; beyond that, more are dropped: a server may say as much as it likes."""
SOON_S = 0.1
"""Changes of a list that come so shortly after each other are told as one."""
_LISTS: dict[str, tuple[ServerNotification, ServerEvent]] = {
    RESOURCES: (ResourceListChangedNotification(), ResourcesListChanged()),
    PROMPTS: (PromptListChangedNotification(), PromptsListChanged()),
}
_KIND_OF = {RESOURCES: "resources", PROMPTS: "prompts"}
_log = logging.getLogger(__name__)


@dataclass(slots=True)
class _Held:
    """What one client, of a principal, has subscribed to."""

    principal_id: str
    keys: set[tuple[str, str]] = field(default_factory=set)


class Notices:
    """Follows the servers, and tells the clients. `bus` reaches those that listen on streams of their own."""

    def __init__(self, shelves: Shelves, relays: Relays, bus: InMemorySubscriptionBus) -> None:
        self._shelves = shelves
        self._relays = relays
        self._bus = bus
        self.levels = Levels()
        self._clients: WeakKeyDictionary[Wire, ServerSession] = WeakKeyDictionary()
        self._followed: WeakSet[McpProvider] = WeakSet()
        self._subscribed: dict[tuple[str, str], set[object]] = {}
        self._held: dict[object, _Held] = {}
        self._shares = Shares(MOST_IN_ALL)
        self._watching: dict[tuple[str, str], ResourceWatch] = {}
        self._soon: dict[str, asyncio.TimerHandle] = {}
        self._settling: asyncio.TimerHandle | None = None
        self._telling: set[asyncio.Task[None]] = set()
        self._under_way: Counter[object] = Counter()

    def attach(self, wire: Wire, session: ServerSession) -> None:
        """Tell the client of `wire` from now on."""
        self._clients[wire] = session
        wire.on_close.append(partial(self._gone, wire))
        self.levels.attached(wire)
        self.follow()

    def follow(self) -> None:
        """Hear every server there is, and have those that came back know what they are to tell."""
        for server in self._shelves.servers():
            if server not in self._followed:
                self._followed.add(server)
                server.on_notice(self._listener(server))
            if server.logs and (work := self.levels.tell(server)) is not None:
                self._aside(work, server)

    def asked(self, level: str | None) -> None:
        """A request says from which level on it wants to hear what is logged while it is answered."""
        if self.levels.asked(level, asyncio.get_running_loop().time()):
            self.follow()
            self._settle_later()

    def set_level(self, wire: Wire, level: str) -> None:
        """The client of `wire` says so once for all of its requests."""
        if wire not in self._clients and wire not in self.levels:  # it need not have said that it is there (`attach`)
            wire.on_close.append(partial(self._gone, wire))
        self.levels.set(wire, level)
        self.follow()

    def _settle_later(self) -> None:
        """Have servers log less, once those who wanted more have been gone for a while."""
        if self._settling is None:
            self._settling = asyncio.get_running_loop().call_later(log_levels.KEEP_S, self._settle)

    def _settle(self) -> None:
        self._settling = None
        left = self.levels.settle(self._relays.log_levels(), asyncio.get_running_loop().time())
        self.follow()
        if left:
            self._settle_later()

    async def subscribe(self, of: Upstream, uri: str, who: object, principal_id: str) -> None:
        """`who`, a client of that principal, is told when the resource changes. Raises `MCPError`."""
        self.follow()
        key = (of.name, uri)
        held = self._held.get(who)
        if held is None:
            held = self._held[who] = _Held(principal_id)
            if isinstance(who, Wire):  # it need not have said that it is there (`attach`)
                who.on_close.append(partial(self.unsubscribed, who))
        if key not in held.keys:
            if len(held.keys) >= MOST_SUBSCRIPTIONS:
                raise MCPError(INVALID_PARAMS, f"there are {MOST_SUBSCRIPTIONS} subscriptions already")
            if self._shares.refusal(principal_id) is not None:
                raise MCPError(INVALID_PARAMS, "you have as many subscriptions as you may; end some")
            self._shares.take(principal_id)
            held.keys.add(key)
            self._subscribed.setdefault(key, set()).add(who)
        if key not in self._watching:
            self._watching[key] = ResourceWatch(of.provider, uri)
        try:
            await self._watching[key].begun()
        except MCPError:
            self._unsubscribed(key, who)
            raise

    def unsubscribe(self, uri: str, who: object) -> None:
        """`who` is not told any more."""
        for key in [key for key in self._keys_of(who) if key[1] == uri]:
            self._unsubscribed(key, who)

    def unsubscribed(self, who: object) -> None:
        """`who` is told of nothing any more."""
        for key in tuple(self._keys_of(who)):
            self._unsubscribed(key, who)
        self._held.pop(who, None)

    def _keys_of(self, who: object) -> "Collection[tuple[str, str]]":
        held = self._held.get(who)
        return () if held is None else held.keys

    def close(self) -> None:
        """Tell nobody any more."""
        for watching in self._watching.values():
            watching.end()
        for timer in (*self._soon.values(), *([self._settling] if self._settling is not None else [])):
            timer.cancel()
        for task in self._telling:
            task.cancel()

    def _gone(self, wire: Wire) -> None:
        self._clients.pop(wire, None)
        self.levels.gone(wire)
        self._settle_later()

    def _unsubscribed(self, key: tuple[str, str], who: object) -> None:
        if key not in self._keys_of(who):
            return
        held = self._held[who]
        held.keys.discard(key)
        self._shares.give_back(held.principal_id)
        subscribers = self._subscribed.get(key, set())
        subscribers.discard(who)
        if not subscribers:
            self._subscribed.pop(key, None)
            if (watching := self._watching.pop(key, None)) is not None:
                watching.end()

    def _listener(self, provider: McpProvider) -> Callable[[str, Mapping[str, Any], str], None]:
        def heard(method: str, params: Mapping[str, Any], session_id: str) -> None:
            if method == LOGGED and provider.logs:
                self._logged(params, session_id)
            elif method == UPDATED and provider.passes("resources"):
                self._updated(provider.name, params)
            elif method in _LISTS and provider.passes(_KIND_OF[method]):
                self._changed(method)

        return heard

    def _changed(self, method: str) -> None:
        """Tell all, in a moment: servers that change a list say so for each of its members."""
        if method not in self._soon:
            self._soon[method] = asyncio.get_running_loop().call_later(SOON_S, self._tell_all, method)

    def _tell_all(self, method: str) -> None:
        del self._soon[method]
        notification, event = _LISTS[method]
        for session in tuple(self._clients.values()):
            self._aside(session.send_notification(notification), session)
        self._aside(self._bus.publish(event), self._bus)

    def _updated(self, provider: str, params: Mapping[str, Any]) -> None:
        uri = params.get("uri")
        subscribers = self._subscribed.get((provider, uri)) if isinstance(uri, str) else None
        if subscribers is None or not isinstance(uri, str):
            return
        told = ResourceUpdatedNotification(params=ResourceUpdatedNotificationParams(uri=uri))
        for who in tuple(subscribers):
            if isinstance(who, Wire) and (session := self._clients.get(who)) is not None:
                self._aside(session.send_notification(told), session)
        self._aside(self._bus.publish(ResourceUpdated(uri=uri)), self._bus)

    def _logged(self, params: Mapping[str, Any], session_id: str) -> None:
        client = self._relays.open_in(session_id)
        if client is not None and self.levels.wants(client.wire, client.log_level, params.get("level")):
            self._aside(client.tell(LOGGED, params), client)

    def _aside(self, work: Coroutine[Any, Any, object], whom: object) -> None:
        """Tell `whom` beside what goes on; what goes wrong with it is a client's that has gone, or does not read."""
        if self._under_way[whom] >= MOST_AT_ONCE:
            work.close()
            return
        task = asyncio.create_task(_quietly(work))
        self._telling.add(task)
        self._under_way[whom] += 1
        task.add_done_callback(partial(self._told, whom))

    def _told(self, whom: object, task: asyncio.Task[None]) -> None:
        self._telling.discard(task)
        self._under_way[whom] -= 1
        if not self._under_way[whom]:
            del self._under_way[whom]


async def _quietly(work: Coroutine[Any, Any, object]) -> None:
    try:
        await work
    except (MCPError, RpcError, ProviderError, LinkError, TimeoutError) as error:
        _log.debug("nobody was told", extra={"problem": str(error)})
