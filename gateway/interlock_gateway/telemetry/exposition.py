"""`/metrics` over HTTP, on a thread of its own (OBS-1)."""

import asyncio
import selectors
import socket
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

from prometheus_client import CollectorRegistry, make_wsgi_app
from prometheus_client.exposition import ThreadingWSGIServer

from interlock_gateway.errors import ConfigError


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
    ends, ended = socket.socketpair()
    thread = threading.Thread(target=_serve, args=(server, ended), name="metrics", daemon=True)
    thread.start()
    try:
        yield f"{host}:{server.server_port}"
    finally:
        ends.close()
        await asyncio.to_thread(thread.join)
        ended.close()
        server.server_close()


def _serve(server: WSGIServer, ended: socket.socket) -> None:
    """Hand each connection to a thread of its own, until the other end of `ended` is closed.

    `serve_forever` would wake up again and again to look whether it should end, and end that much later.
    """
    server.timeout = 0
    with selectors.DefaultSelector() as selector:
        selector.register(server, selectors.EVENT_READ)
        selector.register(ended, selectors.EVENT_READ)
        while not any(key.fileobj is ended for key, _ in selector.select()):
            server.handle_request()
