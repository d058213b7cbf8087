"""A gateway's life: it is built, listens, keeps house, is drained and taken down again."""

import asyncio
import gc
import logging
import signal
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace

from interlock_gateway.building import build
from interlock_gateway.cancelled import cancelled
from interlock_gateway.clock import SystemClock
from interlock_gateway.config import Config
from interlock_gateway.core.clock import Clock
from interlock_gateway.figures import show
from interlock_gateway.operate.policy_keeper import Reload
from interlock_gateway.operate.policy_watch import PolicyWatch
from interlock_gateway.pipeline.allocator import give_back
from interlock_gateway.serving import Endpoints, Gateway, Rooms
from interlock_gateway.state_directory import state_directory
from interlock_gateway.telemetry.exposition import exposed
from interlock_gateway.telemetry.logs import log_uncaught_of
from interlock_gateway.telemetry.loop_lag import LoopLag
from interlock_gateway.telemetry.surroundings import watch_webhooks
from interlock_gateway.transport.grpc.listening import ADMIN_SERVICE, APPROVAL_SERVICE, GATEWAY_SERVICE, HUB_SERVICE
from interlock_gateway.transport.health import Health

FIRST_CONTACT_S = 1.0
"""How long a start waits for its providers, so that the first call finds their tools. It serves without them too."""
_log = logging.getLogger(__name__)


def _spare_the_collector() -> None:
    """Let the garbage collector leave alone what lives as long as the process, and look less often at the rest.

    A call makes hundreds of objects and no cycles; looking for some every 700 objects took a tenth of each call. What
    only the start needed goes back to the system: calls need megabytes less.
    """
    gc.collect()
    give_back()
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
        rooms = await build(config, clock, replica, stack)
        health = Health((GATEWAY_SERVICE, ADMIN_SERVICE, APPROVAL_SERVICE, HUB_SERVICE))
        gateway = Gateway(config, rooms, health, clock, replica)
        show(gateway)
        stack.push_async_callback(cancelled(asyncio.create_task(LoopLag(rooms.metrics.registry).run())))
        stack.push_async_callback(rooms.parts.sessions.flush)
        stack.push_async_callback(rooms.parts.counts.flush)
        stack.push_async_callback(gateway.drain)
        await gateway.listen(await stack.enter_async_context(exposed(config.metrics.listen, rooms.metrics.registry)))
        answers = await stack.enter_async_context(_answered(config, clock, rooms))
        gateway.endpoints = replace(gateway.endpoints, answers=answers)
        keeper = asyncio.create_task(gateway.keep_house())
        stack.push_async_callback(cancelled(keeper))
        if config.policy.is_watched:
            stack.push_async_callback(cancelled(asyncio.create_task(PolicyWatch(rooms.policy).run())))
        if config.policy.watch:
            stack.push_async_callback(cancelled(asyncio.create_task(PolicyWatch(rooms.shadow).run())))
        stack.push_async_callback(cancelled(asyncio.create_task(rooms.shadow.begin())))
        for spec in config.providers:
            rooms.directory.add(spec, configured=True)
        await rooms.directory.settled(FIRST_CONTACT_S)
        health.set(serving=gateway.fit_to_serve())
        yield gateway


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
