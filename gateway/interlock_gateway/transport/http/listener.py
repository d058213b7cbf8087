"""An HTTP listener on the gateway's own event loop."""

import asyncio
import contextlib
import logging
import socket
import ssl
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any

import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol

from interlock_gateway.config_loader.addresses import TcpAddress, parse_address
from interlock_gateway.errors import ConfigError

MOST_AT_ONCE = 100
KEEP_ALIVE_S = 5
HEAD_S = 10.0
"""How long a connection may go without a request: uvicorn itself waits for ever for the rest of a head."""
LAST_WORDS_S = 2
_BACKLOG = 128
# It would write down addresses, which hold tokens, to whoever listens to every logger.
logging.getLogger("uvicorn.access").disabled = True


class Impatience(asyncio.Protocol):
    """Closes connections on which nothing is asked, so that a hundred that say nothing keep nobody out.

    It goes before one of uvicorn's protocols, whose attributes these are.
    """

    loop: asyncio.AbstractEventLoop
    transport: asyncio.Transport
    cycle: Any
    _answered: object = None
    _clock: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn has it
        """Begin to wait for a request."""
        super().connection_made(transport)
        self._clock = self.loop.call_later(HEAD_S, self._look)

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait no more."""
        if self._clock is not None:
            self._clock.cancel()
        super().connection_lost(exc)

    def _look(self) -> None:
        under_way = self.cycle is not None and not self.cycle.response_complete
        if not under_way and self.cycle is self._answered:
            self.transport.abort()
            return
        self._answered = None if under_way else self.cycle
        self._clock = self.loop.call_later(HEAD_S, self._look)


class _Impatient(Impatience, H11Protocol):
    """What serves."""


class _Server(uvicorn.Server):
    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave signals alone: they are the gateway's."""
        yield


def bound(listen: str) -> socket.socket:
    """A socket on `listen` (`HOST:PORT`), which takes connections already. Raises `ConfigError` for one in use."""
    address = parse_address(listen)
    assert isinstance(address, TcpAddress), "the configuration was checked"
    try:
        family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
        return socket.create_server((address.host, address.port), family=family, backlog=_BACKLOG)
    except OSError as error:
        raise ConfigError(f"cannot listen on {listen}: {error.strerror or error}") from None


def address_of(listening: socket.socket) -> str:
    """The address in full, with the port that was chosen."""
    host, port = listening.getsockname()[:2]
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


@asynccontextmanager
async def serving(
    app: ASGIApp, listening: socket.socket, encrypted: ssl.SSLContext | None = None
) -> AsyncIterator[None]:
    """Serve `app` inside the block."""
    config = http_config(app, MOST_AT_ONCE)
    config.ssl = encrypted
    server = _Server(config)
    task = asyncio.create_task(server.serve([listening]))
    try:
        yield
    finally:
        server.should_exit = True
        await task


def http_config(app: ASGIApp, most: int | None) -> uvicorn.Config:
    """How `app` is served, to at most `most` connections; with `None` whoever accepts them counts.

    What is asked is not logged: addresses hold tokens.
    """
    config = uvicorn.Config(
        app,
        loop="none",
        http=_Impatient,
        ws="none",
        lifespan="off",
        interface="asgi3",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        limit_concurrency=most,
        timeout_keep_alive=KEEP_ALIVE_S,
        timeout_graceful_shutdown=LAST_WORDS_S,
    )
    config.load()
    return config
