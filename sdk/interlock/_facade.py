"""Methods of the async and the sync clients, made from one flow each."""

import functools
from collections.abc import AsyncGenerator, Callable, Coroutine, Generator
from typing import Any, Concatenate, ParamSpec, TypeVar

from interlock._flow import Flow, Items

S = TypeVar("S")
P = ParamSpec("P")
T = TypeVar("T")


def awaited(flow: Callable[Concatenate[S, P], Flow[T]]) -> Callable[Concatenate[Any, P], Coroutine[Any, Any, T]]:
    """An async method of a client with an async driver: the outcome of the flow."""

    @functools.wraps(flow)
    async def method(client: Any, /, *args: P.args, **kwargs: P.kwargs) -> T:
        outcome: T = await client.driver.run(flow(client, *args, **kwargs))
        return outcome

    return method


def called(flow: Callable[Concatenate[S, P], Flow[T]]) -> Callable[Concatenate[Any, P], T]:
    """A method of a client with a sync driver: the outcome of the flow."""

    @functools.wraps(flow)
    def method(client: Any, /, *args: P.args, **kwargs: P.kwargs) -> T:
        outcome: T = client.driver.run(flow(client, *args, **kwargs))
        return outcome

    return method


def async_items(
    flow: Callable[Concatenate[S, P], Items[T]],
) -> Callable[Concatenate[Any, P], AsyncGenerator[T, None]]:
    """An async method to iterate over: what the flow emits."""

    @functools.wraps(flow)
    def method(client: Any, /, *args: P.args, **kwargs: P.kwargs) -> AsyncGenerator[T, None]:
        emitted: AsyncGenerator[T, None] = client.driver.items(flow(client, *args, **kwargs))
        return emitted

    return method


def items(flow: Callable[Concatenate[S, P], Items[T]]) -> Callable[Concatenate[Any, P], Generator[T, None, None]]:
    """A method to iterate over: what the flow emits."""

    @functools.wraps(flow)
    def method(client: Any, /, *args: P.args, **kwargs: P.kwargs) -> Generator[T, None, None]:
        emitted: Generator[T, None, None] = client.driver.items(flow(client, *args, **kwargs))
        return emitted

    return method
