"""`/metrics` over HTTP, on a thread of its own (OBS-1)."""

import asyncio
import socket
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from wsgiref.simple_server import WSGIRequestHandler, make_server

from prometheus_client import CollectorRegistry, make_wsgi_app
from prometheus_client.exposition import ThreadingWSGIServer

from interlock_gateway.errors import ConfigError

_LOOK_S = 0.1
"""How often the thread looks whether it should end."""


class _Server6(ThreadingWSGIServer):
    address_family = socket.AF_INET6


class _Quiet(WSGIRequestHandler):
    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name it overrides
        """Say nothing: a scrape is no event."""


@asynccontextmanager
async def exposed(listen: str, registry: CollectorRegistry) -> AsyncIterator[str]:
    """Serve metrics on `listen` inside the block; the address, with the port that was chosen, empty when switched off.

    Raises `ConfigError` when the address cannot be had.
    """
    if not listen:
        yield ""
        return
    host, _, port = listen.rpartition(":")
    kind = _Server6 if host.startswith("[") else ThreadingWSGIServer
    try:
        server = make_server(host.strip("[]"), int(port), make_wsgi_app(registry), kind, handler_class=_Quiet)
    except (OSError, ValueError) as error:
        raise ConfigError(f"cannot serve metrics on {listen}: {error}") from None
    thread = threading.Thread(target=server.serve_forever, args=(_LOOK_S,), name="metrics", daemon=True)
    thread.start()
    try:
        yield f"{host}:{server.server_port}"
    finally:
        await asyncio.to_thread(server.shutdown)
        server.server_close()
