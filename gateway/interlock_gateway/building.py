"""What a gateway is made of, built from its configuration: the one file that knows every room. There are no globals."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
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
from interlock_gateway.artifacts.store import ArtifactStore
from interlock_gateway.audit.errors import AuditDamagedError
from interlock_gateway.audit.keys import load_or_create
from interlock_gateway.audit.log import AuditLimits, AuditLog
from interlock_gateway.audit.recorder import AuditRecorder
from interlock_gateway.cancelled import cancelled
from interlock_gateway.config import Config
from interlock_gateway.core.clock import Clock
from interlock_gateway.entrance import entrance
from interlock_gateway.errors import ConfigError
from interlock_gateway.extensions.plugged import plugged_in
from interlock_gateway.facts.offload import OffloadedFacts
from interlock_gateway.gatewaytools import DEFINITIONS, DiscoveryTools, GatewayTools
from interlock_gateway.operate.confirm import consented
from interlock_gateway.operate.exemption_watch import ExemptionWatch
from interlock_gateway.operate.policy_keeper import PolicyKeeper, Reload
from interlock_gateway.operate.policy_start import FirstPolicies, first_policies, open_policies
from interlock_gateway.operate.shadow_keeper import ShadowKeeper
from interlock_gateway.pipeline.core import CallPipeline
from interlock_gateway.pipeline.no_tracer import NoTracer
from interlock_gateway.pipeline.parts import Parts, PipelineSettings, Tracer
from interlock_gateway.pipeline.ports import StateError, Waiters
from interlock_gateway.pipeline.schemas_aside import SchemasAside
from interlock_gateway.pipeline.tasks import TaskKeeper
from interlock_gateway.policy.embedded.engine import EmbeddedEngine
from interlock_gateway.policy.embedded.pool_settings import PoolSettings
from interlock_gateway.policy.engine import PolicyEngine, PolicyUnavailableError
from interlock_gateway.policy.inspection import InspectionError
from interlock_gateway.policy.origin import Origin
from interlock_gateway.policy.settings import PolicySourceError
from interlock_gateway.policy.shadow.log import DifferenceLog
from interlock_gateway.processors import processors
from interlock_gateway.providers.directory import Directory
from interlock_gateway.references.resolver import ReferenceResolver
from interlock_gateway.registry.deferral import Deferral
from interlock_gateway.registry.registry import GATEWAY_PROVIDER, ToolRegistry, Trust
from interlock_gateway.results.process import ResultProcessor
from interlock_gateway.results.redaction import Redactor
from interlock_gateway.serving import OVERHEAD_BYTES, Rooms
from interlock_gateway.sessions.awake import AWAKE_PROCESSORS, AWAKE_S, Awake
from interlock_gateway.sessions.book import SessionBook
from interlock_gateway.sessions.call_counts import CallCounts
from interlock_gateway.sessions.discovery import Discovery
from interlock_gateway.sessions.gate import Gate
from interlock_gateway.state.store import SqlStateStore
from interlock_gateway.telemetry.after_answers import AfterAnswers
from interlock_gateway.telemetry.artifact_metrics import watch_artifacts
from interlock_gateway.telemetry.metrics import Metrics
from interlock_gateway.telemetry.surroundings import watch_exemptions, watch_policy


@dataclass(frozen=True, slots=True)
class _Site:
    """What every room is built with; `stack` takes down what was begun, the last first."""

    config: Config
    clock: Clock
    replica: str
    stack: AsyncExitStack
    metrics: Metrics
    redactor: Redactor

    def redacted(self, text: str) -> str:
        """A text without its secrets."""
        return self.redactor.redact_text(text).text


async def build(config: Config, clock: Clock, replica: str, stack: AsyncExitStack) -> Rooms:
    """The rooms of one gateway, put together; `stack` takes them down again. Raises `ConfigError`."""
    site = _Site(config, clock, replica, stack, Metrics(CollectorRegistry()), Redactor())
    engine, policy = await _policy(config, clock, site.metrics, stack)
    store = await _store(config, replica, stack)
    await store.journal.recover(clock.now())
    audit = _audit(site)
    artifacts = _artifacts(site, store)
    tools = await _tools(site, store, artifacts)
    approvals = await _approvals(site, store)
    references = ReferenceResolver(config.workspace_roots, artifacts, site.redactor, site.metrics)
    stack.callback(references.close)
    shadow = _shadow(site)
    parts = await _parts(site, tools, (engine, store, audit, artifacts), approvals, shadow)
    pipeline = CallPipeline(parts)
    stack.callback(pipeline.large_inputs.close)
    pipeline.gate.delay_s = engine.delay_s
    if isinstance(engine, EmbeddedEngine):
        engine.is_crowded = lambda: pipeline.gate.crowded
    _stay_awake(config, pipeline.gate, audit)
    await _begin_counting(site, store, approvals, engine)
    return Rooms(
        parts=parts,
        pipeline=pipeline,
        engine=engine,
        store=store,
        approvals=approvals,
        entrance=await stack.enter_async_context(entrance(config, clock, site.metrics)),
        artifacts=artifacts,
        audit=audit,
        metrics=site.metrics,
        directory=tools.directory,
        policy=policy,
        shadow=shadow,
        discovery=tools.discovery,
        references=references,
    )


@dataclass(frozen=True, slots=True)
class _Tools:
    """Which tools there are, who provides them, and who has seen which."""

    registry: ToolRegistry
    directory: Directory
    sessions: SessionBook
    deferral: Deferral
    discovery: Discovery


async def _tools(site: _Site, store: SqlStateStore, artifacts: ArtifactStore) -> _Tools:
    config = site.config
    schemas = SchemasAside()
    site.stack.callback(schemas.close)
    registry = ToolRegistry(store.pins, config.tools, site.clock, schemas)
    await registry.load()
    registry.restore_consents(consented(await store.pins.load_consents()))
    directory = Directory(
        registry, site.clock, at_state=config.at_state, max_message_bytes=config.limits.max_provider_bytes
    )
    site.stack.push_async_callback(directory.close)
    sessions = SessionBook(store, site.clock, config.workspace_roots)
    deferral = Deferral(registry, config.deferred.threshold, config.deferred.always_loaded)
    discovery = Discovery(registry, deferral, sessions)
    directory.add_built_in(GatewayTools(artifacts, DiscoveryTools(discovery, sessions, config.confidence_field)))
    await registry.register(GATEWAY_PROVIDER, DEFINITIONS, Trust(follow=True))
    return _Tools(registry, directory, sessions, deferral, discovery)


async def _parts(
    site: _Site,
    tools: _Tools,
    stores: tuple[PolicyEngine, SqlStateStore, AuditLog, ArtifactStore],
    approvals: ApprovalRoom,
    shadow: ShadowKeeper,
) -> Parts:
    config, clock, metrics = site.config, site.clock, site.metrics
    engine, store, audit, artifacts = stores
    counts = CallCounts(store, clock)
    await counts.forget_old()
    facts = OffloadedFacts(config.workspace_roots)
    site.stack.callback(facts.close)
    plugged = await site.stack.enter_async_context(plugged_in(config.extensions, clock, store, metrics))
    return Parts(
        settings=_settings(config, site.replica),
        clock=clock,
        sessions=tools.sessions,
        counts=counts,
        registry=tools.registry,
        deferral=tools.deferral,
        providers=tools.directory,
        engine=engine,
        facts=facts,
        store=store,
        recorder=AuditRecorder(audit, site.replica),
        results=_results(site, artifacts),
        observer=AfterAnswers(metrics),
        approvers=approvals.desk,
        tasks=TaskKeeper(),
        tracer=await site.stack.enter_async_context(_traced(config, clock, metrics, site.replica, tools.directory)),
        interceptors=plugged.interceptors,
        hooks=plugged.hooks,
        shadow=shadow,
    )


def _stay_awake(config: Config, gate: Gate, audit: AuditLog) -> None:
    seconds = config.server.awake_s
    if seconds is None:  # on one processor nobody else gets on with it meanwhile
        seconds = AWAKE_S if processors() >= AWAKE_PROCESSORS else 0.0
    if seconds:
        # What writes receipts needs the interpreter, and perhaps the processor: it comes first.
        gate.on_alone = Awake(seconds, lambda: gate.in_flight <= 1 and not audit.is_working).begin


def _results(site: _Site, artifacts: ArtifactStore) -> ResultProcessor:
    limits = site.config.limits
    return ResultProcessor(
        site.redactor,
        artifacts,
        text_bytes=limits.max_result_bytes,
        part_bytes=limits.max_part_bytes,
        on_processed=site.metrics.result_processed,
    )


async def _begin_counting(site: _Site, store: SqlStateStore, approvals: ApprovalRoom, engine: PolicyEngine) -> None:
    metrics = site.metrics
    metrics.pending_changed(await store.pending.count_every_pending(site.clock.now()))
    metrics.on_call_ended = approvals.history.recent.note
    metrics.policy_active(revision=engine.revision, profile=engine.profile, engine=site.config.policy.engine)


def _shadow(site: _Site) -> ShadowKeeper:
    differences = DifferenceLog(site.config.policy_dir)
    shadow = ShadowKeeper(site.config.policy, site.clock, site.metrics, differences, site.redacted)
    site.stack.push_async_callback(shadow.close)
    return shadow


def _artifacts(site: _Site, store: SqlStateStore) -> ArtifactStore:
    config = site.config
    kept = open_artifacts(config.artifacts, config.at_state(config.artifacts.url), store.artifacts, site.clock)
    watch_artifacts(site.metrics, kept.keeper.upkeep)
    site.stack.push_async_callback(cancelled(asyncio.create_task(kept.keeper.run())))
    return kept.store


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


async def _approvals(site: _Site, store: SqlStateStore) -> ApprovalRoom:
    config, redactor = site.config, site.redactor
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
    desk = ApprovalDesk(store.checkpoints, site.clock, watches, editor, channels=channels, register=register)
    history = SessionHistory(store.journal, site.redacted)
    return ApprovalRoom(desk, watches, history, webhooks, people)


def _audit(site: _Site) -> AuditLog:
    config = site.config
    directory = Path(config.at_state(config.audit.dir))
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    try:
        key = load_or_create(Path(config.at_state(config.audit.key_file)))
        audit = AuditLog(
            directory, key, site.clock, site.redactor, AuditLimits(segment_bytes=config.audit.segment_bytes)
        )
    except AuditDamagedError as error:
        raise ConfigError(f"the receipts cannot be continued: {error.message}") from None
    site.stack.push_async_callback(asyncio.to_thread, audit.close)
    return audit


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
