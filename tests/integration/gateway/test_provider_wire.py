"""Providers that speak gRPC badly, or stop in the middle: what is known of the call is said, and nothing more."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest
from interlock_gateway.http2.messages import framed
from interlock_gateway.http2.status import Status, StatusError
from interlock_gateway.providers.channel import Channel
from ngh2 import Connection, ErrorCode, RequestReceived, Role, StreamReset
from waiting import eventually

METHOD = "/interlock.v1.ToolProviderService/Execute"
HEAD = [(b":status", b"200"), (b"content-type", b"application/grpc")]
OK = [(b"grpc-status", b"0")]
Act = Callable[[Connection, int], None]


class Provider(asyncio.Protocol):
    """Answers every call with what a test made up."""

    def __init__(self, act: Act, events: list[object], *, greet: bool = True) -> None:
        self._act = act
        self._events = events
        self._greet = greet

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._http2 = Connection(Role.SERVER)
        if self._greet:
            self._http2.initiate_connection()
            transport.write(self._http2.data_to_send())

    def data_received(self, data: bytes) -> None:
        if not self._greet:
            self._transport.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
            return
        self._http2.receive_data(data)
        for event in self._http2.events():
            self._events.append(event)
            if isinstance(event, RequestReceived):
                with suppress(HangUpError):
                    self._act(self._http2, event.stream_id)
                    continue
                self._transport.abort()
                return
        self._transport.write(self._http2.data_to_send())


class HangUpError(Exception):
    """The provider goes in the middle of a call."""


@asynccontextmanager
async def reached(directory: Path, act: Act, events: list[object] | None = None) -> AsyncIterator[Channel]:
    """A channel to a provider that acts so."""
    path = f"{directory}/p.sock"
    heard = events if events is not None else []
    server = await asyncio.get_running_loop().create_unix_server(lambda: Provider(act, heard), path)
    channel = Channel(f"unix:{path}", max_message_bytes=1000)
    try:
        async with asyncio.timeout(10):
            await channel.until_connected()
        yield channel
    finally:
        await channel.close()
        server.close()


async def called(channel: Channel, timeout_s: float = 10.0) -> bytes:
    answers: list[bytes] = []
    await channel.call(METHOD.encode(), b"request", timeout_s, answers.append)
    return b"".join(answers)


def answer(*parts: bytes, trailers: list[tuple[bytes, bytes]] | None = None) -> Act:
    def act(http2: Connection, stream_id: int) -> None:
        http2.send_response(stream_id, HEAD)
        for part in parts:
            http2.send_data(stream_id, part)
        if trailers is None:
            http2.end_stream(stream_id)
        else:
            http2.send_trailers(stream_id, trailers)

    return act


def only_head(*fields: tuple[bytes, bytes]) -> Act:
    return lambda http2, stream_id: http2.send_response(stream_id, fields, end_stream=True)


def reset(code: ErrorCode) -> Act:
    return lambda http2, stream_id: http2.reset_stream(stream_id, code)


def hang_up(_http2: Connection, _stream_id: int) -> None:
    raise HangUpError


ENDS: dict[str, tuple[Act, Status, bool]] = {
    "a refusal without a body": (only_head(*HEAD, (b"grpc-status", b"7")), Status.PERMISSION_DENIED, False),
    "a refusal after a message": (answer(framed(b"x"), trailers=[(b"grpc-status", b"10")]), Status.ABORTED, False),
    "no status": (answer(framed(b"x")), Status.INTERNAL, False),
    "trailers without a status": (answer(framed(b"x"), trailers=[(b"x", b"y")]), Status.UNKNOWN, False),
    "a status that is no number": (answer(trailers=[(b"grpc-status", b"fine")]), Status.UNKNOWN, False),
    "a status that nobody knows": (answer(trailers=[(b"grpc-status", b"99")]), Status.UNKNOWN, False),
    "a status without end": (answer(trailers=[(b"grpc-status", b"9" * 5000)]), Status.UNKNOWN, False),
    "an error of HTTP": (only_head((b":status", b"503")), Status.UNAVAILABLE, False),
    "another content type": (only_head((b":status", b"200"), (b"content-type", b"text/html")), Status.UNKNOWN, False),
    "a message that is too large": (answer(framed(b"x" * 1001), trailers=OK), Status.RESOURCE_EXHAUSTED, False),
    "a compressed message": (answer(b"\1" + framed(b"x")[1:], trailers=OK), Status.RESOURCE_EXHAUSTED, False),
    "half a message": (answer(framed(b"xx")[:-1], trailers=OK), Status.INTERNAL, False),
    "a reset": (reset(ErrorCode.INTERNAL_ERROR), Status.INTERNAL, False),
    "a cancellation": (reset(ErrorCode.CANCEL), Status.CANCELLED, False),
    "a call that was not looked at": (reset(ErrorCode.REFUSED_STREAM), Status.UNAVAILABLE, True),
    "a connection that is cut": (hang_up, Status.UNAVAILABLE, False),
}  # fmt: skip


@pytest.mark.req("PIPE-7")
@pytest.mark.parametrize("case", ENDS)
async def test_what_ends_badly_is_an_error_that_says_how(socket_directory: Path, case: str) -> None:
    act, status, unsent = ENDS[case]
    async with reached(socket_directory, act) as channel:
        with pytest.raises(StatusError) as caught:
            await called(channel)
    assert (caught.value.status, caught.value.unsent) == (status, unsent)


async def test_messages_come_in_their_order(socket_directory: Path) -> None:
    act = answer(framed(b"a") + framed(b"b")[:3], framed(b"b")[3:], trailers=OK)
    async with reached(socket_directory, act) as channel:
        assert await called(channel) == b"ab"


@pytest.mark.parametrize("count", [0, 2])
async def test_one_message_is_expected_where_one_is_promised(socket_directory: Path, count: int) -> None:
    async with reached(socket_directory, answer(*[framed(b"x")] * count, trailers=OK)) as channel:
        method = channel.unary_unary(METHOD, bytes, bytes)
        with pytest.raises(StatusError, match=f"{count} messages"):
            await method(b"", timeout=10)


async def test_who_sends_messages_without_end_where_one_is_promised_is_cut_off(socket_directory: Path) -> None:
    events: list[object] = []

    def endless(http2: Connection, stream_id: int) -> None:
        http2.send_response(stream_id, HEAD)
        http2.send_data(stream_id, framed(b"x") * 3)

    async with reached(socket_directory, endless, events) as channel:
        with pytest.raises(StatusError, match="2 messages"):
            await channel.unary_unary(METHOD, bytes, bytes)(b"", timeout=60)
        await eventually(lambda: any(isinstance(event, StreamReset) for event in events))


async def test_who_greets_and_leaves_at_once_is_not_tried_again_without_a_pause(socket_directory: Path) -> None:
    greeted: list[object] = []

    class Leaving(Provider):
        def connection_made(self, transport: asyncio.BaseTransport) -> None:
            greeted.append(transport)
            super().connection_made(transport)
            self._http2.send_goaway()
            self._transport.write(self._http2.data_to_send())

    path = f"{socket_directory}/p.sock"
    server = await asyncio.get_running_loop().create_unix_server(lambda: Leaving(answer(), []), path)
    channel = Channel(f"unix:{path}", max_message_bytes=1000)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.5):
            await channel.until_connected()
    await channel.close()
    server.close()
    assert 1 <= len(greeted) <= 4


async def test_what_a_listener_raises_is_the_callers_and_the_connection_stays(socket_directory: Path) -> None:
    def listen(message: bytes) -> None:
        raise KeyError(message)

    async with reached(socket_directory, answer(framed(b"x"), trailers=OK)) as channel:
        with pytest.raises(KeyError):
            await channel.call(METHOD.encode(), b"", 10, listen)
        assert await called(channel) == b"x"


@pytest.mark.req("PIPE-7")
@pytest.mark.parametrize("how", ["deadline", "cancellation"])
async def test_who_stops_waiting_tells_the_provider(socket_directory: Path, how: str) -> None:
    events: list[object] = []
    async with reached(socket_directory, lambda _http2, _stream: None, events) as channel:
        if how == "deadline":
            with pytest.raises(StatusError) as caught:
                await called(channel, 0.05)
            assert caught.value.status is Status.DEADLINE_EXCEEDED
        else:
            calling = asyncio.create_task(called(channel))
            await eventually(lambda: any(isinstance(event, RequestReceived) for event in events))
            calling.cancel()
            with pytest.raises(asyncio.CancelledError):
                await calling
        await eventually(lambda: any(isinstance(event, StreamReset) and event.error_code == 8 for event in events))


async def test_a_provider_that_leaves_in_order_finishes_its_calls_and_gets_no_new_ones(socket_directory: Path) -> None:
    open_streams: list[tuple[Connection, int]] = []

    def leave(http2: Connection, stream_id: int) -> None:
        open_streams.append((http2, stream_id))
        http2.send_goaway()
        answer(framed(b"last"), trailers=OK)(http2, stream_id)

    async with reached(socket_directory, leave) as channel:
        assert await called(channel) == b"last"
        async with asyncio.timeout(10):
            await channel.until_lost()
        with pytest.raises(StatusError) as caught:
            await called(channel)
        assert caught.value.unsent
        async with asyncio.timeout(10):
            await channel.until_connected()
        assert await called(channel) == b"last"
    assert len(open_streams) == 2


async def test_a_retired_channel_closes_after_its_last_call(socket_directory: Path) -> None:
    waiting: list[tuple[Connection, int]] = []
    async with reached(socket_directory, lambda http2, stream: waiting.append((http2, stream))) as channel:
        calling = asyncio.create_task(called(channel, 0.3))
        await eventually(lambda: bool(waiting))
        channel.retire()
        assert channel.connected
        with pytest.raises(StatusError):
            await calling
        async with asyncio.timeout(10):
            await channel.until_lost()


async def test_what_does_not_speak_http2_is_never_connected(socket_directory: Path) -> None:
    path = f"{socket_directory}/p.sock"
    make = lambda: Provider(hang_up, [], greet=False)  # noqa: E731 - a factory in a line
    server = await asyncio.get_running_loop().create_unix_server(make, path)
    channel = Channel(f"unix:{path}", max_message_bytes=1000)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.5):
            await channel.until_connected()
    with pytest.raises(StatusError) as caught:
        await called(channel)
    assert caught.value.unsent
    await channel.close()
    server.close()
