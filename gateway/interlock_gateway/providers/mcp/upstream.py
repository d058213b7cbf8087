"""A session with one MCP server: the revision that was agreed on, and requests in its form."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from mcp.client.session import ClientSession
from mcp.shared.exceptions import MCPError
from mcp.shared.inbound import (
    MCP_METHOD_HEADER,
    MCP_NAME_HEADER,
    MCP_PROTOCOL_VERSION_HEADER,
    NAME_BEARING_METHODS,
    encode_header_value,
    mcp_param_headers,
)
from mcp_types import (
    CLIENT_CAPABILITIES_META_KEY,
    CLIENT_INFO_META_KEY,
    LOG_LEVEL_META_KEY,
    PROTOCOL_VERSION_META_KEY,
    UNSUPPORTED_PROTOCOL_VERSION,
    ErrorData,
    Implementation,
)
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import ValidationError

from interlock_gateway.core.outcome import Invocation
from interlock_gateway.providers.mcp import messages
from interlock_gateway.providers.mcp.link import LinkError
from interlock_gateway.providers.mcp.peer import Peer, Progress

CLIENT_INFO = Implementation(name="interlock", version="1")
MOST_CALLED = 1000
"""Tools whose headers are remembered."""
SAMPLING = "sampling/createMessage"
ELICITATION = "elicitation/create"
ParamHeaders = Mapping[tuple[str, ...], str]


async def _never(context: object, params: object) -> ErrorData:
    """Stands where the SDK wants a callback; the peer answers before it is asked."""
    del context, params
    return ErrorData(code=-32603, message="not reached")


async def _no_roots(context: object) -> ErrorData:
    """The same, for one with fewer arguments."""
    return await _never(context, None)


def session_on(peer: Peer, allowed: frozenset[str]) -> ClientSession:
    """The SDK's session over `peer`, which says that it can do what is `allowed`."""
    return ClientSession(
        dispatcher=peer,
        client_info=CLIENT_INFO,
        sampling_callback=_never if "sampling" in allowed else None,
        elicitation_callback=_never if "elicitation" in allowed else None,
        list_roots_callback=_no_roots if "roots" in allowed else None,
    )


async def agree(session: ClientSession, peer: Peer, *, handshake_only: bool) -> None:
    """Agree on a revision: the newest, or by handshake on an older one. Raises `MCPError` or `LinkError`.

    Whatever a server does with the question for the newest, short of naming revisions that are all too new, means that
    it has not heard of it.
    """
    if not handshake_only:
        try:
            await session.discover()
        except MCPError as error:
            if error.code == UNSUPPORTED_PROTOCOL_VERSION and not _names_older(error.error.data):
                raise
        except LinkError as error:
            if error.unsent or peer.gone.is_set():
                raise
        except (RuntimeError, ValidationError):
            pass  # it answers, and offers no revision of that kind
        else:
            return
    await session.initialize()


def _names_older(data: object) -> bool:
    supported = data.get("supported") if isinstance(data, dict) else None
    return not isinstance(supported, list) or any(one not in MODERN_PROTOCOL_VERSIONS for one in supported)


@dataclass(slots=True)
class Upstream:
    """What was agreed on, and how a request has to look. `param_headers` are those of each tool that has any.

    `able` says what the client of a session can be asked.
    """

    peer: Peer
    version: str
    name: str
    server_version: str
    instructions: str
    capabilities: Mapping[str, Any]
    allowed: frozenset[str]
    param_headers: dict[str, ParamHeaders] = field(default_factory=dict)
    asked_by: dict[int | str, str] = field(default_factory=dict)
    able: Callable[[str], frozenset[str]] = lambda _session: frozenset()
    log_level: str = ""
    _metas: dict[frozenset[str], tuple[dict[str, Any], bytes]] = field(default_factory=dict)
    _called: dict[str, Mapping[str, str]] = field(default_factory=dict)

    def hear(self, level: str) -> None:
        """Have the server say what it logs from this level on, with each request, where a request says that."""
        self.log_level = level
        self._metas.clear()

    def _meta(self, session_id: str) -> tuple[dict[str, Any], bytes]:
        """What stands with a request for a session, as values and as JSON: nothing, where a handshake has said it.

        Of what the server may ask, it is told what the client behind the session can be asked.
        """
        if not self.modern:
            return {}, b""
        able = self.allowed & self.able(session_id) if self.allowed else self.allowed
        if (made := self._metas.get(able)) is None:
            meta = {
                PROTOCOL_VERSION_META_KEY: self.version,
                CLIENT_INFO_META_KEY: CLIENT_INFO.model_dump(by_alias=True, mode="json", exclude_none=True),
                CLIENT_CAPABILITIES_META_KEY: _capabilities(able),
            }
            if self.log_level:
                meta[LOG_LEVEL_META_KEY] = self.log_level
            made = self._metas[able] = meta, messages.encoded(meta)
        return made

    @property
    def modern(self) -> bool:
        """Whether every request says for itself which revision it is of."""
        return self.version in MODERN_PROTOCOL_VERSIONS

    async def request(
        self,
        method: str,
        params: Mapping[str, Any],
        timeout_s: float | None,
        on_progress: Progress | None = None,
        session_id: str = "",
    ) -> dict[str, Any]:
        """The result of a request, as it came. Raises `RpcError`, `LinkError`, `TimeoutError`."""
        request_id = self.peer.new_id()
        meta = {**params.get("_meta", {}), **self._meta(session_id)[0]}
        if on_progress is not None:
            meta["progressToken"] = request_id
        sent = messages.encoded({**params, "_meta": meta} if meta else dict(params))
        key = NAME_BEARING_METHODS.get(method)
        headers = self._headers(method, params.get(key) if key is not None else None)
        with self._asked_for(session_id, request_id):
            return await self.peer.request(
                request_id, method, sent, timeout_s=timeout_s, headers=headers, on_progress=on_progress
            )

    async def call(
        self, name: str, invocation: Invocation, on_progress: Progress | None, more: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        """The result of `tools/call`; the arguments are sent as they are. `more` are other members of its params."""
        request_id = self.peer.new_id()
        meta = self._call_meta(request_id if on_progress is not None else None, invocation)
        params = messages.call_params(messages.encoded(name), invocation.input, meta)
        if more:
            params = params[:-1] + b"," + messages.encoded(more)[1:]
        headers = self._called.get(name)
        if headers is None:
            headers = self._called_with(name)
        if self.param_headers and (mapped := self.param_headers.get(name)):
            headers = {**headers, **mcp_param_headers(mapped, messages.arguments(invocation.input))}
        timeout_s = invocation.deadline_s
        with self._asked_for(invocation.session_id, request_id):
            return await self.peer.request(
                request_id, "tools/call", params, timeout_s=timeout_s, headers=headers, on_progress=on_progress
            )

    def _called_with(self, name: str) -> Mapping[str, str]:
        """The headers of calls to a tool, which are the same each time."""
        if len(self._called) >= MOST_CALLED:
            self._called.clear()
        headers = self._called[name] = self._headers("tools/call", name)
        return headers

    def whose(self, request_id: int | str | None) -> str:
        """The session whose call a request of the server's belongs to; empty when that cannot be told."""
        if request_id is not None:
            return self.asked_by.get(request_id, "")
        sessions = set(self.asked_by.values())
        return sessions.pop() if len(sessions) == 1 else ""

    def _asked_for(self, session_id: str, request_id: int) -> "_AskedFor":
        return _AskedFor(self.asked_by, session_id, request_id)

    def _call_meta(self, token: int | None, invocation: Invocation) -> bytes:
        ours, encoded = self._meta(invocation.session_id)
        if token is None and invocation.trace is None:
            return encoded
        meta = dict(ours)
        if token is not None:
            meta["progressToken"] = token
        if invocation.trace is not None:
            meta["traceparent"] = invocation.trace.traceparent
            if invocation.trace.state:
                meta["tracestate"] = invocation.trace.state
        return messages.encoded(meta)

    def _headers(self, method: str, name: object) -> dict[str, str]:
        if not self.modern:
            return {}
        headers = {MCP_PROTOCOL_VERSION_HEADER: self.version, MCP_METHOD_HEADER: method}
        if isinstance(name, str):
            headers[MCP_NAME_HEADER] = encode_header_value(name)
        return headers


class _AskedFor:
    """While a request is under way: for which session it was sent."""

    __slots__ = ("_asked_by", "_request_id", "_session_id")

    def __init__(self, asked_by: dict[int | str, str], session_id: str, request_id: int) -> None:
        self._asked_by = asked_by
        self._session_id = session_id
        self._request_id = request_id

    def __enter__(self) -> None:
        if self._session_id:
            self._asked_by[self._request_id] = self._session_id

    def __exit__(self, *_: object) -> None:
        self._asked_by.pop(self._request_id, None)


def _capabilities(allowed: frozenset[str]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if "sampling" in allowed:
        found["sampling"] = {}
    if "elicitation" in allowed:
        found["elicitation"] = {"form": {}, "url": {}}
    if "roots" in allowed:
        found["roots"] = {}
    return found


def upstream_of(session: ClientSession, peer: Peer, allowed: frozenset[str]) -> Upstream:
    """What `session` agreed on. Call after `agree`."""
    info, capabilities = session.server_info, session.server_capabilities
    return Upstream(
        peer=peer,
        version=session.protocol_version or "",
        name=info.name if info is not None else "",
        server_version=info.version if info is not None else "",
        instructions=session.instructions or "",
        capabilities=capabilities.model_dump(by_alias=True, mode="json", exclude_none=True) if capabilities else {},
        allowed=allowed,
    )
