"""Resources, prompts and completions of MCP servers, as far as configuration lets them pass (MCP-3).

To read a resource or to get a prompt is a call like any other: decided, masked, recorded. Lists and completions are the
servers' own, put together.
"""

import binascii
import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from mcp.server.lowlevel.server import Server
from mcp.server.subscriptions import ListenHandler
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    CompleteRequestParams,
    GetPromptRequestParams,
    PaginatedRequestParams,
    PromptReference,
    ReadResourceRequestParams,
    SetLevelRequestParams,
    SubscribeRequestParams,
    SubscriptionsListenRequestParams,
    SubscriptionsListenResult,
    UnsubscribeRequestParams,
)

from interlock_gateway.core.call import CallResult, CallStatus
from interlock_gateway.core.content import Text
from interlock_gateway.core.session import Session
from interlock_gateway.errors import ProviderError, RequestError, RequestFault
from interlock_gateway.providers.mcp.contents import ERROR, MCP_DETAILS
from interlock_gateway.providers.mcp.link import RpcError
from interlock_gateway.providers.mcp.passing import GET, READ, passing_name
from interlock_gateway.sessions.shares import Shares
from interlock_gateway.transport.mcp.artifact_resources import TEMPLATE
from interlock_gateway.transport.mcp.checkpoint_calls import CheckpointCalls
from interlock_gateway.transport.mcp.clients import Client, Context
from interlock_gateway.transport.mcp.errors import COME_AGAIN, REFUSED
from interlock_gateway.transport.mcp.freshness import FRESH
from interlock_gateway.transport.mcp.guard import LISTEN
from interlock_gateway.transport.mcp.leave import leave_to_send
from interlock_gateway.transport.mcp.notices import MOST_SUBSCRIPTIONS, Notices
from interlock_gateway.transport.mcp.parts import SurfaceParts
from interlock_gateway.transport.mcp.progress import with_progress
from interlock_gateway.transport.mcp.reflecting import words_for_reading
from interlock_gateway.transport.mcp.requests import read_request
from interlock_gateway.transport.mcp.resource_handlers import ResourceHandlers
from interlock_gateway.transport.mcp.results import call_result, meta_of
from interlock_gateway.transport.mcp.shelves import Item, Shelf, Shelves, Upstream
from interlock_gateway.transport.mcp.wires import McpCaller, Wire

PAGE = 500
NO_RESOURCE = -32002
"""What MCP answers for a resource that is not there."""
COMPLETE_S = 10.0


@dataclass(frozen=True, slots=True)
class Told:
    """How clients hear of changes: by notifications, and on streams that they listen on."""

    notices: Notices
    listener: ListenHandler


class Passage:
    """What passes besides tools. `shelves` knows whose it is."""

    def __init__(self, parts: SurfaceParts, shelves: Shelves, calls: CheckpointCalls, told: Told) -> None:
        self._parts = parts
        self._shelves = shelves
        self._calls = calls
        self._own = ResourceHandlers(parts)
        self._notices = told.notices
        self._listener = told.listener
        self._streams = Shares(parts.config.max_connections)

    async def listed(self, shelf: Shelf, ctx: Context, params: PaginatedRequestParams) -> dict[str, Any]:
        """A page of what the caller's session may ask for."""
        session = await self.session_of(ctx.lifespan_context.caller(ctx))
        begin = 0 if params.cursor is None else _position(params.cursor)
        items = await self._shelves.items(shelf, session, fresh=begin == 0)
        page: dict[str, Any] = {shelf.member: [dict(item.entry) for item in items[begin : begin + PAGE]], **FRESH}
        if shelf is Shelf.TEMPLATES and not begin:
            page[shelf.member].insert(0, TEMPLATE)
        if begin + PAGE < len(items):
            page["nextCursor"] = _cursor(begin + PAGE)
        return page

    async def read(self, ctx: Context, params: ReadResourceRequestParams) -> dict[str, Any]:
        """A resource of a server, read by a call. Raises `MCPError`."""
        caller, uri = ctx.lifespan_context.caller(ctx), str(params.uri)
        if uri.startswith("artifact:"):
            return await self._own.read(ctx, params)
        owner = await self._shelves.owner_of(uri, await self.session_of(caller))
        if owner is None:
            raise MCPError(NO_RESOURCE, "Resource not found", {"uri": uri})
        client = Client(ctx, caller, state=params.request_state, answers=params.input_responses)
        result = await self._called(ctx, caller, client, passing_name(owner.name, READ), {"uri": uri})
        return _read_whole(result, uri) if isinstance(result, CallResult) else result

    async def get_prompt(self, ctx: Context, params: GetPromptRequestParams) -> dict[str, Any]:
        """A prompt of a server, got by a call. Raises `MCPError`."""
        caller = ctx.lifespan_context.caller(ctx)
        item = await self._prompt(params.name, caller)
        client = Client(ctx, caller, state=params.request_state, answers=params.input_responses)
        given: dict[str, Any] = {"name": item.key}
        if params.arguments is not None:
            given["arguments"] = params.arguments
        result = await self._called(ctx, caller, client, passing_name(item.of.name, GET), given)
        return _whole(result) if isinstance(result, CallResult) else result

    async def complete(self, ctx: Context, params: CompleteRequestParams) -> dict[str, Any]:
        """What a server suggests for an argument of its own. Raises `MCPError`."""
        caller = ctx.lifespan_context.caller(ctx)
        asked = params.model_dump(by_alias=True, mode="json", exclude_none=True)
        asked.pop("_meta", None)
        if isinstance(params.ref, PromptReference):
            item = await self._prompt(params.ref.name, caller)
            owner, asked["ref"]["name"] = item.of, item.key
            tool, given = passing_name(owner.name, GET), {"name": item.key, "arguments": _typed(params)}
        else:
            owner = await self._of_template(params.ref.uri, caller)
            tool, given = passing_name(owner.name, READ), {"uri": params.ref.uri, "arguments": _typed(params)}
        if not owner.provider.passes("completions"):
            raise MCPError(INVALID_PARAMS, "nothing is suggested for this")
        await leave_to_send(self._parts.pipeline, caller, ctx.method, tool, given)
        return await answer_of(owner, "completion/complete", asked, caller.session_id)

    def serve_on(self, server: "Server[Wire]") -> None:
        """Have `server` answer these requests."""
        add, paged = server.add_request_handler, PaginatedRequestParams
        for shelf in Shelf:
            add(shelf.method, paged, partial(self.listed, shelf))
        add("resources/read", ReadResourceRequestParams, self.read)
        add("prompts/get", GetPromptRequestParams, self.get_prompt)
        add("completion/complete", CompleteRequestParams, self.complete)
        add("logging/setLevel", SetLevelRequestParams, self.set_level)
        add("resources/subscribe", SubscribeRequestParams, self.subscribe)
        add("resources/unsubscribe", UnsubscribeRequestParams, self.unsubscribe)
        add("subscriptions/listen", SubscriptionsListenRequestParams, self.listen)

    async def set_level(self, ctx: Context, params: SetLevelRequestParams) -> dict[str, Any]:
        """From which level on the client wants to hear what servers log while they run its calls."""
        self._notices.set_level(ctx.lifespan_context, params.level)
        return {}

    async def subscribe(self, ctx: Context, params: SubscribeRequestParams) -> dict[str, Any]:
        """Tell the client when a resource changes. Raises `MCPError`."""
        caller, uri = ctx.lifespan_context.caller(ctx), str(params.uri)
        owner = await self._shelves.owner_of(uri, await self.session_of(caller))
        if owner is None:
            raise MCPError(NO_RESOURCE, "Resource not found", {"uri": uri})
        await leave_to_send(self._parts.pipeline, caller, ctx.method, passing_name(owner.name, READ), {"uri": uri})
        await self._notices.subscribe(owner, uri, ctx.lifespan_context, caller.principal.id)
        return {}

    async def unsubscribe(self, ctx: Context, params: UnsubscribeRequestParams) -> dict[str, Any]:
        """Tell it no more."""
        self._notices.unsubscribe(str(params.uri), ctx.lifespan_context)
        return {}

    async def listen(self, ctx: Context, params: SubscriptionsListenRequestParams) -> SubscriptionsListenResult:
        """A stream of what changes, until either side ends it; what nobody has does not change."""
        caller, who = ctx.lifespan_context.caller(ctx), object()
        session = await self.session_of(caller)
        self._notices.follow()
        wanted = params.notifications
        uris = dict.fromkeys(map(str, wanted.resource_subscriptions or ()))
        if len(uris) > MOST_SUBSCRIPTIONS:
            raise MCPError(INVALID_PARAMS, f"a stream has at most {MOST_SUBSCRIPTIONS} resourceSubscriptions")
        if self._streams.refusal(caller.principal.id) is not None:
            raise RequestError(RequestFault.LIMIT_REACHED, "you have as many streams open as you may; end some")
        self._streams.take(caller.principal.id)
        try:
            heard = [uri for uri in uris if await self._subscribed(uri, session, who, caller)]
            if wanted.resource_subscriptions is not None:
                # Others may be told of the rest: what the session does not see it does not hear of.
                wanted = wanted.model_copy(update={"resource_subscriptions": heard})
            return await self._listener(ctx, params.model_copy(update={"notifications": wanted}))
        finally:
            self._streams.give_back(caller.principal.id)
            self._notices.unsubscribed(who)

    async def _subscribed(self, uri: str, session: Session, who: object, caller: McpCaller) -> bool:
        owner = await self._shelves.owner_of(uri, session)
        if owner is None:
            return False
        try:
            await leave_to_send(self._parts.pipeline, caller, LISTEN, passing_name(owner.name, READ), {"uri": uri})
            await self._notices.subscribe(owner, uri, who, caller.principal.id)
        except MCPError:
            return False
        return True

    async def session_of(self, caller: McpCaller) -> Session:
        """The caller's session, opened or not."""
        live = await self._parts.parts.sessions.for_evaluation(caller.principal, caller.session_id)
        return live.session

    async def _of_template(self, uri: str, caller: McpCaller) -> Upstream:
        session = await self.session_of(caller)
        item = await self._shelves.find(Shelf.TEMPLATES, uri, session)
        owner = item.of if item is not None else await self._shelves.owner_of(uri, session)
        if owner is None:
            raise MCPError(INVALID_PARAMS, "there is no such resource template")
        return owner

    async def _prompt(self, name: str, caller: McpCaller) -> Item:
        item = await self._shelves.find(Shelf.PROMPTS, name, await self.session_of(caller))
        if item is None:
            raise MCPError(INVALID_PARAMS, f"Unknown prompt: {name[:200]}")
        return item

    async def _called(
        self, ctx: Context, caller: McpCaller, client: Client, tool: str, given: Mapping[str, Any]
    ) -> CallResult | dict[str, Any]:
        call = read_request(caller, ctx.method, tool, given)
        run = partial(self._calls.handle, caller.principal, call, client)
        answer = await with_progress(caller, ctx.session, run)
        return answer if isinstance(answer, CallResult) else answer.result()


def _typed(params: CompleteRequestParams) -> dict[str, str]:
    """The arguments as far as they are typed."""
    known = params.context.arguments if params.context is not None else None
    return {**(known or {}), params.argument.name: params.argument.value}


async def answer_of(of: Upstream, method: str, params: Mapping[str, Any], session_id: str = "") -> dict[str, Any]:
    """A server's answer to a request that is passed on. Raises `MCPError`: the server's own, or in its place."""
    try:
        return await of.provider.request(method, params, timeout_s=COMPLETE_S, session_id=session_id)
    except RpcError as error:
        raise MCPError(error.code, error.message, error.data) from None
    except ProviderError as error:
        raise MCPError(INTERNAL_ERROR, error.message) from None


def _whole(result: CallResult) -> dict[str, Any]:
    """What a server answered, with what was decided beside it. Raises `MCPError` when there is nothing to tell.

    Whatever the server says of caches, what one principal may read is not to be kept for others.
    """
    said = result.details.get(MCP_DETAILS)
    error = said.get(ERROR) if isinstance(said, dict) else None
    if result.status is CallStatus.FAILED and isinstance(error, dict):
        raise MCPError(int(str(error["code"])), str(error["message"]), error.get("data"))
    if result.status is not CallStatus.COMPLETED or result.is_error or not isinstance(result.data, dict):
        waits = result.status is CallStatus.AWAITING_CHECKPOINT
        raise MCPError(COME_AGAIN if waits else REFUSED, _words(result), meta_of(result))
    own = result.data.get("_meta")
    meta = {**(own if isinstance(own, dict) else {}), **meta_of(result)}
    return {**FRESH, **result.data, "cacheScope": FRESH["cacheScope"], "_meta": meta}


def _read_whole(result: CallResult, uri: str) -> dict[str, Any]:
    if result.status is CallStatus.COMPLETED and not result.has_data and result.artifact is not None:
        # It was too large to return. What is told in its place is a resource of the same address.
        words = _words(result) or f"This resource is too large to return. All of it, as JSON: {result.artifact.uri}"
        contents = [{"uri": uri, "mimeType": "text/plain", "text": words}]
        return {"contents": contents, "_meta": meta_of(result), **FRESH}
    return _whole(result)


def _words(result: CallResult) -> str:
    texts = [part.text for part in result.content if isinstance(part, Text)]
    if result.reflection is not None:
        texts.append(words_for_reading(result.reflection))
    if not texts:
        texts = [str(part["text"]) for part in call_result(result, "")["content"] if part.get("type") == "text"]
    return "\n".join(texts) or f"it was not answered: {result.status.value}"


def _cursor(position: int) -> str:
    return urlsafe_b64encode(json.dumps(position).encode()).decode()


def _position(cursor: str) -> int:
    try:
        found = json.loads(urlsafe_b64decode(cursor))
    except (binascii.Error, ValueError, RecursionError):
        found = None
    if not isinstance(found, int) or isinstance(found, bool) or found < 1:
        raise MCPError(INVALID_PARAMS, "Invalid cursor")
    return found
