"""Starts a gateway's policies where an OPA server decides. Loaded only then: the HTTP client takes 25 MB."""

import asyncio
import logging
from contextlib import AsyncExitStack

from interlock_gateway.config import Config
from interlock_gateway.core.answer import ActivePolicy
from interlock_gateway.core.clock import Clock
from interlock_gateway.operate.policy_keeper import loaded
from interlock_gateway.operate.policy_start import FIRST_FETCH_S, FirstPolicies, first_policies, open_policies
from interlock_gateway.policy.checks.problems import Problem
from interlock_gateway.policy.engine import PolicyUnavailableError
from interlock_gateway.policy.opa.configured import opa_access, opa_engine
from interlock_gateway.policy.opa.engine import OpaEngine
from interlock_gateway.policy.opa.origin import OpaOrigin, UncheckedOrigin, described
from interlock_gateway.policy.opa.reading import READ_S, OpaReader
from interlock_gateway.policy.origin import Origin
from interlock_gateway.policy.settings import PolicySourceError
from interlock_gateway.telemetry.metrics import Metrics

_log = logging.getLogger(__name__)


async def start_opa(
    config: Config,
    clock: Clock,
    metrics: Metrics,
    stack: AsyncExitStack,
    *,
    max_input_bytes: int,
) -> tuple[OpaEngine, Origin, FirstPolicies]:
    """The engine, started, where its policies come from, and those that it starts with.

    Raises `PolicySourceError`, `InspectionError` or `PolicyUnavailableError`; not for a server that is not there yet.
    """
    wanted = config.policy

    def adopted(policy: ActivePolicy) -> None:
        metrics.policy_active(revision=policy.revision, profile=policy.profile, engine=wanted.engine)

    first = FirstPolicies(None, "")
    origin: Origin | None = None
    if not wanted.opa_loads_them:
        origin = await asyncio.to_thread(open_policies, wanted, config.policy_dir)
        stack.push_async_callback(origin.close)
        first = await first_policies(wanted, origin)
    engine = opa_engine(config, clock, bundle=first.bundle, max_input_bytes=max_input_bytes, on_adopted=adopted)
    await engine.start()
    stack.push_async_callback(engine.close)
    watch(engine, metrics)
    if origin is not None:
        return engine, origin, first
    if wanted.opa.accept_unchecked_policies:
        _log.warning("OPA's policies are not checked", extra={"place": engine.shown})
        known = FirstPolicies(described(engine), engine.revision) if engine.ready else first
        return engine, UncheckedOrigin(engine, wanted.watch_s), known
    return engine, *await _loaded_by_opa(config, clock, engine, stack)


async def _loaded_by_opa(
    config: Config, clock: Clock, engine: OpaEngine, stack: AsyncExitStack
) -> tuple[OpaOrigin, FirstPolicies]:
    """What OPA has by itself, when it is fit to decide. One that is not there yet is asked later."""
    reader = OpaReader(opa_access(config), READ_S)
    await reader.start()
    stack.push_async_callback(reader.close)
    origin = OpaOrigin(engine, reader, config.policy_dir / "opa", config.policy.watch_s, clock)
    try:
        async with asyncio.timeout(FIRST_FETCH_S):
            seen = await origin.look()
    except (PolicySourceError, TimeoutError):
        # The engine and the origin say what is the matter.
        return origin, FirstPolicies(None, "")
    bundle, problems = await loaded(origin)
    if bundle is not None:
        try:
            await engine.replace(bundle)
        except PolicyUnavailableError as error:
            # Checking took longer than what was read counts. Calls are denied, and the gateway says why.
            return origin, FirstPolicies(None, seen, (Problem("", 0, "not_loadable", str(error)),))
    return origin, FirstPolicies(bundle, seen, problems)


def watch(engine: OpaEngine, metrics: Metrics) -> None:
    """Show how asking the server goes."""
    metrics.watch(
        "interlock_policy_server_breaker",
        "Where the circuit breaker of the policy server is: 1 for its state.",
        lambda: {(state.value,): float(state is engine.figures.breaker) for state in type(engine.figures.breaker)},
        "state",
    )
    metrics.watch(
        "interlock_policy_server_calls",
        "Calls that ask the policy server, and that wait to.",
        lambda: {("asking",): engine.figures.in_flight, ("waiting",): engine.figures.waiting},
        "stage",
    )
    metrics.watch_total(
        "interlock_policy_server_breaker_opened",
        "How often the policy server failed so often that it was left alone.",
        lambda: {(): engine.figures.opened},
    )
    metrics.watch_total(
        "interlock_policy_server_answers",
        "Questions to the policy server by what came of them.",
        lambda: {(outcome,): count for outcome, count in engine.figures.answers.items()},
        "outcome",
    )
