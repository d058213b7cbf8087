"""What the headers of an HTTP request say, read once for all requests that come with the same (MCP-1)."""

from collections.abc import Iterable
from dataclasses import dataclass

from mcp.server.streamable_http import MCP_SESSION_ID_HEADER, check_accept_headers
from mcp.shared.inbound import MCP_METHOD_HEADER, MCP_NAME_HEADER, MCP_PROTOCOL_VERSION_HEADER
from starlette.datastructures import Headers
from starlette.requests import Request

from interlock_gateway.transport.mcp.origins import Origins
from interlock_gateway.transport.mcp.wires import SESSION_HEADER

RawHeaders = Iterable[tuple[bytes, bytes]]


@dataclass(frozen=True, slots=True)
class Head:
    """What follows from the headers alone.

    `strange` is why a page that sent them is refused; `metadata` is what an authenticator looks at. `plain`: a POST
    with them takes and brings what MCP wants, none is there twice, and it is no page's in a browser, which is told more
    than others. What follows are headers of MCP, and of ours.
    """

    strange: str | None
    metadata: tuple[tuple[str, str], ...]
    plain: bool
    version: str | None
    mcp_session: str | None
    session: str | None
    method: str | None
    name: str | None


def head_of(raw: RawHeaders, origins: Origins) -> Head:
    """What `raw` says: headers as ASGI has them."""
    given = list(raw)
    headers = Headers(raw=given)
    return Head(
        strange=origins.refusal(headers),
        metadata=tuple((name.decode("latin-1"), value.decode("latin-1")) for name, value in given),
        plain=_is_plain(headers, given),
        version=headers.get(MCP_PROTOCOL_VERSION_HEADER),
        mcp_session=headers.get(MCP_SESSION_ID_HEADER),
        session=headers.get(SESSION_HEADER),
        method=headers.get(MCP_METHOD_HEADER),
        name=headers.get(MCP_NAME_HEADER),
    )


def _is_plain(headers: Headers, given: list[tuple[bytes, bytes]]) -> bool:
    takes_json, takes_events = check_accept_headers(Request({"type": "http", "headers": given}))
    brings_json = headers.get("content-type", "").lower().startswith("application/json")
    once = len({name for name, _ in given}) == len(given)
    return takes_json and takes_events and brings_json and once and "origin" not in headers
