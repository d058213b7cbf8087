"""Policies that OPA loads itself, as whoever keeps policies in force sees them."""

import asyncio
import logging
from dataclasses import dataclass, replace
from pathlib import Path

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
UNCHECKED = "not checked: policy.opa.accept_unchecked_policies"
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Candidate:
    digest: str
    revision: str
    sequence: int | None


class OpaOrigin:
    """What one OPA server has, read back from it, and looked at as the policies of any other source are.

    Which of several comes later is on disk in `kept`.
    """

    settles = False

    def __init__(self, engine: OpaEngine, reader: OpaReader, kept: Path, every_s: float) -> None:
        self._engine = engine
        self._reader = reader
        self._order = KeptOrder(kept)
        self._named: Named | None = None
        self._found: FoundPolicies | None = None
        self._read_at = 0.0
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

        It is another word after a while for what could not be judged, so that this is tried again.
        """
        try:
            found = await self._looked_at()
        except OpaFaultError as fault:
            self._status = replace(self._status, problem=fault.words)
            if fault.trouble is Trouble.NOT_ALLOWED:
                # Also what was accepted: something else could come under its name, and nobody would see.
                self._in_force = ""
                self._engine.refuse(None, fault.words)
            raise PolicySourceError(self._engine.shown, fault.words) from None
        self._status = replace(self._status, problem="")
        if self._unjudged_since and asyncio.get_running_loop().time() - self._unjudged_since >= READ_AGAIN_S:
            self._unjudged_since = 0.0
            self._attempt += 1
        return f"{found.digest}-{self._attempt}"

    async def load(self, *, allow_older: bool = False) -> PolicyBundle:
        """What was read last, when it may decide. `allow_older` is an operator's word that its order does not matter.

        What is refused under the name of what is in force ends that.
        """
        found = self._found
        if found is None:
            await self.look()
            found = self._found
        assert found is not None, "what was looked at was read"
        try:
            bundle, sequence = await asyncio.to_thread(self._fit, found, ordered=not allow_older)
        except (PolicySourceError, InspectionError) as error:
            if isinstance(error, InspectionError):
                # It says nothing of the policies, and nothing else decides meanwhile.
                self._unjudged_since = asyncio.get_running_loop().time()
            if found.digest != self._in_force:
                self._engine.refuse(found.claimed, str(error))
                _log.error("OPA has policies that were refused; every call is denied", extra={"problem": str(error)})
            raise
        self._candidate = _Candidate(found.digest, bundle.revision, sequence)
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

    async def _looked_at(self) -> FoundPolicies:
        now = asyncio.get_running_loop().time()
        if self._found is None or now - self._read_at >= READ_AGAIN_S or await self._reader.named() != self._named:
            self._named, self._found = await self._reader.read()
            self._read_at = now
        return self._found

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
