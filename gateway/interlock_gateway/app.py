"""The composition root: builds the gateway from its configuration, starts it, and takes it down again.

The one file that knows every room; there are no globals.
"""

import asyncio
import contextlib
import gc
import logging
import signal
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from pathlib import Path

from prometheus_client import CollectorRegistry

from interlock_gateway.approvals.at_clients import people_of
from interlock_gateway.approvals.desk import ApprovalDesk
from interlock_gateway.approvals.editing import Editor
from interlock_gateway.approvals.history import SessionHistory
from interlock_gateway.approvals.room import ApprovalRoom
from interlock_gateway.approvals.watches import Watches
from interlock_gateway.approvals.webhooks.targets import webhook_of
from interlock_gateway.artifacts.room import open_artifacts
from interlock_gateway.audit.errors import AuditDamagedError
from interlock_gateway.audit.keys import load_or_create
from interlock_gateway.audit.log import AuditLimits, AuditLog
from interlock_gateway.audit.recorder import AuditRecorder
from interlock_gateway.clock import SystemClock
from interlock_gateway.config import Config
from interlock_gateway.core.clock import Clock
from interlock_gateway.entrance import entrance
from interlock_gateway.errors import ConfigError
from interlock_gateway.extensions.plugged import plugged_in
from interlock_gateway.facts.offload import OffloadedFacts
from interlock_gateway.figures import show
from interlock_gateway.gatewaytools import DEFINITIONS, DiscoveryTools, GatewayTools
from interlock_gateway.operate.confirm import consented
from interlock_gateway.operate.exemption_watch import ExemptionWatch
from interlock_gateway.operate.policy_keeper import PolicyKeeper, Reload
from interlock_gateway.operate.policy_start import FirstPolicies, first_policies, open_policies
from interlock_gateway.operate.policy_watch import PolicyWatch
from interlock_gateway.operate.shadow_keeper import ShadowKeeper
from interlock_gateway.pipeline.core import CallPipeline
from interlock_gateway.pipeline.no_tracer import NoTracer
from interlock_gateway.pipeline.parts import Parts, PipelineSettings, Tracer
from interlock_gateway.pipeline.ports import StateError, Waiters
from interlock_gateway.pipeline.tasks import TaskKeeper
from interlock_gateway.policy.embedded.engine import EmbeddedEngine
from interlock_gateway.policy.embedded.pool_settings import PoolSettings
from interlock_gateway.policy.engine import PolicyEngine, PolicyUnavailableError
from interlock_gateway.policy.inspection import InspectionError
from interlock_gateway.policy.origin import Origin
from interlock_gateway.policy.settings import PolicySourceError
from interlock_gateway.policy.shadow.log import DifferenceLog
from interlock_gateway.providers.directory import Directory
from interlock_gateway.references.resolver import ReferenceResolver
from interlock_gateway.registry.deferral import Deferral
from interlock_gateway.registry.registry import GATEWAY_PROVIDER, ToolRegistry, Trust
from interlock_gateway.results.process import ResultProcessor
from interlock_gateway.results.redaction import Redactor
from interlock_gateway.serving import OVERHEAD_BYTES, Endpoints, Gateway, Rooms
from interlock_gateway.sessions.book import SessionBook
from interlock_gateway.sessions.call_counts import CallCounts
from interlock_gateway.sessions.discovery import Discovery
from interlock_gateway.state.store import SqlStateStore
from interlock_gateway.state_directory import state_directory
from interlock_gateway.telemetry.artifact_metrics import watch_artifacts
from interlock_gateway.telemetry.exposition import exposed
from interlock_gateway.telemetry.logs import log_uncaught_of
from interlock_gateway.telemetry.loop_lag import LoopLag
from interlock_gateway.telemetry.metrics import Metrics
from interlock_gateway.telemetry.surroundings import watch_exemptions, watch_policy, watch_webhooks
from interlock_gateway.transport.grpc.listening import ADMIN_SERVICE, APPROVAL_SERVICE, GATEWAY_SERVICE, HUB_SERVICE
from interlock_gateway.transport.health import Health

FIRST_CONTACT_S = 1.0
"""How long a start waits for its providers, so that the first call finds their tools. It serves without them too."""
_log = logging.getLogger(__name__)


def _spare_the_collector() -> None:
    """Let the garbage collector leave alone what lives as long as the process, and look less often at the rest.

    A call makes hundreds of objects and no cycles; looking for some every 700 objects took a tenth of each call.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 50)


async def serve(config: Config, ready: Callable[[Endpoints], None]) -> None:
    """Run a gateway until SIGTERM or SIGINT, then drain it. `ready` is told once it serves.

    Between the signal and the drain lies `server.drain_delay_s`, in which it serves, and says that it is leaving.
    Raises `ConfigError` when the configuration cannot be used.
    """
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    log_uncaught_of(loop)
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    async with running(config) as gateway:
        _spare_the_collector()
        reload_on_hangup(loop, gateway)
        ready(gateway.endpoints)
        await stop.wait()
        stop.clear()
        await gateway.serve_out(stop)
        _log.info("draining")


def reload_on_hangup(loop: asyncio.AbstractEventLoop, gateway: Gateway) -> None:
    """Load the policies again whenever SIGHUP comes, as daemons do."""
    under_way: set[asyncio.Task[Reload]] = set()

    def reload() -> None:
        task = loop.create_task(gateway.rooms.policy.reload())
        under_way.add(task)
        task.add_done_callback(under_way.discard)

    loop.add_signal_handler(signal.SIGHUP, reload)


@asynccontextmanager
async def running(config: Config, clock: Clock | None = None) -> AsyncIterator[Gateway]:
    """A gateway that serves inside the block, and is drained at its end. Raises `ConfigError`."""
    clock = clock or SystemClock()
    async with AsyncExitStack() as stack:
        replica = stack.enter_context(state_directory(config))
        rooms = await _build(config, clock, replica, stack)
        health = Health((GATEWAY_SERVICE, ADMIN_SERVICE, APPROVAL_SERVICE, HUB_SERVICE))
        gateway = Gateway(config, rooms, health, clock, replica)
        show(gateway)
        stack.push_async_callback(_cancelled(asyncio.create_task(LoopLag(rooms.metrics.registry).run())))
        stack.push_async_callback(rooms.parts.sessions.flush)
        stack.push_async_callback(rooms.parts.counts.flush)
        stack.push_async_callback(gateway.drain)
        await gateway.listen(await stack.enter_async_context(exposed(config.metrics.listen, rooms.metrics.registry)))
        answers = await stack.enter_async_context(_answered(config, clock, rooms))
        gateway.endpoints = replace(gateway.endpoints, answers=answers)
        keeper = asyncio.create_task(gateway.keep_house())
        stack.push_async_callback(_cancelled(keeper))
        if config.policy.watch:
            stack.push_async_callback(_cancelled(asyncio.create_task(PolicyWatch(rooms.policy).run())))
            stack.push_async_callback(_cancelled(asyncio.create_task(PolicyWatch(rooms.shadow).run())))
        stack.push_async_callback(_cancelled(asyncio.create_task(rooms.shadow.begin())))
        for spec in config.providers:
            rooms.directory.add(spec, configured=True)
        await rooms.directory.settled(FIRST_CONTACT_S)
        health.set(serving=gateway.fit_to_serve())
        yield gateway


async def _build(config: Config, clock: Clock, replica: str, stack: AsyncExitStack) -> Rooms:
    metrics = Metrics(CollectorRegistry())
    engine, policy = await _policy(config, clock, metrics, stack)
    store = await _store(config, replica, stack)
    await store.journal.recover(clock.now())
    redactor = Redactor()
    audit = _audit(config, clock, redactor)
    stack.push_async_callback(asyncio.to_thread, audit.close)
    kept = open_artifacts(config.artifacts, config.at_state(config.artifacts.url), store.artifacts, clock)
    artifacts = kept.store
    watch_artifacts(metrics, kept.keeper.upkeep)
    stack.push_async_callback(_cancelled(asyncio.create_task(kept.keeper.run())))
    registry = ToolRegistry(store.pins, config.tools, clock)
    await registry.load()
    registry.restore_consents(consented(await store.pins.load_consents()))
    approvals = await _approvals(config, clock, store, redactor)
    limits = config.limits
    directory = Directory(registry, clock, at_state=config.at_state, max_message_bytes=limits.max_provider_bytes)
    stack.push_async_callback(directory.close)
    sessions = SessionBook(store, clock, config.workspace_roots)
    counts = CallCounts(store, clock)
    await counts.forget_old()
    deferral = Deferral(registry, config.deferred.threshold, config.deferred.always_loaded)
    discovery = Discovery(registry, deferral, sessions)
    directory.add_built_in(GatewayTools(artifacts, DiscoveryTools(discovery, sessions, config.confidence_field)))
    await registry.register(GATEWAY_PROVIDER, DEFINITIONS, Trust(follow=True))
    facts = OffloadedFacts(config.workspace_roots)
    stack.callback(facts.close)
    references = ReferenceResolver(config.workspace_roots, artifacts, redactor, metrics)
    stack.callback(references.close)
    plugged = await stack.enter_async_context(plugged_in(config.extensions, clock, store, metrics))
    differences = DifferenceLog(config.policy_dir)
    shadow = ShadowKeeper(config.policy, clock, metrics, differences, lambda text: redactor.redact_text(text).text)
    stack.push_async_callback(shadow.close)
    parts = Parts(
        settings=_settings(config, replica),
        clock=clock,
        sessions=sessions,
        counts=counts,
        registry=registry,
        deferral=deferral,
        providers=directory,
        engine=engine,
        facts=facts,
        store=store,
        recorder=AuditRecorder(audit, replica),
        results=ResultProcessor(
            redactor,
            artifacts,
            text_bytes=limits.max_result_bytes,
            part_bytes=limits.max_part_bytes,
            on_processed=metrics.result_processed,
        ),
        observer=metrics,
        approvers=approvals.desk,
        tasks=TaskKeeper(),
        tracer=await stack.enter_async_context(_traced(config, clock, metrics, replica, directory)),
        interceptors=plugged.interceptors,
        hooks=plugged.hooks,
        shadow=shadow,
    )
    pipeline = CallPipeline(parts)
    stack.callback(pipeline.large_inputs.close)
    pipeline.gate.delay_s = engine.delay_s
    metrics.pending_changed(await store.pending.count_every_pending(clock.now()))
    metrics.on_call_ended = approvals.history.recent.note
    metrics.policy_active(revision=engine.revision, profile=engine.profile, engine=config.policy.engine)
    return Rooms(
        parts=parts,
        pipeline=pipeline,
        engine=engine,
        store=store,
        approvals=approvals,
        entrance=await stack.enter_async_context(entrance(config, clock, metrics)),
        artifacts=artifacts,
        audit=audit,
        metrics=metrics,
        directory=directory,
        policy=policy,
        shadow=shadow,
        discovery=discovery,
        references=references,
    )


@asynccontextmanager
async def _traced(
    config: Config, clock: Clock, metrics: Metrics, replica: str, directory: Directory
) -> AsyncIterator[Tracer]:
    if not config.tracing.endpoint:
        yield NoTracer()
        return
    # OpenTelemetry's libraries take 10 MiB: only who traces pays for them.
    from interlock_gateway.telemetry.tracing import traced  # noqa: PLC0415 -- as said above

    tracer, queue = traced(config.tracing, clock, metrics, replica, directory)
    try:
        yield tracer
    finally:
        await asyncio.to_thread(queue.close)


async def _policy(
    config: Config, clock: Clock, metrics: Metrics, stack: AsyncExitStack
) -> tuple[PolicyEngine, PolicyKeeper]:
    wanted = config.policy
    starting = _embedded if wanted.engine == "embedded" else _opa
    try:
        engine, origin, first = await starting(config, clock, metrics, stack)
    except (PolicySourceError, PolicyUnavailableError, InspectionError) as error:
        raise ConfigError(f"the policies cannot be used: {error}") from None

    def reloaded(outcome: Reload) -> None:
        metrics.policy_reloaded(accepted=outcome.accepted)
        metrics.policy_active(revision=engine.revision, profile=engine.profile, engine=wanted.engine)
        exemptions.warn()

    keeper = PolicyKeeper(wanted, engine, clock, origin=origin, bundle=first.bundle, on_reload=reloaded)
    exemptions = ExemptionWatch(lambda: keeper.bundle, clock)
    exemptions.warn()
    watch_exemptions(metrics, exemptions.counts)
    await keeper.began_with(first.seen, first.problems)
    watch_policy(metrics, lambda: keeper.activated_at, lambda: origin.status.from_disk)
    return engine, keeper


async def _embedded(
    config: Config, _clock: Clock, _metrics: Metrics, stack: AsyncExitStack
) -> tuple[PolicyEngine, Origin, FirstPolicies]:
    wanted = config.policy
    origin = await asyncio.to_thread(open_policies, wanted, config.policy_dir)
    stack.push_async_callback(origin.close)
    first = await first_policies(wanted, origin)
    engine = EmbeddedEngine(
        first.bundle,
        PoolSettings(workers=wanted.workers, timeout_s=wanted.timeout_s, memory_bytes=wanted.max_worker_bytes),
        max_input_bytes=config.limits.max_input_bytes + OVERHEAD_BYTES,
    )
    await engine.start()
    stack.push_async_callback(engine.close)
    return engine, origin, first


async def _opa(
    config: Config, clock: Clock, metrics: Metrics, stack: AsyncExitStack
) -> tuple[PolicyEngine, Origin, FirstPolicies]:
    # An HTTP client of 25 MB: only who has an OPA server pays for it.
    from interlock_gateway.operate.opa_start import start_opa  # noqa: PLC0415 -- as said above

    return await start_opa(
        config, clock, metrics, stack, max_input_bytes=config.limits.max_input_bytes + OVERHEAD_BYTES
    )


async def _store(config: Config, replica: str, stack: AsyncExitStack) -> SqlStateStore:
    try:
        store = await SqlStateStore.open(config.at_state(config.state.database), replica_id=replica)
        stack.push_async_callback(store.close)
        await store.join(config.state.lease_s)
    except (StateError, ValueError) as error:
        raise ConfigError(f"the state database cannot be used: {error}") from None
    return store


async def _approvals(config: Config, clock: Clock, store: SqlStateStore, redactor: Redactor) -> ApprovalRoom:
    limits, settings = config.limits, config.approvals
    webhooks = tuple(map(webhook_of, settings.webhooks))
    # A gateway with a database to itself has nobody to tell who watches.
    register = store.watches if config.state.database.startswith("postgresql:") else None
    if register is not None:
        await register.forget_own_watches()
    watches = Watches(store.checkpoints, store.changes, most=settings.max_watches, register=register)
    editor = Editor(limits.max_input_bytes, limits.max_depth, lambda value: redactor.redact_value(value).value)
    people = people_of(config.mcp)
    channels = people.beside(webhook.channel for webhook in webhooks)
    desk = ApprovalDesk(store.checkpoints, clock, watches, editor, channels=channels, register=register)
    history = SessionHistory(store.journal, lambda text: redactor.redact_text(text).text)
    return ApprovalRoom(desk, watches, history, webhooks, people)


@asynccontextmanager
async def _answered(config: Config, clock: Clock, rooms: Rooms) -> AsyncIterator[str]:
    """Webhooks, inside the block; where their answers come in, empty when there are none."""
    if not rooms.approvals.webhooks:
        yield ""
        return
    # HTTP client and server take a third of a second to load: only who has webhooks pays for them.
    from interlock_gateway.approvals.webhooks.posting import PostCounts  # noqa: PLC0415 -- as said above
    from interlock_gateway.transport.http.answering import AnsweringParts, answering  # noqa: PLC0415 -- as said above

    posts = PostCounts(rooms.approvals.webhooks)
    watch_webhooks(rooms.metrics, lambda: posts.counts)
    parts = AnsweringParts(
        desk=rooms.approvals.desk,
        checkpoints=rooms.store.checkpoints,
        store=rooms.store.approvals,
        changes=rooms.store.changes,
        clock=clock,
        webhooks=rooms.approvals.webhooks,
        listen=config.approvals.listen,
        public_url=config.approvals.public_url,
        posts=posts,
    )
    async with answering(parts) as address:
        yield address


def _audit(config: Config, clock: Clock, redactor: Redactor) -> AuditLog:
    directory = Path(config.at_state(config.audit.dir))
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    try:
        key = load_or_create(Path(config.at_state(config.audit.key_file)))
        return AuditLog(directory, key, clock, redactor, AuditLimits(segment_bytes=config.audit.segment_bytes))
    except AuditDamagedError as error:
        raise ConfigError(f"the receipts cannot be continued: {error.message}") from None


def _settings(config: Config, replica: str) -> PipelineSettings:
    limits = config.limits
    return PipelineSettings(
        replica=replica,
        max_input_bytes=limits.max_input_bytes,
        max_depth=limits.max_depth,
        default_timeout_s=limits.default_timeout_s,
        max_timeout_s=limits.max_timeout_s,
        pending_expires_s=config.pending.expires_s,
        pending_mode=config.pending.mode.value,
        confidence_field=config.confidence_field,
        max_calls_in_flight=limits.max_calls_in_flight,
        max_waiting_calls=limits.max_waiting_calls,
        open_checkpoints=Waiters(limits.max_open_checkpoints_per_session, limits.max_open_checkpoints),
        checkpoint_expires_s=config.approvals.default_expires_s,
        checkpoint_quorum=config.approvals.default_quorum,
        max_batch_parallel=limits.max_batch_parallel,
    )


def _cancelled(task: "asyncio.Task[None]") -> Callable[[], Awaitable[None]]:
    async def cancel() -> None:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task

    return cancel
