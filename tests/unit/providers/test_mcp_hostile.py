"""Whatever an MCP server sends, it is read without a surprise: a message, or an error that is foreseen."""

import asyncio
import json
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from interlock_gateway.errors import OutcomeUnknownError, ProviderFailedError
from interlock_gateway.providers.mcp import messages
from interlock_gateway.providers.mcp.answer import Answer
from interlock_gateway.providers.mcp.contents import result_outcome
from interlock_gateway.providers.mcp.definitions import definition_of
from interlock_gateway.providers.mcp.http1 import Origin, Wire
from interlock_gateway.providers.mcp.link import LinkError
from interlock_gateway.providers.mcp.throttle import Throttle

LEAVES = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=9)
)
WORDS = (
    "type text data mimeType uri resource blob name size annotations _meta content structuredContent isError "
    "inputSchema outputSchema readOnlyHint title description x"
)
NAMES = st.sampled_from(WORDS.split())
KINDS = st.sampled_from(["text", "image", "audio", "resource", "resource_link", "new"])
VALUES = st.recursive(
    LEAVES | KINDS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(NAMES, inner, max_size=6), max_leaves=20
)
HEADS = st.sampled_from(
    [
        b"HTTP/1.1 200 OK\r\n",
        b"HTTP/1.1 404 No\r\n",
        b"HTTP/1.1 100 Go\r\n\r\n",
        b"HTTP/1.0 200\r\n",
        b"Content-Type: application/json\r\n",
        b"Content-Type: text/event-stream\r\n",
        b"Content-Length: 9\r\n",
        b"Content-Length: 0\r\n",
        b"Transfer-Encoding: chunked\r\n",
        b"Connection: close\r\n",
        b"\r\n",
        b"\n",
        b"data: ",
        b"id: 1\n",
        b'{"jsonrpc":"2.0","id":1,"result":{}}',
        b"5\r\n",
        b"0\r\n\r\n",
        b"\n\n",
    ]
)


@given(VALUES)
@settings(max_examples=300, deadline=None)
@pytest.mark.req("MCP-2")
def test_a_result_or_a_tool_of_any_shape_is_read_or_refused(value: Any) -> None:
    for result in (value, {"content": value}, {"content": [value]}):
        if isinstance(result, dict):
            with suppress(OutcomeUnknownError):
                result_outcome(result, "up")
    with suppress(ProviderFailedError):
        definition_of(value, "p_")
    with suppress(messages.NotAMessageError):
        assert isinstance(messages.read(json.dumps(value).encode()), list)


class NoTransport(asyncio.Transport):
    """Stands where a connection would."""

    def __init__(self) -> None:
        super().__init__()
        self.closed = False

    def write(self, data: Any) -> None:
        del data

    def abort(self) -> None:
        self.closed = True

    def is_closing(self) -> bool:
        return self.closed

    def is_reading(self) -> bool:
        return True

    def pause_reading(self) -> None:
        return

    def resume_reading(self) -> None:
        return


@given(st.lists(HEADS | st.binary(max_size=20), max_size=12), st.booleans())
@settings(max_examples=300, deadline=None)
@pytest.mark.req("MCP-2")
def test_an_answer_over_http_of_any_bytes_ends_and_only_once(pieces: list[bytes], cut: bool) -> None:
    asyncio.run(answered([b"".join(pieces)] if cut else pieces))


async def answered(pieces: list[bytes]) -> None:
    got: list[bytes] = []

    def receive(raw: bytes, _related: object) -> bool:
        messages.read(raw)
        got.append(raw)
        return True

    answer = Answer(receive, Throttle(), 1000, 1)
    wire = Wire(Origin("http://up/", None))
    transport = NoTransport()
    wire.connection_made(transport)
    wire.send(b"", answer)
    answer.wire = wire
    for piece in pieces:
        if not transport.closed:
            wire.data_received(piece)
    wire.eof_received()
    wire.connection_lost(None)
    assert answer.done.done()
    failure = answer.done.exception()
    assert failure is None or isinstance(failure, LinkError)
    assert answer.status or failure is not None
