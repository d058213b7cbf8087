"""Finding deferred tools and making them callable, for one session (DEFER-2)."""

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice

from interlock_gateway.errors import RequestError, RequestFault
from interlock_gateway.pipeline.resolve_tool import resolve_tool
from interlock_gateway.registry.deferral import Deferral
from interlock_gateway.registry.registered import RegisteredTool
from interlock_gateway.registry.registry import ToolRegistry
from interlock_gateway.registry.search import Hit, Indexed, ToolIndex, indexed
from interlock_gateway.sessions.book import SessionBook
from interlock_gateway.sessions.live import LiveSession

MAX_QUERY_BYTES = 1024
MAX_RESULTS, DEFAULT_RESULTS = 100, 10
MAX_NAMES = 100
MAX_ACTIVE = 1000
"""How many tools a session may activate: with more, deferring would be for nothing."""


@dataclass(frozen=True, slots=True)
class Activated:
    """The tools asked for that the session can call now, and the names that it cannot activate, each as asked for."""

    tools: tuple[RegisteredTool, ...]
    unknown: tuple[str, ...]


class Discovery:
    """Deferred tools, as sessions find and activate them."""

    def __init__(self, registry: ToolRegistry, deferral: Deferral, sessions: SessionBook) -> None:
        self._registry = registry
        self._deferral = deferral
        self._sessions = sessions
        self._index = ToolIndex(())
        self._generation = -1
        self._indexing = asyncio.Lock()

    async def search(self, live: LiveSession, query: str, most: int = 0) -> tuple[Hit, ...]:
        """The deferred tools of the session that have to do with `query` and are not active, best first.

        Raises `RequestError` for a query that is blank or too long.
        """
        if not query.strip() or len(query.encode()) > MAX_QUERY_BYTES:
            words = f"query is not blank and at most {MAX_QUERY_BYTES} bytes"
            raise RequestError(RequestFault.INVALID_FIELD, words, field="query")
        await self._sessions.reread(live)
        index = await self._fresh()
        found = await asyncio.to_thread(index.ranked, query)
        hidden = set(map(id, self._deferral.hidden(live.session)))
        wanted = (hit for hit in found if id(hit.tool) in hidden)
        return tuple(islice(wanted, min(most or DEFAULT_RESULTS, MAX_RESULTS)))

    async def activate(self, live: LiveSession, names: Iterable[str]) -> Activated:
        """Make these tools, by name or alias, callable in the session, for as long as it is open.

        Raises `RequestError`: too many names, or more active tools than a session may have.
        """
        asked = tuple(dict.fromkeys(names))
        if len(asked) > MAX_NAMES:
            raise RequestError(RequestFault.INVALID_FIELD, f"names holds at most {MAX_NAMES} names", field="names")
        await self._sessions.reread(live)
        found = {name: resolve_tool(self._registry, live.session, name) for name in asked}
        tools = tuple(dict.fromkeys(tool.name for tool in found.values() if tool is not None))
        known = {tool.name: tool for tool in found.values() if tool is not None}
        wanted = [name for name in tools if self._deferral.hides(live.session, known[name])]
        if wanted:
            if len(live.session.activated) + len(wanted) > MAX_ACTIVE:
                words = f"a session activates at most {MAX_ACTIVE} tools"
                raise RequestError(RequestFault.LIMIT_REACHED, words, field="names")
            await self._sessions.activate(live, wanted)
        return Activated(tuple(known[name] for name in tools), tuple(name for name in asked if found[name] is None))

    async def _fresh(self) -> ToolIndex:
        """The index of the tools as they are registered now; what is known of unchanged ones is used again."""
        async with self._indexing:
            if self._generation != self._registry.generation:
                self._generation = self._registry.generation
                known = {id(one.tool): one for one in self._index.tools}
                self._index = await asyncio.to_thread(_indexed_again, self._registry.all_tools(), known)
            return self._index


def _indexed_again(tools: tuple[RegisteredTool, ...], known: dict[int, Indexed]) -> ToolIndex:
    # By identity: the registry keeps the very object while a definition has not changed, and `known` keeps it alive.
    return ToolIndex(known.get(id(tool)) or indexed(tool) for tool in tools)
