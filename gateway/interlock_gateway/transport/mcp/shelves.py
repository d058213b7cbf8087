"""What MCP servers list besides tools, all of it together: resources, templates of resources, prompts (MCP-3).

A key that two servers claim is the first's, by name of the provider, and the other's is left out: with a `prefix`
prompts do not meet. A server that does not answer is left out of the list, as its tools are; what was its own stays so,
and nobody else is asked for it meanwhile.
"""

import asyncio
import logging
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any

from interlock_gateway.core.session import Session
from interlock_gateway.errors import ProviderError
from interlock_gateway.pipeline.resolve_tool import visible
from interlock_gateway.providers.directory import Directory
from interlock_gateway.providers.mcp.link import RpcError
from interlock_gateway.providers.mcp.passing import GET, READ, passing_name
from interlock_gateway.providers.mcp.provider import McpProvider
from interlock_gateway.registry.registry import ToolRegistry

LIST_S = 10.0
"""How long one server may take to list what it has."""
MOST_ITEMS = 20_000
MOST_PAGES = 500
FRESH_S = 1.0
"""For how long a list is as good as a new one when something is looked up that it does not hold."""
_log = logging.getLogger(__name__)
_EXPRESSION = re.compile(r"\{[^{}]*\}")


class Shelf(Enum):
    """A kind of thing that servers list: of which capability it is, the method, its member, the key of an entry."""

    RESOURCES = ("resources", "resources/list", "resources", "uri", READ)
    TEMPLATES = ("resources", "resources/templates/list", "resourceTemplates", "uriTemplate", READ)
    PROMPTS = ("prompts", "prompts/list", "prompts", "name", GET)

    @property
    def capability(self) -> str:
        """What a server says it has when it has these."""
        return self.value[0]

    @property
    def method(self) -> str:
        """What lists them."""
        return self.value[1]

    @property
    def member(self) -> str:
        """Where in the answer they are."""
        return self.value[2]

    @property
    def key(self) -> str:
        """By which member of an entry it is asked for."""
        return self.value[3]

    @property
    def called(self) -> str:
        """The method by which one is read."""
        return self.value[4]


@dataclass(frozen=True, slots=True)
class Upstream:
    """One server whose things pass. `prefix` is put before the names of its prompts."""

    provider: McpProvider
    prefix: str

    @property
    def name(self) -> str:
        """The provider's name."""
        return self.provider.name


@dataclass(frozen=True, slots=True)
class Item:
    """One thing that a server lists, as it is told here; `key` is the server's own."""

    of: Upstream
    key: str
    entry: Mapping[str, Any]


class Shelves:
    """The lists of all servers. What was listed last is kept, to know whose a key is."""

    def __init__(self, directory: Directory, registry: ToolRegistry) -> None:
        self._directory = directory
        self._registry = registry
        self._kept: dict[Shelf, tuple[Item, ...]] = {}
        self._kept_at: dict[Shelf, float] = {}
        self._listing: dict[Shelf, asyncio.Task[tuple[Item, ...]]] = {}
        self._away: dict[Shelf, dict[str, str]] = {shelf: {} for shelf in Shelf}
        """By key, whose that is which a server listed before it went."""

    def servers(self) -> list[McpProvider]:
        """Every MCP server, connected or not."""
        providers = (connection.provider for connection in self._directory.connections())
        return [provider for provider in providers if isinstance(provider, McpProvider)]

    def upstreams(self, capability: str) -> list[Upstream]:
        """The servers whose things of that kind pass, by name."""
        return [
            Upstream(connection.provider, connection.spec.prefix)
            for connection in self._directory.connections()
            if isinstance(connection.provider, McpProvider) and connection.provider.passes(capability)
        ]

    async def items(self, shelf: Shelf, session: Session, *, fresh: bool = True) -> list[Item]:
        """What `session` may ask for: with `fresh`, as it is listed now; else as it was last."""
        kept = self._kept.get(shelf)
        items = await self._listed(shelf) if fresh or kept is None else kept
        seen = {name: self._sees(session, name, shelf) for name in {item.of.name for item in items}}
        return [item for item in items if seen[item.of.name]]

    async def find(self, shelf: Shelf, key: str, session: Session) -> Item | None:
        """Whose `key` is. What is not known is looked for again, once in a while."""
        for fresh in (False, self._is_stale(shelf)):
            for item in await self.items(shelf, session, fresh=fresh):
                if item.entry[shelf.key] == key:
                    return item
        return None

    async def owner_of(self, uri: str, session: Session) -> Upstream | None:
        """Whose a resource is: listed, of a template, or of the only server that has any."""
        if (item := await self.find(Shelf.RESOURCES, uri, session)) is not None:
            return item.of
        for item in await self.items(Shelf.TEMPLATES, session, fresh=self._is_stale(Shelf.TEMPLATES)):
            if fits(uri, item.key):
                return item.of
        if uri in self._away[Shelf.RESOURCES] or any(fits(uri, one) for one in self._away[Shelf.TEMPLATES]):
            return None
        others = [one for one in self.upstreams("resources") if self._sees(session, one.name, Shelf.RESOURCES)]
        return others[0] if len(others) == 1 else None

    def _is_stale(self, shelf: Shelf) -> bool:
        return asyncio.get_running_loop().time() - self._kept_at.get(shelf, float("-inf")) > FRESH_S

    def _sees(self, session: Session, provider: str, shelf: Shelf) -> bool:
        tool = self._registry.find(passing_name(provider, shelf.called))
        return tool is not None and tool.provider == provider and visible(tool, session)

    async def _listed(self, shelf: Shelf) -> tuple[Item, ...]:
        task = self._listing.get(shelf)
        if task is None or task.done():
            task = self._listing[shelf] = asyncio.create_task(self._list(shelf))
        return await asyncio.shield(task)

    async def _list(self, shelf: Shelf) -> tuple[Item, ...]:
        upstreams = self.upstreams(shelf.capability)
        lists = await asyncio.gather(*(_list_of(shelf, upstream) for upstream in upstreams))
        silent = {upstream.name for upstream, (_, whole) in zip(upstreams, lists, strict=True) if not whole}
        away = self._away[shelf] = self._left_behind(shelf, silent)
        taken: dict[str, Item] = {}
        for item in (item for items, _ in lists for item in items):
            key = item.entry[shelf.key]
            if (owner := away.get(key, item.of.name)) == item.of.name:
                owner = taken.setdefault(key, item).of.name
            if owner != item.of.name:
                about = {"provider": item.of.name, "owner": owner, "key": item.key[:200]}
                _log.warning("what two MCP servers list is left out of one", extra=about)
        self._kept[shelf] = tuple(taken.values())
        self._kept_at[shelf] = asyncio.get_running_loop().time()
        return self._kept[shelf]

    def _left_behind(self, shelf: Shelf, silent: set[str]) -> dict[str, str]:
        """What those servers listed that are configured and do not answer now; of each what was known first."""
        gone = {one.name for one in self.servers() if one.upstream is None or one.name in silent}
        before, listed = self._away[shelf], self._kept.get(shelf, ())
        known = {**before, **{key: item.of.name for item in listed if (key := item.entry[shelf.key]) not in before}}
        often, left = Counter[str](), dict[str, str]()
        for key, name in known.items():
            # A server that breaks off each time lists something else before it does, if it likes.
            if name in gone and often[name] < MOST_ITEMS:
                often[name] += 1
                left[key] = name
        return left


async def _list_of(shelf: Shelf, upstream: Upstream) -> tuple[list[Item], bool]:
    """What one server lists, and whether that is all: it may not answer, or not in a form that can be read."""
    items: list[Item] = []
    try:
        async with asyncio.timeout(LIST_S):
            cursor: str | None = None
            for _ in range(MOST_PAGES):
                params = {} if cursor is None else {"cursor": cursor}
                page = await upstream.provider.request(shelf.method, params, timeout_s=LIST_S)
                entries = page.get(shelf.member)
                items += _read(shelf, upstream, entries if isinstance(entries, list) else [])
                before, cursor = cursor, page.get("nextCursor")
                if not isinstance(cursor, str) or cursor == before or len(items) >= MOST_ITEMS:
                    break
    except (RpcError, ProviderError, TimeoutError) as error:
        about = {"provider": upstream.name, "method": shelf.method, "problem": str(error)[:200]}
        _log.warning("an MCP server does not list what it has", extra=about)
        return items[:MOST_ITEMS], False
    return items[:MOST_ITEMS], True


def _read(shelf: Shelf, upstream: Upstream, entries: list[Any]) -> list[Item]:
    items = []
    for entry in entries:
        key = entry.get(shelf.key) if isinstance(entry, dict) else None
        if not isinstance(key, str):
            continue
        renamed = shelf is Shelf.PROMPTS and upstream.prefix
        items.append(Item(upstream, key, {**entry, "name": upstream.prefix + key} if renamed else entry))
    return items


def fits(uri: str, template: str) -> bool:
    """Whether `uri` is one that `template` (RFC 6570) may stand for. An expression is taken for any text.

    No regular expression: who writes a template must not say how long it takes.

    >>> fits("file:///a/b.txt", "file:///{path}.txt")
    True
    """
    first, *rest = _EXPRESSION.split(template)
    if not rest:
        return uri == first
    *middle, last = rest
    at, end = len(first), len(uri) - len(last)
    if at > end or not uri.startswith(first) or not uri.endswith(last):
        return False
    for part in middle:
        found = uri.find(part, at, end)
        if found < 0:
            return False
        at = found + len(part)
    return True
