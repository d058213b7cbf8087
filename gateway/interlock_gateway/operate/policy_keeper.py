"""The policy in force: loaded, checked, swapped in one step; a bad one is refused, the last good one stays (LIFE-3)."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from interlock_gateway.config import PolicyConfig
from interlock_gateway.core.clock import Clock
from interlock_gateway.policy.bundle import PolicyBundle
from interlock_gateway.policy.checks.problems import Problem
from interlock_gateway.policy.engine import PolicyEngine, PolicyUnavailableError
from interlock_gateway.policy.inspection import InspectionError, run_rego_tests
from interlock_gateway.policy.loader import load_bundle
from interlock_gateway.policy.settings import PolicySourceError

_OWN = "/custom/"


@dataclass(frozen=True, slots=True)
class Reload:
    """What came of loading a policy. `at` is Unix seconds."""

    accepted: bool
    revision: str
    problems: tuple[Problem, ...]
    at: float


class PolicyKeeper:
    """Keeps one engine supplied with the configured policies. `on_reload` is told what came of each reload."""

    def __init__(
        self,
        config: PolicyConfig,
        engine: PolicyEngine,
        clock: Clock,
        *,
        bundle: PolicyBundle,
        on_reload: Callable[[Reload], None],
    ) -> None:
        self.engine = engine
        self.config = config
        self.bundle = bundle
        self.activated_at = clock.now()
        self.last_reload: Reload | None = None
        self._clock = clock
        self._on_reload = on_reload
        self._reloading = asyncio.Lock()

    async def reload(self, *, check_only: bool = False) -> Reload:
        """Load the configured policies again; those that are to take over are checked, and pass their own tests, first.

        The answer says why when they are refused; nothing changes then.
        """
        async with self._reloading:
            bundle, problems = await self._loaded()
            if bundle is not None and not check_only:
                problems = await self._activated(bundle)
            outcome = Reload(not problems, bundle.revision if bundle else "", problems, self._clock.now())
            if not check_only:
                self.last_reload = outcome
                self._on_reload(outcome)
            return outcome

    async def _loaded(self) -> tuple[PolicyBundle | None, tuple[Problem, ...]]:
        # Reading and checking policies takes a while; calls are decided by the active ones meanwhile.
        wanted = self.config
        try:
            bundle = await asyncio.to_thread(load_bundle, profile=wanted.profile, overlays=wanted.overlays)
            failures = await asyncio.to_thread(_failed_tests, bundle)
        except PolicySourceError as error:
            file, colon, line = error.place.rpartition(":")
            if colon and line.isdecimal():
                return None, (Problem(file, int(line), "unreadable", error.problem),)
            return None, (Problem(error.place, 0, "unreadable", error.problem),)
        except InspectionError as error:
            return None, (Problem("", 0, "not_checkable", str(error)),)
        return (None, failures) if failures else (bundle, ())

    async def _activated(self, bundle: PolicyBundle) -> tuple[Problem, ...]:
        try:
            await self.engine.replace(bundle)
        except PolicyUnavailableError as error:
            return (Problem("", 0, "not_loadable", str(error)),)
        self.bundle = bundle
        self.activated_at = self._clock.now()
        return ()


def _failed_tests(bundle: PolicyBundle) -> tuple[Problem, ...]:
    """The operator's own tests that fail. Those of the shipped rules assume the shipped settings, and stay out."""
    if not any(_OWN in file for file, _ in bundle.tests):
        return ()
    failed = (result for result in run_rego_tests(bundle).results if not result.passed and _OWN in result.file)
    return tuple(Problem(found.file, found.line, "test_failed", f"{found.name}: {found.message}") for found in failed)
