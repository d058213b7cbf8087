"""Requests that libnghttp2 is not given get the answers that it would have had them given (REL-8)."""

import asyncio
import random
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest
from hostile_frames import (
    DATA,
    END_HEADERS,
    END_STREAM,
    HEADERS,
    OTHER_PATH,
    PATH,
    Client,
    Encoder,
    damaged,
    frame,
    pieces,
)
from interlock_gateway.core.session import Principal
from interlock_gateway.core.trace import TraceContext
from interlock_gateway.errors import RequestError, RequestFault
from interlock_gateway.identity.peer import Peer
from interlock_gateway.sessions.gate import Gate
from interlock_gateway.sessions.refusals import Refusals
from interlock_gateway.transport.grpc.endpoint import Served
from interlock_gateway.transport.http2 import connection as connection_module
from interlock_gateway.transport.http2 import runs
from interlock_gateway.transport.http2.alike import Alike
from interlock_gateway.transport.http2.blocks import Blocks
from interlock_gateway.transport.http2.connection import ServerConnection
from interlock_gateway.transport.http2.intake import Intake
from ngh2 import (
    Configuration,
    Connection,
    ConnectionClosed,
    DataReceived,
    GoAwayReceived,
    NGH2Error,
    ResponseReceived,
    Role,
    StreamClosed,
    StreamReset,
    TrailersReceived,
)

MOST_BYTES = 1024 * 1024
OVERLOADED = RequestError(RequestFault.OVERLOADED, "too many", retry_s=1.0)
STREAMS = 1000
DETAILS = b"grpc-status-details-bin"


class Crowded(Gate):
    """Refuses some, and lets others in, always the same."""

    def __init__(self) -> None:
        super().__init__(1 << 20)
        self.refusals = Refusals()

    @property
    def crowded(self) -> bool:
        return True

    @property
    def room(self) -> int:
        return 3


class Sent(asyncio.Transport):
    """What was sent to the client."""

    def __init__(self) -> None:
        super().__init__()
        self.data = b""
        self.closing = False

    def write(self, data: "bytes | bytearray | memoryview[Any]") -> None:
        if not self.closing:
            self.data += bytes(data)

    def is_closing(self) -> bool:
        return self.closing

    def abort(self) -> None:
        self.closing = True

    def close(self) -> None:
        self.closing = True

    def can_write_eof(self) -> bool:
        return False

    def pause_reading(self) -> None:
        return

    def resume_reading(self) -> None:
        return

    def get_extra_info(self, name: str, default: object = None) -> object:
        del name
        return default


@dataclass
class Outcome:
    """What became of what a client sent."""

    began: list[bytes] = field(default_factory=list)
    refused: int = 0
    answers: dict[int, dict[bytes, bytes]] = field(default_factory=dict)
    bodies: Counter[int] = field(default_factory=Counter)
    closed: dict[int, int] = field(default_factory=dict)
    goaway: int | None = None
    is_over: bool = False

    def read(self, data: bytes) -> None:
        """Take in what was sent back, as libnghttp2 does."""
        client = Connection(Role.CLIENT, Configuration(peer_max_concurrent_streams=STREAMS))
        client.initiate_connection({})
        for _ in range(STREAMS):
            client.send_request([(b":method", b"POST"), (b":scheme", b"http"), (b":path", b"/"), (b":authority", b"")])
        client.data_to_send()
        try:
            client.receive_data(data)
        except NGH2Error as error:
            raise AssertionError("what was sent breaks the rules") from error
        self._note(client.events())

    def _note(self, events: Iterable[Any]) -> None:
        for event in events:
            match event:
                case ResponseReceived(stream, headers, _) | TrailersReceived(stream, headers):
                    self.answers.setdefault(stream, {}).update(headers)
                case DataReceived(stream, body, _):
                    self.bodies[stream] += len(body)
                case StreamReset(stream, code) | StreamClosed(stream, code, _):
                    self.closed.setdefault(stream, code)
                case GoAwayReceived(_, code, _):
                    self.goaway = code
                case ConnectionClosed(code, _):
                    assert self.goaway is not None or not code


@pytest.fixture
def unseen(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How many requests libnghttp2 was not given."""
    counts, take_unseen = Counter[str](), Alike.take_unseen

    def counted(alike: Alike, stream_ids: Sequence[int]) -> None:
        counts["requests"] += len(stream_ids)
        take_unseen(alike, stream_ids)

    monkeypatch.setattr(Alike, "take_unseen", counted)
    return counts


async def outcome(reads: Iterable[bytes], monkeypatch: pytest.MonkeyPatch, *, with_runs: bool) -> Outcome:
    """What a gateway does that reads this; without runs, libnghttp2 is given everything."""
    found, gate = Outcome(), Crowded()

    async def unary(raw: bytes, _p: Principal | None, _d: float | None, _t: TraceContext | None) -> bytes:
        found.began.append(raw)
        return b"done"

    def admit(metadata: Iterable[tuple[str, str | bytes]], _peer: Peer) -> Principal:
        if dict(metadata).get("who") is None:
            raise gate.refusals.error("queue", OVERLOADED.message, 0.0)
        return Principal("modest", "unix", frozenset())

    def refuse_more(error: RequestError, count: int) -> list[RequestError]:
        return list(gate.refusals.more(error, count))

    serves = Served(unary=unary, admit=admit, gate=gate, refuse_more=refuse_more)
    by_path = {PATH: serves, OTHER_PATH: Served(unary=unary, admit=lambda *_: Principal("o", "unix", frozenset()))}
    monkeypatch.setattr(connection_module, "connected_peer", lambda _: Peer(local=True))
    connection = ServerConnection(Intake(by_path, MOST_BYTES, 1 << 30, gate))
    if not with_runs:
        receive = connection.receive
        monkeypatch.setattr(connection, "receive", lambda data, _: receive(data, None))
    transport = Sent()
    connection.connection_made(transport)
    for read in reads:
        if transport.closing:
            break
        connection.data_received(read)
        await settled()
    for _ in range(4):
        await settled()
        connection.flush()  # what may wait for company
    found.refused, found.is_over = gate.refusals.total, transport.closing
    found.read(transport.data)
    connection.connection_lost(None)
    gate.pauses.end()
    await settled()
    return found


async def settled() -> None:
    for _ in range(8):
        await asyncio.sleep(0)


def told(found: Outcome, but: set[int]) -> dict[int, tuple[object, ...]]:
    """What each stream was told, but for how long to wait, which differs."""
    streams = {*found.answers, *found.closed} - but
    return {
        stream: (
            {name: value for name, value in found.answers.get(stream, {}).items() if name != DETAILS},
            DETAILS in found.answers.get(stream, {}),
            found.bodies[stream],
            found.closed.get(stream),
        )
        for stream in streams
    }


async def same(reads: list[bytes], monkeypatch: pytest.MonkeyPatch, but: set[int]) -> Outcome:
    """What became of it, which has to be the same without runs."""
    plain = await outcome(reads, monkeypatch, with_runs=False)
    found = await outcome(reads, monkeypatch, with_runs=True)
    assert (found.goaway, found.is_over) == (plain.goaway, plain.is_over)
    assert found.began == plain.began
    assert told(found, but) == told(plain, but)
    assert found.refused == plain.refused
    return found


@pytest.mark.req("REL-8")
@pytest.mark.parametrize("seed", range(40))
async def test_who_is_not_given_to_libnghttp2_is_told_the_same(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    chance = random.Random(seed)
    client = Client(chance, Encoder(chance, index=chance.choice((0.5, 0.95, 1.0)), add=chance.choice((0.0, 0.5, 1.0))))
    data = client.begin() + client.requests(150)
    await same(list(pieces(data, chance, chance.choice((40, 5000, 60_000)))), monkeypatch, set())


@pytest.mark.req("REL-8")
@pytest.mark.parametrize("says_windows", [False, True])
async def test_of_those_who_write_as_most_do_most_are_not_given_to_libnghttp2(
    monkeypatch: pytest.MonkeyPatch, unseen: Counter[str], *, says_windows: bool
) -> None:
    chance = random.Random(1)
    client = Client(chance, Encoder(chance, index=1.0, add=1.0), odd=0.05, says_windows=says_windows)
    first, data = client.begin() + client.requests(12), client.requests(400)
    found = await same([first, *pieces(data, chance, 60_000)], monkeypatch, set())
    assert unseen["requests"] > 0.7 * found.refused


@pytest.mark.req("REL-8")
@pytest.mark.parametrize("seed", range(60))
async def test_clients_that_do_as_they_like_are_treated_the_same(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    chance = random.Random(1000 + seed)
    client = Client(chance, Encoder(chance), rude=chance.choice((0.01, 0.05, 0.3)), says_windows=seed % 3 == 0)
    data = client.begin() + client.requests(120)
    await same(list(pieces(data, chance, chance.choice((40, 5000, 60_000)))), monkeypatch, client.reset)


@pytest.mark.req("REL-8", "SEC-7")
@pytest.mark.parametrize("seed", range(80))
async def test_damage_ends_a_connection_as_ever_and_has_nothing_run_that_would_not_have(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    chance = random.Random(5000 + seed)
    client = Client(chance, Encoder(chance), rude=chance.choice((0.0, 0.02)), odd=chance.choice((0.1, 1.0)))
    client.says_windows = seed % 3 == 0
    sent = damaged(client.begin() + client.requests(60), chance)
    reads = list(pieces(sent, chance, chance.choice((40, 3000, 60_000))))
    plain = await outcome(reads, monkeypatch, with_runs=False)
    # What was read together with what ends a connection may have run before, as it would have if it was read before.
    most = await outcome(pieces(sent, chance, 40), monkeypatch, with_runs=False)
    found = await outcome(reads, monkeypatch, with_runs=True)
    assert (found.goaway, found.is_over) == (plain.goaway, plain.is_over)
    assert Counter(plain.began) <= Counter(found.began) <= Counter(most.began)
    if not plain.is_over and plain.goaway is None:
        assert found.began == plain.began


@pytest.mark.req("REL-8")
async def test_no_read_is_answered_with_much_more_than_a_connection_may_have_streams(
    monkeypatch: pytest.MonkeyPatch, unseen: Counter[str]
) -> None:
    monkeypatch.setattr(runs, "MOST_TAKEN", 50)
    client = Client(random.Random(3), Encoder(random.Random(3), index=1.0, add=1.0), odd=0.0)
    first, data = client.begin() + client.requests(12), client.requests(300)
    found = await same([first, data], monkeypatch, set())
    assert unseen["requests"] < 50 < 12 + 300 == found.refused


@pytest.mark.req("REL-8", "SEC-7")
@pytest.mark.parametrize("is_refused_before", [False, True])
async def test_what_comes_later_on_a_stream_says_nothing_about_what_was_refused_there(
    monkeypatch: pytest.MonkeyPatch, *, is_refused_before: bool
) -> None:
    client = Client(random.Random(5), Encoder(random.Random(5), index=1.0, add=1.0), odd=0.0)
    first, before = client.begin() + client.requests(12), client.requests(1) if is_refused_before else b""
    head, begun = client.head(), client.next_id
    other = [(name, OTHER_PATH if name == b":path" else value) for name, value in head]
    sent = before + frame(HEADERS, END_HEADERS, begun, client.encoder.block(head))
    sent += frame(HEADERS, END_HEADERS | END_STREAM, begun, client.encoder.block(other))  # trailers that are a head
    for stream in range(begun + 2, begun + 42, 2):
        sent += frame(HEADERS, END_HEADERS, stream, client.encoder.block(other))
        sent += frame(DATA, END_STREAM, stream, bytes(5))
    found = await same([first, sent], monkeypatch, set())
    assert len(found.began) == 20


@pytest.mark.req("REL-8", "SEC-7")
async def test_streams_older_than_others_are_not_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    client = Client(random.Random(6), Encoder(random.Random(6), index=1.0, add=1.0), odd=0.0)
    first, head = client.begin() + client.requests(12), client.head()
    begun, later = client.next_id, client.next_id + 100
    trailers = [(b"x%d" % number, b"y") for number in range(len(head))]
    sent = frame(HEADERS, END_HEADERS, begun, client.encoder.block(head))
    other = [(name, OTHER_PATH if name == b":path" else value) for name, value in head]
    sent += frame(HEADERS, END_HEADERS, later, client.encoder.block(other))
    sent += frame(HEADERS, END_HEADERS | END_STREAM, begun, client.encoder.block(trailers))
    for stream in range(begun + 2, begun + 42, 2):
        sent += frame(HEADERS, END_HEADERS, stream, client.encoder.block(trailers))
        sent += frame(DATA, END_STREAM, stream, bytes(5))
    found = await same([first, sent], monkeypatch, set())
    assert not {*range(begun + 2, begun + 42, 2)} & {*found.answers}


@pytest.mark.req("REL-8", "SEC-7")
async def test_heads_that_are_all_different_are_not_looked_at_for_ever(
    monkeypatch: pytest.MonkeyPatch, unseen: Counter[str]
) -> None:
    looked_at, passes = Counter[str](), Blocks.passes

    def counted(blocks: Blocks, block: bytes) -> bool:
        looked_at["heads"] += 1
        return passes(blocks, block)

    monkeypatch.setattr(Blocks, "passes", counted)
    client = Client(random.Random(7), Encoder(random.Random(7), index=1.0, add=0.0), odd=0.0)
    first, sent = client.begin() + client.requests(12), b""
    for number in range(300):
        head = [*client.head(), (b"x-request-id", b"%d" % number)]
        sent += frame(HEADERS, END_HEADERS, client.next_id, client.encoder.block(head))
        sent += frame(DATA, END_STREAM, client.next_id, bytes(5))
        client.next_id += 2
    found = await same([first, sent], monkeypatch, set())
    assert found.refused == 312
    assert not unseen
    assert looked_at["heads"] <= runs.MOST_STRANGE
