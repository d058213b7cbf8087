"""The gateway as an MCP server: one for the process, whatever its clients come in by (MCP-1).

Each handler decodes, calls once, and encodes. Who calls, and in which session, is the connection's `Wire` to say, which
is the SDK's lifespan context here; counting, access and errors stand around the handlers (`guard.py`).
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Mapping
from contextlib import asynccontextmanager
from functools import partial
from typing import Any, TypeVar

from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel.server import NotificationOptions, Server
from mcp.server.models import InitializationOptions
from mcp.server.subscriptions import ListenHandler
from mcp_types import (
    CallToolRequestParams,
    NotificationParams,
    PaginatedRequestParams,
)

from interlock_gateway.core.call import CallResult
from interlock_gateway.pipeline.tasks import TaskKeeper
from interlock_gateway.providers.port import EventSink, ignore_events
from interlock_gateway.transport.mcp.answers import answered, asked_of
from interlock_gateway.transport.mcp.changes import ToolChanges
from interlock_gateway.transport.mcp.checkpoint_calls import AskFirst, CheckpointCalls
from interlock_gateway.transport.mcp.clients import Client
from interlock_gateway.transport.mcp.consent import ConsentAsking
from interlock_gateway.transport.mcp.freshness import FRESH
from interlock_gateway.transport.mcp.guard import Guard
from interlock_gateway.transport.mcp.notices import Notices
from interlock_gateway.transport.mcp.parts import SurfaceParts, directory_of
from interlock_gateway.transport.mcp.passage import Passage, Told
from interlock_gateway.transport.mcp.progress import with_progress
from interlock_gateway.transport.mcp.relays import Relays
from interlock_gateway.transport.mcp.requests import call_request
from interlock_gateway.transport.mcp.shelves import Shelves
from interlock_gateway.transport.mcp.tools import ToolList
from interlock_gateway.transport.mcp.wires import McpCaller, Wire

T = TypeVar("T")
Context = ServerRequestContext[Wire, Any]
Answer = dict[str, Any]
Running = Callable[[EventSink], Coroutine[Any, Any, CallResult | AskFirst]]
"""Makes a call, whose events go to what it is given."""
NAME = "interlock"
ACTIVATE = "activate_tools"
INSTRUCTIONS = (
    "Calls go through Interlock. A previewed change has not happened until resolve is called with action=apply; "
    "a denied call is not to be repeated as it is. Results that were cut are read whole with read_artifact."
)


@asynccontextmanager
async def _shared(_server: Server[Wire]) -> AsyncIterator[Wire]:
    """The wire of requests that stand for themselves."""
    yield Wire()


class Surface:
    """The MCP server. Made once, when the first client comes."""

    def __init__(self, parts: SurfaceParts) -> None:
        self.parts = parts
        directory, registry = directory_of(parts), parts.parts.registry
        relays, shelves = Relays(directory, registry, parts.parts.sessions), Shelves(directory, registry)
        self._calls = CheckpointCalls(parts, relays)
        self._consent = ConsentAsking(parts, self._calls)
        self._under_way = TaskKeeper()
        self._tools = ToolList(parts.parts)
        self._changes = ToolChanges(parts.parts.registry)
        self._notices = Notices(shelves, relays, self._changes.bus)
        self._unfollow = registry.when_changed(self._notices.follow)
        self._listeners = ListenHandler(self._changes.bus, max_subscriptions=parts.config.max_connections)
        self.server: Server[Wire] = Server(
            NAME,
            version=parts.version,
            title="Interlock",
            instructions=INSTRUCTIONS,
            lifespan=_shared,
        )
        self.server.add_request_handler("tools/list", PaginatedRequestParams, self._list_tools)
        self.server.add_request_handler("tools/call", CallToolRequestParams, self._call_tool)
        self.server.add_notification_handler("notifications/initialized", NotificationParams, self._initialized)
        Passage(parts, shelves, self._calls, Told(self._notices, self._listeners)).serve_on(self.server)
        # The SDK's own spans are left out: the pipeline's continue the client's trace.
        self.guard = Guard(parts.open_rpcs)
        self.server.middleware[:] = [self.guard]

    async def _apart(self, run: Callable[[EventSink], Coroutine[Any, Any, T]], on_event: EventSink) -> T:
        """Run a call in a task of its own.

        What the SDK cancels it cancels at every await, and a call that is cancelled has things to do.
        """
        task = self._under_way.start(run(on_event))
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            task.cancel()
            raise

    def say_goodbye(self) -> None:
        """End the streams on which clients hear of changes: they have no end of their own."""
        self._listeners.close()

    def close(self) -> None:
        """Follow nothing any more."""
        self._unfollow()
        self._notices.close()
        self._changes.close()

    def options(self) -> InitializationOptions:
        """What a handshake says of the server."""
        return self.server.create_initialization_options(
            NotificationOptions(prompts_changed=True, resources_changed=True, tools_changed=True)
        )

    async def _initialized(self, ctx: Context, _params: NotificationParams) -> None:
        wire = ctx.lifespan_context
        if not wire.greeted:  # a client may say so as often as it likes
            wire.greeted = True
            self._changes.attach(wire, ctx.session)
            self._notices.attach(wire, ctx.session)

    async def _list_tools(self, ctx: Context, _params: PaginatedRequestParams) -> Answer:
        caller = ctx.lifespan_context.caller(ctx)
        live = await self.parts.parts.sessions.for_evaluation(caller.principal, caller.session_id)
        return {"tools": self._tools.of(live.session, caller.version), **FRESH}

    async def _call_tool(self, ctx: Context, params: CallToolRequestParams) -> Answer:
        caller = ctx.lifespan_context.caller(ctx)
        client = Client(ctx, caller, state=params.request_state, answers=params.input_responses)

        async def made(run: Running) -> CallResult | AskFirst:
            return await with_progress(caller, ctx.session, partial(self._apart, run))

        return await self._called(caller, client, params.name, params.arguments, made)

    async def call(self, caller: McpCaller, client: Client, name: str, arguments: dict[str, Any] | None) -> Answer:
        """The answer to a call whose client wants to hear of no progress. It ends with the task that asks for it."""
        return await self._called(caller, client, name, arguments, _at_once)

    async def _called(
        self,
        caller: McpCaller,
        client: Client,
        name: str,
        arguments: Mapping[str, Any] | None,
        made: Callable[[Running], Awaitable[CallResult | AskFirst]],
    ) -> Answer:
        call = call_request(caller, name, arguments)
        asked = asked_of(self.parts.parts, caller, name)
        self._notices.asked(client.log_level)
        answer = await made(partial(self._consent.handle, caller.principal, call, client))
        if name == ACTIVATE:
            self._changes.activated(client.wire)
        return answered(answer, asked) if isinstance(answer, CallResult) else answer.result()


async def _at_once(run: Running) -> CallResult | AskFirst:
    return await run(ignore_events)
