"""An MCP server over streamable HTTP: one client with one TLS context, kept connections, kept session (MCP-2)."""

import asyncio
import contextlib
import logging
import ssl
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from typing import Any, Final

import aiohttp
from mcp.shared.inbound import MCP_PROTOCOL_VERSION_HEADER

from interlock_gateway.providers.mcp import messages
from interlock_gateway.providers.mcp.link import (
    LinkError,
    Outgoing,
    Receive,
    RefusedError,
    RequestId,
    SessionGoneError,
)
from interlock_gateway.providers.mcp.messages import NotAMessageError
from interlock_gateway.providers.mcp.sse import Event, EventReader, EventTooLargeError
from interlock_gateway.providers.mcp.throttle import Throttle

SESSION_HEADER: Final = "mcp-session-id"
CONNECT_S = 5.0
KEEP_S = 4.0
"""How long an idle connection is kept: less than the five seconds after which many servers close theirs."""
FIRST_RETRY_S = 1.0
LAST_RETRY_S = 30.0
RESUMES = 5
"""How often an answer whose stream broke off is asked for again, on revisions that know that."""
LEAVE_S = 1.0
DRAIN_S = 1.0
_SMALL = 64 * 1024
_JSON = "application/json"
_EVENTS = "text/event-stream"
_ACCEPTED = f"{_JSON}, {_EVENTS}"
_NOT_FOUND = 404
_log = logging.getLogger(__name__)


class HttpLink:
    """Messages to one URL; each request's answer is read by whoever waits for it."""

    closing_cancels = False

    def __init__(
        self,
        url: str,
        headers: Mapping[str, str],
        tls: Callable[[], ssl.SSLContext] | None,
        *,
        max_message_bytes: int,
    ) -> None:
        self._url = url
        self._configured = dict(headers)
        self._tls = tls
        self._most = max_message_bytes
        self._throttle = Throttle()
        self._client: aiohttp.ClientSession | None = None
        self._receive: Receive | None = None
        self._lost: Callable[[str], None] = _ignore
        self._session = ""
        self._headers: dict[str, str] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    async def open(self, receive: Receive, lost: Callable[[str], None]) -> None:
        """Prepare the client; nothing is sent. Raises `LinkError` when the files of its TLS cannot be used."""
        self._receive, self._lost = receive, lost
        context: ssl.SSLContext | bool = True
        if self._tls is not None:
            try:
                context = await asyncio.to_thread(self._tls)
            except OSError as error:
                raise LinkError(str(error.strerror or error), unsent=True) from None
        self._client = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0, ssl=context, keepalive_timeout=KEEP_S),
            cookie_jar=aiohttp.DummyCookieJar(),
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_S),
            headers=self._configured,
            skip_auto_headers=("User-Agent",),
        )
        self._stamp()

    def adopt(self, version: str, *, modern: bool) -> None:
        """Send this revision's header from now on; hear what the server says unasked, where it has a session."""
        self.closing_cancels = modern
        self._stamp(version)
        if self._session:
            self._begin(self._listen())

    async def carry(self, outgoing: Outgoing) -> None:
        """Post a message; of a request, read what comes back until its answer is there. Raises `LinkError`."""
        headers = {**self._headers, **outgoing.headers} if outgoing.headers else self._headers
        async with self._asked("POST", headers, outgoing.body) as response:
            if response.status >= 300:  # noqa: PLR2004 - what is no success
                await self._refused(response, outgoing)
                return
            if outgoing.method == "initialize" and (session := response.headers.get(SESSION_HEADER)):
                self._session = session
                self._stamp()
            if outgoing.answered is not None:
                await self._answer(response, outgoing)

    async def close(self) -> None:
        """Give the session back, and close every connection."""
        for task in tuple(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        client, self._client = self._client, None
        if client is None:
            return
        if self._session:
            with contextlib.suppress(aiohttp.ClientError, OSError, TimeoutError):
                async with asyncio.timeout(LEAVE_S), client.delete(self._url, headers=self._headers):
                    pass
        await client.close()

    def _stamp(self, version: str = "") -> None:
        headers = {"Accept": _ACCEPTED, "Content-Type": _JSON, "Accept-Encoding": "identity"}
        if version := version or self._headers.get(MCP_PROTOCOL_VERSION_HEADER, ""):
            headers[MCP_PROTOCOL_VERSION_HEADER] = version
        if self._session:
            headers[SESSION_HEADER] = self._session
        self._headers = headers

    @contextlib.asynccontextmanager
    async def _asked(
        self, method: str, headers: Mapping[str, str], body: bytes | None = None
    ) -> AsyncIterator[aiohttp.ClientResponse]:
        if self._client is None:
            raise LinkError("the connection is closed", unsent=True)
        try:
            response = await self._client.request(method, self._url, data=body, headers=headers, allow_redirects=False)
            try:
                yield response
            except BaseException:
                response.close()
                raise
            self._let_go(response)
        except aiohttp.ClientConnectorError as error:
            why = f"it cannot be reached: {_words(error)}"
            self._lost(why)
            raise LinkError(why, unsent=True) from None
        except (aiohttp.ClientError, OSError) as error:
            raise LinkError(f"the connection was lost: {type(error).__name__}") from None

    def _let_go(self, response: aiohttp.ClientResponse) -> None:
        """Give the connection back; the end of what nobody waits for any more is read beside."""
        if response.content.is_eof():
            response.release()
        else:
            self._begin(_drained(response))

    async def _answer(self, response: aiohttp.ClientResponse, outgoing: Outgoing) -> None:
        answered = outgoing.answered
        assert answered is not None
        if response.content_type == _EVENTS:
            await self._stream(response, outgoing)
            return
        if response.content_type != _JSON:
            raise LinkError("its answer is neither JSON nor a stream of events")
        self._take(await self._whole(response), outgoing.request_id)
        if not answered.done():
            raise LinkError("its answer is to something else")

    async def _stream(self, response: aiohttp.ClientResponse, outgoing: Outgoing) -> None:
        assert outgoing.answered is not None
        seen = await self._events(response, outgoing)
        for _ in range(RESUMES):
            if outgoing.answered.done():
                return
            if seen is None or not seen.event_id or self.closing_cancels:
                break
            await asyncio.sleep(_wait_s(seen))
            headers = {**self._headers, "Last-Event-ID": seen.event_id}
            with contextlib.suppress(LinkError):
                async with self._asked("GET", headers) as resumed:
                    if resumed.content_type == _EVENTS:
                        seen = await self._events(resumed, outgoing) or seen
        if not outgoing.answered.done():
            raise LinkError("the stream of its answer ended without one")

    async def _events(self, response: aiohttp.ClientResponse, outgoing: Outgoing | None) -> Event | None:
        """Take the messages of a stream until the awaited answer is there; the last event with an id."""
        reader, last = EventReader(self._most), None
        answered = outgoing.answered if outgoing is not None else None
        related = outgoing.request_id if outgoing is not None else None
        try:
            async for chunk in response.content.iter_any():
                for event in reader.feed(chunk):
                    if event.event_id is not None or (event.retry_ms is not None and last is None):
                        last = event
                    if event.data and not self._take(event.data, related):
                        await self._slow_down()
                if answered is not None and answered.done():
                    return last
        except EventTooLargeError:
            raise LinkError(f"it sent a message larger than {self._most} bytes") from None
        except (aiohttp.ClientError, OSError):
            if last is None:
                raise
        return last

    async def _slow_down(self) -> None:
        if pause_s := self._throttle.pause_s(asyncio.get_running_loop().time()):
            await asyncio.sleep(pause_s)

    def _take(self, raw: bytes, related: RequestId | None) -> bool:
        assert self._receive is not None
        try:
            return self._receive(raw, related)
        except NotAMessageError:
            _log.debug("an MCP server sent something that is no message")
            return False

    async def _whole(self, response: aiohttp.ClientResponse) -> bytes:
        pieces, size = [], 0
        async for chunk in response.content.iter_any():
            pieces.append(chunk)
            size += len(chunk)
            if size > self._most:
                raise LinkError(f"it sent a message larger than {self._most} bytes")
        return b"".join(pieces)

    async def _refused(self, response: aiohttp.ClientResponse, outgoing: Outgoing) -> None:
        status = response.status
        if status == _NOT_FOUND and self._session and outgoing.method != "initialize":
            self._lost("it does not know the session any more")
            raise SessionGoneError
        if outgoing.answered is not None and response.content_type == _JSON:
            with contextlib.suppress(NotAMessageError, LinkError):
                for message in messages.read(await self._whole(response)):
                    if "error" in message and message.get("id") in {None, outgoing.request_id, "server-error"}:
                        self._take(messages.encoded({**message, "id": outgoing.request_id}), outgoing.request_id)
                        if outgoing.answered.done():
                            return
        if status < 400:  # noqa: PLR2004 - a redirect
            raise RefusedError("it redirects to another address, which is not followed", status)
        if status >= 500:  # noqa: PLR2004 - it failed
            raise LinkError(f"it failed with HTTP status {status}")
        raise RefusedError(f"it refused with HTTP status {status}", status)

    async def _listen(self) -> None:
        """Hear what the server says unasked, for as long as it is willing to."""
        retry_s = FIRST_RETRY_S
        last: Event | None = None
        while True:
            headers = {**self._headers, "Accept": _EVENTS}
            if last is not None and last.event_id:
                headers["Last-Event-ID"] = last.event_id
            try:
                async with self._asked("GET", headers) as response:
                    if response.status != 200 or response.content_type != _EVENTS:  # noqa: PLR2004 - OK
                        if response.status == _NOT_FOUND:
                            self._lost("it does not know the session any more")
                        return
                    last = await self._events(response, None) or last
                    retry_s = FIRST_RETRY_S
            except LinkError as error:
                _log.debug("an MCP server's stream was lost", extra={"problem": error.message})
            await asyncio.sleep(retry_s)
            retry_s = min(retry_s * 2, LAST_RETRY_S)

    def _begin(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


async def _drained(response: aiohttp.ClientResponse) -> None:
    try:
        async with asyncio.timeout(DRAIN_S):
            async for chunk in response.content.iter_any():
                if len(chunk) > _SMALL:
                    break
    except (aiohttp.ClientError, OSError, TimeoutError):
        response.close()
    else:
        response.release()


def _ignore(_why: str) -> None:
    return


def _wait_s(seen: Event) -> float:
    return min((seen.retry_ms if seen.retry_ms is not None else 1000) / 1000, 10.0)


def _words(error: aiohttp.ClientConnectorError) -> str:
    if isinstance(error, aiohttp.ClientConnectorCertificateError):
        return f"its certificate is refused: {error.certificate_error}"
    return error.os_error.strerror or type(error.os_error).__name__
