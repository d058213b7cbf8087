"""Policies that OPA loads itself, as whoever keeps policies in force sees them: what OPA says it has."""

from interlock_gateway.policy.bundle import PolicyBundle
from interlock_gateway.policy.engine import PolicyUnavailableError
from interlock_gateway.policy.opa.engine import OpaEngine
from interlock_gateway.policy.origin import OriginStatus
from interlock_gateway.policy.settings import PolicySourceError


class OpaOrigin:
    """The bundle of one OPA server. Whoever built and signed it has checked it; OPA swaps it in one step."""

    settles = False

    def __init__(self, engine: OpaEngine, every_s: float) -> None:
        self._engine = engine
        self.every_s = every_s

    @property
    def status(self) -> OriginStatus:
        """The server, and why it has no policies, if so."""
        return OriginStatus((self._engine.shown,), problem=self._engine.trouble)

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
