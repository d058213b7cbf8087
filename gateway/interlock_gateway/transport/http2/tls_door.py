"""Lets connections in that have shaken hands: nothing of HTTP/2 is read before (AUTH-1).

Handshakes are counted among the connections of their listener, end after a few seconds, and are dropped, the oldest
first, when there are many: who connects and says nothing keeps nobody out.
"""

import asyncio
import logging
import socket
import ssl
from functools import partial

from interlock_gateway.identity.refusals import Seldom
from interlock_gateway.transport.http2.connection import ServerConnection
from interlock_gateway.transport.http2.intake import CONNECTIONS, Intake
from interlock_gateway.transport.tls.server_tls import ServerTls

HANDSHAKE_S = 10.0
HANDSHAKES = CONNECTIONS // 4
GOODBYE_S = 5.0
"""How long the other end may take to say goodbye, once it was said to it."""
NO_ROOM_S = 0.2
"""How long nobody is let in when the process has no room for another connection."""
_log = logging.getLogger(__name__)


class TlsDoor:
    """Accepts what comes in on one socket, until cancelled."""

    def __init__(self, bound: socket.socket, intake: Intake, tls: ServerTls) -> None:
        self._bound = bound
        self._intake = intake
        self._tls = tls
        self._loop = asyncio.get_running_loop()
        self._seldom = Seldom()
        bound.settimeout(0)

    async def run(self) -> None:
        """Let in who comes."""
        while True:
            try:
                accepted, place = await self._loop.sock_accept(self._bound)
            except OSError as error:
                _log.warning("a connection could not be accepted", extra={"problem": error.strerror})
                await asyncio.sleep(NO_ROOM_S)
                continue
            self._greet(accepted, str(place[0]))
            # What waits to be accepted is accepted without a pause: others have their turn in between.
            await asyncio.sleep(0)

    def _greet(self, accepted: socket.socket, origin: str) -> None:
        intake = self._intake
        full = len(intake.connections) + len(intake.handshakes) >= CONNECTIONS
        if len(intake.handshakes) >= HANDSHAKES or (full and not intake.make_room()):
            oldest = next(iter(intake.handshakes), None)
            if oldest is None:
                accepted.close()
                return
            del intake.handshakes[oldest]
            oldest.cancel()
        task = self._loop.create_task(self._shake_hands(accepted, origin))
        intake.handshakes[task] = None
        task.add_done_callback(partial(self._shaken, accepted))

    def _shaken(self, accepted: socket.socket, task: "asyncio.Task[None]") -> None:
        self._intake.handshakes.pop(task, None)
        if task.cancelled():
            accepted.close()

    async def _shake_hands(self, accepted: socket.socket, origin: str) -> None:
        believed = self._tls.material.believed
        # What the loop gives back is with uvloop the protocol of TLS, and not ours.
        made = ServerConnection(self._intake)
        try:
            accepted.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            await self._loop.connect_accepted_socket(
                lambda: made,
                accepted,
                ssl=self._tls.context,
                ssl_handshake_timeout=HANDSHAKE_S,
                ssl_shutdown_timeout=GOODBYE_S,
            )
        except OSError as error:
            problem = _words(error)
            self._tls.counts["failed_handshakes"] += 1
            if self._seldom.allows(problem, self._loop.time()):
                _log.info("a TLS handshake failed", extra={"problem": problem, "from": origin})
            return
        if made.peer.certificate is not None and self._tls.material.believed != believed:
            # It was no connection yet when those were sent away that the former authorities had let in.
            made.go_away()


def _words(error: OSError) -> str:
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"the client's certificate is not accepted: {error.verify_message}"
    if isinstance(error, ssl.SSLError):
        reason = (error.reason or "the other end went").lower().replace("_", " ")
        return reason + ("; it does not trust the gateway's certificate" if "unknown ca" in reason else "")
    if isinstance(error, ConnectionResetError):
        return "the other end went; does it trust the gateway's certificate?"
    return error.strerror or str(error) or type(error).__name__
