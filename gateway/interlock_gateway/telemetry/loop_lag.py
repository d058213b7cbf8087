"""How late the event loop is: whatever keeps it busy keeps every call waiting (OBS-1)."""

import asyncio

from prometheus_client import CollectorRegistry, Histogram

EVERY_S = 0.25
_BUCKETS_S = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5)


class LoopLag:
    """Sleeps a little, again and again, and notes how much longer that took."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._lag = Histogram(
            "interlock_loop_lag_seconds",
            "How much later than asked for the event loop woke up, four times a second.",
            buckets=_BUCKETS_S,
            registry=registry,
        )

    async def run(self) -> None:
        """Until cancelled."""
        loop = asyncio.get_running_loop()
        while True:
            due = loop.time() + EVERY_S
            await asyncio.sleep(EVERY_S)
            self._lag.observe(max(0.0, loop.time() - due))
