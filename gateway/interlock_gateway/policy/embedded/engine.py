"""The embedded engine: the pool of workers for the active bundle, behind the engine protocol (ENG-1, ENG-4)."""

import asyncio
from collections.abc import Callable
from contextlib import AsyncExitStack

from interlock_gateway.core.answer import ActivePolicy, PolicyAnswer
from interlock_gateway.core.decision import DecisionError, GatewayErrorCode
from interlock_gateway.policy.bundle import PolicyBundle
from interlock_gateway.policy.embedded.pool import WorkerPool
from interlock_gateway.policy.embedded.pool_settings import PoolSettings
from interlock_gateway.policy.embedded.prepared import prepared
from interlock_gateway.policy.embedded.wire import Reply
from interlock_gateway.policy.engine import PolicyUnavailableError

DEFAULT_MAX_INPUT_BYTES = 8 * 1024 * 1024
NO_POLICY = ActivePolicy("", "")
# How the engine words it when a rule has two values at once.
_CONFLICTS = ("multiple outputs", "conflicts with rule", "conflicting values")


class EmbeddedEngine:
    """Rego evaluated by worker processes on this machine. Without a bundle everything is denied until there is one."""

    def __init__(
        self,
        bundle: PolicyBundle | None,
        settings: PoolSettings | None = None,
        *,
        max_input_bytes: int = DEFAULT_MAX_INPUT_BYTES,
    ) -> None:
        self._settings = settings or PoolSettings()
        self.is_crowded: Callable[[], bool] = bool
        """Whether calls wait to begin, so that it matters more what each costs than when it goes on."""
        self._max_input_bytes = max_input_bytes
        self._pool = None if bundle is None else WorkerPool(bundle, self._settings, self._are_calls_crowded)
        # Beside the active pool: one that starts, and those that still decide what they began.
        self._others: set[WorkerPool] = set()
        self._draining: set[asyncio.Task[None]] = set()
        self._replacing = asyncio.Lock()
        self._closed = False

    @property
    def active(self) -> ActivePolicy:
        """The active bundle's policy."""
        return NO_POLICY if self._pool is None else self._pool.policy

    @property
    def revision(self) -> str:
        """The revision of the active bundle; empty while there is none."""
        return self.active.revision

    @property
    def profile(self) -> str:
        """The profile of the active bundle; empty while there is none."""
        return self.active.profile

    @property
    def reads_previous(self) -> bool:
        """Whether a rule of the active bundle may read the session's calls before."""
        return self._pool is None or self._pool.reads_previous

    @property
    def ready(self) -> bool:
        """Whether a worker with the active bundle lives."""
        return self._pool is not None and self._pool.ready

    @property
    def trouble(self) -> str:
        """Why it is not ready; empty when it is."""
        if self.ready:
            return ""
        return "no policy is in force yet" if self._pool is None else "no worker with the policy lives"

    @property
    def process_ids(self) -> tuple[int, ...]:
        """The worker processes, for status and for measuring."""
        return () if self._pool is None else self._pool.process_ids

    def delay_s(self) -> float:
        """How long the first of the inputs that wait for a worker has waited."""
        return 0.0 if self._pool is None else self._pool.delay_s

    async def start(self) -> None:
        """Start the workers. Raises `PolicyUnavailableError` when the bundle cannot be loaded."""
        if self._pool is not None:
            await self._pool.start()

    async def evaluate(self, input_json: bytes) -> PolicyAnswer:
        """The decision document's JSON for one input document; the protocol says what is raised.

        The bundle that decides is the one active when this is called, whatever replaces it meanwhile.
        """
        if len(input_json) > self._max_input_bytes:
            raise DecisionError(
                GatewayErrorCode.POLICY_INPUT_TOO_LARGE,
                f"the call is too large to decide about: {len(input_json)} bytes, at most {self._max_input_bytes}",
            )
        pool = self._pool
        if pool is None:
            raise DecisionError(GatewayErrorCode.POLICY_UNAVAILABLE, "no policy is in force yet; every call is denied")
        reply, payload = await pool.submit(input_json)
        if reply is Reply.OK:
            return PolicyAnswer(payload, pool.policy)
        raise _failure(reply, payload)

    async def replace(self, bundle: PolicyBundle) -> None:
        """Start workers with `bundle`, then swap; the old ones end when what they began is done (LIFE-3)."""
        # Beside the loop, which others wait for; the pool finds it made.
        await asyncio.to_thread(prepared, bundle.modules, bundle.data_json)
        async with self._replacing:
            if self._closed:
                raise PolicyUnavailableError("the policy engine was closed")
            pool = WorkerPool(bundle, self._settings, self._are_calls_crowded)
            self._others.add(pool)
            try:
                await pool.start()
            finally:
                self._others.discard(pool)
            old, self._pool = self._pool, pool
        if old is None:
            return
        self._others.add(old)
        task = asyncio.get_running_loop().create_task(self._drain(old))
        self._draining.add(task)
        task.add_done_callback(self._draining.discard)

    async def close(self) -> None:
        """End every worker and wait until it is gone; evaluations in flight end in `DecisionError`."""
        self._closed = True
        # One after the other, each also when the one before was cancelled. With `gather`, some would never begin.
        async with AsyncExitStack() as ending:
            for pool in filter(None, (self._pool, *self._others)):
                ending.push_async_callback(pool.close)
        if self._draining:
            await asyncio.wait(self._draining)

    def _are_calls_crowded(self) -> bool:
        return self.is_crowded()

    async def _drain(self, pool: WorkerPool) -> None:
        try:
            await pool.drain()
        finally:
            self._others.discard(pool)


def _failure(reply: Reply, payload: bytes) -> DecisionError:
    if reply is Reply.UNDEFINED:
        return DecisionError(GatewayErrorCode.POLICY_UNDEFINED, "the policy has no decision for this call")
    if reply is Reply.PANIC:
        return DecisionError(GatewayErrorCode.POLICY_CRASHED, "the policy crashed on this call")
    words = payload.decode("utf-8", "replace")
    if any(conflict in words for conflict in _CONFLICTS):
        return DecisionError(GatewayErrorCode.POLICY_CONFLICT, "the policy has several decisions for this call")
    return DecisionError(GatewayErrorCode.POLICY_ERROR, "the policy failed on this call")


__all__ = ["DEFAULT_MAX_INPUT_BYTES", "EmbeddedEngine", "PolicyUnavailableError", "PoolSettings"]
