"""One issuer and its keys: fetched at the start, every few minutes, and when a token has a key that is not known.

Whoever brings tokens with invented keys causes no more than one fetch every few seconds, and holds up nobody else.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress

from interlock_gateway.config_identity import JwtConfig
from interlock_gateway.core.clock import Clock
from interlock_gateway.identity.oidc.keys import KeysError, KeySet

LEAST_PAUSE_S = 5.0
"""Between two fetches, whatever anybody asks for."""
WAIT_S = 12.0
"""How long a call waits, at most, for the fetch that its key needs: a pause and a fetch, and some more."""
FIRST_RETRY_S, LONGEST_RETRY_S = 5.0, 60.0
UNKNOWN_S = 30.0
MOST_UNKNOWN = 256
"""Key names that were asked for and are not there are refused without a fetch for so long, and so many of them."""
_log = logging.getLogger(__name__)

Fetch = Callable[[JwtConfig], Awaitable[KeySet]]


class Issuer:
    """An issuer's keys, as far as they are known. `run` keeps them; nothing else fetches."""

    def __init__(self, config: JwtConfig, clock: Clock, fetch: Fetch, *, pause_s: float | None = None) -> None:
        self.config = config
        self.generation = 0
        """Changes whenever the keys do."""
        self.problem = ""
        """Why the last fetch brought no keys; empty when it did."""
        self.fetched = self.failed = 0
        """How many fetches brought keys, and how many did not."""
        self._clock = clock
        self._fetch = fetch
        self._pause_s = LEAST_PAUSE_S if pause_s is None else pause_s
        self._known: KeySet | None = None
        self._fetched_at = 0.0
        self._begun_fetches = self._ended_fetches = 0
        self._unknown: dict[str, float] = {}
        self._wanted = asyncio.Event()
        self._ended = asyncio.Event()

    @property
    def age_s(self) -> float | None:
        """How old the keys are, in seconds; `None` when there were never any."""
        return None if self._known is None else self._clock.monotonic() - self._fetched_at

    @property
    def keys(self) -> KeySet | None:
        """The keys, unless there are none yet, or they are too old to count."""
        age_s = self.age_s
        return None if age_s is None or age_s > self.config.keys_max_age_s else self._known

    @property
    def told(self) -> str:
        """How old the keys are, and why there are no newer ones."""
        age_s = self.age_s
        keys = "no keys" if age_s is None else f"keys fetched {age_s:.0f} s ago"
        if age_s is not None and self.keys is None:
            keys += ", too long ago to count"
        return f"{keys}: {self.problem}" if self.problem else keys

    def is_unknown(self, kid: str) -> bool:
        """Whether the issuer was asked for the key of this name a moment ago, and had none."""
        return self._unknown.get(kid, 0.0) > self._clock.monotonic()

    async def fetched_anew(self, kid: str) -> None:
        """Return when the keys were fetched once more, or as soon as there is one named `kid`, which may be empty.

        Raises `KeysError` when that takes too long, or the issuer cannot be reached.
        """
        asked_after = self._begun_fetches
        try:
            async with asyncio.timeout(WAIT_S):
                while self._ended_fetches <= asked_after:
                    ended = self._ended
                    self._wanted.set()
                    await ended.wait()
                    if self.keys is not None and self.keys.knows(kid):
                        return
        except TimeoutError:
            raise KeysError(f"the issuer's keys were not there within {WAIT_S:.0f} s") from None
        if self.problem:
            raise KeysError(self.problem)
        self._note_unknown(kid)

    async def run(self) -> None:
        """Keep the keys, until cancelled."""
        retry_s = FIRST_RETRY_S
        while True:
            began = self._clock.monotonic()
            self._wanted.clear()
            await self._fetch_once()
            with suppress(TimeoutError):
                async with asyncio.timeout(retry_s if self.problem else self.config.refresh_s):
                    await self._wanted.wait()
            retry_s = min(2 * retry_s, LONGEST_RETRY_S) if self.problem else FIRST_RETRY_S
            await asyncio.sleep(max(0.0, began + self._pause_s - self._clock.monotonic()))

    async def _fetch_once(self) -> None:
        self._begun_fetches += 1
        try:
            found = await self._fetch(self.config)
        except KeysError as error:
            self._failed(error.message)
        except Exception as error:  # noqa: BLE001 - who stopped here would accept the same keys until they are too old
            self._failed(f"{type(error).__name__} while fetching them")
        else:
            self._took(found)
        self._ended_fetches = self._begun_fetches
        ended, self._ended = self._ended, asyncio.Event()
        ended.set()

    def _took(self, found: KeySet) -> None:
        self.fetched += 1
        self._fetched_at = self._clock.monotonic()
        if self.problem or self._known is None:
            _log.info("an issuer's keys were fetched", extra={"issuer": self.config.name, "keys": len(found.keys)})
        self.problem = ""
        if found != self._known:
            self._known = found
            self.generation += 1
            self._unknown.clear()

    def _failed(self, problem: str) -> None:
        self.failed += 1
        if problem != self.problem:
            _log.warning("an issuer's keys cannot be had", extra={"issuer": self.config.name, "problem": problem})
        self.problem = problem

    def _note_unknown(self, kid: str) -> None:
        if len(self._unknown) >= MOST_UNKNOWN:
            self._unknown.pop(next(iter(self._unknown)))
        self._unknown[kid] = self._clock.monotonic() + UNKNOWN_S
