"""The candidate beside the policies in force: configured or chosen by an operator, loaded, cleared (LIFE-5)."""

import asyncio
import logging
from collections.abc import Callable
from pathlib import Path

from interlock_gateway.config import PolicyConfig
from interlock_gateway.config_bundles import BundleConfig
from interlock_gateway.core.clock import Clock
from interlock_gateway.errors import RequestError, RequestFault
from interlock_gateway.operate.policy_keeper import Reload, loaded, problems_of, seen_now
from interlock_gateway.pipeline.enforce import is_gateway_error
from interlock_gateway.pipeline.run import CallRun
from interlock_gateway.pipeline.shadow_port import ShadowOpinion
from interlock_gateway.policy.checks.problems import Problem
from interlock_gateway.policy.embedded.prepared import prepared
from interlock_gateway.policy.engine import PolicyUnavailableError
from interlock_gateway.policy.origin import DirectoryOrigin, Origin
from interlock_gateway.policy.settings import PolicySourceError
from interlock_gateway.policy.shadow.difference import Subject
from interlock_gateway.policy.shadow.evaluator import ShadowEvaluator, ShadowObserver
from interlock_gateway.policy.shadow.log import DifferenceLog

_log = logging.getLogger(__name__)


class ShadowKeeper:
    """Keeps at most one candidate. Whatever becomes of it, calls are decided as if there were none.

    `tried` is what the origin held when a candidate was loaded last, whatever came of it; `error` is why it could not
    be loaded.
    """

    def __init__(
        self,
        config: PolicyConfig,
        clock: Clock,
        observer: ShadowObserver,
        log: DifferenceLog,
        mask: Callable[[str], str],
    ) -> None:
        self.differences = log
        self.evaluator: ShadowEvaluator | None = None
        self.origin: Origin | None = None
        self.source = ""
        self.tried = ""
        self.error = ""
        self._config = config
        self._clock = clock
        self._observer = observer
        self._mask = mask
        self._changing = asyncio.Lock()

    def decided(self, run: CallRun) -> None:
        """Have the candidate asked about what policy decided; what the gateway itself denied is no policy's doing."""
        evaluator, decision = self.evaluator, run.decision
        if evaluator is None or decision is None or not run.policy_input or is_gateway_error(decision):
            return
        session_id = run.live.session.session_id
        subject = Subject(run.received_at, session_id, run.call_id, run.tool_name, run.principal.id)
        evaluator.ask(subject, decision, run.policy_input)

    def opinion(self, decision_id: str) -> ShadowOpinion | None:
        """What the candidate that there is now said of a decision of late."""
        return None if self.evaluator is None else self.evaluator.opinion(decision_id)

    async def begin(self) -> None:
        """Load the configured candidate, if there is one. What is wrong with it is logged, and shows in status."""
        await self.differences.open()
        if self._config.shadow.has_candidate:
            try:
                origin = await asyncio.to_thread(self._configured)
            except PolicySourceError as error:
                self.source, self.error = "configuration", str(error)
                _log.warning("the candidate cannot be loaded", extra={"problem": str(error)})
                return
            await self._take(origin, "configuration", configured=True)

    async def choose(self, source: str) -> Reload:
        """Take the candidate in a directory, or in a bundle's file; it has to be where the configuration allows.

        A refused one leaves the one before it in place. Raises `RequestError` for a place that is not allowed.
        """
        path = await asyncio.to_thread(self._allowed, source)
        try:
            origin = await asyncio.to_thread(self._chosen, path)
        except PolicySourceError as error:
            return Reload(accepted=False, revision="", problems=problems_of(error), at=self._clock.now())
        return await self._take(origin, source)

    async def clear(self) -> None:
        """Have no candidate; its differences stay to be read."""
        async with self._changing:
            await self._replace(None, None, "", "")

    async def reload(self) -> Reload | None:
        """Load the candidate again; `None` when there is none."""
        origin = self.origin
        return None if origin is None else await self._take(origin, self.source)

    async def close(self) -> None:
        """End the candidate, and write what waits to be written."""
        await self.clear()
        await self.differences.close()

    async def _take(self, origin: Origin, source: str, *, configured: bool = False) -> Reload:
        async with self._changing:
            seen = await seen_now(origin)
            bundle, problems = await loaded(origin)
            if bundle is not None:
                # Beside the loop, as its engine finds it made.
                await asyncio.to_thread(prepared, bundle.modules, bundle.data_json)
                evaluator = ShadowEvaluator(
                    bundle,
                    self._config.shadow,
                    self._clock,
                    self._observer,
                    record=self.differences.add,
                    mask=self._mask,
                )
                try:
                    await evaluator.start()
                except PolicyUnavailableError as error:
                    problems = (Problem("", 0, "not_loadable", str(error)),)
                else:
                    await self._replace(evaluator, origin, source, seen)
                    await origin.activated()
            if problems:
                _log.warning("the candidate cannot be loaded", extra={"problem": _said(problems)})
            await self._remember(origin, source, seen, problems, configured=configured)
            return Reload(not problems, bundle.revision if bundle else "", problems, self._clock.now())

    async def _remember(
        self, origin: Origin, source: str, seen: str, problems: tuple[Problem, ...], *, configured: bool
    ) -> None:
        """Go on watching the origin that was tried, unless it was an operator's choice that was refused."""
        if self.origin is None and configured:
            self.origin, self.source = origin, source
        if origin is self.origin:
            self.tried, self.error = seen, _said(problems)
        else:
            await origin.close()

    async def _replace(self, evaluator: ShadowEvaluator | None, origin: Origin | None, source: str, seen: str) -> None:
        before, origin_before = self.evaluator, self.origin
        self.evaluator, self.origin, self.source, self.error, self.tried = evaluator, origin, source, "", seen
        if before is not None:
            await before.close()
        if origin_before is not None and origin_before is not origin:
            await origin_before.close()

    def _configured(self) -> Origin:
        wanted, shadow = self._config, self._config.shadow
        bundle = shadow.bundle or (None if shadow.overlays else wanted.bundle)
        overlays = shadow.overlays or (() if shadow.bundle is not None else wanted.overlays)
        profile = shadow.profile or wanted.profile
        if bundle is None:
            return DirectoryOrigin(profile, overlays, wanted.watch_s)
        return self._bundle(bundle, overlays)

    def _chosen(self, path: Path) -> Origin:
        wanted, shadow = self._config, self._config.shadow
        if path.is_dir():
            return DirectoryOrigin(shadow.profile or wanted.profile, (path,), wanted.watch_s)
        like = shadow.bundle or wanted.bundle
        keys = like.keys if like is not None else ()
        return self._bundle(BundleConfig(url=str(path), keys=keys), ())

    def _bundle(self, bundle: BundleConfig, overlays: tuple[Path, ...]) -> Origin:
        # Only who has bundles pays for what it loads.
        from interlock_gateway.policy.bundles.origin import open_origin  # noqa: PLC0415 -- as said above

        wanted = self._config
        profile = wanted.shadow.profile or wanted.profile
        # It decides nothing, so an older one does no harm, and none is kept.
        return open_origin(bundle, profile=profile, overlays=overlays, watch_s=wanted.watch_s, kept=None)

    def _allowed(self, source: str) -> Path:
        path = Path(source)
        if path.is_absolute():
            path = path.resolve()
            if any(path.is_relative_to(allowed.resolve()) for allowed in self._config.shadow.allow):
                return path
        message = "candidates are in directories that policy.shadow.allow names, by their absolute paths"
        raise RequestError(RequestFault.INVALID_FIELD, message, field="source")


def _said(problems: tuple[Problem, ...]) -> str:
    return "; ".join(f"{problem.file}: {problem.message}" for problem in problems)
