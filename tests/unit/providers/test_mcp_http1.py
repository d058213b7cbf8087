"""Answers of MCP servers over HTTP/1.1, however they are cut, and what it costs to read them."""

import time
from typing import Any, cast

import pytest
from interlock_gateway.providers.mcp.http1 import Headers, Origin, Wire

HEAD = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"


class Taken:
    def __init__(self) -> None:
        self.body = b""
        self.said: list[str] = []

    def head(self, status: int, headers: Headers) -> None:
        self.said.append(f"{status} {len(headers)}")

    def data(self, chunk: bytes) -> None:
        self.body += chunk

    def end(self) -> None:
        self.said.append("end")

    def failed(self, why: str) -> None:
        self.said.append(why)


class Transport:
    aborted = False
    reads = True

    def write(self, data: bytes) -> None:
        """Nobody reads it."""

    def is_closing(self) -> bool:
        return self.aborted

    def abort(self) -> None:
        self.aborted = True

    def is_reading(self) -> bool:
        return self.reads

    def pause_reading(self) -> None:
        self.reads = False

    def resume_reading(self) -> None:
        self.reads = True


async def asked() -> tuple[Wire, Taken]:
    wire, taken = Wire(Origin("http://127.0.0.1/mcp", None)), Taken()
    wire.connection_made(cast("Any", Transport()))
    wire.send(b"", taken)
    return wire, taken


@pytest.mark.parametrize("size", [1, 2, 3, 5, 1000])
@pytest.mark.req("MCP-2")
async def test_a_chunked_answer_is_read_however_its_bytes_are_cut(size: int) -> None:
    wire, taken = await asked()
    answer = b"HTTP/1.1 100 Continue\r\n\r\n" + HEAD + b"5\r\nhello\r\n1;x=y\r\n \r\n5\r\nworld\r\n0\r\nA: b\r\n\r\n"
    for start in range(0, len(answer), size):
        wire.data_received(answer[start : start + size])
    assert (taken.said, taken.body, wire.usable) == (["200 1", "end"], b"hello world", True)


@pytest.mark.parametrize(
    "rest", [b"5\r\nhello" + b"x" * 10, b"-5\r\n", b"0\r\n" + b"a b\r\n", b"0x5\r\n", b"f" * 20 + b"\r\n"]
)
@pytest.mark.req("MCP-2", "SEC-2")
async def test_chunks_that_are_none_end_the_connection(rest: bytes) -> None:
    wire, taken = await asked()
    wire.data_received(HEAD + rest)
    assert taken.said[-1].startswith("its answer is not HTTP as it should be: ")
    assert not wire.usable


@pytest.mark.parametrize(
    "endless",
    [
        b"HTTP/1.1 200 OK\r\nA: ",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nA: ",
        HEAD + b"5;",
        b"HTTP/1.1 2",
    ],
)
@pytest.mark.req("MCP-2", "SEC-2")
async def test_what_never_ends_around_a_body_ends_the_connection(endless: bytes) -> None:
    wire, taken = await asked()
    wire.data_received(endless)
    for _ in range(10):
        wire.data_received(b"x" * 10_000)
    assert taken.said[-1].startswith(("its answer has too many headers", "its answer is not HTTP"))
    assert not wire.usable


@pytest.mark.req("MCP-2", "SEC-2")
async def test_an_answer_that_nobody_asked_for_is_nobodys() -> None:
    wire, taken = await asked()
    one = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n"
    wire.data_received(one + b"{}" + one + b"[]")
    assert (taken.said, taken.body, wire.usable) == (["200 1", "end"], b"{}", False)


@pytest.mark.req("MCP-2", "SEC-2")
async def test_many_tiny_chunks_are_read_in_one_go() -> None:
    wire, taken = await asked()
    wire.data_received(HEAD)
    chunks = b"1\r\nx\r\n" * 40_000
    began = time.process_time()
    wire.data_received(chunks)
    assert time.process_time() - began < 0.4  # what was left was copied three times for each of them before
    assert len(taken.body) == 40_000


@pytest.mark.parametrize("pieces", [HEAD + b"1\r\nx\r\n" * 20_000, b"HTTP/1.1 100 Continue\r\n\r\n" * 5000])
@pytest.mark.req("MCP-2", "SEC-2")
async def test_who_cuts_an_answer_into_crumbs_waits_before_more_is_read(pieces: bytes) -> None:
    wire, _ = await asked()
    transport: Any = wire._transport
    wire.data_received(pieces)
    assert not transport.reads
    assert wire.usable
