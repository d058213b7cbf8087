"""Pages in browsers that may use the server: what a browser wants to be told before it lets them (CORS; MCP-1, SEC-7).

Whose pages those are is what `Origins` says; a browser is told nothing about any other, and of no credentials of its
own: pages show theirs with each request.
"""

import re

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from interlock_gateway.transport.mcp.origins import Origins

METHODS = "GET, POST, DELETE"
HEADERS = (
    "Authorization",
    "Content-Type",
    "Interlock-Session",
    "Last-Event-ID",
    "Mcp-Method",
    "Mcp-Name",
    "MCP-Protocol-Version",
    "Mcp-Session-Id",
    "traceparent",
    "tracestate",
)
"""What a page may send besides what any may."""
EXPOSED = "Mcp-Session-Id, Retry-After, WWW-Authenticate"
"""What a page may read besides what any may."""
MAX_AGE_S = 600
_ARGUMENT = re.compile(r"mcp-param-[a-z0-9!#$%&'*+.^_`|~-]{1,100}", re.ASCII | re.IGNORECASE)
MOST_ARGUMENTS = 64
_SAID_ONCE = ("origin", "access-control-request-method", "access-control-request-headers")


class Browsers:
    """Stands around `app`, which refuses all other origins itself."""

    def __init__(self, app: ASGIApp, origins: Origins, path: str) -> None:
        self._app = app
        self._origins = origins
        self._path = path

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a browser that asks whether a page may ask, or tell it that the page may read the answer."""
        if not any(name == b"origin" for name, _ in scope["headers"]):
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        if scope["path"] != self._path or self._origins.refusal(headers) is not None:
            await self._app(scope, receive, send)
            return
        allowed = {"Access-Control-Allow-Origin": headers["origin"]}
        if scope["method"] == "OPTIONS" and "access-control-request-method" in headers:
            if all(len(headers.getlist(name)) <= 1 for name in _SAID_ONCE):
                await _say_yes(send, {**allowed, "Access-Control-Allow-Headers": ", ".join(_sent(headers))})
                return
        elif scope["method"] != "OPTIONS":
            send = _readable(send, {**allowed, "Access-Control-Expose-Headers": EXPOSED})
        await self._app(scope, receive, send)


def _sent(asked: Headers) -> tuple[str, ...]:
    """The headers that a page may send: with them arguments that are named as the schemas of tools want it."""
    wanted = (one.strip() for one in asked.get("access-control-request-headers", "").split(","))
    arguments = [one for one in wanted if _ARGUMENT.fullmatch(one)]
    return (*HEADERS, *arguments[:MOST_ARGUMENTS])


async def _say_yes(send: Send, said: dict[str, str]) -> None:
    headers = MutableHeaders(
        {
            **said,
            "Access-Control-Allow-Methods": METHODS,
            "Access-Control-Max-Age": str(MAX_AGE_S),
            "Vary": "Origin, Access-Control-Request-Headers",
        }
    )
    await send({"type": "http.response.start", "status": 204, "headers": headers.raw})
    await send({"type": "http.response.body", "body": b"", "more_body": False})


def _readable(send: Send, said: dict[str, str]) -> Send:
    more = MutableHeaders({**said, "Vary": "Origin"}).raw

    async def told(message: Message) -> None:
        if message["type"] == "http.response.start":
            message = {**message, "headers": [*message.get("headers", ()), *more]}
        await send(message)

    return told
