"""Hooks: each has a queue and a task of its own, and no call waits for any of them (PIPE-13)."""

import asyncio
import contextlib
import logging
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Literal

from interlock.extensions import Event, Hook, Moment, RecordEvent

from interlock_gateway.config import HookConfig
from interlock_gateway.core.call import CallResult
from interlock_gateway.core.change import Change, Topic
from interlock_gateway.core.clock import Clock
from interlock_gateway.extensions.bounded import PluginFailedError, bounded
from interlock_gateway.extensions.plugins import hook
from interlock_gateway.extensions.views import event_of
from interlock_gateway.pipeline.run import CallRun

CLOSE_S = 2.0
_RECORDS: dict[Topic, Literal["pending", "checkpoint"]] = {Topic.PENDING: "pending", Topic.CHECKPOINT: "checkpoint"}
_log = logging.getLogger(__name__)


@dataclass(slots=True)
class Watcher:
    """One hook, and the events that wait for it."""

    name: str
    plugin: Hook
    timeout_s: float
    waiting: "asyncio.Queue[Event]"
    outcomes: Counter[str] = field(default_factory=Counter)

    def put(self, event: Event) -> None:
        """Tell it later; when too many events wait, not at all."""
        try:
            self.waiting.put_nowait(event)
        except asyncio.QueueFull:
            self.outcomes["dropped"] += 1

    async def work(self) -> None:
        """Tell the hook one event after the other, until cancelled."""
        while True:
            event = await self.waiting.get()
            try:
                await bounded(partial(self.plugin.on_event, event), self.timeout_s)
                self.outcomes["told"] += 1
            except PluginFailedError as error:
                self.outcomes["failed"] += 1
                _log.warning("a hook failed", extra={"hook": self.name}, exc_info=error)
            finally:
                self.waiting.task_done()


class PluginHooks:
    """The configured hooks. What it is told, it hands to each of them; it raises nothing and waits for nothing."""

    def __init__(self, watchers: Sequence[Watcher], clock: Clock) -> None:
        self._watchers = tuple(watchers)
        self._clock = clock
        self._tasks = [asyncio.create_task(one.work()) for one in self._watchers]

    def received(self, run: CallRun) -> None:
        """A call is there, and waits for its turn."""
        self._call(run, Moment.RECEIVED)

    def decided(self, run: CallRun) -> None:
        """It is decided what becomes of it."""
        self._call(run, Moment.DECIDED)

    def dispatched(self, run: CallRun) -> None:
        """It is being sent to its provider."""
        self._call(run, Moment.DISPATCHED)

    def ended(self, run: CallRun, result: CallResult) -> None:
        """It has its answer."""
        self._call(run, Moment.ENDED, result)

    def changed(self, change: Change) -> None:
        """A record has changed, here or elsewhere."""
        if (record := _RECORDS.get(change.topic)) is not None:
            key = change.key if record == "checkpoint" else ""
            at = self._clock.now()
            self._publish(RecordEvent(record=record, at=at, session_id=change.session_id, record_id=key))

    def counts(self) -> dict[tuple[str, ...], float]:
        """How many events each hook was told of, failed on, and was not told of."""
        return {(one.name, word): count for one in self._watchers for word, count in one.outcomes.items()}

    async def close(self) -> None:
        """Tell the hooks what waits for them, for a moment, and then that it is over."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(CLOSE_S):
                await asyncio.gather(*(one.waiting.join() for one in self._watchers))
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for one in self._watchers:
            try:
                await bounded(one.plugin.close, CLOSE_S)
            except PluginFailedError as error:
                _log.warning("a hook did not close", extra={"hook": one.name}, exc_info=error)

    def _call(self, run: CallRun, moment: Moment, result: CallResult | None = None) -> None:
        elapsed_s = self._clock.monotonic() - run.started
        self._publish(event_of(run, moment, self._clock.now(), elapsed_s, result))

    def _publish(self, event: Event) -> None:
        for one in self._watchers:
            one.put(event)


def hooks(configured: Sequence[HookConfig], clock: Clock) -> PluginHooks | None:
    """The hooks that are configured; `None` when there are none. Raises `ConfigError`."""
    watchers = [Watcher(one.name, hook(one), one.timeout_s, asyncio.Queue(one.queue)) for one in configured]
    return PluginHooks(watchers, clock) if watchers else None
