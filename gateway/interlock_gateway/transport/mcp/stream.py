"""MCP over a pair of byte streams: one JSON-RPC message a line, as MCP's stdio transport has it."""

import asyncio
import json
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import anyio
from anyio.abc import ObjectReceiveStream, ObjectSendStream
from mcp.server.runner import serve_dual_era_loop
from mcp.shared.message import ServerMessageMetadata, SessionMessage
from mcp_types import (
    INVALID_REQUEST,
    ErrorData,
    JSONRPCError,
    JSONRPCNotification,
    JSONRPCRequest,
    JSONRPCResponse,
    RequestId,
    jsonrpc_message_adapter,
)
from pydantic import ValidationError

from interlock_gateway.core.session import Principal
from interlock_gateway.errors import RequestError, RequestFault
from interlock_gateway.transport.mcp.errors import as_mcp_error
from interlock_gateway.transport.mcp.strict import SAME_ID, BadMessageError, read_message
from interlock_gateway.transport.mcp.surface import Surface
from interlock_gateway.transport.mcp.wires import Wire

UNANSWERED = 256
"""Requests of one connection that may wait for their answers; more are refused.

It is read on: what those wait for may be an answer of the client's own.
"""
_log = logging.getLogger(__name__)


async def serve_stream(
    surface: Surface, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, principal: Principal
) -> None:
    """Serve `principal` until the other end goes; then its session is closed. `reader` bounds the length of a line."""
    line = _Line(surface, reader, writer)
    wire = Wire.opened(principal)
    try:
        await line.run(wire)
    finally:
        line.settle()
        await asyncio.shield(wire.close(surface.parts.pipeline))


class _Line:
    """One connection: reads, writes, and keeps count of what waits for an answer."""

    def __init__(self, surface: Surface, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._surface = surface
        self._reader = reader
        self._writer = writer
        self._max_depth = surface.parts.parts.settings.max_depth
        self._owed: set[RequestId] = set()
        self._writing = asyncio.Lock()

    async def run(self, wire: Wire) -> None:
        """Serve until the other end goes."""
        send_in, incoming = anyio.create_memory_object_stream[SessionMessage | Exception](0)
        outgoing, receive_out = anyio.create_memory_object_stream[SessionMessage](0)
        server = self._surface.server
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._read, send_in)
            tasks.start_soon(self._write, receive_out)
            await serve_dual_era_loop(
                server, incoming, outgoing, lifespan_state=wire, init_options=self._surface.options()
            )
            tasks.cancel_scope.cancel()

    async def _read(self, send_in: "ObjectSendStream[SessionMessage | Exception]") -> None:
        async with send_in:
            while True:
                try:
                    raw = await self._reader.readline()
                except (ValueError, ConnectionError):  # the line is longer than the reader's limit, or they have gone
                    await self._refuse(BadMessageError("it is longer than messages may be", None))
                    return
                if not raw:
                    return
                if raw.strip():
                    await self._take(raw, send_in)

    async def _take(self, raw: bytes, send_in: "ObjectSendStream[SessionMessage | Exception]") -> None:
        try:
            read = read_message(raw, max_depth=self._max_depth)
            message = _message(read)
        except BadMessageError as error:
            await self._refuse(error)
            return
        if isinstance(message.message, JSONRPCRequest):
            request_id = message.message.id
            if request_id in self._owed:
                await self._send(_refusal(None, ErrorData(code=INVALID_REQUEST, message=SAME_ID)))
                return
            if len(self._owed) >= UNANSWERED:
                await self._send(_too_many(request_id))
                return
            self._owed.add(request_id)
            self._surface.parts.unanswered.begin()
            message.metadata = ServerMessageMetadata(on_request_unanswered=partial(self._unanswered, request_id))
        try:
            await send_in.send(message)
        except (anyio.BrokenResourceError, anyio.ClosedResourceError):
            return

    async def _unanswered(self, request_id: RequestId) -> None:
        self._answered(request_id)

    def _answered(self, request_id: RequestId) -> None:
        if request_id in self._owed:
            self._owed.remove(request_id)
            self._surface.parts.unanswered.end()

    def settle(self) -> None:
        """Nobody waits for what was not answered: the connection is over."""
        for request_id in tuple(self._owed):
            self._answered(request_id)

    async def _write(self, receive_out: "ObjectReceiveStream[SessionMessage]") -> None:
        async with receive_out:
            async for one in receive_out:
                text = one.message.model_dump_json(by_alias=True, exclude_unset=True)
                with self._answering(one.message):
                    await self._send(text.encode())

    @contextmanager
    def _answering(self, message: object) -> Iterator[None]:
        """Whoever has read an answer may use its id again at once; that it is owed no more is told behind it."""
        if not isinstance(message, JSONRPCResponse | JSONRPCError) or message.id not in self._owed:
            yield
            return
        self._owed.remove(message.id)
        try:
            yield
        finally:
            self._surface.parts.unanswered.end()

    async def _refuse(self, error: BadMessageError) -> None:
        await self._send(error.answer())

    async def _send(self, line: bytes) -> None:
        async with self._writing:
            self._writer.write(line + b"\n")
            try:
                await self._writer.drain()
            except ConnectionError:
                return  # whoever reads finds that out, and ends the connection


def _too_many(request_id: RequestId) -> bytes:
    refusal = RequestError(RequestFault.LIMIT_REACHED, "too many requests of this connection wait for answers")
    return _refusal(request_id, as_mcp_error(refusal).error)


def _refusal(request_id: RequestId | None, error: ErrorData) -> bytes:
    told = error.model_dump(exclude_none=True)
    return json.dumps({"jsonrpc": "2.0", "id": request_id, "error": told}).encode()


def _message(read: dict[str, Any]) -> SessionMessage:
    request_id = read.get("id")
    known = request_id if isinstance(request_id, str | int) and not isinstance(request_id, bool) else None
    try:
        message = jsonrpc_message_adapter.validate_python(read, by_name=False)
    except ValidationError:
        raise BadMessageError("it is no JSON-RPC message", known) from None
    if isinstance(message, JSONRPCNotification) and "id" in read:
        # Taken for one because its id is none: whoever sent it waits for an answer.
        raise BadMessageError("its id is neither a text nor an integer", None)
    return SessionMessage(message)
