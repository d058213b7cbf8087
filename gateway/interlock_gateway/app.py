"""The composition root: builds the gateway from its configuration, starts it, and takes it down again.

The one file that knows every room; there are no globals.
"""

import asyncio
import contextlib
import fcntl
import logging
import os
import signal
import socket
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from prometheus_client import CollectorRegistry
from prometheus_client.exposition import start_http_server

from interlock_gateway.artifacts.backend import open_backend
from interlock_gateway.artifacts.store import ArtifactStore
from interlock_gateway.audit.errors import AuditDamagedError
from interlock_gateway.audit.keys import load_or_create
from interlock_gateway.audit.log import AuditLimits, AuditLog
from interlock_gateway.audit.recorder import AuditRecorder
from interlock_gateway.clock import SystemClock
from interlock_gateway.config import Config
from interlock_gateway.core.clock import Clock
from interlock_gateway.errors import ConfigError
from interlock_gateway.facts.offload import OffloadedFacts
from interlock_gateway.gatewaytools import DEFINITIONS, GatewayTools
from interlock_gateway.identity.authenticate import (
    Authenticator,
    TokenAuthenticator,
    agent_socket,
    operator_socket,
)
from interlock_gateway.operate.confirm import Confirmations, consented
from interlock_gateway.operate.policy_keeper import PolicyKeeper
from interlock_gateway.operate.status import Component, GatewayState
from interlock_gateway.pipeline.core import CallPipeline
from interlock_gateway.pipeline.parts import Parts, PipelineSettings
from interlock_gateway.pipeline.ports import StateError
from interlock_gateway.pipeline.tasks import TaskKeeper
from interlock_gateway.policy.embedded.engine import EmbeddedEngine
from interlock_gateway.policy.embedded.pool import PoolSettings
from interlock_gateway.policy.engine import PolicyUnavailableError
from interlock_gateway.policy.loader import load_bundle
from interlock_gateway.policy.settings import PolicySourceError
from interlock_gateway.providers.directory import Directory
from interlock_gateway.registry.registered import RegisteredTool
from interlock_gateway.registry.registry import GATEWAY_PROVIDER, ToolRegistry, Trust
from interlock_gateway.results.process import ResultProcessor
from interlock_gateway.results.redaction import Redactor
from interlock_gateway.sessions.book import SessionBook
from interlock_gateway.state.store import SqlStateStore
from interlock_gateway.telemetry.metrics import Metrics
from interlock_gateway.transport.grpc.admin_service import AdminParts, AdminRpcs
from interlock_gateway.transport.grpc.artifact_rpcs import ArtifactRpcs
from interlock_gateway.transport.grpc.endpoint import service_handler
from interlock_gateway.transport.grpc.gateway_service import GatewayRpcs
from interlock_gateway.transport.grpc.server import ADMIN_SERVICE, GATEWAY_SERVICE, GrpcListener, Health

OVERHEAD_BYTES = 1024 * 1024
"""What a request may hold besides the input of its call."""
HOUSEKEEPING_S = 1.0
FIRST_CONTACT_S = 1.0
"""How long a start waits for its providers, so that the first call finds their tools. It serves without them too."""
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Endpoints:
    """Where a running gateway is reached, and what decides there."""

    agents: tuple[str, ...]
    operators: tuple[str, ...]
    metrics: str
    policy_revision: str
    profile: str


@dataclass(frozen=True, slots=True)
class Rooms:
    """The built gateway."""

    parts: Parts
    pipeline: CallPipeline
    engine: EmbeddedEngine
    store: SqlStateStore
    artifacts: ArtifactStore
    audit: AuditLog
    metrics: Metrics
    directory: Directory
    policy: PolicyKeeper


class Gateway:
    """A gateway that is serving. Made by `running`."""

    def __init__(self, config: Config, rooms: Rooms, health: Health, clock: Clock, replica: str) -> None:
        self.config = config
        self.rooms = rooms
        self._health = health
        self._clock = clock
        self._replica = replica
        self._started_at = clock.now()
        self._listeners: list[GrpcListener] = []
        self.endpoints = Endpoints((), (), "", rooms.engine.revision, rooms.engine.profile)

    def state(self) -> GatewayState:
        """How the gateway is at this moment."""
        rooms = self.rooms
        stats = rooms.audit.stats
        book = rooms.parts.sessions
        return GatewayState(
            version=version("interlock-gateway"),
            replica=self._replica,
            started_at=self._started_at,
            serving=self._health.serving,
            draining=rooms.pipeline.draining,
            profile=rooms.engine.profile,
            policy_revision=rooms.engine.revision,
            components=self._components(),
            sessions=len(book),
            calls_in_flight=rooms.pipeline.in_flight,
            pending_actions=book.pending_in_memory(),
            audit_backlog=rooms.audit.backlog,
            audit_lost=stats.dropped,
        )

    async def providers_settled(self, timeout_s: float) -> None:
        """Wait until every provider has described itself once, at most `timeout_s` seconds."""
        await self.rooms.directory.settled(timeout_s)

    def idle(self) -> bool:
        """Whether no call is in flight, and nothing is left to be journaled of those that were."""
        return self.rooms.pipeline.in_flight == 0 and len(self.rooms.parts.tasks) == 0

    def tool(self, name: str) -> RegisteredTool | None:
        """The tool with this name or alias, as it is registered now."""
        return self.rooms.parts.registry.find(name)

    async def drain(self) -> None:
        """Take no new calls, and let those in flight end."""
        self.rooms.pipeline.draining = True
        await self._health.set(serving=False)
        await asyncio.gather(*(listener.stop(self.config.server.drain_s) for listener in self._listeners))
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(self.config.server.drain_s):
                await self.rooms.parts.tasks.drain()

    async def listen(self) -> None:
        """Bind every address and serve. Raises `ConfigError` for an address that cannot be had."""
        server = self.config.server
        sockets, tcp = _split(server.listen)
        identity = self.config.identity
        mode = int(server.socket_mode, 8)
        agents = self._listener(sockets, agent_socket(identity), mode, admin=False)
        tokens = TokenAuthenticator(identity.tokens, anonymous=identity.anonymous_agents_on_loopback)
        agents += self._listener(tcp, tokens, mode, admin=True)
        operators = self._listener(server.operator_listen, operator_socket(identity), 0o600, admin=True)
        for listener in self._listeners:
            await listener.start()
        metrics = self._serve_metrics()
        engine = self.rooms.engine
        self.endpoints = Endpoints(tuple(agents), tuple(operators), metrics, engine.revision, engine.profile)

    async def keep_house(self) -> None:
        """Until cancelled: flush session facts, expire pending actions, and say in health how things are."""
        while True:
            await self._health.set(serving=self._fit_to_serve())
            try:
                await self.rooms.parts.sessions.flush()
                await self.rooms.parts.sessions.expire()
            except StateError as error:
                _log.warning("state is not available", extra={"problem": str(error)})
            await asyncio.sleep(HOUSEKEEPING_S)

    def _fit_to_serve(self) -> bool:
        return all(component.healthy for component in self._components()) and not self.rooms.pipeline.draining

    def _components(self) -> tuple[Component, ...]:
        rooms = self.rooms
        return (
            Component("policy", rooms.engine.ready, "" if rooms.engine.ready else "no worker with the policy lives"),
            Component("state", rooms.store.healthy, "" if rooms.store.healthy else "the database cannot be written"),
            Component("audit", rooms.audit.healthy, "" if rooms.audit.healthy else "receipts cannot be written"),
        )

    def _listener(
        self, addresses: tuple[str, ...], authenticator: Authenticator, mode: int, *, admin: bool
    ) -> list[str]:
        if not addresses:
            return []
        rooms = self.rooms
        agent_rpcs = GatewayRpcs(rooms.parts, rooms.pipeline).rpcs()
        agent_rpcs |= ArtifactRpcs(rooms.artifacts, rooms.parts.sessions).rpcs()
        handlers = [(GATEWAY_SERVICE, service_handler(GATEWAY_SERVICE, agent_rpcs, authenticator))]
        if admin:
            rpcs = AdminRpcs(self._admin_parts()).rpcs()
            handlers.append((ADMIN_SERVICE, service_handler(ADMIN_SERVICE, rpcs, authenticator)))
        listener = GrpcListener(handlers, self._health, self.config.limits.max_input_bytes + OVERHEAD_BYTES)
        self._listeners.append(listener)
        return [listener.listen(self.config.at_state(address), mode) for address in addresses]

    def _admin_parts(self) -> AdminParts:
        rooms = self.rooms
        return AdminParts(
            clock=self._clock,
            store=rooms.store,
            sessions=rooms.parts.sessions,
            registry=rooms.parts.registry,
            directory=rooms.directory,
            confirmations=Confirmations(rooms.parts.registry, rooms.store.pins, self._clock),
            policy=rooms.policy,
            state=self.state,
        )

    def _serve_metrics(self) -> str:
        listen = self.config.metrics.listen
        if not listen:
            return ""
        host, _, port = listen.rpartition(":")
        try:
            server, _ = start_http_server(int(port), host, registry=self.rooms.metrics.registry)
        except (OSError, ValueError) as error:
            raise ConfigError(f"cannot serve metrics on {listen}: {error}") from None
        return f"{host}:{server.server_port}"


async def serve(config: Config, ready: Callable[[Endpoints], None]) -> None:
    """Run a gateway until SIGTERM or SIGINT, then drain it. `ready` is told once it serves.

    Raises `ConfigError` when the configuration cannot be used.
    """
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    async with running(config) as gateway:
        ready(gateway.endpoints)
        await stop.wait()
        _log.info("draining")


@asynccontextmanager
async def running(config: Config, clock: Clock | None = None) -> AsyncIterator[Gateway]:
    """A gateway that serves inside the block, and is drained at its end. Raises `ConfigError`."""
    clock = clock or SystemClock()
    async with AsyncExitStack() as stack:
        replica = stack.enter_context(_state_directory(config))
        rooms = await _build(config, clock, replica, stack)
        health = Health()
        gateway = Gateway(config, rooms, health, clock, replica)
        stack.push_async_callback(rooms.parts.sessions.flush)
        stack.push_async_callback(gateway.drain)
        await gateway.listen()
        keeper = asyncio.create_task(gateway.keep_house())
        stack.push_async_callback(_cancelled(keeper))
        for spec in config.providers:
            rooms.directory.add(spec, configured=True)
        await rooms.directory.settled(FIRST_CONTACT_S)
        await health.set(serving=True)
        yield gateway


async def _build(config: Config, clock: Clock, replica: str, stack: AsyncExitStack) -> Rooms:
    metrics = Metrics(CollectorRegistry())
    engine, policy = await _policy(config, clock, stack)
    store = await _store(config, replica, stack)
    await store.journal.recover(clock.now())
    redactor = Redactor()
    audit = _audit(config, clock, redactor)
    stack.push_async_callback(asyncio.to_thread, audit.close)
    artifacts = ArtifactStore(open_backend(config.at_state(config.artifacts.url)), clock)
    registry = ToolRegistry(store.pins, config.tools, clock)
    await registry.load()
    registry.restore_consents(consented(await store.pins.load_consents()))
    limits = config.limits
    directory = Directory(registry, clock, at_state=config.at_state, max_message_bytes=limits.max_provider_bytes)
    stack.push_async_callback(directory.close)
    directory.add_built_in(GatewayTools(artifacts))
    await registry.register(GATEWAY_PROVIDER, DEFINITIONS, Trust(follow=True))
    facts = OffloadedFacts()
    stack.callback(facts.close)
    parts = Parts(
        settings=_settings(config, replica),
        clock=clock,
        sessions=SessionBook(store, clock, config.workspace_roots),
        registry=registry,
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
        tasks=TaskKeeper(),
    )
    metrics.watch_audit(audit)
    metrics.policy_active(revision=engine.revision, profile=engine.profile, engine=config.policy.engine)
    return Rooms(parts, CallPipeline(parts), engine, store, artifacts, audit, metrics, directory, policy)


async def _policy(config: Config, clock: Clock, stack: AsyncExitStack) -> tuple[EmbeddedEngine, PolicyKeeper]:
    wanted = config.policy
    try:
        bundle = load_bundle(profile=wanted.profile, overlays=wanted.overlays)
        engine = EmbeddedEngine(
            bundle,
            PoolSettings(workers=wanted.workers, timeout_s=wanted.timeout_s, memory_bytes=wanted.max_worker_bytes),
            max_input_bytes=config.limits.max_input_bytes + OVERHEAD_BYTES,
        )
        await engine.start()
    except (PolicySourceError, PolicyUnavailableError) as error:
        raise ConfigError(f"the policies cannot be used: {error}") from None
    stack.push_async_callback(engine.close)
    return engine, PolicyKeeper(wanted, engine, clock, bundle=bundle, check=lambda _: ())


async def _store(config: Config, replica: str, stack: AsyncExitStack) -> SqlStateStore:
    try:
        store = await SqlStateStore.open(config.at_state(config.state.database), replica_id=replica)
    except (StateError, ValueError) as error:
        raise ConfigError(f"the state database cannot be used: {error}") from None
    stack.push_async_callback(store.close)
    return store


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
    )


@contextlib.contextmanager
def _state_directory(config: Config) -> Iterator[str]:
    """The state directory, ours alone while the gateway runs; its replica id, the same at every start."""
    directory = config.state_dir
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        lock = os.open(directory / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise ConfigError(f"the state directory cannot be used: {error.strerror}") from None
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(lock)
        raise ConfigError(f"another gateway is running on the state directory {directory}") from None
    try:
        yield _replica_id(directory)
    finally:
        os.close(lock)


def _replica_id(directory: Path) -> str:
    path = directory / "replica"
    if not path.exists():
        path.write_text(f"{socket.gethostname()[:40]}-{uuid.uuid4().hex[:8]}")
    return path.read_text().strip()


def _split(addresses: tuple[str, ...]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    sockets = tuple(address for address in addresses if address.startswith("unix:"))
    return sockets, tuple(address for address in addresses if not address.startswith("unix:"))


def _cancelled(task: "asyncio.Task[None]") -> Callable[[], Awaitable[None]]:
    async def cancel() -> None:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task

    return cancel
