"""Interceptors: each in its turn, for so long, and anything but an outcome denies the call (PIPE-13)."""

import logging
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial

from interlock.extensions import Call, Cancel, Continue, ContinueWith, Interceptor, Outcome

from interlock_gateway.config import InterceptorConfig
from interlock_gateway.core.clock import Clock
from interlock_gateway.core.decision import GatewayErrorCode, Reason
from interlock_gateway.extensions.bounded import PluginFailedError, bounded
from interlock_gateway.extensions.plugins import interceptor
from interlock_gateway.extensions.views import call_of
from interlock_gateway.pipeline.plugin_port import Intercepted
from interlock_gateway.pipeline.run import CallRun

MAX_MESSAGES = 16
MAX_TEXT = 4096
CLOSE_S = 2.0
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Loaded:
    """An interceptor, and how long it may take."""

    name: str
    plugin: Interceptor
    timeout_s: float


@dataclass(slots=True)
class PluginInterceptors:
    """The configured interceptors, in their order. `outcomes` counts by interceptor and outcome."""

    loaded: Sequence[Loaded]
    clock: Clock
    outcomes: Counter[tuple[str, ...]] = field(default_factory=Counter)

    async def ask(self, run: CallRun) -> Intercepted:
        """What all of them say about the call, or the first that stops it. Never raises but when it is cancelled."""
        call = call_of(run)
        messages: list[str] = []
        for one in self.loaded:
            try:
                outcome = await self._answer(one, call, run.deadline_at)
            except PluginFailedError as error:
                self.outcomes[one.name, "failed"] += 1
                _log.error("an interceptor failed", extra={"interceptor": one.name}, exc_info=error)
                return Intercepted(denied=_failed(one.name, str(error)))
            self.outcomes[one.name, _WORDS[type(outcome)]] += 1
            if isinstance(outcome, Cancel):
                return Intercepted(denied=_cancelled(one.name, outcome.reason))
            if isinstance(outcome, ContinueWith):
                messages.extend(outcome.messages)
        return Intercepted(messages=tuple(messages))

    def counts(self) -> dict[tuple[str, ...], float]:
        """How many calls each was asked about, by what it answered."""
        return dict(self.outcomes)

    async def close(self) -> None:
        """Tell each that it is over."""
        for one in self.loaded:
            try:
                await bounded(one.plugin.close, CLOSE_S)
            except PluginFailedError as error:
                _log.warning("an interceptor did not close", extra={"interceptor": one.name}, exc_info=error)

    async def _answer(self, one: Loaded, call: Call, deadline_at: float) -> Outcome:
        left_s = max(0.001, min(one.timeout_s, deadline_at - self.clock.monotonic()))
        outcome = await bounded(partial(one.plugin.before_call, call), left_s)
        return _checked(outcome)


def interceptors(configured: Sequence[InterceptorConfig], clock: Clock) -> PluginInterceptors | None:
    """The interceptors that are configured; `None` when there are none. Raises `ConfigError`."""
    loaded = [Loaded(one.name, interceptor(one), one.timeout_s) for one in configured]
    return PluginInterceptors(loaded, clock) if loaded else None


_WORDS = {Continue: "continued", ContinueWith: "added", Cancel: "cancelled"}


def _checked(outcome: object) -> Outcome:
    # The very types: a subclass is something that nobody here knows the meaning of.
    if type(outcome) is Continue:
        return outcome
    if type(outcome) is Cancel and isinstance(outcome.reason, str):
        return outcome
    if type(outcome) is ContinueWith and _are_messages(outcome.messages):
        return outcome
    raise PluginFailedError("its answer is not Continue, Cancel with a reason, or ContinueWith with messages")


def _are_messages(messages: object) -> bool:
    if not isinstance(messages, tuple | list) or not 0 < len(messages) <= MAX_MESSAGES:
        return False
    return all(isinstance(text, str) and text.strip() and len(text) <= MAX_TEXT for text in messages)


def _cancelled(name: str, reason: str) -> Reason:
    words = reason.strip()[:MAX_TEXT] or f"the interceptor {name} stopped the call"
    return Reason("interceptor_cancelled", words, f"interceptor/{name}")


def _failed(name: str, why: str) -> Reason:
    code = f"gateway_error.{GatewayErrorCode.INTERCEPTOR_FAILED.value}"
    return Reason(code, f"the interceptor {name} failed ({why}), so nothing is run", f"interceptor/{name}")
