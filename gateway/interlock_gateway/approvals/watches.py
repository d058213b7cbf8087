"""Watches: approvers who are told of checkpoints while they look (CHK-2, CHK-8). An open watch is a handler."""

import asyncio
import logging
import uuid
from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass, field
from enum import StrEnum

from interlock_gateway.approvals.handlers import Handler, is_asked
from interlock_gateway.approvals.records import WatchStore
from interlock_gateway.core.change import Change, Topic
from interlock_gateway.core.checkpoint import Checkpoint, CheckpointState
from interlock_gateway.core.session import Principal
from interlock_gateway.errors import RequestError, RequestFault
from interlock_gateway.pipeline.ports import ChangeFeed, CheckpointStore, StateError

KEEPALIVE_S = 15.0
MOST_WAITING = 1000
"""Checkpoints that a slow reader may be behind by; with more, it is told anew of all that are open."""
_PAGE = 200
_log = logging.getLogger(__name__)


class WatchEventKind(StrEnum):
    """Why a watch tells of a checkpoint."""

    ALREADY_OPEN = "already_open"
    OPENED = "opened"
    UPDATED = "updated"
    CLOSED = "closed"
    KEEPALIVE = "keepalive"


@dataclass(frozen=True, slots=True)
class WatchEvent:
    """One thing a watch tells; a keepalive has no checkpoint."""

    kind: WatchEventKind
    checkpoint: Checkpoint | None = None


KEEPALIVE = WatchEvent(WatchEventKind.KEEPALIVE)


@dataclass(slots=True)
class _Watch:
    """One open watch: whose it is, which checkpoints have changed since it was last read, and which it told of."""

    approver: Principal
    watch_id: str = field(default_factory=lambda: uuid.uuid4().hex)
    wake: asyncio.Event = field(default_factory=asyncio.Event)
    changed: dict[str, None] = field(default_factory=dict)
    told: dict[str, int] = field(default_factory=dict)
    from_the_start: bool = True
    ended: bool = False

    def hear(self, change: Change) -> None:
        """Note a change. What changes twice before it is read is told once, as it is then."""
        if change.topic is Topic.CHECKPOINT:
            self.changed[change.key] = None
        if change.topic is Topic.EVERYTHING or len(self.changed) > MOST_WAITING:
            self.changed.clear()
            self.from_the_start = True
        if self.changed or self.from_the_start:
            self.wake.set()


class Watches:
    """The watches of this replica. Belongs to one event loop."""

    def __init__(
        self,
        store: CheckpointStore,
        changes: ChangeFeed,
        *,
        most: int = 100,
        keepalive_s: float = KEEPALIVE_S,
        register: WatchStore | None = None,
    ) -> None:
        """`register` is where other replicas look who watches here; without it there are none."""
        self._register = register
        self._leaving: set[asyncio.Task[None]] = set()
        self._store = store
        self._changes = changes
        self._most = most
        self._keepalive_s = keepalive_s
        self._open: dict[str, _Watch] = {}
        self._closed = False

    def handlers(self) -> Iterable[Handler]:
        """Those who watch now."""
        return [Handler(watch.approver.id, watch.approver.groups) for watch in self._open.values()]

    def __len__(self) -> int:
        return len(self._open)

    async def watch(self, approver: Principal, groups: tuple[str, ...]) -> AsyncIterator[WatchEvent]:
        """Tell of the checkpoints that `approver` is asked about: those open now, then every change.

        A keepalive says that all open ones have been told of, and that from now on the approver is asked; more of them
        come while nothing happens.
        `groups` limits it to what these of the approver's groups may answer. It ends by being closed, or with
        `RequestError`: the gateway is draining, or there are too many watches.
        """
        limited = tuple(group for group in approver.groups if group in groups) if groups else approver.groups
        watch = _Watch(Principal(approver.id, approver.kind, approver.roles, limited))
        self._admit(watch)
        forget = self._changes.subscribe(watch.hear)
        try:
            if self._register is not None:
                await self._register.begin_watch(watch.watch_id, approver.id, limited)
            for event in await self._news(watch):
                yield event
            yield KEEPALIVE
            while True:
                for event in await self._news(watch):
                    yield event
                if watch.ended:
                    raise RequestError(RequestFault.DRAINING, "the gateway is shutting down; watch another replica")
                if not await self._woken(watch):
                    yield KEEPALIVE
        finally:
            forget()
            self._open.pop(watch.watch_id, None)
            self._leave(watch)

    def close(self) -> None:
        """End every watch, and let nobody begin another: the gateway goes away."""
        self._closed = True
        for watch in self._open.values():
            watch.ended = True
            watch.wake.set()

    def _admit(self, watch: _Watch) -> None:
        if self._closed:
            raise RequestError(RequestFault.DRAINING, "the gateway is shutting down; watch another replica")
        if len(self._open) >= self._most:
            raise RequestError(RequestFault.LIMIT_REACHED, f"{self._most} watches are open already")
        self._open[watch.watch_id] = watch

    def _leave(self, watch: _Watch) -> None:
        """Tell the other replicas; nobody waits for it, since a watch may end by being cancelled."""
        if self._register is not None:
            task = asyncio.create_task(_unregister(self._register, watch.watch_id))
            self._leaving.add(task)
            task.add_done_callback(self._leaving.discard)

    async def _woken(self, watch: _Watch) -> bool:
        """Wait for something to tell; false when there was nothing for a while."""
        try:
            async with asyncio.timeout(self._keepalive_s):
                await watch.wake.wait()
        except TimeoutError:
            return False
        return True

    async def _news(self, watch: _Watch) -> list[WatchEvent]:
        """What there is to tell now."""
        watch.wake.clear()
        if watch.from_the_start:
            watch.from_the_start = False
            return await self._everything(watch)
        changed, watch.changed = watch.changed, {}
        found = [await self._store.get_checkpoint(checkpoint_id) for checkpoint_id in changed]
        events = (_event(watch, one, WatchEventKind.OPENED) for one in found if one is not None)
        return [event for event in events if event is not None]

    async def _everything(self, watch: _Watch) -> list[WatchEvent]:
        """Every open checkpoint, and the end of those that were open when they were told of."""
        kind = WatchEventKind.OPENED if watch.told else WatchEventKind.ALREADY_OPEN
        now_open = [one async for one in self._every_open()]
        still = {one.checkpoint_id for one in now_open}
        gone = [await self._store.get_checkpoint(one) for one in list(watch.told) if one not in still]
        events = (_event(watch, one, kind) for one in (*gone, *now_open) if one is not None)
        return [event for event in events if event is not None]

    async def _every_open(self) -> AsyncIterator[Checkpoint]:
        after: tuple[float, str] | None = None
        while True:
            page = await self._store.list_checkpoints((CheckpointState.OPEN,), _PAGE, after=after)
            for one in page:
                yield one
            if len(page) < _PAGE:
                return
            after = page[-1].expires_at, page[-1].checkpoint_id


async def _unregister(register: WatchStore, watch_id: str) -> None:
    try:
        await register.end_watch(watch_id)
    except StateError as error:
        _log.warning("other replicas may believe that somebody watches here", extra={"problem": str(error)})


def _event(watch: _Watch, checkpoint: Checkpoint, new: WatchEventKind) -> WatchEvent | None:
    """What to tell of a checkpoint as it is now; `None` when the watch is not asked, or knows."""
    told = watch.told.get(checkpoint.checkpoint_id)
    if checkpoint.state is not CheckpointState.OPEN:
        if told is None:
            return None
        del watch.told[checkpoint.checkpoint_id]
        return WatchEvent(WatchEventKind.CLOSED, checkpoint)
    if told == checkpoint.version or not is_asked(watch.approver, checkpoint):
        return None
    watch.told[checkpoint.checkpoint_id] = checkpoint.version
    return WatchEvent(new if told is None else WatchEventKind.UPDATED, checkpoint)
