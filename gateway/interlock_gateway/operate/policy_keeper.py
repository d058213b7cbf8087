"""The policy in force: loaded, checked, swapped in one step; a bad one is refused, the last good one stays (LIFE-3)."""

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass, replace

from interlock_gateway.config import PolicyConfig
from interlock_gateway.core.clock import Clock
from interlock_gateway.policy.bundle import PolicyBundle
from interlock_gateway.policy.checks.problems import Problem
from interlock_gateway.policy.engine import PolicyEngine, PolicyUnavailableError
from interlock_gateway.policy.inspection import InspectionError, check, run_rego_tests
from interlock_gateway.policy.origin import Origin
from interlock_gateway.policy.settings import PolicySourceError
from interlock_gateway.policy.standing import loaded_exemptions, warnings

_OWN = "/custom/"
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Reload:
    """What came of loading a policy: `problems` are why it was refused, or warnings when not. `at` is Unix seconds."""

    accepted: bool
    revision: str
    problems: tuple[Problem, ...]
    at: float


class PolicyKeeper:
    """Keeps one engine supplied with the policies of an origin. `on_reload` is told what came of each reload.

    `tried` is what the origin held when policies were loaded last, whatever came of it.
    """

    def __init__(
        self,
        config: PolicyConfig,
        engine: PolicyEngine,
        clock: Clock,
        *,
        origin: Origin,
        bundle: PolicyBundle | None,
        on_reload: Callable[[Reload], None],
    ) -> None:
        self.engine = engine
        self.config = config
        self.origin = origin
        self.bundle = bundle
        self.activated_at = clock.now() if bundle is not None else None
        self.last_reload: Reload | None = None
        self.tried = ""
        self._clock = clock
        self._on_reload = on_reload
        self._reloading = asyncio.Lock()

    async def reload(self, *, check_only: bool = False, allow_older: bool = False) -> Reload:
        """Load the configured policies again; those that are to take over are checked, and pass their own tests, first.

        The answer says why when they are refused; nothing changes then. When they are not, it warns of what
        `interlock policy check` would have found in them, and of exemptions that have ended or soon will.
        """
        async with self._reloading:
            if not check_only:
                self.tried = await seen_now(self.origin)
            bundle, problems = await loaded(self.origin, allow_older=allow_older)
            if bundle is not None and not check_only:
                problems = await self._activated(bundle)
            outcome = Reload(not problems, bundle.revision if bundle else "", problems, self._clock.now())
            if not check_only:
                self._note(outcome)
            if bundle is None or problems:
                return outcome
            warned = replace(outcome, problems=await self._warnings(bundle))
            if not check_only:
                self._warn(warned)
            return warned

    async def _warnings(self, bundle: PolicyBundle) -> tuple[Problem, ...]:
        # What is shipped was checked before it was. It takes a second or two, and calls are decided meanwhile.
        theirs = bool(self.config.overlays) or self.config.bundle is not None
        return await asyncio.to_thread(_warnings, bundle, self._clock.now(), theirs=theirs)

    def _warn(self, outcome: Reload) -> None:
        self.last_reload = outcome
        for problem in outcome.problems:
            _log.warning("something is odd in the policies that are in force", extra=_about(problem))

    async def began_with(self, seen: str, problems: tuple[Problem, ...]) -> None:
        """Note what the gateway started with: what the origin held, and why that was not taken."""
        self.tried = seen
        if problems:
            self._note(Reload(accepted=False, revision="", problems=problems, at=self._clock.now()))
        if self.bundle is not None:
            await self.origin.activated()

    def _note(self, outcome: Reload) -> None:
        self.last_reload = outcome
        self._on_reload(outcome)
        if outcome.accepted:
            _log.info("policies are in force", extra={"revision": outcome.revision})
        for problem in outcome.problems:
            _log.warning("policies were refused; the last good ones stay", extra=_about(problem))

    async def _activated(self, bundle: PolicyBundle) -> tuple[Problem, ...]:
        try:
            await self.engine.replace(bundle)
        except PolicyUnavailableError as error:
            return (Problem("", 0, "not_loadable", str(error)),)
        self.bundle = bundle
        self.activated_at = self._clock.now()
        await self.origin.activated()
        return ()


def _about(problem: Problem) -> dict[str, str]:
    place = f"{problem.file}:{problem.line}" if problem.line else problem.file
    return {"place": place, "code": problem.code, "problem": problem.message}


async def seen_now(origin: Origin) -> str:
    """What an origin holds; empty when it cannot be asked."""
    try:
        return await origin.look()
    except PolicySourceError:
        return ""


async def loaded(origin: Origin, *, allow_older: bool = False) -> tuple[PolicyBundle | None, tuple[Problem, ...]]:
    """The policies of an origin when they are fit to take over, or what is wrong with them.

    Reading and checking takes a while; calls are decided by the active ones meanwhile.
    """
    try:
        bundle = await origin.load(allow_older=allow_older)
        failures = await asyncio.to_thread(_failed_tests, bundle)
    except (PolicySourceError, InspectionError) as error:
        return None, problems_of(error)
    return (None, failures) if failures else (bundle, ())


def problems_of(error: PolicySourceError | InspectionError) -> tuple[Problem, ...]:
    """Why policies are refused, with the places."""
    if isinstance(error, InspectionError):
        return (Problem("", 0, "not_checkable", str(error)),)
    code = str(getattr(error, "fault", "unreadable"))
    return tuple(Problem(*one.file_and_line, code, one.problem) for one in error.each)


def _warnings(bundle: PolicyBundle, now: float, *, theirs: bool) -> tuple[Problem, ...]:
    """What does not keep these policies from deciding, and their author should know. Blocks."""
    found = warnings(loaded_exemptions(bundle), now)
    if not theirs:
        return found
    try:
        return (*found, *check(bundle))
    except InspectionError as error:
        return (*found, *problems_of(error))


def _failed_tests(bundle: PolicyBundle) -> tuple[Problem, ...]:
    """The operator's own tests that fail. Those of the shipped rules assume the shipped settings, and stay out."""
    own = tuple((file, source) for file, source in bundle.tests if _OWN in f"/{file}")
    if not own:
        return ()
    # By themselves: the shipped ones are hundreds, and would take a busy machine a minute.
    failed = (result for result in run_rego_tests(replace(bundle, tests=own)).results if not result.passed)
    return tuple(Problem(found.file, found.line, "test_failed", f"{found.name}: {found.message}") for found in failed)
