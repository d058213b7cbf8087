"""MCP over streamable HTTP: who asks is known, and what is asked was read strictly, before the SDK sees a request."""

import asyncio
import contextlib
import json
from collections.abc import Iterator
from typing import Any

from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from interlock_gateway.core.clock import Clock
from interlock_gateway.core.session import Principal
from interlock_gateway.errors import RequestError, RequestFault
from interlock_gateway.identity.authenticate import Authenticator, Found
from interlock_gateway.sessions.shares import Shares
from interlock_gateway.transport.grpc.errors import as_request_error
from interlock_gateway.transport.http.bodies import body_of
from interlock_gateway.transport.mcp.direct import Direct, Sent
from interlock_gateway.transport.mcp.errors import as_mcp_error
from interlock_gateway.transport.mcp.guard import LISTEN
from interlock_gateway.transport.mcp.heads import Head, RawHeaders, head_of
from interlock_gateway.transport.mcp.http_door import HEAD, PEER
from interlock_gateway.transport.mcp.http_sessions import HttpSessions
from interlock_gateway.transport.mcp.origins import Origins
from interlock_gateway.transport.mcp.stateless import Stateless
from interlock_gateway.transport.mcp.strict import BadMessageError, read_message
from interlock_gateway.transport.mcp.usual import usual_call
from interlock_gateway.transport.mcp.wires import PRINCIPAL
from interlock_gateway.transport.unanswered import Unanswered

PATH = "/mcp"
_FOUND, _MESSAGE = "interlock.found", "interlock.message"
"""Where a request's ASGI scope holds who sends it, and its message, when these were found out before its task began."""
PATIENCE_S = 30.0
"""How long a request may take to arrive."""
_STATUS = {
    RequestFault.UNAUTHENTICATED: 401,
    RequestFault.ROLE_MISSING: 403,
    RequestFault.TOO_LARGE: 413,
    RequestFault.LIMIT_REACHED: 503,
    RequestFault.OVERLOADED: 503,
    RequestFault.DRAINING: 503,
    RequestFault.IDENTITY_UNAVAILABLE: 503,
    RequestFault.DEADLINE: 408,
    RequestFault.INTERNAL: 500,
}


class McpHttp:
    """The ASGI application. `modern` serves requests of revisions that have no sessions of their own.

    `direct` serves what it can of both.
    """

    def __init__(
        self,
        door: Authenticator,
        origins: Origins,
        sessions: HttpSessions,
        modern: Stateless,
        direct: Direct,
        *,
        max_bytes: int,
        max_depth: int,
        max_requests: int,
        unanswered: Unanswered,
        clock: Clock,
    ) -> None:
        self._door = door
        self._origins = origins
        self._sessions = sessions
        self._modern = modern
        self._direct = direct
        self._max_bytes = max_bytes
        self._max_depth = max_depth
        self._shares = Shares(max_requests)
        self._unanswered = unanswered
        self._clock = clock

    def head(self, raw: RawHeaders) -> Head:
        """What is known of requests with these headers."""
        return head_of(raw, self._origins)

    def at_once(self, scope: Scope, body: bytes) -> ASGIApp | None:
        """What answers a request that has come as a whole, if it is a call of the usual form or is refused at once."""
        head: Head = scope[HEAD]
        if scope["path"] != PATH or scope["method"] != "POST" or head.strange is not None or not head.plain:
            return None
        try:
            principal = scope[_FOUND] = self._door.principal(head.metadata, scope[PEER])
            if not isinstance(principal, Principal) or len(body) > self._max_bytes:
                return None
            if self._shares.refusal(principal.id) is not None:
                return None
            message = scope[_MESSAGE] = read_message(body, max_depth=self._max_depth)
        except BadMessageError as error:
            return _unread(error)
        except Exception as error:  # noqa: BLE001 - as in `__call__`
            return refused(as_request_error(error))
        call = self._call(message, head, principal)
        return None if call is None else self._placed(call, principal.id)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        request = Request(scope, receive)
        with contextlib.ExitStack() as held:
            try:
                served = await self._admitted(request, held)
            except BadMessageError as error:
                served = _unread(error)
            except ClientDisconnect:
                return
            except Exception as error:  # noqa: BLE001 - the last door: nothing unforeseen may show to a client
                served = refused(as_request_error(error))
            await served(scope, receive, send)

    async def _admitted(self, request: Request, held: contextlib.ExitStack) -> ASGIApp:
        """What answers `request`, whose place `held` gets. Raises `RequestError`, `BadMessageError`."""
        scope = request.scope
        head: Head = scope.get(HEAD) or self.head(scope["headers"])
        if scope["path"] != PATH:
            return Response(f"MCP is spoken at {PATH}", status_code=404)
        if head.strange is not None:
            return Response(head.strange, status_code=403)
        principal = scope[PRINCIPAL] = await self._principal(scope, head)
        # Before its body: that may come as slowly as its sender likes.
        held.enter_context(self._place(principal.id))
        message = {}
        if request.method == "POST":
            message = await self._message(request)
        return self._serving(request, message, head, principal)

    async def _message(self, request: Request) -> dict[str, Any]:
        read: dict[str, Any] | None = request.scope.get(_MESSAGE)
        if read is not None:
            return read
        return read_message(await body_of(request, self._max_bytes, PATIENCE_S), max_depth=self._max_depth)

    def _serving(self, request: Request, message: dict[str, Any], head: Head, principal: Principal) -> ASGIApp:
        if message and _MESSAGE not in request.scope and (call := self._call(message, head, principal)) is not None:
            return self._counted(call)
        is_modern = head.version is not None and head.version not in HANDSHAKE_PROTOCOL_VERSIONS
        serving = (self._modern if is_modern else self._sessions).serving(request, message)
        if "id" in message and "method" in message and message["method"] != LISTEN:
            serving = self._counted(serving)
        elif request.method == "GET" or message.get("method") == LISTEN:
            serving = self._while_known(principal, serving)
        return serving

    def _call(self, message: dict[str, Any], head: Head, principal: Principal) -> ASGIApp | None:
        """What answers a call of the usual form; nothing for anything else."""
        call = usual_call(message) if head.plain else None
        if call is None:
            return None
        if head.version is not None and head.version not in HANDSHAKE_PROTOCOL_VERSIONS:
            return self._direct.alone(Sent(principal, call, head))
        session = self._sessions.of(head.mcp_session, principal) if head.mcp_session is not None else None
        return None if session is None else self._direct.in_session(session, Sent(principal, call, head))

    def _while_known(self, principal: Principal, app: ASGIApp) -> ASGIApp:
        """`app`, a stream that has no end of its own: it ends with the credential that it was opened with."""
        if principal.expires_at is None:
            return app
        left_s = max(0.0, principal.expires_at - self._clock.now())

        async def ending(scope: Scope, receive: Receive, send: Send) -> None:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(left_s):
                    await app(scope, receive, send)
                    return
            await send({"type": "http.response.body", "body": b"", "more_body": False})

        return ending

    def _counted(self, app: ASGIApp) -> ASGIApp:
        """`app`, of a request whose answer is worth waiting for when the gateway ends."""

        async def counted(scope: Scope, receive: Receive, send: Send) -> None:
            with self._unanswered.one():
                await app(scope, receive, send)

        return counted

    def _placed(self, app: ASGIApp, principal_id: str) -> ASGIApp:
        """`app`, of a request that is counted, and has a place while it is answered."""

        async def placed(scope: Scope, receive: Receive, send: Send) -> None:
            if self._shares.refusal(principal_id) is not None:
                await refused(_no_room())(scope, receive, send)
                return
            self._shares.take(principal_id)
            self._unanswered.begin()
            try:
                await app(scope, receive, send)
            finally:
                self._unanswered.end()
                self._shares.give_back(principal_id)

        return placed

    @contextlib.contextmanager
    def _place(self, principal_id: str) -> Iterator[None]:
        """One of the places there are for requests: nobody has them all. Raises `RequestError`."""
        if self._shares.refusal(principal_id) is not None:
            raise _no_room()
        self._shares.take(principal_id)
        try:
            yield
        finally:
            self._shares.give_back(principal_id)

    async def _principal(self, scope: Scope, head: Head) -> Principal:
        found: Found = scope.get(_FOUND) or self._door.principal(head.metadata, scope[PEER])
        return found if isinstance(found, Principal) else await found


def _no_room() -> RequestError:
    words = "you have as many requests and streams open as you may; end some"
    return RequestError(RequestFault.LIMIT_REACHED, words, retry_s=1)


def _unread(error: BadMessageError) -> Response:
    return Response(error.answer(), 400, media_type="application/json")


def refused(error: RequestError) -> Response:
    """`error` as HTTP has it: a status, and a JSON-RPC error that no request is waiting for by its id."""
    told = as_mcp_error(error).error.model_dump(exclude_none=True)
    headers = {}
    if error.fault is RequestFault.UNAUTHENTICATED:
        headers["WWW-Authenticate"] = 'Bearer realm="interlock"'
    if error.retry_s is not None:
        headers["Retry-After"] = str(max(1, round(error.retry_s)))
    body = json.dumps({"jsonrpc": "2.0", "id": None, "error": told})
    return Response(body, _STATUS.get(error.fault, 400), headers, "application/json")
