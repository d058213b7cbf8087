"""Calls whose client answers questions by sending its request again (2026-07-28): what waits in between.

An upstream server asks while it runs a call. The call stays where it is, and its client gets the questions as the
answer to its request; the request that comes back with the state hands the answers in and waits on. What waits is this
process's: a state that another one made, or that was used, is good for nothing here.
"""

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from interlock_gateway.core.outcome import ToolEvent
from interlock_gateway.providers.mcp.link import RpcError
from interlock_gateway.providers.port import EventSink

T = TypeVar("T")
NO_ANSWER = -32603
GATHER_S = 0.02
"""How long after a question others may come that are asked with it."""


@dataclass(slots=True)
class _Question:
    """One question, and where its answer goes."""

    method: str
    params: Mapping[str, Any]
    answer: "asyncio.Future[dict[str, Any]]"


@dataclass(slots=True)
class Waiting(Generic[T]):
    """One call, and what its client has not answered."""

    on_event: EventSink
    ask_s: float
    task: "asyncio.Task[T] | None" = None
    questions: dict[str, _Question] = field(default_factory=dict)
    asked: asyncio.Event = field(default_factory=asyncio.Event)

    def tell(self, event: ToolEvent) -> None:
        """What happens on the way goes to whoever waits now."""
        self.on_event(event)

    async def ask(self, method: str, params: Mapping[str, Any], key: str) -> dict[str, Any]:
        """The client's answer. Raises `RpcError` when none comes in time, or a round goes by without one."""
        answer: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        key = self._free(key or "question")
        self.questions[key] = _Question(method, params, answer)
        self.asked.set()
        try:
            async with asyncio.timeout(self.ask_s):
                return await answer
        except TimeoutError:
            raise RpcError(NO_ANSWER, "the client did not answer in time") from None
        finally:
            self.questions.pop(key, None)

    def end(self) -> None:
        """The call is over: what was not answered need not be."""
        for question in self.questions.values():
            if not question.answer.done():
                question.answer.set_exception(RpcError(NO_ANSWER, "the call is over"))

    def _free(self, wanted: str) -> str:
        names = (wanted, *(f"{wanted}-{number}" for number in range(2, len(self.questions) + 3)))
        return next(name for name in names if name not in self.questions)

    def answered(self, answers: Mapping[str, Mapping[str, Any]]) -> None:
        """Hand in what the client has sent; what it left out it will not answer."""
        self.asked.clear()
        for key, question in tuple(self.questions.items()):
            if question.answer.done():
                continue
            if key in answers:
                question.answer.set_result(dict(answers[key]))
            else:
                question.answer.set_exception(RpcError(NO_ANSWER, "the client did not answer this"))

    def asking(self) -> dict[str, Any]:
        """The questions, as a client gets them."""
        return {
            key: {"method": question.method, "params": dict(question.params)}
            for key, question in self.questions.items()
        }


class Rounds(Generic[T]):
    """The calls that wait for their client's next request, by number."""

    def __init__(self, ask_s: float) -> None:
        self._ask_s = ask_s
        self._waiting: dict[str, Waiting[T]] = {}

    def __len__(self) -> int:
        return len(self._waiting)

    async def begin(
        self, work: "Callable[[Waiting[T]], Coroutine[Any, Any, T]]", on_event: EventSink, number: str
    ) -> T | dict[str, Any]:
        """What the call comes to, or its questions: then it waits as `number`."""
        waiting: Waiting[T] = Waiting(on_event, self._ask_s)
        waiting.task = asyncio.create_task(work(waiting))
        return await self._next(waiting, number)

    async def go_on(
        self, number: str, answers: Mapping[str, Mapping[str, Any]], on_event: EventSink, next_number: str
    ) -> T | dict[str, Any]:
        """The same for the call that waits as `number`. Raises `KeyError` when none does."""
        waiting = self._waiting.pop(number)
        waiting.on_event = on_event
        waiting.answered(answers)
        return await self._next(waiting, next_number)

    async def _next(self, waiting: Waiting[T], number: str) -> T | dict[str, Any]:
        task = waiting.task
        assert task is not None
        asked = asyncio.create_task(waiting.asked.wait())
        try:
            await asyncio.wait((task, asked), return_when=asyncio.FIRST_COMPLETED)
            if not task.done():
                await asyncio.wait((task,), timeout=GATHER_S)
        except asyncio.CancelledError:
            task.cancel()
            raise
        finally:
            asked.cancel()
        if task.done():
            return await task
        self._waiting[number] = waiting
        task.add_done_callback(lambda _ended: self._forget(number, waiting))
        return waiting.asking()

    def _forget(self, number: str, waiting: Waiting[T]) -> None:
        """It has ended, and nobody came for it: what came of it is in the receipts."""
        if self._waiting.get(number) is waiting:
            del self._waiting[number]
            if waiting.task is not None and not waiting.task.cancelled():
                waiting.task.exception()
