"""Starts a gateway's policies where an OPA server decides. Loaded only then: the HTTP client takes 25 MB."""

import asyncio
from contextlib import AsyncExitStack

from interlock_gateway.config import Config
from interlock_gateway.core.answer import ActivePolicy
from interlock_gateway.core.clock import Clock
from interlock_gateway.operate.policy_start import FirstPolicies, first_policies, open_policies
from interlock_gateway.policy.opa.configured import opa_engine
from interlock_gateway.policy.opa.engine import OpaEngine
from interlock_gateway.policy.opa.origin import OpaOrigin, described
from interlock_gateway.policy.origin import Origin
from interlock_gateway.telemetry.metrics import Metrics


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
    pushes = config.policy.opa.policies == "push"
    first = FirstPolicies(None, "")
    origin: Origin | None = None
    if pushes:
        origin = await asyncio.to_thread(open_policies, config.policy, config.policy_dir)
        stack.push_async_callback(origin.close)
        first = await first_policies(config.policy, origin)

    def adopted(policy: ActivePolicy) -> None:
        metrics.policy_active(revision=policy.revision, profile=policy.profile, engine=config.policy.engine)

    engine = opa_engine(config, clock, bundle=first.bundle, max_input_bytes=max_input_bytes, on_adopted=adopted)
    await engine.start()
    stack.push_async_callback(engine.close)
    watch(engine, metrics)
    if origin is None:
        origin = OpaOrigin(engine, config.policy.watch_s)
        first = FirstPolicies(described(engine), engine.revision) if engine.ready else first
    return engine, origin, first


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
