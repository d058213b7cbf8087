"""A gateway that serves: its listeners, what health says of it, and the housekeeping beside the calls."""

import asyncio
import contextlib
import logging
from dataclasses import dataclass
from importlib.metadata import version
from typing import TYPE_CHECKING

from interlock_gateway.approvals.room import ApprovalRoom
from interlock_gateway.artifacts.store import ArtifactStore
from interlock_gateway.audit.log import AuditLog
from interlock_gateway.config import Config, Front
from interlock_gateway.core.checkpoint import CheckpointState
from interlock_gateway.core.clock import Clock
from interlock_gateway.entrance import Entrance
from interlock_gateway.identity.authenticate import Authenticator, agent_socket, operator_socket
from interlock_gateway.operate.census import Census
from interlock_gateway.operate.confirm import Confirmations
from interlock_gateway.operate.policy_keeper import PolicyKeeper
from interlock_gateway.operate.shadow_keeper import ShadowKeeper
from interlock_gateway.operate.status import Component, GatewayState
from interlock_gateway.pipeline.core import CallPipeline
from interlock_gateway.pipeline.parts import Parts
from interlock_gateway.pipeline.ports import StateError
from interlock_gateway.policy.engine import PolicyEngine
from interlock_gateway.providers.attached.hub import Hub
from interlock_gateway.providers.directory import Directory
from interlock_gateway.references.resolver import ReferenceResolver
from interlock_gateway.registry.registered import RegisteredTool
from interlock_gateway.sessions.discovery import Discovery
from interlock_gateway.state.store import SqlStateStore
from interlock_gateway.telemetry.metrics import Metrics
from interlock_gateway.transport.extmcp.opening import OtherGateways
from interlock_gateway.transport.grpc.admin_service import AdminParts, AdminRpcs
from interlock_gateway.transport.grpc.approval_service import ApprovalRpcs
from interlock_gateway.transport.grpc.artifact_rpcs import ArtifactRpcs
from interlock_gateway.transport.grpc.beside_calls import BesideCalls
from interlock_gateway.transport.grpc.endpoint import OpenRpcs, served
from interlock_gateway.transport.grpc.gateway_service import GatewayRpcs
from interlock_gateway.transport.grpc.hub_service import HubRpcs
from interlock_gateway.transport.grpc.listening import (
    ADMIN_SERVICE,
    APPROVAL_SERVICE,
    GATEWAY_SERVICE,
    HUB_SERVICE,
    Listener,
    stop_all,
)
from interlock_gateway.transport.grpc.reference_rpcs import ReferenceRpcs
from interlock_gateway.transport.grpc.tool_rpcs import ToolRpcs
from interlock_gateway.transport.health import SERVICE as HEALTH_SERVICE
from interlock_gateway.transport.health import Health
from interlock_gateway.transport.http2.listener import Http2Listener
from interlock_gateway.transport.mcp.listening import McpListener
from interlock_gateway.transport.mcp.parts import SurfaceParts
from interlock_gateway.transport.reflection import reflected
from interlock_gateway.transport.tls.server_tls import ServerTls

if TYPE_CHECKING:
    from interlock_gateway.transport.grpc.server import GrpcioListener

OVERHEAD_BYTES = 1024 * 1024
"""What a request may hold besides the input of its call."""
HEALTH_BYTES = 1024
"""What a question about health may hold."""
HOUSEKEEPING_S = 1.0
SENT_AWAY_S = 2.0
"""How long calls may go on that were under way when the lease was lost."""
SENT_AWAY_AGAIN_S = 10.0
"""The same for clients that came back, because there is no other replica or nobody knows of it yet."""
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Endpoints:
    """Where a running gateway is reached, and what decides there.

    `answers` is where those to webhooks come in, `health` where nothing but health is told, `mcp` where MCP is spoken,
    `extmcp` where other MCP gateways ask.
    """

    agents: tuple[str, ...]
    operators: tuple[str, ...]
    metrics: str
    policy_revision: str
    profile: str
    answers: str = ""
    health: str = ""
    mcp: tuple[str, ...] = ()
    extmcp: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Rooms:
    """The built gateway."""

    parts: Parts
    pipeline: CallPipeline
    engine: PolicyEngine
    store: SqlStateStore
    approvals: ApprovalRoom
    entrance: Entrance
    artifacts: ArtifactStore
    audit: AuditLog
    metrics: Metrics
    directory: Directory
    policy: PolicyKeeper
    shadow: ShadowKeeper
    discovery: Discovery
    references: ReferenceResolver


class Gateway:
    """A gateway that is serving. Made by `running`."""

    def __init__(self, config: Config, rooms: Rooms, health: Health, clock: Clock, replica: str) -> None:
        self.config = config
        self.rooms = rooms
        self._health = health
        self._clock = clock
        self._replica = replica
        self._started_at = clock.now()
        self._listeners: list[Listener] = []
        self._health_listener: Http2Listener | None = None
        self._leaving = False
        self._others = OtherGateways(config, rooms.parts, rooms.pipeline, rooms.directory, health)
        self._hub = Hub(config.attached, rooms.directory, rooms.parts.registry, clock)
        beside = BesideCalls(config.limits)
        self._open_rpcs = OpenRpcs(config.limits.max_input_bytes + OVERHEAD_BYTES, rooms.pipeline.gate, beside)
        self.endpoints = Endpoints((), (), "", rooms.engine.revision, rooms.engine.profile)

    def state(self) -> GatewayState:
        """How the gateway is at this moment."""
        rooms = self.rooms
        stats = rooms.audit.stats
        return GatewayState(
            version=version("interlock-gateway"),
            replica=self._replica,
            started_at=self._started_at,
            serving=self._health.serving,
            draining=rooms.pipeline.draining,
            profile=rooms.engine.profile,
            policy_revision=rooms.engine.revision,
            components=self.components() + self.rooms.entrance.remarks(),
            calls_in_flight=rooms.pipeline.in_flight,
            audit_backlog=rooms.audit.backlog,
            audit_lost=stats.dropped,
        )

    async def providers_settled(self, timeout_s: float) -> None:
        """Wait until every provider has described itself once, at most `timeout_s` seconds."""
        await self.rooms.directory.settled(timeout_s)

    def idle(self) -> bool:
        """Whether no call is in flight, and nothing is left to be journaled of those that were."""
        return self.rooms.pipeline.in_flight == 0 and len(self.rooms.parts.tasks) == 0

    def tool(self, name: str, owner: str = "") -> RegisteredTool | None:
        """The tool with this name or alias, as it is registered now for the sessions of principal `owner`."""
        return self.rooms.parts.registry.find(name, owner)

    @property
    def serving(self) -> bool:
        """What health says."""
        return self._health.serving

    @property
    def requests(self) -> OpenRpcs:
        """How RPCs ended, and why those that were refused were."""
        return self._open_rpcs

    def mcp_sessions(self) -> dict[str, int]:
        """How many sessions of MCP are open, by transport."""
        return next((one.sessions() for one in self._listeners if isinstance(one, McpListener)), {})

    def leave(self) -> None:
        """Say in health that the gateway is about to end; calls are served as before."""
        self._leaving = True
        self._health.set(serving=False)

    async def serve_out(self, hurry: asyncio.Event) -> None:
        """Leave, and serve until those who send calls here have had the time to notice, or `hurry` is set."""
        self.leave()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(self.config.server.drain_delay_s):
                await hurry.wait()

    async def drain(self) -> None:
        """Take no new calls, and let those in flight end. Health is told until they have."""
        self.leave()
        self.rooms.pipeline.draining = True
        self.rooms.approvals.watches.close()
        await stop_all(self._listeners, self._calls_over(), self.config.server.drain_s)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(self.config.server.drain_s):
                await self._others.over()
                await self.rooms.parts.tasks.drain()
        await self._others.stop()
        if self._health_listener is not None:
            await self._health_listener.stop(0)

    async def _calls_over(self) -> None:
        """Return when no call needs its caller or an attached provider any more, and those have been told."""
        await self._open_rpcs.none()
        await self.rooms.parts.tasks.drain()
        await self._hub.drain(self.config.server.drain_s)

    async def listen(self, metrics: str) -> None:
        """Bind every address and serve; `metrics` is where metrics are. Raises `ConfigError` for an address in use."""
        server = self.config.server
        sockets, tcp = _split(server.listen)
        identity = self.config.identity
        mode = int(server.socket_mode, 8)
        agents = self._listener(sockets, agent_socket(identity), mode, admin=False)
        agents += self._listener(tcp, self.rooms.entrance.door, mode, admin=True, tls=self.rooms.entrance.tls)
        operators = self._listener(server.operator_listen, operator_socket(identity), 0o600, admin=True)
        mcp = self._mcp(mode)
        extmcp = await self._others.listen(self.rooms.entrance.door, self.rooms.entrance.tls)
        health = await self._tell_health()
        for listener in self._listeners:
            await listener.start()
        engine = self.rooms.engine
        self.endpoints = Endpoints(
            tuple(agents),
            tuple(operators),
            metrics,
            engine.revision,
            engine.profile,
            health=health,
            mcp=mcp,
            extmcp=extmcp,
        )

    async def keep_house(self) -> None:
        """Until cancelled: flush session facts, expire pending actions, and say in health how things are."""
        async with asyncio.TaskGroup() as tasks:
            # By itself: a database that hangs holds up everything else that is done here.
            tasks.create_task(self._keep_health(tasks))
            tasks.create_task(self._keep_house())

    async def _keep_health(self, tasks: asyncio.TaskGroup) -> None:
        stood = True
        while True:
            self._health.set(serving=self.fit_to_serve())
            stands = self.rooms.store.stands
            if stood and not stands:
                tasks.create_task(self._send_clients_away())
            stood = stands
            await asyncio.sleep(HOUSEKEEPING_S)

    async def _send_clients_away(self) -> None:
        """Once the lease is lost, and again, because balancers notice late and send some back."""
        _log.warning("clients are sent to other replicas: this one has lost its lease")
        grace_s = SENT_AWAY_S
        while not self.rooms.store.stands:
            await asyncio.gather(*(listener.send_away(grace_s) for listener in self._listeners))
            grace_s = SENT_AWAY_AGAIN_S
            await asyncio.sleep(HOUSEKEEPING_S)

    async def _keep_house(self) -> None:
        while True:
            try:
                await self.rooms.parts.sessions.flush()
                await self.rooms.parts.counts.flush()
                await self.rooms.pipeline.settle()
                await self._expire_pending()
                await self._count_checkpoints(await self.rooms.pipeline.held.keep_house())
            except StateError as error:
                _log.warning("state is not available", extra={"problem": str(error)})
            except Exception:  # noqa: BLE001 - who stopped here would leave health saying what was true once
                _log.exception("housekeeping failed")
            await asyncio.sleep(HOUSEKEEPING_S)

    async def _expire_pending(self) -> None:
        """End what has expired, and count what is pending: in the database, where other replicas change it too."""
        rooms = self.rooms  # one that is about to exit leaves what it could not end any more
        change = 0 if rooms.pipeline.draining else -await rooms.pipeline.endings.expire()
        if rooms.store.crossing is not None:
            change = await rooms.store.pending.count_every_pending(self._clock.now()) - rooms.metrics.pending_actions
        rooms.metrics.pending_changed(change)

    async def _count_checkpoints(self, count: int) -> None:
        """Follow how many people are asked about, and when the first of those runs out."""
        store, metrics = self.rooms.store.checkpoints, self.rooms.metrics
        first = await store.list_checkpoints((CheckpointState.OPEN,), 1) if count else ()
        metrics.open_checkpoints = count
        metrics.checkpoint_expiry = first[0].expires_at if first else None

    def fit_to_serve(self) -> bool:
        """Whether calls are served: every part works, and the gateway is not about to end."""
        return all(component.healthy for component in self.components()) and not self._leaving

    def components(self) -> tuple[Component, ...]:
        """The parts without which no call is served, and whether they work."""
        rooms = self.rooms
        return (
            Component("policy", rooms.engine.ready, rooms.engine.trouble),
            _state(rooms.store),
            Component("audit", rooms.audit.healthy, "" if rooms.audit.healthy else "receipts cannot be written"),
        )

    async def _tell_health(self) -> str:
        """Tell health, and nothing else, to whoever has no credentials; where, empty when nowhere."""
        if not self.config.server.health_listen:
            return ""
        self._health_listener = Http2Listener(self._health.served(), max_bytes=HEALTH_BYTES)
        address = self._health_listener.listen(self.config.server.health_listen, 0o600)
        await self._health_listener.start()
        return address

    def _listener(
        self,
        addresses: tuple[str, ...],
        authenticator: Authenticator,
        mode: int,
        *,
        admin: bool,
        tls: ServerTls | None = None,
    ) -> list[str]:
        if not addresses:
            return []
        rooms = self.rooms
        agent_rpcs = GatewayRpcs(rooms.parts, rooms.pipeline).rpcs()
        agent_rpcs |= ToolRpcs(rooms.parts, rooms.discovery).rpcs()
        agent_rpcs |= ArtifactRpcs(rooms.artifacts, rooms.parts.sessions).rpcs()
        agent_rpcs |= ReferenceRpcs(rooms.references, rooms.parts.sessions).rpcs()
        services = [GATEWAY_SERVICE, HUB_SERVICE, HEALTH_SERVICE]
        rpcs = dict(served(GATEWAY_SERVICE, agent_rpcs, authenticator, self._open_rpcs))
        attaching = HubRpcs(self._hub, self.config.limits.max_provider_bytes).rpcs()
        rpcs |= served(HUB_SERVICE, attaching, authenticator, self._open_rpcs)
        if admin:
            services += [ADMIN_SERVICE, APPROVAL_SERVICE]
            rpcs |= served(ADMIN_SERVICE, AdminRpcs(self._admin_parts()).rpcs(), authenticator, self._open_rpcs)
            approvals = ApprovalRpcs(rooms.approvals, rooms.parts.registry).rpcs()
            rpcs |= served(APPROVAL_SERVICE, approvals, authenticator, self._open_rpcs)
        rpcs |= self._health.served() | reflected(services)
        listener = _listener_of(self.config.server.front)(rpcs, self._open_rpcs.max_bytes, tls)
        self._listeners.append(listener)
        return [listener.listen(self.config.at_state(address), mode) for address in addresses]

    def _mcp(self, mode: int) -> tuple[str, ...]:
        """Listen for clients of MCP; where."""
        config, rooms = self.config, self.rooms
        if not config.mcp.listen:
            return ()
        parts = SurfaceParts(
            config.mcp,
            rooms.parts,
            rooms.pipeline,
            rooms.artifacts,
            self._open_rpcs,
            version("interlock-gateway"),
            rooms.approvals,
            rooms.store,
        )
        listener = McpListener(parts, agent_socket(config.identity), rooms.entrance.door, rooms.entrance.tls)
        self._listeners.append(listener)
        return tuple(listener.listen(config.at_state(address), mode) for address in config.mcp.listen)

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
            shadow=rooms.shadow,
            provider_credentials=self.config.provider_credentials,
            state=self.state,
            census=Census(rooms.store, rooms.approvals.desk, self._clock),
            threshold_of=rooms.parts.deferral.threshold_of,
            redact=rooms.parts.results.redact,
        )


def _listener_of(front: Front) -> "type[Http2Listener | GrpcioListener]":
    if front is Front.NGHTTP2:
        return Http2Listener
    # All of grpcio takes 18 MB: only who serves with it pays for it.
    from interlock_gateway.transport.grpc.server import GrpcioListener  # noqa: PLC0415 -- as said above

    return GrpcioListener


def _state(store: SqlStateStore) -> Component:
    if not store.stands:
        return Component("state", healthy=False, message=f"this replica has no lease on {store.shown}")
    if not store.healthy:
        return Component("state", healthy=False, message="the database cannot be written")
    return Component("state", healthy=True, message=store.shown)


def _split(addresses: tuple[str, ...]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    sockets = tuple(address for address in addresses if address.startswith("unix:"))
    return sockets, tuple(address for address in addresses if not address.startswith("unix:"))
