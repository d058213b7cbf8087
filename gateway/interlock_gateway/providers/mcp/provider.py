"""An MCP server as a provider: described, called, kept (MCP-2, MCP-3).

The SDK is imported when the first of them is connected: who has none does not pay for it.
"""

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from interlock_gateway.core.operation import UndoInfo
from interlock_gateway.core.outcome import DryRun, Invocation, ProgressEvent, Rendering, Resolution, ToolOutcome
from interlock_gateway.errors import OutcomeUnknownError, ProviderDownError, ProviderError, ProviderFailedError
from interlock_gateway.providers.kept import Described, ProviderKind
from interlock_gateway.providers.mcp.clients import Clients
from interlock_gateway.providers.mcp.contents import error_outcome, result_outcome, whole_outcome
from interlock_gateway.providers.mcp.link import Link, LinkError, RefusedError, RequestId, RpcError, SessionGoneError
from interlock_gateway.providers.mcp.loading import load
from interlock_gateway.providers.mcp.messages import arguments
from interlock_gateway.providers.mcp.passing import GET, READ, params_of, passing_name, passing_tools
from interlock_gateway.providers.mcp.relay import Relay
from interlock_gateway.providers.mcp.stdio_link import StdioLink
from interlock_gateway.providers.port import EventSink, ignore_events
from interlock_gateway.providers.wire import MAX_LABEL, bounded

if TYPE_CHECKING:
    from interlock_gateway.providers.mcp.connection import Connection
    from interlock_gateway.providers.mcp.target import Target
    from interlock_gateway.providers.mcp.upstream import Upstream

CONNECT_S = 2.0
"""How long a call waits for a connection that is being made before the provider counts as down."""
SETTLE_S = 0.5
"""How long a server may go on changing its tools before they are asked for."""
LISTING_SHARE, LONGEST_REST_S = 4.0, 10.0
"""How many times as long as a list took it is not asked for again, within reason, however often it changes."""
SHORT_LIFE_S = 10.0
"""A connection that ends sooner counts as one that the server does not keep."""
FIRST_WAIT_S = 0.1
LAST_WAIT_S = 30.0
MAX_ROUNDS = 10
PASSED = (READ, GET)
"""Requests that go the way of calls, as tools that are not listed: `PROVIDER/METHOD`."""
Notice = Callable[[str, Mapping[str, Any], str], None]
"""Hears a method, its params, and in which session's call it was said; empty when it cannot be told."""


class McpProvider:
    """One upstream MCP server. `prefix` is put before the names of its tools."""

    def __init__(self, name: str, target: "Target", *, prefix: str, clients: Clients) -> None:
        self.name = name
        self.kind = target.kind
        self.address = target.shown
        self._target = target
        self._prefix = prefix
        self._relay = Relay(name, target.allowed, clients)
        self._connection: Connection | None = None
        self._link: Link | None = None
        self._words: tuple[str, ...] = ()
        self._upstream: Upstream | None = None
        self._opening: asyncio.Task[Upstream] | None = None
        self._handshake_only = target.handshake
        self._opened_at = 0.0
        self._short_lives = 0
        self._described = asyncio.Event()
        self._change = asyncio.Event()
        self._listed: dict[str, Mapping[str, Any]] = {}
        self._passing: dict[str, str] = {}
        self._rest_s = SETTLE_S
        self._listeners: list[Notice] = []
        self.in_flight = 0
        self._retired = False
        self._closing: set[asyncio.Task[None]] = set()

    @property
    def upstream(self) -> "Upstream | None":
        """What was agreed on with the server, while it is connected."""
        upstream = self._upstream
        return upstream if upstream is not None and not upstream.peer.gone.is_set() else None

    @property
    def last_words(self) -> tuple[str, ...]:
        """What the server wrote to its stderr last, if it is a program that the gateway runs, or the one before it did.

        Nothing of it may reach an agent.
        """
        words = self._link.last_words if isinstance(self._link, StdioLink) else ()
        return words or self._words

    def listed(self, tool: str) -> Mapping[str, Any] | None:
        """A tool as the server lists it, by its name here; what `ToolDefinition` has no field for is in it."""
        return self._listed.get(tool)

    def on_notice(self, listener: Notice) -> Callable[[], None]:
        """Have `listener` told what the server says unasked, but for progress; returns how to end that."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    async def request(
        self, method: str, params: Mapping[str, Any], *, timeout_s: float = 60.0, session_id: str = ""
    ) -> dict[str, Any]:
        """The result of a request that is no call, as the server sent it.

        Raises `RpcError` with the server's own error, `ProviderDownError`, `ProviderFailedError`,
        `OutcomeUnknownError`.
        """
        await self.ready(timeout_s)
        with self._mapped():
            return await self._live().request(method, params, timeout_s, session_id=session_id)

    async def describe(self, timeout_s: float) -> Described:
        """Connect if need be, and list the server's tools, page by page."""
        self._change.clear()
        began = time.monotonic()
        upstream = await self._connected(timeout_s)
        from interlock_gateway.providers.mcp.listing import list_tools  # noqa: PLC0415 -- it brings the SDK

        connected = time.monotonic()
        with self._mapped():
            listing = await list_tools(upstream, self.name, self._prefix, timeout_s - (connected - began))
        self._rest_s = max(SETTLE_S, min(LISTING_SHARE * (time.monotonic() - connected), LONGEST_REST_S))
        self._listed = listing.tools
        passing = passing_tools(self.name, self._target.passes, upstream.capabilities)
        names = {one.name for one in passing}
        self._passing = {name: one for one in PASSED if (name := passing_name(self.name, one)) in names}
        return Described(upstream.server_version, tuple(listing.definitions), tuple(listing.problems), passing)

    @property
    def asks(self) -> bool:
        """Whether the server may ask anything of the clients whose calls it runs."""
        return bool(self._target.allowed)

    @property
    def logs(self) -> bool:
        """Whether what the server logs reaches MCP clients. Many log without saying that they can."""
        return "logging" in self._target.passes

    def passes(self, kind: str) -> bool:
        """Whether `kind` of the server reaches MCP clients: configured so, and there."""
        upstream = self.upstream
        return upstream is not None and kind in self._target.passes and kind in upstream.capabilities

    async def until_lost(self) -> bool:
        """Return when the connection is lost, `False`, or when the server's tools have changed, `True`."""
        await self._change.wait()
        if (upstream := self.upstream) is None:
            return False
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(self._rest_s):
                await upstream.peer.gone.wait()
        return self.upstream is not None

    async def pause(self, most_s: float) -> None:
        """Wait before it is asked again."""
        await asyncio.sleep(most_s)

    def mark_described(self) -> None:
        """What the server lists is registered: it may be called."""
        self._described.set()

    def mark_lost(self) -> None:
        """The connection was lost: nothing is called before it is described again."""
        self._described.clear()

    def retire(self) -> None:
        """Close the connection once the last call in flight has ended."""
        self._retired = True
        self._close_when_idle()

    async def close(self) -> None:
        """Close the connection; calls in flight end as unknown."""
        self._retired = True
        if self._opening is not None and not self._opening.done():
            self._opening.cancel()
            await asyncio.gather(self._opening, return_exceptions=True)
        if self._connection is not None:
            await self._connection.close()
        await asyncio.gather(*self._closing, return_exceptions=True)

    async def ready(self, deadline_s: float) -> None:
        """Return when the server can be called; raises `ProviderDownError`."""
        if self._is_ready:
            return
        self._described.clear()
        try:
            async with asyncio.timeout(min(CONNECT_S, deadline_s)):
                await self._described.wait()
        except TimeoutError:
            raise ProviderDownError(f"provider {self.name} cannot be reached") from None

    @property
    def _is_ready(self) -> bool:
        return self._described.is_set() and self.upstream is not None

    async def execute(self, invocation: Invocation, on_event: EventSink = ignore_events) -> ToolOutcome:
        """Call the tool; progress goes to `on_event` as it comes."""
        until = time.monotonic() + invocation.deadline_s
        decided = self._listed.get(invocation.tool)
        for last in (False, True):
            if not self._is_ready:
                await self.ready(until - time.monotonic())
            if self._listed.get(invocation.tool) != decided:
                # Who came back is not who was decided about (TOOL-5).
                raise ProviderDownError(f"the definition of {invocation.tool} changed before it was sent")
            self.in_flight += 1
            try:
                with self._mapped():
                    return await self._outcome(invocation, on_event, until)
            except RpcError as error:
                return error_outcome(error.code, error.message, error.data, has_data=error.has_data)
            except SessionGoneError:
                # It was not looked at: a new session is opened, and it is sent there.
                if last:
                    raise ProviderDownError(f"provider {self.name} does not keep a session") from None
            finally:
                self.in_flight -= 1
                self._close_when_idle()
        raise AssertionError

    async def dry_run(self, invocation: Invocation) -> DryRun:
        """MCP has no dry runs."""
        raise ProviderFailedError(f"{invocation.tool} cannot be previewed: MCP servers have no dry run")

    async def render_call(self, invocation: Invocation) -> Rendering:
        """MCP servers have no words for a call."""
        raise ProviderFailedError(f"{self.name} has no words for {invocation.tool}")

    async def render_result(self, invocation: Invocation, outcome: ToolOutcome) -> Rendering:
        """MCP servers have no words for a result."""
        del outcome
        raise ProviderFailedError(f"{self.name} has no words for {invocation.tool}")

    async def generate_undo(self, invocation: Invocation, outcome: ToolOutcome) -> UndoInfo | None:
        """MCP servers do not say how a call would be undone."""
        del invocation, outcome
        return None

    async def apply_pending(self, resolution: Resolution) -> ToolOutcome:
        """MCP servers push nothing."""
        raise ProviderFailedError(f"{self.name} pushed nothing that {resolution.source_tool} could resolve")

    async def reject_pending(self, resolution: Resolution) -> ToolOutcome | None:
        """MCP servers push nothing."""
        del resolution
        return None

    async def _outcome(self, invocation: Invocation, on_event: EventSink, until: float) -> ToolOutcome:
        upstream = self._live()
        method, session_id = self._passing.get(invocation.tool), invocation.session_id
        if method is not None:
            passed, given = method, params_of(method, arguments(invocation.input))

            def send(more: Mapping[str, Any]) -> Awaitable[dict[str, Any]]:
                return upstream.request(passed, {**given, **more}, invocation.deadline_s, session_id=session_id)

            return whole_outcome(await self._rounds(send, session_id, until))
        name = invocation.tool.removeprefix(self._prefix)
        told = None if on_event is ignore_events else _progress_to(on_event)
        call = partial(upstream.call, name, invocation, told)
        return result_outcome(await self._rounds(call, session_id, until), self.name)

    async def _rounds(
        self, send: Callable[[Mapping[str, Any]], Awaitable[dict[str, Any]]], session_id: str, until: float
    ) -> dict[str, Any]:
        """What the server answers at last, all rounds within the call's time.

        `send` sends it the request with the answers to what it has asked. Once it has asked it has begun: whatever is
        not sent after that, the call is not one that was not sent.
        """
        result = await send({})
        if result.get("resultType") != "input_required":
            return result
        async with asyncio.timeout(until - time.monotonic()):
            for _ in range(MAX_ROUNDS):
                answers = await self._relay.answers(result, session_id)
                try:
                    result = await send(answers)
                except LinkError as error:
                    raise LinkError(error.message) from None
                if result.get("resultType") != "input_required":
                    return result
        raise ProviderFailedError(f"{self.name} asked for input {MAX_ROUNDS} times and did not go on")

    async def _asked(self, method: str, params: dict[str, Any], related: RequestId | None) -> dict[str, Any] | None:
        return await self._relay.ask(method, params, self._live().whose(related))

    def _notice(self, method: str, params: dict[str, Any], related: RequestId | None) -> None:
        if method == "notifications/tools/list_changed":
            self._change.set()
        upstream = self.upstream
        session_id = upstream.whose(related) if upstream is not None and self._listeners else ""
        for listener in tuple(self._listeners):
            listener(method, params, session_id)

    def _lost(self, _why: str) -> None:
        self._described.clear()
        self._change.set()

    async def _connected(self, timeout_s: float) -> "Upstream":
        if (upstream := self.upstream) is not None:
            return upstream
        if self._opening is None or self._opening.done():
            self._opening = asyncio.create_task(self._open())
        try:
            async with asyncio.timeout(timeout_s):
                return await asyncio.shield(self._opening)
        except TimeoutError:
            raise ProviderDownError(f"provider {self.name} does not answer") from None
        except ProviderDownError as error:
            raise ProviderDownError(f"provider {self.name} cannot be reached: {error.message}") from None

    async def _open(self) -> "Upstream":
        if self._connection is not None:
            await self._connection.close()
            await self._wait_before_it_is_opened_again()
        home = "interlock_gateway.providers.mcp"
        await asyncio.to_thread(load, f"{home}.listing", f"{home}.connection")
        from interlock_gateway.providers.mcp.connection import Connection  # noqa: PLC0415 -- it brings the SDK

        self._words, self._link = self.last_words, self._target.link(self.name)
        self._connection = connection = Connection(
            self._link,
            self._target.allowed,
            self._asked,
            self._notice,
            self._lost,
            handshake_only=self._handshake_only,
        )
        try:
            self._upstream = await connection.open(self._target.open_s)
            self._opened_at = time.monotonic()
        except ProviderDownError:
            # Some servers end when they are asked something before the handshake: then that is what comes first.
            self._handshake_only = self._target.handshake or (
                self.kind is ProviderKind.MCP_STDIO and not self._handshake_only
            )
            raise
        self._upstream.able = self._relay.able
        return self._upstream

    async def _wait_before_it_is_opened_again(self) -> None:
        """A server that never stays for long is waited for longer and longer."""
        lived_s = time.monotonic() - self._opened_at
        self._short_lives = self._short_lives + 1 if lived_s < SHORT_LIFE_S else 0
        if self._short_lives > 1:
            await asyncio.sleep(min(FIRST_WAIT_S * 2 ** min(self._short_lives, 10), LAST_WAIT_S))

    def _live(self) -> "Upstream":
        upstream = self.upstream
        if upstream is None:
            raise ProviderDownError(f"provider {self.name} cannot be reached")
        return upstream

    def _close_when_idle(self) -> None:
        if self._retired and not self.in_flight and self._connection is not None:
            task = asyncio.create_task(self._connection.close())
            self._closing.add(task)
            task.add_done_callback(self._closing.discard)

    def _mapped(self) -> "_Mapped":
        return _Mapped(self.name)


class _Mapped:
    """What goes wrong with the link to a provider, as the pipeline knows it."""

    __slots__ = ("_name",)

    def __init__(self, name: str) -> None:
        self._name = name

    def __enter__(self) -> None:
        pass

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        if isinstance(error, LinkError) and not isinstance(error, SessionGoneError):
            raise self._of_link(error) from None
        if isinstance(error, TimeoutError):
            raise OutcomeUnknownError(f"provider {self._name} did not answer in time") from None

    def _of_link(self, error: LinkError) -> ProviderError:
        if isinstance(error, RefusedError):
            return ProviderFailedError(f"provider {self._name} refused: {error.message}", status=str(error.status))
        if error.unsent:
            return ProviderDownError(f"provider {self._name} cannot be reached: {error.message}")
        return OutcomeUnknownError(f"provider {self._name} was lost while the call ran: {error.message}")


def _progress_to(on_event: EventSink) -> Callable[[float, float | None, str], None]:
    def told(progress: float, total: float | None, message: str) -> None:
        on_event(ProgressEvent(progress, bounded(message, MAX_LABEL), total))

    return told
