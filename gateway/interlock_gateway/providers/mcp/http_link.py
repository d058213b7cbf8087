"""An MCP server over streamable HTTP: one TLS context, kept connections, a kept session (MCP-2)."""

import asyncio
import contextlib
import logging
from collections.abc import Callable, Coroutine, Mapping
from typing import Any, Final

from mcp.shared.inbound import MCP_PROTOCOL_VERSION_HEADER

from interlock_gateway.providers.mcp import messages
from interlock_gateway.providers.mcp.answer import EVENTS, JSON, Answer
from interlock_gateway.providers.mcp.http1 import Origin
from interlock_gateway.providers.mcp.link import LinkError, Outgoing, Receive, RefusedError, SessionGoneError
from interlock_gateway.providers.mcp.messages import NotAMessageError
from interlock_gateway.providers.mcp.sse import Event
from interlock_gateway.providers.mcp.throttle import Throttle
from interlock_gateway.providers.tls import ProviderTls

SESSION_HEADER: Final = "Mcp-Session-Id"
FIRST_RETRY_S = 1.0
LAST_RETRY_S = 30.0
RESUMES = 5
"""How often an answer whose stream broke off is asked for again, on revisions that know that."""
LEAVE_S = 1.0
_NOT_FOUND = 404
_NOT_LOOKED_AT = frozenset((*range(400, 408), *range(411, 418), 421, 426, 428, 429, 431, 451))
"""With these a server, or what stands before it, says that a request was not taken (RFC 9110, RFC 6585, RFC 7725)."""
_GONE = "it does not know the session any more"
_log = logging.getLogger(__name__)


class HttpLink:
    """Messages to one URL; each request's answer comes back the way it went."""

    closing_cancels = False

    def __init__(
        self,
        url: str,
        headers: Mapping[str, str],
        tls: ProviderTls | None,
        *,
        max_message_bytes: int,
    ) -> None:
        self._url = url
        self._configured = dict(headers)
        self._tls = tls
        self._most = max_message_bytes
        self._throttle = Throttle()
        self._origin: Origin | None = None
        self._receive: Receive | None = None
        self._lost: Callable[[str], None] | None = None
        self._session = ""
        self._version = ""
        self._headers: dict[str, str] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    async def open(self, receive: Receive, lost: Callable[[str], None]) -> None:
        """Prepare; nothing is sent."""
        self._receive, self._lost = receive, lost
        self._origin = Origin(self._url, self._tls)
        self._stamp()

    def adopt(self, version: str, *, modern: bool) -> None:
        """Send this revision's header from now on; hear what the server says unasked, where it has a session."""
        self.closing_cancels = modern
        self._version = version
        self._stamp()
        if self._session:
            self._begin(self._listen())

    async def carry(self, outgoing: Outgoing) -> None:
        """Post a message; of a request, wait until its answer was received. Raises `LinkError`."""
        headers = {**self._headers, **outgoing.headers} if outgoing.headers else self._headers
        answer = await self._asked("POST", headers, outgoing)
        if not answer.is_success:
            self._refused(answer, outgoing)
            return
        if outgoing.method == "initialize" and (session := answer.headers.get(SESSION_HEADER.lower().encode())):
            self._session = session.decode("latin-1")
            self._stamp()
        if outgoing.answered is None or outgoing.answered.done():
            return
        if answer.kind == EVENTS:
            await self._resumed(answer.last, outgoing)
        if not outgoing.answered.done():
            clear = answer.kind in {EVENTS, JSON}
            raise LinkError("it sent no answer" if clear else "its answer is neither JSON nor a stream of events")

    async def close(self) -> None:
        """Give the session back, and close every connection."""
        for task in tuple(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        origin, session = self._origin, self._session
        if origin is None:
            return
        if session:
            self._session = ""
            with contextlib.suppress(LinkError, TimeoutError):
                async with asyncio.timeout(LEAVE_S):
                    await self._asked("DELETE", self._headers, None)
        self._origin = None
        await origin.close()

    def _stamp(self) -> None:
        self._headers = {
            **self._configured,
            "Accept": f"{JSON.decode()}, {EVENTS.decode()}",
            "Content-Type": JSON.decode(),
            **({MCP_PROTOCOL_VERSION_HEADER: self._version} if self._version else {}),
            **({SESSION_HEADER: self._session} if self._session else {}),
        }

    async def _asked(self, method: str, headers: Mapping[str, str], outgoing: Outgoing | None) -> Answer:
        """One exchange, as far as it has to be waited for."""
        origin, receive = self._origin, self._receive
        if origin is None or receive is None:
            raise LinkError("the connection is closed", unsent=True)
        if outgoing is None:
            answer, body = Answer(receive, self._throttle, self._most), b""
        else:
            body = outgoing.body if method == "POST" else b""
            answer = Answer(receive, self._throttle, self._most, outgoing.request_id, outgoing.answered)
        try:
            answer.wire = await origin.send(method, headers, body, answer)
        except LinkError as error:
            if self._lost is not None:
                self._lost(error.message)
            raise
        try:
            await answer.done
        except asyncio.CancelledError:
            answer.wire.abort()
            raise
        return answer

    async def _resumed(self, last: Event | None, outgoing: Outgoing) -> None:
        """Ask for the rest of an answer whose stream broke off, where the server numbers what it sends."""
        assert outgoing.answered is not None
        for _ in range(RESUMES):
            if outgoing.answered.done() or last is None or not last.event_id or self.closing_cancels:
                return
            await asyncio.sleep(_wait_s(last))
            headers = {**self._headers, "Last-Event-ID": last.event_id}
            with contextlib.suppress(LinkError):
                last = (await self._asked("GET", headers, outgoing)).last or last

    def _refused(self, answer: Answer, outgoing: Outgoing) -> None:
        """Take the error that the server answers with, or raise `LinkError`."""
        status = answer.status
        if status == _NOT_FOUND and self._session and outgoing.method != "initialize":
            if self._lost is not None:
                self._lost(_GONE)
            raise SessionGoneError
        if outgoing.answered is not None and answer.kind == JSON and self._is_error(answer.body, outgoing):
            return
        if status in _NOT_LOOKED_AT:
            raise RefusedError(f"it refused with HTTP status {status}", status)
        if status < 400:  # noqa: PLR2004 - 303 says where what was done can be seen, and others may have done it too
            raise LinkError("it redirects to another address, which is not followed")
        raise LinkError(f"it failed with HTTP status {status}")

    def _is_error(self, body: bytes, outgoing: Outgoing) -> bool:
        """Whether the body of a refusal is a JSON-RPC error, which is the answer then, whatever request it names."""
        assert self._receive is not None
        try:
            (message,) = messages.read(body)
        except (NotAMessageError, ValueError):
            return False
        if "error" not in message:
            return False
        return self._receive(messages.encoded({**message, "id": outgoing.request_id}), outgoing.request_id)

    async def _listen(self) -> None:
        """Hear what the server says unasked, for as long as it is willing to."""
        retry_s = FIRST_RETRY_S
        last: Event | None = None
        while True:
            headers = {**self._headers, "Accept": EVENTS.decode()}
            if last is not None and last.event_id:
                headers["Last-Event-ID"] = last.event_id
            try:
                answer = await self._asked("GET", headers, None)
            except LinkError as error:
                _log.debug("an MCP server's stream was lost", extra={"problem": error.message})
            else:
                if not answer.is_success or answer.kind != EVENTS:
                    if answer.status == _NOT_FOUND and self._lost is not None:
                        self._lost(_GONE)
                    return
                last = answer.last or last
                retry_s = FIRST_RETRY_S
            await asyncio.sleep(retry_s)
            retry_s = min(retry_s * 2, LAST_RETRY_S)

    def _begin(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


def _wait_s(seen: Event) -> float:
    return min((seen.retry_ms if seen.retry_ms is not None else 1000) / 1000, 10.0)
