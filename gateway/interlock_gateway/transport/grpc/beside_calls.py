"""How many requests that are no calls are answered at once, and whose (REL-8; decision 0125).

Calls have `sessions.gate`. What else agents ask for is bounded here: there are three kinds, and for each of them nobody
has all places. Approvers, operators and health are asked about by nobody.
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import aclosing, contextmanager
from enum import StrEnum
from typing import Any, Protocol, TypeVar, cast

from google.protobuf.message import Message

from interlock_gateway.config import LimitsConfig
from interlock_gateway.core.session import Principal
from interlock_gateway.sessions.refusals import Refusals
from interlock_gateway.sessions.shares import Shares


class Called(Protocol):
    """Who sent a request."""

    @property
    def principal(self) -> Principal:
        """The principal that was let in."""
        ...


_Caller = TypeVar("_Caller", bound=Called)


class Kind(StrEnum):
    """What a request takes while it is answered."""

    QUICK = "requests"
    """Some turns of the loop, and the database."""
    READING = "reading_requests"
    """A thread, or memory for as long as its client likes."""
    WAITING = "waiting_requests"
    """Next to nothing, for long."""


_QUICK = (
    "OpenSession",
    "CloseSession",
    "ListTools",
    "SearchTools",
    "ActivateTools",
    "GetCall",
    "Resolve",
    "ListPending",
    "Rollback",
    "ListOperations",
    "SettleOperation",
    "StatArtifact",
)
_READING = ("ReadArtifact", "SearchArtifact", "ResolveReferences")
KIND_OF: Mapping[str, Kind] = {
    f"/interlock.v1.GatewayService/{rpc}": kind
    for kind, rpcs in ((Kind.QUICK, _QUICK), (Kind.READING, _READING), (Kind.WAITING, ("WaitCall",)))
    for rpc in rpcs
}
_WORDS = {
    Kind.QUICK: "too many requests of this principal, or of all, are being answered",
    Kind.READING: "too many requests of this principal, or of all, read artifacts or files",
    Kind.WAITING: "too many requests of this principal, or of all, wait for calls",
}


class Places:
    """The places of one kind of request."""

    def __init__(self, kind: Kind, most: int, refusals: Refusals) -> None:
        self._kind = kind
        self._shares = Shares(most)
        self._refusals = refusals

    @property
    def taken(self) -> int:
        """How many requests of the kind are being answered."""
        return self._shares.count

    def check(self, principal_id: str) -> None:
        """Raise `RequestError` when there is no place for one more request of the principal."""
        if self._shares.refusal(principal_id) is not None:
            raise self._refusals.error(self._kind, _WORDS[self._kind], asyncio.get_running_loop().time())

    @contextmanager
    def one(self, principal_id: str) -> Iterator[None]:
        """A request of the principal is answered inside the block. Raises as `check` does."""
        self.check(principal_id)
        self._shares.take(principal_id)
        try:
            yield
        finally:
            self._shares.give_back(principal_id)

    def unary(
        self, handler: Callable[[_Caller, Any], Awaitable[Message]]
    ) -> Callable[[_Caller, Any], Awaitable[Message]]:
        """`handler`, with a place while it answers."""

        async def placed(caller: _Caller, request: Any) -> Message:
            with self.one(caller.principal.id):
                return await handler(caller, request)

        return placed

    def stream(
        self, handler: Callable[[_Caller, Any], AsyncIterator[Message]]
    ) -> Callable[[_Caller, Any], AsyncIterator[Message]]:
        """`handler`, with a place until the last of its answers was taken."""

        async def placed(caller: _Caller, request: Any) -> AsyncIterator[Message]:
            with self.one(caller.principal.id):
                async with aclosing(cast("AsyncGenerator[Message, None]", handler(caller, request))) as answers:
                    async for answer in answers:
                        yield answer

        return placed


class BesideCalls:
    """The places of all kinds."""

    def __init__(self, limits: LimitsConfig) -> None:
        self.refusals = Refusals()
        most = {
            Kind.QUICK: limits.max_requests,
            Kind.READING: limits.max_reading_requests,
            Kind.WAITING: limits.max_waiting_calls,
        }
        self._places = {kind: Places(kind, most[kind], self.refusals) for kind in Kind}

    def __getitem__(self, kind: Kind) -> Places:
        return self._places[kind]

    def of(self, path: str) -> Places | None:
        """The places that requests of this path need; `None`: they are not bounded here."""
        kind = KIND_OF.get(path)
        return None if kind is None else self._places[kind]
