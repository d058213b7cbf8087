"""One connection to an MCP server, from its start to its end, in a task of its own."""

import asyncio
import contextlib
from collections.abc import Callable

from mcp.client.session import ClientSession
from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_REQUEST
from pydantic import ValidationError

from interlock_gateway.errors import ProviderDownError
from interlock_gateway.providers.mcp.link import Link, LinkError, RpcError
from interlock_gateway.providers.mcp.peer import Asked, Notice, Peer
from interlock_gateway.providers.mcp.upstream import Upstream, agree, session_on, upstream_of

LISTEN = "subscriptions/listen"
_LISTS = {"tools": "toolsListChanged", "prompts": "promptsListChanged", "resources": "resourcesListChanged"}
FIRST_RETRY_S = 1.0
LAST_RETRY_S = 30.0


class Connection:
    """Connects, agrees on a revision, and stands until the server or the gateway ends it."""

    def __init__(
        self,
        link: Link,
        allowed: frozenset[str],
        asked: Asked,
        notice: Notice,
        lost: Callable[[str], None],
        *,
        handshake_only: bool,
    ) -> None:
        self._link = link
        self._allowed = allowed
        self._handshake_only = handshake_only
        self._peer = Peer(link, asked, notice, lost)
        self._task: asyncio.Task[None] | None = None

    async def open(self, timeout_s: float) -> Upstream:
        """What was agreed on, within `timeout_s` seconds. Raises `ProviderDownError`."""
        opened: asyncio.Future[Upstream] = asyncio.get_running_loop().create_future()
        self._task = asyncio.create_task(self._run(opened))
        try:
            async with asyncio.timeout(timeout_s):
                return await asyncio.shield(opened)
        except TimeoutError:
            raise ProviderDownError("it does not answer") from None
        finally:
            if not opened.done() or opened.cancelled() or opened.exception() is not None:
                await self.close()

    async def close(self) -> None:
        """End it; requests without an answer end as lost."""
        await self._peer.close()
        if self._task is not None and not self._task.done():
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def _run(self, opened: "asyncio.Future[Upstream]") -> None:
        opened.add_done_callback(_looked_at)
        try:
            await self._peer.open()
            async with session_on(self._peer, self._allowed) as session:
                # What is raised in here would leave as a group of errors.
                upstream = await self._agreed(session, opened)
                if upstream is not None:
                    await self._hear(upstream)
        except LinkError as error:
            _refuse(opened, error.message)
        finally:
            _refuse(opened, "the connection was closed")
            await self._peer.close()

    async def _agreed(self, session: ClientSession, opened: "asyncio.Future[Upstream]") -> Upstream | None:
        try:
            await agree(session, self._peer, handshake_only=self._handshake_only)
        except (LinkError, MCPError, RuntimeError, ValidationError) as error:
            _refuse(opened, _words(error))
            return None
        upstream = upstream_of(session, self._peer, self._allowed)
        self._link.adopt(upstream.version, modern=upstream.modern)
        if not opened.done():
            opened.set_result(upstream)
        return upstream

    async def _hear(self, upstream: Upstream) -> None:
        """Stay until the connection ends; on the newest revision, ask to be told when lists change."""
        wanted = {name: True for kind, name in _LISTS.items() if upstream.capabilities.get(kind, {}).get("listChanged")}
        if not upstream.modern or not wanted:
            await self._peer.gone.wait()
            return
        retry_s = FIRST_RETRY_S
        while not self._peer.gone.is_set():
            began = asyncio.get_running_loop().time()
            with contextlib.suppress(LinkError, RpcError):
                await upstream.request(LISTEN, {"notifications": wanted}, None)
            if asyncio.get_running_loop().time() - began > LAST_RETRY_S:
                retry_s = FIRST_RETRY_S
            await asyncio.sleep(retry_s)
            retry_s = min(retry_s * 2, LAST_RETRY_S)


def _refuse(opened: "asyncio.Future[Upstream]", why: str) -> None:
    if not opened.done():
        opened.set_exception(ProviderDownError(why))


def _looked_at(opened: "asyncio.Future[Upstream]") -> None:
    """Nobody complains of a failure that came when nobody waited for it any more."""
    if not opened.cancelled():
        opened.exception()


def _words(error: Exception) -> str:
    if isinstance(error, LinkError):
        return error.message
    if isinstance(error, MCPError):
        if error.code == INVALID_REQUEST and not error.message:
            return "it refused the connection"
        return f"it refused to begin a session: {error.message[:200]} ({error.code})"
    return "what it says of itself cannot be read"
