"""Requests as any client may write them, and as none should: every way to write a head, frames in any order, damage."""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from struct import pack

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, PRIORITY, RESET, SETTINGS, PUSH, PING, GOAWAY, WINDOW, CONTINUATION = range(10)
END_STREAM, ACK, END_HEADERS, PADDED, WITH_PRIORITY = 0x1, 0x1, 0x4, 0x8, 0x20
TABLE_BYTES = 4096
PATH = b"/interlock.v1.GatewayService/CallTool"
OTHER_PATH = b"/interlock.v1.GatewayService/GetStatus"
Field = tuple[bytes, bytes]
STATIC = {
    (b":authority", b""): 1, (b":method", b"GET"): 2, (b":method", b"POST"): 3, (b":path", b"/"): 4,
    (b":scheme", b"http"): 6, (b":scheme", b"https"): 7, (b"authorization", b""): 23, (b"content-type", b""): 31,
    (b"user-agent", b""): 58,
}  # fmt: skip


def frame(kind: int, flags: int, stream: int, payload: bytes = b"") -> bytes:
    return pack(">I", len(payload))[1:] + bytes((kind, flags)) + pack(">I", stream) + payload


def number(value: int, bits: int, first: int) -> bytes:
    """An integer with a prefix of so many bits (RFC 7541, section 5.1)."""
    most = (1 << bits) - 1
    if value < most:
        return bytes((first | value,))
    said, value = bytearray((first | most,)), value - most
    while value >= 0x80:
        said.append(0x80 | value & 0x7F)
        value >>= 7
    return bytes((*said, value))


def text(said: bytes) -> bytes:
    return number(len(said), 7, 0) + said


@dataclass
class Encoder:
    """Writes heads in whatever way comes up, and keeps the table as the other end does."""

    chance: random.Random
    index: float = 0.9
    add: float = 0.8
    most: int = TABLE_BYTES
    table: list[Field] = field(default_factory=list)

    def block(self, head: Sequence[Field]) -> bytes:
        return b"".join(self._field(one) for one in head)

    def resized(self, most: int) -> bytes:
        """Say that the table is to be of another size."""
        self.most = most
        self._evict()
        return number(most, 5, 0x20)

    def _field(self, one: Field) -> bytes:
        if one in STATIC and one[1]:
            return number(STATIC[one], 7, 0x80)
        if one in self.table and self.chance.random() < self.index:
            places = [place for place, known in enumerate(self.table) if known == one]
            return number(62 + self.chance.choice(places), 7, 0x80)
        names = [place for (name, _), place in STATIC.items() if name == one[0]]
        names += [62 + place for place, (name, _) in enumerate(self.table) if name == one[0]]
        name = self.chance.choice(names) if names and self.chance.random() < self.index else 0
        adds = self.chance.random() < self.add
        bits, first = (6, 0x40) if adds else (4, self.chance.choice((0x00, 0x10)))
        said = number(name, bits, first) + (b"" if name else text(one[0])) + text(one[1])
        if adds:
            self.table.insert(0, one)
            self._evict()
        return said

    def _evict(self) -> None:
        while sum(32 + len(name) + len(value) for name, value in self.table) > self.most:
            self.table.pop()


@dataclass
class Client:
    """Makes up what one client sends, frame by frame: `rude` and `odd` say how much of it is neither usual nor right.

    `reset` are the streams that it gave up itself.
    """

    chance: random.Random
    encoder: Encoder
    rude: float = 0.0
    odd: float = 1.0
    says_windows: bool = False
    next_id: int = 1
    ids: list[int] = field(default_factory=list)
    reset: set[int] = field(default_factory=set)

    def begin(self) -> bytes:
        large = pack(">HI", 4, 1024 * 1024)
        return PREFACE + frame(SETTINGS, 0, 0, large) + frame(WINDOW, 0, 0, pack(">I", 1 << 24))

    def head(self) -> list[Field]:
        one, chance = [(b":method", b"POST"), (b":scheme", b"http")], self.chance
        one.append((b":path", OTHER_PATH if self._is_odd(0.03) else PATH))
        one += ((b":authority", b"localhost"), (b"content-type", b"application/grpc"), (b"te", b"trailers"))
        if self._is_odd(0.05):
            one.append((b"who", chance.choice((b"modest", b"other"))))
        if not self._is_odd(0.05):
            one.append((b"grpc-timeout", b"%du" % chance.choice((80_000_000, 90_000_000 + chance.randrange(300)))))
        if self._is_odd(0.1):
            one.append(
                (b"traceparent", b"00-%032x-%016x-01" % (chance.getrandbits(127) | 1, chance.getrandbits(63) | 1))
            )
        if self._is_odd(0.03):
            one[3:] = chance.sample(one[3:], len(one) - 3)
        return one

    def requests(self, count: int) -> bytes:
        """So many requests, in frames that may be between each other's, and whatever else comes to mind."""
        queues = [self._request() for _ in range(count)]
        sent: list[bytes] = []
        at = 0
        while at < len(queues):
            # A head is written when it is sent: the table is in that order.
            batch = [iter(one) for one in queues[at : at + 1 + self._is_odd(0.2) + self._is_odd(0.1)]]
            at += len(batch)
            while batch:
                one = batch[0] if self.chance.random() < 0.8 else self.chance.choice(batch)
                part = next(one, None)
                if part is None:
                    batch.remove(one)
                else:
                    sent.append(part)
                if self.chance.random() < self.rude:
                    sent.append(self._odd())
        return b"".join(sent)

    def _is_odd(self, often: float) -> bool:
        return self.chance.random() < often * self.odd

    def _request(self) -> Iterator[bytes]:
        chance = self.chance
        stream = self.next_id
        self.next_id += 2 if chance.random() < 0.97 else 4
        self.ids.append(stream)
        block = self.encoder.block(self.head())
        yield from self._headers(stream, block)
        if self.says_windows:
            yield frame(WINDOW, 0, stream, pack(">I", 5))
        body = bytes(5) + chance.randbytes(chance.choice((0, 1, 40, 1000, 1000, 1000)))
        body = b"\0" + pack(">I", len(body) - 5) + body[5:]
        if chance.random() < self.rude:
            cut = chance.randrange(len(body) + 1)
            yield frame(DATA, 0, stream, body[:cut])
            body = body[cut:]
        if chance.random() < self.rude:
            yield frame(DATA, END_STREAM | PADDED, stream, b"\x03" + body + b"\0\0\0")
        elif chance.random() >= self.rude / 4:
            yield frame(DATA, END_STREAM, stream, body)

    def _headers(self, stream: int, block: bytes) -> Iterator[bytes]:
        chance = self.chance
        if chance.random() < self.rude:
            yield frame(HEADERS, END_HEADERS | PADDED, stream, b"\x02" + block + b"\0\0")
        elif chance.random() < self.rude:
            yield frame(HEADERS, END_HEADERS | WITH_PRIORITY, stream, pack(">IB", 0, 15) + block)
        elif chance.random() < self.rude:
            cut = chance.randrange(len(block) + 1)
            yield frame(HEADERS, 0, stream, block[:cut]) + frame(CONTINUATION, END_HEADERS, stream, block[cut:])
        else:
            yield frame(HEADERS, END_HEADERS, stream, block)

    def _odd(self) -> bytes:
        chance = self.chance
        stream = chance.choice(self.ids)
        kind = chance.randrange(9)
        if kind > 6:
            self.reset.add(stream)
            return frame(RESET, 0, stream, pack(">I", 8))
        return (
            frame(WINDOW, 0, stream, pack(">I", 1000)),
            frame(PING, 0, 0, chance.randbytes(8)),
            frame(PRIORITY, 0, stream, pack(">IB", 0, 3)),
            frame(WINDOW, 0, 0, pack(">I", 1000)),
            frame(0xBE, 0, 0, chance.randbytes(5)),
            frame(SETTINGS, 0, 0, pack(">HI", 4, 65_535 + chance.randrange(1000))),
            frame(DATA, END_STREAM, self.ids[0], b"late"),
        )[kind]


def pieces(data: bytes, chance: random.Random, most: int) -> Iterator[bytes]:
    """`data` in reads that end anywhere."""
    at = 0
    while at < len(data):
        size = chance.randrange(1, most)
        yield data[at : at + size]
        at += size


def damaged(data: bytes, chance: random.Random) -> bytes:
    """`data` with a few bytes changed, left out or doubled, after the preface."""
    hurt = bytearray(data)
    for _ in range(chance.choice((1, 1, 2, 5))):
        at = chance.randrange(len(PREFACE), len(hurt))
        match chance.randrange(4):
            case 0:
                hurt[at] = chance.randrange(256)
            case 1:
                hurt[at] ^= 1 << chance.randrange(8)
            case 2:
                del hurt[at : at + chance.choice((1, 9, 30))]
            case _:
                hurt[at:at] = hurt[at : at + chance.choice((1, 9, 30))]
    return bytes(hurt)
