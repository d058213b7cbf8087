"""The policy in force: loaded, checked, swapped in one step; a bad one is refused, the last good one stays (LIFE-3)."""

from collections.abc import Callable
from dataclasses import dataclass

from interlock_gateway.config import PolicyConfig
from interlock_gateway.core.clock import Clock
from interlock_gateway.policy.bundle import PolicyBundle
from interlock_gateway.policy.engine import PolicyEngine, PolicyUnavailableError
from interlock_gateway.policy.loader import load_bundle
from interlock_gateway.policy.settings import PolicySourceError


@dataclass(frozen=True, slots=True)
class Problem:
    """Why a policy was refused: where, which kind of problem, and a sentence. `line` is 0 when there is none."""

    file: str
    line: int
    code: str
    message: str


@dataclass(frozen=True, slots=True)
class Reload:
    """What came of loading a policy. `at` is Unix seconds."""

    accepted: bool
    revision: str
    problems: tuple[Problem, ...]
    at: float


class PolicyKeeper:
    """Keeps one engine supplied with the configured policies."""

    def __init__(
        self,
        config: PolicyConfig,
        engine: PolicyEngine,
        clock: Clock,
        *,
        bundle: PolicyBundle,
        check: Callable[[PolicyBundle], tuple[Problem, ...]],
    ) -> None:
        self.engine = engine
        self.config = config
        self.bundle = bundle
        self.activated_at = clock.now()
        self.last_reload: Reload | None = None
        self._clock = clock
        self._check = check

    async def reload(self, *, check_only: bool = False) -> Reload:
        """Load the configured policies again. The answer says why when they are refused; nothing changes then."""
        try:
            bundle = load_bundle(profile=self.config.profile, overlays=self.config.overlays)
            problems = self._check(bundle)
            if not problems and not check_only:
                await self.engine.replace(bundle)
                self.bundle = bundle
                self.activated_at = self._clock.now()
        except PolicySourceError as error:
            bundle, problems = None, (Problem(error.place, 0, "unreadable", error.problem),)
        except PolicyUnavailableError as error:
            problems = (Problem("", 0, "not_loadable", str(error)),)
        revision = bundle.revision if bundle is not None else ""
        outcome = Reload(not problems, revision, problems, self._clock.now())
        if not check_only:
            self.last_reload = outcome
        return outcome
