"""Progress of a call, passed on while it runs, to a client that asked for it."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from mcp.server.session import ServerSession

from interlock_gateway.core.outcome import ProgressEvent, ToolEvent, WaitingEvent
from interlock_gateway.providers.port import EventSink, ignore_events
from interlock_gateway.transport.mcp.wires import McpCaller

T = TypeVar("T")
WAITING = "A person has to decide about this call."
WAITING_STEP = 1e-9
BUFFERED = 1000
"""Events held for a slow reader; beyond that the oldest are dropped, never the result."""


async def with_progress(caller: McpCaller, session: ServerSession, run: Callable[[EventSink], Awaitable[T]]) -> T:
    """What `run` gives. Its progress is sent as it comes; all of it before the result."""
    if caller.meta.get("progressToken") is None:
        return await run(ignore_events)
    events: asyncio.Queue[ProgressEvent | None] = asyncio.Queue(BUFFERED)
    told = 0

    def put(event: ToolEvent | None) -> None:
        nonlocal told
        if isinstance(event, WaitingEvent) and event.checkpoint_id:
            # Far below what any tool counts, so that what it says later is more.
            told += 1
            event = ProgressEvent(told * WAITING_STEP, WAITING)
        if event is not None and not isinstance(event, ProgressEvent):
            return
        if events.full():
            events.get_nowait()
        events.put_nowait(event)

    sending = asyncio.create_task(_send(events, session))
    try:
        result = await run(put)
        put(None)
        await sending
    finally:
        sending.cancel()
    return result


async def _send(events: "asyncio.Queue[ProgressEvent | None]", session: ServerSession) -> None:
    while (event := await events.get()) is not None:
        await session.report_progress(event.progress, event.total, event.message or None)
