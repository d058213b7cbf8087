"""Policies that OPA loads itself, as whoever keeps policies in force sees them."""

import asyncio
import logging
from dataclasses import dataclass, replace
from pathlib import Path

from interlock_gateway.core.clock import Clock
from interlock_gateway.policy.bundle import PolicyBundle
from interlock_gateway.policy.bundles.kept import KeptOrder
from interlock_gateway.policy.engine import PolicyUnavailableError
from interlock_gateway.policy.inspection import InspectionError
from interlock_gateway.policy.opa.accepting import fit_to_decide, sequence_of
from interlock_gateway.policy.opa.engine import OpaEngine
from interlock_gateway.policy.opa.faults import OpaFaultError, Trouble
from interlock_gateway.policy.opa.found import FoundPolicies
from interlock_gateway.policy.opa.reading import Named, OpaReader
from interlock_gateway.policy.origin import OriginStatus
from interlock_gateway.policy.settings import PolicySourceError

LOOK_S = 1.0
"""How often OPA is asked what it has, at least: calls are denied from its swap until that was noticed and accepted."""
READ_AGAIN_S = 60.0
"""How often policies are read again that are called as before."""
HELD_S = 120.0
"""How long what was accepted decides after it was read last, whatever keeps it from being read again."""
UNCHECKED = "not checked: policy.opa.accept_unchecked_policies"
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Read:
    """What was there at `at` at the latest, on the monotonic clock."""

    named: Named
    found: FoundPolicies
    digest: str
    at: float

    @property
    def until(self) -> float:
        return self.at + HELD_S


@dataclass(frozen=True, slots=True)
class _Candidate:
    digest: str
    revision: str
    sequence: int | None


class OpaOrigin:
    """What one OPA server has, read back from it, and looked at as the policies of any other source are.

    Which of several comes later is on disk in `kept`. What was accepted counts as long as it is known to be what OPA
    has: not when that may not be read, when something else was seen, or when it was not read for `HELD_S`.
    """

    settles = False

    def __init__(self, engine: OpaEngine, reader: OpaReader, kept: Path, every_s: float, clock: Clock) -> None:
        self._engine = engine
        self._reader = reader
        self._order = KeptOrder(kept)
        self._clock = clock
        self._looking = asyncio.Lock()
        self._read: _Read | None = None
        self._candidate: _Candidate | None = None
        self._in_force = ""
        self._unjudged_since = 0.0
        self._attempt = 0
        self._status = OriginStatus((engine.shown,))
        self.every_s = min(every_s, LOOK_S)

    @property
    def status(self) -> OriginStatus:
        """The server, and why it cannot be asked what it has, if so."""
        return self._status

    async def look(self) -> str:
        """A word for all that decides in OPA now. What is called otherwise than before is read. See `Origin`.

        It is another word after a while for what could not be judged, and for what was withdrawn, so that this is tried
        again.
        """
        # One after the other: of two the later could end first, and leave what was there before.
        async with self._looking:
            try:
                read = await self._looked_at()
            except OpaFaultError as fault:
                self._status = replace(self._status, problem=fault.words)
                self._unreadable(fault)
                raise PolicySourceError(self._engine.shown, fault.words) from None
            self._status = replace(self._status, problem="")
            if self._unjudged_since and self._clock.monotonic() - self._unjudged_since >= READ_AGAIN_S:
                self._unjudged_since = 0.0
                self._attempt += 1
            return f"{read.digest}-{self._attempt}"

    async def load(self, *, allow_older: bool = False) -> PolicyBundle:
        """What was read last, when it may decide. `allow_older` is an operator's word that order does not matter."""
        if self._read is None:
            await self.look()
        read = self._read
        assert read is not None, "what was looked at was read"
        try:
            bundle, sequence = await asyncio.to_thread(self._fit, read.found, ordered=not allow_older)
        except (PolicySourceError, InspectionError) as error:
            if isinstance(error, InspectionError):
                # It says nothing of the policies, and nothing else decides meanwhile.
                self._unjudged_since = self._clock.monotonic()
            if read.digest != self._in_force:
                self._candidate = None
                self._engine.refuse(read.found.claimed, str(error))
                _log.error("OPA has policies that were refused; every call is denied", extra={"problem": str(error)})
            raise
        if self._read is None or self._read.digest != read.digest:
            problem = "its policies changed, or could not be read any more, while they were checked"
            raise PolicySourceError(self._engine.shown, problem)
        self._candidate = _Candidate(read.digest, bundle.revision, sequence)
        self._engine.offer(bundle.policy, self._read.until)
        return bundle

    async def load_kept(self) -> PolicyBundle | None:
        """Nothing is kept: what OPA does not have cannot decide there."""
        return None

    async def activated(self) -> None:
        """Keep where it stands in the order. That it cannot be kept is logged, and is no reason to drop it."""
        candidate, self._candidate = self._candidate, None
        if candidate is None:
            return
        self._in_force = candidate.digest
        self._status = replace(self._status, sequence=candidate.sequence)
        try:
            await asyncio.to_thread(self._order.keep, candidate.sequence, candidate.revision)
        except OSError as error:
            _log.error("the place of OPA's policies in their order cannot be kept", extra={"problem": str(error)})

    async def close(self) -> None:
        """Close the connection."""
        await self._reader.close()

    async def _looked_at(self) -> _Read:
        now = self._clock.monotonic()
        before = self._read
        if before is not None and now - before.at < READ_AGAIN_S:
            named = await self._reader.named()
            if named == before.named:
                return before
            if named.policy != before.named.policy and self._held:
                # It may name itself otherwise to calls, and may not let itself be read.
                self._withdraw("")
        named, found = await self._reader.read()
        read = _Read(named, found, found.digest, now)
        lapsed = not self._engine.hold(read.until) and bool(self._in_force)
        if self._held and (lapsed or read.digest != self._held):
            self._withdraw("")
        self._read = read
        return read

    @property
    def _held(self) -> str:
        """The digest of what is in force, or was offered to be."""
        return self._in_force or (self._candidate.digest if self._candidate is not None else "")

    def _unreadable(self, fault: OpaFaultError) -> None:
        """What could not be read could be anything: at once when that is OPA's will, else after a while."""
        if fault.trouble is Trouble.NOT_ALLOWED:
            self._withdraw(fault.words)
        elif self._in_force and self._read is not None and self._clock.monotonic() >= self._read.until:
            self._withdraw(f"it was not read for {HELD_S:.0f} s: {fault.words}")

    def _withdraw(self, why: str) -> None:
        """Let what was accepted decide no more; when it is seen again it is checked again."""
        if self._in_force:
            _log.warning("policies that were accepted decide no more", extra={"problem": why or "OPA has others"})
        self._in_force, self._candidate, self._read = "", None, None
        self._attempt += 1
        self._engine.refuse(None, why)

    def _fit(self, found: FoundPolicies, *, ordered: bool) -> tuple[PolicyBundle, int | None]:
        bundle = fit_to_decide(found)
        sequence = sequence_of(found)
        if ordered:
            self._order.check(sequence, bundle.revision)
        return bundle, sequence


class UncheckedOrigin:
    """What one OPA server says it has, by name alone: an operator has taken over what `OpaOrigin` is for."""

    settles = False

    def __init__(self, engine: OpaEngine, every_s: float) -> None:
        self._engine = engine
        self.every_s = every_s

    @property
    def status(self) -> OriginStatus:
        """The server, with a warning, and why it has no policies, if so."""
        return OriginStatus((f"{self._engine.shown} ({UNCHECKED})",), problem=self._engine.trouble)

    async def look(self) -> str:
        """The revision that OPA has now. Raises `PolicySourceError`."""
        try:
            await self._engine.look()
        except PolicyUnavailableError as error:
            raise PolicySourceError(self._engine.shown, str(error)) from None
        return self._engine.revision

    async def load(self, *, allow_older: bool = False) -> PolicyBundle:
        """What OPA has, by name alone: its rules stay there. Raises `PolicySourceError`."""
        del allow_older
        await self.look()
        return described(self._engine)

    async def load_kept(self) -> PolicyBundle | None:
        """Nothing is kept: what OPA does not have cannot decide there."""
        return None

    async def activated(self) -> None:
        """Nothing is kept."""

    async def close(self) -> None:
        """Nothing is held open but by the engine."""


def described(engine: OpaEngine) -> PolicyBundle:
    """The policy in force at OPA as a bundle without modules: its names."""
    active = engine.active
    return PolicyBundle((), "{}", active.revision, active.profile, active.enforced)
