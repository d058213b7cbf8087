"""A FastMCP proxy as fast as it gets: one session upstream, kept and reused, and answers as JSON. Prints its URL.

Run by a Python that has requirements.lock; the repository's own has no FastMCP.
"""

import logging
import socket
import sys

import uvloop
from fastmcp import Client
from fastmcp.server import create_proxy


async def main(upstream: str, revision: str) -> None:
    """Serve what `upstream` has, on a free port, until killed."""
    logging.disable(logging.WARNING)
    listening = socket.socket(proto=socket.IPPROTO_TCP)  # asyncio sends at once only where it is told that it is TCP
    listening.bind(("127.0.0.1", 0))
    mode = "auto" if revision > "2025-11-25" else "legacy"
    async with Client(upstream, mode=mode) as connected:
        proxy = create_proxy(connected, name="proxy")
        print(f"http://127.0.0.1:{listening.getsockname()[1]}/mcp", flush=True)
        settings = {"log_level": "error", "access_log": False, "timeout_graceful_shutdown": 1}
        await proxy.run_http_async(
            show_banner=False, path="/mcp", json_response=True, sockets=[listening], uvicorn_config=settings
        )


if __name__ == "__main__":
    uvloop.run(main(sys.argv[1], sys.argv[2]))
