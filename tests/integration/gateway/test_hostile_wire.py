"""What no honest client sends: each gets a status or loses its connection, nothing runs, and others are served on."""

import asyncio
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from pathlib import Path

import pytest
from gateway_bench import Bench, bench
from interlock.provider import tool
from interlock.v1 import call_pb2, gateway_service_pb2
from interlock_gateway.http2.status import Status
from interlock_gateway.transport.http2 import call as http2_call
from interlock_gateway.transport.http2 import connection as http2_connection
from raw_wire import CALL_TOOL, Wire, message, wired
from waiting import eventually

ECHO = gateway_service_pb2.CallToolRequest(
    call=call_pb2.ToolCall(session_id="s", tool="echo", input=b'{"text":"x"}')
).SerializeToString()
LARGEST = 5 * 1024 * 1024


@pytest.fixture
async def wire(at: Bench) -> AsyncIterator[Wire]:
    async with wired(at.gateway.endpoints.agents[0]) as made:
        yield made


async def still_serves(at: Bench) -> None:
    assert (await at.agent.session("after").call("echo", {"text": "still"})).text == "still"


@pytest.mark.req("SEC-7")
async def test_a_whole_call_is_answered(at: Bench, wire: Wire) -> None:
    answer = await wire.ask(message(ECHO))
    assert (answer.fields[b":status"], answer.status) == (b"200", Status.OK)
    assert gateway_service_pb2.CallToolResponse.FromString(answer.data[5:]).result.status == 1
    assert at.ledger.names() == ["echo"]


async def test_a_call_that_comes_byte_by_byte_is_the_same_call(at: Bench, wire: Wire) -> None:
    sent = message(ECHO)
    assert (await wire.ask(*(sent[n : n + 1] for n in range(len(sent))))).status == Status.OK
    assert at.ledger.names() == ["echo"]


REFUSED: dict[str, tuple[tuple[bytes, ...], dict[str, bytes | None], bytes, int]] = {
    "an unknown method": ((message(ECHO),), {"path": b"/interlock.v1.GatewayService/Nothing"}, b"200", 12),
    "a service that is not here": ((message(ECHO),), {"path": b"/interlock.v1.AdminService/GetStatus"}, b"200", 12),
    "a path that is no method": ((message(ECHO),), {"path": b"/"}, b"200", 12),
    "a GET": ((message(ECHO),), {"method": b"GET"}, b"405", 12),
    "no content type": ((message(ECHO),), {"content_type": None}, b"415", 3),
    "JSON": ((b"{}",), {"content_type": b"application/json"}, b"415", 3),
    "gRPC-Web": ((message(ECHO),), {"content_type": b"application/grpc-web"}, b"415", 3),
    "a deadline that is none": ((message(ECHO),), {"grpc_timeout": b"soon"}, b"200", 3),
    "no message": ((), {}, b"200", 3),
    "half a message": ((message(ECHO)[:-1],), {}, b"200", 3),
    "half a prefix": ((b"\0\0",), {}, b"200", 3),
    "two messages": ((message(ECHO), message(ECHO)), {}, b"200", 3),
    "a message and some more": ((message(ECHO) + b"\0",), {}, b"200", 3),
    "a compressed message": ((b"\x01" + message(ECHO)[1:],), {"grpc_encoding": b"gzip"}, b"200", 12),
    "unknown flags": ((b"\x80" + message(ECHO)[1:],), {}, b"200", 12),
    "a message that is too large": ((b"\0\x00\x60\x00\x00",), {}, b"200", 8),
    "a message as large as can be said": ((b"\0\xff\xff\xff\xff", b"x"), {}, b"200", 8),
}  # fmt: skip


@pytest.mark.req("SEC-7")
@pytest.mark.parametrize("case", REFUSED)
async def test_what_is_no_call_gets_a_status_and_nothing_runs(at: Bench, wire: Wire, case: str) -> None:
    body, changed, http_status, status = REFUSED[case]
    answer = await wire.ask(*body, **changed)
    assert (answer.fields[b":status"], answer.status) == (http_status, status)
    assert answer.fields[b"grpc-message"]
    assert at.ledger.ran == []
    assert (await wire.ask(message(ECHO))).status == Status.OK


@pytest.mark.parametrize("declared", [b"\0\x00\x60\x00\x00", b"\x01\x00\x00\x00\x01"])
async def test_a_refusal_does_not_wait_for_the_rest_and_stops_it(at: Bench, wire: Wire, declared: bytes) -> None:
    stream_id = wire.begin()
    wire.http2.send_data(stream_id, declared)
    wire.flush()
    answer = await wire.answered(stream_id)
    assert answer.status in {Status.RESOURCE_EXHAUSTED, Status.UNIMPLEMENTED}
    while answer.closed_with is None:
        await wire.read()
    assert answer.closed_with == 0
    assert at.ledger.ran == []


async def test_too_many_large_requests_at_once_are_refused_and_forgotten_with_their_connection(at: Bench) -> None:
    async with wired(at.gateway.endpoints.agents[0]) as wire:
        streams = []
        for _ in range(40):
            streams.append(stream_id := wire.begin())
            wire.http2.send_data(stream_id, message(b"x" * LARGEST)[:-1])
        wire.flush()
        refused = 0
        while not refused:
            await wire.read()
            refused = sum(b"grpc-status" in wire.answers[stream_id].fields for stream_id in streams)
        (status,) = {answer.status for answer in wire.answers.values() if answer.fields}
        assert status == Status.RESOURCE_EXHAUSTED
    async with wired(at.gateway.endpoints.agents[0]) as wire:
        assert (await wire.ask(message(ECHO))).status == Status.OK


async def test_who_does_not_read_the_answers_is_not_given_more_of_them(
    at: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http2_connection, "UNREAD_BYTES", 1)
    async with wired(at.gateway.endpoints.agents[0], {4: 0}) as wire:
        unread = wire.begin()
        wire.http2.send_data(unread, message(ECHO), end_stream=True)
        wire.flush()
        while not wire.answers[unread].fields:
            await wire.read()
        assert (await wire.ask(message(ECHO))).status == Status.RESOURCE_EXHAUSTED
    assert at.ledger.names() == ["echo"]
    await still_serves(at)


async def test_dialogues_beyond_a_number_are_refused_until_others_end(at: Bench) -> None:
    path = b"/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo"
    async with wired(at.gateway.endpoints.agents[0]) as first, wired(at.gateway.endpoints.agents[0]) as second:
        open_streams = [first.begin(path=path) for _ in range(http2_connection.DIALOGUES)]
        first.flush()
        assert (await first.ask(message(ECHO))).status == Status.OK
        assert (await second.ask(path=path)).status == Status.RESOURCE_EXHAUSTED
        first.http2.reset_stream(open_streams[0])
        first.flush()
        assert (await first.ask(message(ECHO))).status == Status.OK
        assert (await second.ask(path=path)).status == Status.OK
    async with wired(at.gateway.endpoints.agents[0]) as third:
        while (await third.ask(path=path)).status != Status.OK:
            pass  # the gateway has not heard yet that the others are gone


async def test_a_request_that_never_ends_is_given_up(at: Bench, wire: Wire, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http2_call, "REQUEST_S", 0.05)
    stream_id = wire.begin()
    wire.http2.send_data(stream_id, message(ECHO)[:-1])
    wire.flush()
    assert (await wire.answered(stream_id)).status == Status.DEADLINE_EXCEEDED
    assert at.ledger.ran == []


async def test_a_request_of_which_nothing_but_the_head_comes_is_given_up(
    at: Bench, wire: Wire, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http2_call, "REQUEST_S", 0.05)
    stream_id = wire.begin()
    wire.flush()
    assert (await wire.answered(stream_id)).status == Status.DEADLINE_EXCEEDED
    assert at.ledger.ran == []


async def test_who_sends_what_cannot_be_read_and_lets_go_at_once_keeps_the_connection(at: Bench, wire: Wire) -> None:
    stream_id = wire.begin()
    wire.http2.send_data(stream_id, b"\x01" + message(ECHO)[1:])
    sent = wire.http2.data_to_send()
    wire.http2.reset_stream(stream_id)
    wire.writer.write(sent + wire.http2.data_to_send())
    assert (await wire.ask(message(ECHO))).status == Status.OK
    assert at.ledger.names() == ["echo"]


@pytest.mark.req("PIPE-7")
async def test_a_deadline_ends_the_call_even_if_the_client_waits_on(socket_directory: Path) -> None:
    ended = asyncio.Event()

    @tool(read_only=True)
    async def slow() -> str:
        """Take for ever."""
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()
        return "never"

    request = gateway_service_pb2.CallToolRequest(call=call_pb2.ToolCall(session_id="s", tool="slow", input=b"{}"))
    async with (
        bench(socket_directory, tools=lambda _: [slow]) as at,
        wired(at.gateway.endpoints.agents[0]) as wire,
    ):
        answer = await wire.ask(message(request.SerializeToString()), grpc_timeout=b"300m")
        assert answer.status == Status.DEADLINE_EXCEEDED
        await asyncio.wait_for(ended.wait(), 10)


@pytest.mark.req("PIPE-7")
@pytest.mark.parametrize("leave", ["reset", "disconnect"])
async def test_a_client_that_goes_ends_its_call(socket_directory: Path, leave: str) -> None:
    started, ended = asyncio.Event(), asyncio.Event()

    @tool(read_only=True)
    async def slow() -> str:
        """Take for ever."""
        started.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()
        return "never"

    request = gateway_service_pb2.CallToolRequest(call=call_pb2.ToolCall(session_id="s", tool="slow", input=b"{}"))
    async with (
        bench(socket_directory, tools=lambda _: [slow]) as at,
        wired(at.gateway.endpoints.agents[0]) as wire,
    ):
        stream_id = wire.begin()
        wire.http2.send_data(stream_id, message(request.SerializeToString()), end_stream=True)
        wire.flush()
        await asyncio.wait_for(started.wait(), 10)
        if leave == "reset":
            wire.http2.reset_stream(stream_id)
            wire.flush()
        else:
            wire.writer.close()
        await asyncio.wait_for(ended.wait(), 10)
        await eventually(at.gateway.idle)


def frame(kind: int, flags: int, stream_id: int, payload: bytes = b"") -> bytes:
    return len(payload).to_bytes(3, "big") + bytes([kind, flags]) + stream_id.to_bytes(4, "big") + payload


PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + frame(4, 0, 0)
# The head of a call, each field literal: 0x00, then name and value with their lengths.
HEAD_BLOCK = b"".join(
    b"\0" + bytes([len(name)]) + name + bytes([len(value)]) + value
    for name, value in (
        (b":method", b"POST"), (b":scheme", b"http"), (b":path", CALL_TOOL), (b":authority", b"x"),
        (b"content-type", b"application/grpc"),
    )
)  # fmt: skip
FLOODS: dict[str, Callable[[], bytes]] = {
    "HTTP/1.1": lambda: b"POST /interlock.v1.GatewayService/CallTool HTTP/1.1\r\nhost: x\r\n\r\n",
    "no protocol at all": lambda: bytes(range(256)) * 40,
    "a frame that is too long": lambda: PREFACE + b"\xff\xff\xff\0\0\0\0\0\1" + b"x" * 100_000,
    "data before a head": lambda: PREFACE + frame(0, 0, 1, b"x"),
    "a head that cannot be decompressed": lambda: PREFACE + frame(1, 4, 1, b"\xff" * 64),
    "a head on an even stream": lambda: PREFACE + frame(1, 4, 2, HEAD_BLOCK),
    "a window made too large": lambda: PREFACE + frame(8, 0, 0, b"\x7f\xff\xff\xff") * 2,
    "continuations without end": lambda: PREFACE + frame(1, 0, 1, HEAD_BLOCK) + frame(9, 0, 1, b"\0\1a\1b") * 5_000,
    "heads that are reset at once": lambda: (
        PREFACE + b"".join(frame(1, 4, n, HEAD_BLOCK) + frame(3, 0, n, b"\0\0\0\x08") for n in range(1, 12_001, 2))
    ),
    "settings without end": lambda: PREFACE + frame(4, 0, 0, b"\0\4\0\0\xff\xff") * 20_000,
    "pings without end": lambda: PREFACE + frame(6, 0, 0, bytes(8)) * 200_000,
}


@pytest.mark.req("SEC-7")
@pytest.mark.parametrize("flood", FLOODS)
async def test_who_breaks_the_rules_loses_the_connection_and_others_are_served(at: Bench, flood: str) -> None:
    path = at.gateway.endpoints.agents[0].removeprefix("unix:")
    with socket.socket(socket.AF_UNIX) as client:
        client.setblocking(False)  # noqa: FBT003 - the standard library's way
        loop = asyncio.get_running_loop()
        await loop.sock_connect(client, path)
        with suppress(BrokenPipeError, ConnectionResetError):
            sending = asyncio.create_task(loop.sock_sendall(client, FLOODS[flood]()))
            if "without end" in flood and "continuation" not in flood:
                # It does not read what it makes the gateway say: the gateway stops reading, or throws it out.
                await still_serves(at)
                sending.cancel()
            else:
                await asyncio.wait_for(sending, 20)
                while await asyncio.wait_for(loop.sock_recv(client, 65_536), 20):
                    pass
        with suppress(asyncio.CancelledError, BrokenPipeError, ConnectionResetError):
            await sending
    await still_serves(at)
    assert at.ledger.names() in (["echo"], ["echo", "echo"])
    await eventually(at.gateway.idle)


async def test_who_is_thrown_out_with_a_refusal_still_to_be_sent_is_no_error_of_ours(
    at: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    reader, writer = await asyncio.open_unix_connection(at.gateway.endpoints.agents[0].removeprefix("unix:"))
    compressed, reset, goaway = frame(0, 0, 1, b"\1\0\0\0\1"), frame(3, 0, 1, bytes(4)), frame(7, 0, 0, bytes(8))
    # Data on a stream that is closed ends the connection.
    writer.write(PREFACE + frame(1, 4, 1, HEAD_BLOCK) + compressed + reset + frame(0, 0, 1, b"x") + goaway)
    with suppress(ConnectionResetError):
        while await asyncio.wait_for(reader.read(1000), 10):
            pass
    writer.close()
    assert [record.message for record in caplog.records if record.levelname == "ERROR"] == []


@pytest.mark.parametrize(
    "fields", [{"x-large": b"x" * 17_000}, {f"x-{n}": b"y" for n in range(500)}], ids=["large", "many"]
)
async def test_a_head_that_is_too_large_is_refused_and_nothing_runs(
    at: Bench, wire: Wire, fields: dict[str, bytes]
) -> None:
    answer = await wire.ask(message(ECHO), **fields)
    assert answer.fields.get(b"grpc-status") != b"0"
    assert at.ledger.ran == []
    await still_serves(at)


async def test_a_silent_connection_is_closed(at: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("interlock_gateway.http2.link.FIRST_WORDS_S", 0.05)
    path = at.gateway.endpoints.agents[0].removeprefix("unix:")
    reader, writer = await asyncio.open_unix_connection(path)
    with suppress(ConnectionResetError):
        while await asyncio.wait_for(reader.read(1000), 10):
            pass
    writer.close()


async def test_a_connection_whose_other_side_has_gone_quiet_is_closed(
    at: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("interlock_gateway.http2.link.FIRST_WORDS_S", 0.05)
    monkeypatch.setattr("interlock_gateway.http2.link.QUIET_S", 0.05)
    path = at.gateway.endpoints.agents[0].removeprefix("unix:")
    reader, writer = await asyncio.open_unix_connection(path)
    writer.write(PREFACE)
    with suppress(ConnectionResetError):
        while await asyncio.wait_for(reader.read(1000), 10):
            pass
    writer.close()


async def test_a_connection_that_answers_pings_stays(at: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("interlock_gateway.http2.link.FIRST_WORDS_S", 0.02)
    monkeypatch.setattr("interlock_gateway.http2.link.QUIET_S", 0.02)
    async with wired(at.gateway.endpoints.agents[0]) as wire:
        for _ in range(5):
            await wire.read()  # settings, and then pings, which reading answers
        assert (await wire.ask(message(ECHO))).status == Status.OK


async def test_a_reader_with_a_small_window_gets_the_whole_answer_and_not_more_is_queued(at: Bench) -> None:
    text = "0123456789" * 100_000
    request = gateway_service_pb2.CallToolRequest(
        call=call_pb2.ToolCall(session_id="s", tool="echo", input=b'{"text":"%s"}' % text.encode())
    )
    async with wired(at.gateway.endpoints.agents[0], {4: 1000}) as wire:
        shortened = await wire.ask(message(request.SerializeToString()))
        answer = gateway_service_pb2.CallToolResponse.FromString(shortened.data[5:])
        reading = gateway_service_pb2.ReadArtifactRequest(uri=answer.result.artifact.uri)
        path = b"/interlock.v1.GatewayService/ReadArtifact"
        whole = await wire.ask(message(reading.SerializeToString()), path=path)
    assert whole.status == Status.OK
    data, place = b"", 0
    while place < len(whole.data):
        size = int.from_bytes(whole.data[place + 1 : place + 5], "big")
        data += gateway_service_pb2.ReadArtifactResponse.FromString(whole.data[place + 5 : place + 5 + size]).data
        place += 5 + size
    assert text.encode() in data
