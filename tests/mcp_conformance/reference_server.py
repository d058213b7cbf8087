"""A server on the official SDK that has what the conformance suite asks for; prints its URL once it listens.

The suite is run against it, and against a gateway in front of it: what passes here must pass there (CON-1).
"""

import asyncio
import socket
import sys
import warnings
from collections.abc import Awaitable, Callable

import uvicorn
from mcp.server.mcpserver import MCPServer
from mcp.server.streamable_http import EventMessage, EventStore
from mcp.shared.exceptions import MCPDeprecationWarning
from mcp_types import JSONRPCMessage
from reference_rounds import add_rounds, add_stateless
from reference_tools import add_content, add_handlers, add_prompts, add_resources, add_talking

RETRY_MS = 100


class Events(EventStore):
    """What was sent on each stream, so that a client that comes back gets the rest."""

    def __init__(self) -> None:
        self._events: list[tuple[str, JSONRPCMessage | None]] = []

    async def store_event(self, stream_id: str, message: JSONRPCMessage | None) -> str:
        self._events.append((stream_id, message))
        return str(len(self._events))

    async def replay_events_after(
        self, last_event_id: str, send_callback: Callable[[EventMessage], Awaitable[None]]
    ) -> str | None:
        last = int(last_event_id)
        if not 0 < last <= len(self._events):
            return None
        stream = self._events[last - 1][0]
        for number, (of, message) in enumerate(self._events[last:], last + 1):
            if of == stream and message is not None:
                await send_callback(EventMessage(message, str(number)))
        return stream


def reference_server() -> MCPServer:
    """The server, with everything."""
    server = MCPServer("reference", version="1", instructions="Made for the conformance suite.", log_level="ERROR")
    for add in (add_content, add_talking, add_resources, add_prompts, add_handlers, add_rounds, add_stateless):
        add(server)
    return server


async def main() -> None:
    """Serve until killed."""
    app = reference_server().streamable_http_app(event_store=Events(), retry_interval=RETRY_MS)
    listening = socket.create_server(("127.0.0.1", 0))
    print(f"http://127.0.0.1:{listening.getsockname()[1]}/mcp", flush=True)  # noqa: T201 - for whoever started it
    # As the SDK comes: what else can read HTTP here leaves white space in headers, which a scenario looks at.
    config = uvicorn.Config(app, http="h11", log_level="error", lifespan="on", timeout_graceful_shutdown=1)
    await uvicorn.Server(config).serve(sockets=[listening])


if __name__ == "__main__":
    if not sys.warnoptions:
        warnings.simplefilter("ignore", MCPDeprecationWarning)
    asyncio.run(main())
