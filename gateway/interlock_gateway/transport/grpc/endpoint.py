"""What stands around every RPC: who calls, whether they may, and one way for errors to leave (STYLE: thin handlers).

It knows no transport: requests and answers are bytes here, and whoever listens hands them over.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any, cast

from google.protobuf.message import DecodeError, Message

from interlock_gateway.core.session import Principal
from interlock_gateway.core.trace import TraceContext
from interlock_gateway.errors import RequestError, RequestFault
from interlock_gateway.identity.access import check_access
from interlock_gateway.identity.authenticate import Authenticator, Found, Metadata
from interlock_gateway.identity.door import after
from interlock_gateway.identity.peer import Peer
from interlock_gateway.sessions.gate import Gate
from interlock_gateway.transport.grpc.beside_calls import BesideCalls
from interlock_gateway.transport.grpc.errors import STATUS_OF, as_request_error
from interlock_gateway.transport.unanswered import Unanswered


@dataclass(frozen=True, slots=True)
class Caller:
    """Who sent a request, how many seconds they wait for the answer (`None`: no deadline), and what it is a part of."""

    principal: Principal
    deadline_s: float | None
    trace: TraceContext | None = None


UnaryHandler = Callable[[Caller, Any], Awaitable[Message]]
StreamHandler = Callable[[Caller, Any], AsyncIterator[Message]]
TalkHandler = Callable[[Caller, AsyncIterator[Any]], AsyncIterator[Message]]


@dataclass(frozen=True, slots=True)
class Rpc:
    """One served RPC: its message types and its handler, unary, server-streaming, or streaming both ways.

    A message of a talk may have `most_bytes`.
    """

    request: type[Message]
    response: type[Message]
    unary: UnaryHandler | None = None
    stream: StreamHandler | None = None
    talk: TalkHandler | None = None
    most_bytes: int = 0


NEW_WORK = frozenset(
    f"/interlock.v1.GatewayService/{rpc}" for rpc in ("CallTool", "StreamTool", "CallBatch", "Evaluate")
)
"""RPCs that begin something, and are refused when there is more than can be done. All others go before them.

How many of the others an agent may have answered at once is up to `beside_calls`.
"""


class OpenRpcs(Unanswered):
    """How many RPCs are being answered, so that a drain knows when it is over; and how large a request may be.

    `gate` says which of those that begin something are refused, `beside` which of the others.
    """

    def __init__(self, max_bytes: int, gate: Gate | None = None, beside: BesideCalls | None = None) -> None:
        super().__init__()
        self.max_bytes = max_bytes
        self.gate = gate
        self.beside = beside
        self.ended: Counter[tuple[str, str]] = Counter()
        self.refused: Counter[str] = Counter(dict.fromkeys(RequestFault, 0))

    def note(self, method: str, error: BaseException | None, count: int = 1) -> None:
        """Count RPCs of `method` that have ended, with `error` or without."""
        if error is None:
            self.ended[method, "OK"] += count
        elif isinstance(error, RequestError):
            self.ended[method, STATUS_OF[error.fault][0].name] += count
            self.refused[error.fault] += count
        else:  # nobody waits for it any more
            self.ended[method, "CANCELLED"] += count


class OneRpc:
    """Around the answering of one RPC of `method`: that it is open, and how it ended."""

    def __init__(self, open_rpcs: OpenRpcs, method: str) -> None:
        self._open = open_rpcs
        self._method = method

    def __enter__(self) -> None:
        self._open.begin()

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        self._open.note(self._method, error)
        self._open.end()


Admission = Callable[[Metadata, Peer], Found]
UnaryBytes = Callable[[bytes, Principal | None, float | None, TraceContext | None], Awaitable[bytes]]
StreamBytes = Callable[[bytes, Principal | None, float | None, TraceContext | None], AsyncGenerator[bytes, None]]
DialogueBytes = Callable[[AsyncIterator[bytes]], AsyncGenerator[bytes, None]]
TalkBytes = Callable[
    [AsyncIterator[bytes], Principal | None, float | None, TraceContext | None], AsyncGenerator[bytes, None]
]


@dataclass(frozen=True, slots=True)
class Served:
    """One RPC as a transport serves it: exactly one of the first four.

    Given are the request's bytes, who `admit` says is calling, in how many seconds the caller stops waiting, and the
    trace that the request is a part of; a dialogue gets its requests one after another. A talk does, too; it is
    somebody's, each of its requests may have `most_bytes`, and who sends them faster than they are read has to wait.
    `admit` looks at the metadata and the other end as soon as a transport has them; without it anybody may call. They
    all raise `RequestError` or `StatusError`, nothing else. `gate` is set when `admit` asks it. `refuse_more` says
    what so many more are refused with, from the same caller in the same turn of the loop as one that the gate refused.
    """

    unary: UnaryBytes | None = None
    stream: StreamBytes | None = None
    dialogue: DialogueBytes | None = None
    talk: TalkBytes | None = None
    admit: Admission | None = None
    gate: Gate | None = None
    refuse_more: Callable[[RequestError, int], Sequence[RequestError]] | None = None
    most_bytes: int = 0


def served(
    service: str,
    rpcs: dict[str, Rpc],
    authenticator: Authenticator,
    open_rpcs: OpenRpcs,
    may_call: Callable[[Principal, str], None] = check_access,
) -> Mapping[str, Served]:
    """The `rpcs` of `service` by path, each behind authentication and access; any other path is UNIMPLEMENTED.

    `may_call` raises `RequestError` for a principal that may not call a path.
    """
    made = {}
    for name, rpc in rpcs.items():
        guard = _Guard(f"/{service}/{name}", rpc.request, authenticator, open_rpcs, may_call)
        if rpc.unary is not None:
            made[f"/{service}/{name}"] = guard.gated(unary=guard.unary(rpc.unary))
        elif rpc.talk is not None:
            talk = guard.talk(rpc.talk, rpc.most_bytes)
            made[f"/{service}/{name}"] = Served(talk=talk, admit=guard.admit, most_bytes=rpc.most_bytes)
        else:
            assert rpc.stream is not None
            made[f"/{service}/{name}"] = guard.gated(stream=guard.stream(rpc.stream))
    return made


class _Guard:
    """Authentication, access and errors around one RPC."""

    def __init__(
        self,
        path: str,
        request: type[Message],
        authenticator: Authenticator,
        open_rpcs: OpenRpcs,
        may_call: Callable[[Principal, str], None],
    ) -> None:
        self._may_call = may_call
        self._path = path
        self._request = request
        self._authenticator = authenticator
        self._open = open_rpcs
        self.gate = open_rpcs.gate if path in NEW_WORK else None
        self._places = open_rpcs.beside.of(path) if open_rpcs.beside is not None else None
        self._method = path.removeprefix("/interlock.v1.")
        self._one = OneRpc(open_rpcs, self._method)

    def admit(self, metadata: Metadata, peer: Peer) -> Found:
        """Who is calling.

        Raises `RequestError`, now or later, for nobody known, for who may not call this, and for whom there is no time.
        """
        try:
            found = self._authenticator.principal(metadata, peer)
            if not isinstance(found, Principal):
                return after(found, self._admitted(found))
            self._let_in(found)
        except Exception as error:  # noqa: BLE001 - the last door: nothing unforeseen may show to a client
            raise self._turned_away(error) from None
        return found

    async def _admitted(self, found: "asyncio.Task[Principal]") -> Principal:
        try:
            principal = await found
            self._let_in(principal)
        except Exception as error:  # noqa: BLE001 - as above
            raise self._turned_away(error) from None
        return principal

    def _let_in(self, principal: Principal) -> None:
        self._may_call(principal, self._path)
        if self.gate is not None:
            self.gate.check(principal.id)
        elif self._places is not None:
            self._places.check(principal.id)

    def gated(self, *, unary: UnaryBytes | None = None, stream: StreamBytes | None = None) -> Served:
        """One RPC that is answered once, for those whom `admit` lets in."""
        more = None if self.gate is None else self._refuse_more
        return Served(unary=unary, stream=stream, admit=self.admit, gate=self.gate, refuse_more=more)

    def _refuse_more(self, error: RequestError, count: int) -> Sequence[RequestError]:
        assert self.gate is not None
        self._open.note(self._method, error, count)
        return self.gate.refusals.more(error, count)

    def _turned_away(self, error: Exception) -> RequestError:
        refusal = as_request_error(error)
        self._open.note(self._method, refusal)
        return refusal

    def unary(self, handler: UnaryHandler) -> UnaryBytes:
        """Stand around a unary handler."""
        if self._places is not None:
            handler = self._places.unary(handler)

        async def guarded(
            raw: bytes, principal: Principal | None, deadline_s: float | None, trace: TraceContext | None
        ) -> bytes:
            with self._one:
                try:
                    answer = await handler(_caller(principal, deadline_s, trace), self._decoded(raw))
                    return answer.SerializeToString()
                except RequestError:
                    raise
                except Exception as error:  # noqa: BLE001 - the last door: nothing unforeseen may show to a client
                    raise as_request_error(error) from None

        return guarded

    def stream(self, handler: StreamHandler) -> StreamBytes:
        """Stand around a server-streaming handler."""
        if self._places is not None:
            handler = self._places.stream(handler)

        async def guarded(
            raw: bytes, principal: Principal | None, deadline_s: float | None, trace: TraceContext | None
        ) -> AsyncGenerator[bytes, None]:
            with self._one:
                try:
                    answers = handler(_caller(principal, deadline_s, trace), self._decoded(raw))
                    async with aclosing(cast("AsyncGenerator[Message, None]", answers)):
                        async for message in answers:
                            yield message.SerializeToString()
                except RequestError:
                    raise
                except Exception as error:  # noqa: BLE001 - as above
                    raise as_request_error(error) from None

        return guarded

    def talk(self, handler: TalkHandler, most_bytes: int) -> TalkBytes:
        """Stand around a handler of a talk. It is not counted as open: whoever leads it ends it before the gateway."""

        async def guarded(
            raws: AsyncIterator[bytes],
            principal: Principal | None,
            deadline_s: float | None,
            trace: TraceContext | None,
        ) -> AsyncGenerator[bytes, None]:
            ended: BaseException | None = None
            try:
                answers = handler(_caller(principal, deadline_s, trace), self._each_decoded(raws, most_bytes))
                async with aclosing(cast("AsyncGenerator[Message, None]", answers)):
                    async for message in answers:
                        yield message.SerializeToString()
            except RequestError as error:
                ended = error
                raise
            except Exception as error:  # noqa: BLE001 - as above
                ended = as_request_error(error)
                raise ended from None
            except BaseException as error:
                ended = error
                raise
            finally:
                self._open.note(self._method, ended)

        return guarded

    async def _each_decoded(self, raws: AsyncIterator[bytes], most_bytes: int) -> AsyncIterator[Message]:
        async for raw in raws:
            yield self._decoded(raw, most_bytes)

    def _decoded(self, raw: bytes, most_bytes: int = 0) -> Message:
        most = most_bytes or self._open.max_bytes
        if len(raw) > most:
            raise too_large(len(raw), most)
        try:
            return self._request.FromString(raw)
        except DecodeError:
            name = self._request.DESCRIPTOR.name
            raise RequestError(RequestFault.INVALID_FIELD, f"what was sent is not a {name}") from None


def _caller(principal: Principal | None, deadline_s: float | None, trace: TraceContext | None) -> Caller:
    if principal is None:
        raise RequestError(RequestFault.UNAUTHENTICATED, "nobody was admitted")
    return Caller(principal, deadline_s, trace)


def too_large(size: int, most: int) -> RequestError:
    """The refusal of a request with `size` bytes."""
    words = f"the request has {size} bytes; at most {most} are accepted"
    return RequestError(RequestFault.TOO_LARGE, words)
