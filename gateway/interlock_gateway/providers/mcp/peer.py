"""Requests and answers with one MCP server: the SDK's `Dispatcher`, over bytes and without validation of results.

The SDK's own reads every message into models and writes it out again, which costs more than the call itself and loses
what the models do not know. Its session, which agrees on a revision, runs on this one.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any, cast

import anyio.abc
from mcp.shared.dispatcher import CallOptions, OnNotify, OnNotifyIntercept, OnRequest, coerce_request_id
from mcp.shared.exceptions import MCPError
from mcp_types import INTERNAL_ERROR, INVALID_REQUEST, REQUEST_TIMEOUT

from interlock_gateway.providers.mcp import messages
from interlock_gateway.providers.mcp.limits import Limits
from interlock_gateway.providers.mcp.link import Link, LinkError, Outgoing, RefusedError, RequestId, RpcError

Progress = Callable[[float, float | None, str], None]
Notice = Callable[[str, dict[str, Any], RequestId | None], None]
"""Hears what the server says unasked: the method, its params, and with which request's answer it came, if one knows."""
Asked = Callable[[str, dict[str, Any], RequestId | None], Awaitable[dict[str, Any] | None]]
"""Answers a request of the server's, or `None`: then the SDK's session refuses it in its own words."""
MAX_ASKED = 32
"""Requests of one server that are being answered at once."""
MAX_ASIDE = 128
"""What one server is told at once, beside calls. That requests beyond it are refused, it is not told."""
LARGEST = 2.0**53
"""How far progress is counted: larger integers are no numbers that others could read."""
FAREWELL_S = 5.0
"""How long it may take to tell a server that a request is not waited for any more."""
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Context:
    """What the SDK's session wants to know of a message that came."""

    request_id: RequestId | None


class Peer:
    """One MCP server, while its connection stands."""

    def __init__(self, link: Link, asked: Asked, notice: Notice, lost: Callable[[str], None]) -> None:
        self._link = link
        self._asked = asked
        self._notice = notice
        self._tell_lost = lost
        self._next_id = 0
        self._waiting: dict[RequestId, asyncio.Future[dict[str, Any]]] = {}
        self._progress: dict[RequestId, Progress] = {}
        self._aside: set[asyncio.Task[None]] = set()
        self._answering = 0
        self._refuse: OnRequest | None = None
        self._limits = Limits()
        self.gone = asyncio.Event()
        self.why_gone = ""

    async def open(self) -> None:
        """Connect. Raises `LinkError`."""
        await self._link.open(self._receive, self._lost)

    async def close(self) -> None:
        """Disconnect; who waits for an answer is told that none came."""
        self._lost("the gateway closed the connection")
        self._limits.close()
        for task in tuple(self._aside):
            task.cancel()
        await self._link.close()

    def new_id(self) -> int:
        """An id for a request, which is the token of its progress too."""
        self._next_id += 1
        return self._next_id

    async def request(
        self,
        request_id: RequestId,
        method: str,
        params: bytes,
        *,
        timeout_s: float | None,
        headers: Mapping[str, str] | None = None,
        on_progress: Progress | None = None,
        cancel: bool = True,
    ) -> dict[str, Any]:
        """The result of a request whose params are `params`.

        Raises `RpcError`, `LinkError`, and `TimeoutError` after `timeout_s` seconds; the server is told then, and when
        the caller is cancelled.
        """
        if self.gone.is_set():
            raise LinkError(self.why_gone, unsent=True)
        answered: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        self._waiting[request_id] = answered
        if on_progress is not None:
            self._progress[request_id] = on_progress
        body = messages.request(request_id, method, params)
        outgoing = Outgoing(body, method, headers or {}, request_id, cast("asyncio.Future[object]", answered))
        try:
            with nullcontext() if timeout_s is None else self._limits.within(timeout_s):
                await self._link.carry(outgoing)
                return await answered
        except (TimeoutError, asyncio.CancelledError):
            # Whoever is cancelled while it waits for a future takes the future with it.
            if cancel and (answered.cancelled() or not answered.done()) and not self._link.closing_cancels:
                self._beside(self._say_cancelled(request_id))
            raise
        finally:
            del self._waiting[request_id]
            self._progress.pop(request_id, None)
            if not answered.cancel() and not answered.cancelled():
                answered.exception()  # looked at, so that nobody complains of one that came too late

    async def send_raw_request(
        self, method: str, params: Mapping[str, Any] | None, opts: CallOptions | None = None
    ) -> dict[str, Any]:
        """As the SDK's session asks: raises `MCPError` for an error, a refusal or no answer in time, or `LinkError`."""
        wanted = opts or {}
        request_id = wanted.get("request_id") or self.new_id()
        try:
            return await self.request(
                request_id,
                method,
                messages.encoded(dict(params or {})),
                timeout_s=wanted.get("timeout"),
                headers=wanted.get("headers"),
                cancel=wanted.get("cancel_on_abandon", True),
            )
        except RpcError as error:
            raise MCPError(code=error.code, message=error.message, data=error.data) from None
        except RefusedError as error:
            raise MCPError(code=INVALID_REQUEST, message=error.message) from None
        except TimeoutError:
            raise MCPError(code=REQUEST_TIMEOUT, message=f"no answer to {method} in time") from None

    async def notify(self, method: str, params: Mapping[str, Any] | None, opts: CallOptions | None = None) -> None:
        """Tell the server something; when it is gone, nobody hears it."""
        body = messages.notification(method, messages.encoded(dict(params)) if params is not None else b"")
        try:
            await self._link.carry(Outgoing(body, method, (opts or {}).get("headers") or {}))
        except LinkError as error:
            _log.debug("an MCP server was not told", extra={"problem": error.message})

    async def run(
        self,
        on_request: OnRequest,
        on_notify: OnNotify,
        on_notify_intercept: OnNotifyIntercept | None = None,
        *,
        task_status: anyio.abc.TaskStatus[None] = anyio.TASK_STATUS_IGNORED,
    ) -> None:
        """Stand until the connection ends; messages are taken as they come, not here."""
        del on_notify, on_notify_intercept
        self._refuse = on_request
        task_status.started()
        await self.gone.wait()

    def _lost(self, why: str) -> None:
        if self.gone.is_set():
            return
        self.why_gone = why
        self.gone.set()
        for answered in self._waiting.values():
            if not answered.done():
                answered.set_exception(LinkError(why))
        self._tell_lost(why)

    def _receive(self, raw: bytes, related: RequestId | None) -> bool:
        wanted = False
        for message in messages.read(raw):
            if "method" not in message:
                wanted = self._take_answer(message) or wanted
            elif "id" in message:
                self._take_request(message, related)
            else:
                wanted = self._take_notice(message, related) or wanted
        return wanted

    def _take_answer(self, message: dict[str, Any]) -> bool:
        request_id = message.get("id")
        waiting = self._waiting.get(coerce_request_id(request_id)) if isinstance(request_id, int | str) else None
        if waiting is None or waiting.done():
            return False
        error, result = message.get("error"), message.get("result")
        if isinstance(error, dict) and isinstance(code := error.get("code"), int):
            text = error.get("message")
            told = text if isinstance(text, str) else ""
            waiting.set_exception(RpcError(code, told, error.get("data"), has_data="data" in error))
        elif isinstance(result, dict) and "error" not in message:
            waiting.set_result(result)
        else:
            waiting.set_exception(LinkError("the MCP server's answer is neither a result nor an error"))
        return True

    def _take_notice(self, message: dict[str, Any], related: RequestId | None) -> bool:
        method, params = message["method"], message.get("params")
        if not isinstance(method, str) or not isinstance(params, dict | None):
            return False
        if method == "notifications/progress":
            return self._take_progress(params or {})
        self._notice(method, params or {}, related)
        return False

    def _take_progress(self, params: dict[str, Any]) -> bool:
        token, done, total = params.get("progressToken"), params.get("progress"), params.get("total")
        told = self._progress.get(coerce_request_id(token)) if isinstance(token, int | str) else None
        if told is None or not _is_number(done):
            return False
        text = params.get("message")
        told(cast("float", done), total if _is_number(total) else None, text if isinstance(text, str) else "")
        return False

    def _take_request(self, message: dict[str, Any], related: RequestId | None) -> None:
        request_id, method, params = message["id"], message["method"], message.get("params")
        if not isinstance(request_id, int | str) or not isinstance(method, str) or not isinstance(params, dict | None):
            return
        if self._answering >= MAX_ASKED and len(self._aside) >= MAX_ASIDE:
            return
        if self._answering >= MAX_ASKED:
            refusal = messages.refusal(request_id, INTERNAL_ERROR, f"{MAX_ASKED} requests are being answered already")
            self._beside(self._say(Outgoing(refusal, "")))
            return
        self._answering += 1
        self._beside(self._answer(request_id, method, params or {}, related))

    async def _answer(
        self, request_id: RequestId, method: str, params: dict[str, Any], related: RequestId | None
    ) -> None:
        try:
            body = messages.answer(request_id, await self._answer_of(request_id, method, params, related))
        except (MCPError, RpcError) as error:
            body = messages.refusal(request_id, error.code, error.message, error.data)
        finally:
            self._answering -= 1
        await self._say(Outgoing(body, ""))

    async def _answer_of(
        self, request_id: RequestId, method: str, params: dict[str, Any], related: RequestId | None
    ) -> dict[str, Any]:
        if method == "ping":
            return {}
        answer = await self._asked(method, params, related)
        if answer is not None:
            return answer
        assert self._refuse is not None
        try:
            return await self._refuse(cast("Any", _Context(request_id)), method, params)
        except ValueError:  # pydantic's too: its params are not what they should be
            raise MCPError(code=INVALID_REQUEST, message=f"{method} is not supported") from None

    async def _say_cancelled(self, request_id: RequestId) -> None:
        params = messages.encoded({"requestId": request_id, "reason": "the call is not waited for any more"})
        await self._say(Outgoing(messages.notification("notifications/cancelled", params), "notifications/cancelled"))

    async def _say(self, outgoing: Outgoing) -> None:
        try:
            async with asyncio.timeout(FAREWELL_S):
                await self._link.carry(outgoing)
        except (LinkError, TimeoutError):
            _log.debug("an MCP server was not told")

    def _beside(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._aside.add(task)
        task.add_done_callback(self._aside.discard)


def _is_number(value: object) -> bool:
    return isinstance(value, float) or (
        isinstance(value, int) and not isinstance(value, bool) and abs(value) <= LARGEST
    )
