"""The plug-ins of one gateway, from its start to its end."""

from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Protocol

from interlock_gateway.config import ExtensionsConfig
from interlock_gateway.core.clock import Clock
from interlock_gateway.extensions.hooks import PluginHooks, hooks
from interlock_gateway.extensions.interceptors import PluginInterceptors, interceptors
from interlock_gateway.pipeline.ports import StateStore


class Counts(Protocol):
    """Where it is shown how plug-ins are doing."""

    def watch_total(self, name: str, text: str, read: Callable[[], dict[tuple[str, ...], float]], *labels: str) -> None:
        """Add a counter that is read when it is looked at: a value for each tuple of label values."""
        ...


@dataclass(frozen=True, slots=True)
class Plugged:
    """What is plugged in; `None` where nothing is, so that no call pays for it."""

    interceptors: PluginInterceptors | None = None
    hooks: PluginHooks | None = None


@asynccontextmanager
async def plugged_in(
    config: ExtensionsConfig, clock: Clock, store: StateStore, shown: Counts
) -> AsyncIterator[Plugged]:
    """The configured plug-ins, closed at the end of the block. Raises `ConfigError` for one that cannot be used."""
    async with AsyncExitStack() as stack:
        asked = interceptors(config.interceptors, clock)
        if asked is not None:
            stack.push_async_callback(asked.close)
            about_calls = "Calls that an interceptor was asked about, by what came of it."
            shown.watch_total("interlock_interceptor_calls", about_calls, asked.counts, "interceptor", "outcome")
        told = hooks(config.hooks, clock)
        if told is not None:
            stack.push_async_callback(told.close)
            stack.callback(store.changes.subscribe(told.changed))
            about_events = "Events for a hook, by what came of it."
            shown.watch_total("interlock_hook_events", about_events, told.counts, "hook", "outcome")
        yield Plugged(asked, told)
