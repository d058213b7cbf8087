"""What upstream servers ask while they run a call, asked of the client whose call it is (MCP-2).

Which servers may ask, and what, is `allow` of their configuration; here it is looked at what the client can do.
"""

import asyncio
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Protocol

from mcp.shared.exceptions import MCPError
from pydantic import ValidationError

from interlock_gateway.providers.directory import Directory
from interlock_gateway.providers.mcp.link import RpcError
from interlock_gateway.providers.mcp.provider import McpProvider
from interlock_gateway.registry.registry import ToolRegistry
from interlock_gateway.sessions.book import SessionBook
from interlock_gateway.transport.mcp.clients import Client

UNABLE = -32600
INTERNAL = -32603
NO_ROOTS = -32601
_KINDS = (("sampling", "sampling/createMessage"), ("elicitation", "elicitation/create"), ("roots", "roots/list"))


class Asks(Protocol):
    """A way to ask the client of one request."""

    async def ask(self, method: str, params: Mapping[str, Any], key: str) -> dict[str, Any]:
        """Its answer. Raises `RpcError`."""
        ...

    def end(self) -> None:
        """The call is over."""
        ...


class ByRequest:
    """Asks a client with a request to it."""

    def __init__(self, client: Client, ask_s: float) -> None:
        self._client = client
        self._ask_s = ask_s
        self._asking: set[asyncio.Task[dict[str, Any]]] = set()
        self._over = False

    def end(self) -> None:
        """The call is over: what was not answered need not be."""
        self._over = True
        for asking in self._asking:
            asking.cancel()

    async def ask(self, method: str, params: Mapping[str, Any], key: str) -> dict[str, Any]:
        """Its answer. Raises `RpcError`."""
        del key
        asking = asyncio.create_task(self._client.request(method, params, self._ask_s))
        self._asking.add(asking)
        try:
            return await asking
        except asyncio.CancelledError:
            if not self._over:
                raise
            raise RpcError(INTERNAL, "the call is over") from None
        except MCPError as error:
            raise RpcError(error.code, error.message, error.data, has_data=error.data is not None) from None
        except ValidationError:
            raise RpcError(INTERNAL, "the client's answer cannot be read") from None
        finally:
            asking.cancel()
            self._asking.discard(asking)


class SessionClient:
    """The client behind a session: whichever of its requests is open, the latest first, is the way to it.

    Anybody may name a session, and is refused only when it is looked at whose it is: who does not own it is not there.
    """

    def __init__(self, session_id: str, sessions: SessionBook) -> None:
        self._session_id = session_id
        self._sessions = sessions
        self.open: list[tuple[Client, Asks]] = []

    @property
    def latest(self) -> list[tuple[Client, Asks]]:
        """The open requests of whoever owns the session, the latest first."""
        live = self._sessions.in_memory(self._session_id)
        owner = live.session.owner if live is not None else None
        return [entry for entry in reversed(self.open) if entry[0].principal == owner]

    @property
    def able(self) -> frozenset[str]:
        """What it can be asked now."""
        return frozenset(
            kind for kind, method in _KINDS if any(client.answers_to(method, {}) for client, _way in self.latest)
        )

    async def request(self, method: str, params: Mapping[str, Any], *, key: str = "") -> dict[str, Any]:
        """Its answer. Raises `RpcError`: its own, or that it cannot be asked this."""
        for client, way in self.latest:
            if client.answers_to(method, params):
                return await way.ask(method, params, key)
        raise RpcError(NO_ROOTS if method == "roots/list" else UNABLE, f"the client does not support {method}")


class Relays:
    """Says which client is behind a session, while one of its calls is under way."""

    def __init__(self, directory: Directory, registry: ToolRegistry, sessions: SessionBook) -> None:
        self._directory = directory
        self._sessions = sessions
        self._registry = registry
        self._clients = directory.clients
        self._of: dict[str, SessionClient] = {}

    def server_of(self, tool: str, owner: str) -> McpProvider | None:
        """The MCP server that has this tool, as it is there for principal `owner`."""
        found = self._registry.find(tool, owner)
        provider = self._directory.get(found.provider) if found is not None else None
        return provider if isinstance(provider, McpProvider) else None

    def open_in(self, session_id: str) -> Client | None:
        """The client of the latest call of the session that is under way."""
        known = self._of.get(session_id)
        return next((client for client, _way in known.latest), None) if known is not None else None

    def log_levels(self) -> list[str | None]:
        """From which level on those calls want to hear what is logged that are under way, where they say it."""
        return [client.log_level for known in self._of.values() for client, _way in known.open]

    @contextmanager
    def behind(self, session_id: str, client: Client, way: Asks) -> Iterator[None]:
        """A call of the session is under way, whose client is asked by `way`."""
        known = self._of.get(session_id)
        if known is None:
            known = self._of[session_id] = SessionClient(session_id, self._sessions)
            self._clients.register(session_id, known)
        entry = (client, way)
        known.open.append(entry)
        try:
            yield
        finally:
            way.end()
            known.open.remove(entry)
            if not known.open:
                del self._of[session_id]
                self._clients.unregister(session_id, known)
