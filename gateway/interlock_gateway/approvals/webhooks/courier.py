"""Takes checkpoints to webhooks: off the call path, once whichever replica does it, again while it fails (CHK-8).

What is told of a checkpoint is found out by looking at it. So nothing is lost when a change was not heard, or when the
replica that had taken it on is gone: whoever looks next takes it on.
"""

import asyncio
import contextlib
import logging
from collections.abc import Callable
from dataclasses import dataclass

import httpx2

from interlock_gateway.approvals.handlers import is_asked
from interlock_gateway.approvals.records import ApprovalStore
from interlock_gateway.approvals.webhooks import slack
from interlock_gateway.approvals.webhooks.links import AnswerLinks
from interlock_gateway.approvals.webhooks.payloads import WebhookEvent, payload
from interlock_gateway.approvals.webhooks.posting import PostCounts, Posted, message_id, pause_after, post
from interlock_gateway.approvals.webhooks.targets import Webhook
from interlock_gateway.core.change import Change, Topic
from interlock_gateway.core.checkpoint import Checkpoint, CheckpointState
from interlock_gateway.core.clock import Clock
from interlock_gateway.pipeline.ports import ChangeFeed, CheckpointStore, StateError

LOOK_AGAIN_S = 30.0
"""How often every open checkpoint is looked at, whether something was heard of it or not."""
CLAIM_S = 120.0
"""How long whoever took a delivery on has it to itself."""
MOST_UNDER_WAY = 100
"""Deliveries to one webhook at once; what is more waits to be looked at again."""
AT_ONCE = 4
CLOSED_ATTEMPTS = 6
_REMEMBERED_S = 86_400.0
_PAGE = 200
_MOST_HEARD = 10_000
_MOST_CONNECTIONS = 50
_log = logging.getLogger(__name__)

_Key = tuple[str, str, WebhookEvent]


@dataclass(frozen=True, slots=True)
class CourierParts:
    """What a courier needs; `public_url` is where answers come in, `posts` where attempts are counted."""

    checkpoints: CheckpointStore
    store: ApprovalStore
    changes: ChangeFeed
    clock: Clock
    links: AnswerLinks
    webhooks: tuple[Webhook, ...]
    public_url: str
    posts: PostCounts


class Courier:
    """Posts to every webhook what its approvers are asked, and how it ended. Belongs to one event loop."""

    def __init__(self, parts: CourierParts) -> None:
        self._checkpoints = parts.checkpoints
        self._store = parts.store
        self._changes = parts.changes
        self._clock = parts.clock
        self._links = parts.links
        self._webhooks = parts.webhooks
        self._public_url = parts.public_url
        self._posts = parts.posts
        self._client = httpx2.AsyncClient(limits=httpx2.Limits(max_connections=_MOST_CONNECTIONS))
        self._turns = {webhook.name: asyncio.Semaphore(AT_ONCE) for webhook in self._webhooks}
        self._under_way: dict[_Key, asyncio.Task[None]] = {}
        self._leave_until: dict[_Key, float] = {}
        self._heard: dict[str, None] = {}
        self._missed = False
        self._wake = asyncio.Event()
        self._forget: Callable[[], None] = lambda: None
        self._keeper: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin to listen, and look at what is open already."""
        self._forget = self._changes.subscribe(self._hear)
        self._keeper = asyncio.create_task(self._keep())

    async def close(self) -> None:
        """Stop; what was taken on and not posted is another replica's, or the next start's."""
        self._forget()
        tasks = [*self._under_way.values(), *([self._keeper] if self._keeper is not None else [])]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._client.aclose()

    def _hear(self, change: Change) -> None:
        if change.topic is Topic.CHECKPOINT and len(self._heard) < _MOST_HEARD:
            self._heard[change.key] = None
        elif change.topic in (Topic.CHECKPOINT, Topic.EVERYTHING):
            self._missed = True
        if self._heard or self._missed:
            self._wake.set()

    async def _keep(self) -> None:
        while True:
            try:
                await self._look_at_everything()
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(LOOK_AGAIN_S):
                        await self._look_at_what_is_heard()
            except StateError as error:
                _log.warning("checkpoints cannot be looked at for webhooks", extra={"problem": str(error)})
                await asyncio.sleep(pause_after(2))

    async def _look_at_what_is_heard(self) -> None:
        """Until something was missed, and everything has to be looked at."""
        while not self._missed:
            await self._wake.wait()
            self._wake.clear()
            while self._heard:
                # Taken off the list only once it was told of: this may be interrupted anywhere.
                checkpoint_id = next(iter(self._heard))
                found = await self._checkpoints.get_checkpoint(checkpoint_id)
                if found is not None:
                    await self._tell_all(found)
                self._heard.pop(checkpoint_id)

    async def _look_at_everything(self) -> None:
        self._missed = False
        now = self._clock.now()
        self._leave_until = {key: until for key, until in self._leave_until.items() if until > now}
        await self._store.sweep(now)
        after: tuple[float, str] | None = None
        while True:
            page = await self._checkpoints.list_checkpoints((CheckpointState.OPEN,), _PAGE, after=after)
            for one in page:
                await self._tell_all(one)
            if len(page) < _PAGE:
                return
            after = page[-1].expires_at, page[-1].checkpoint_id

    async def _tell_all(self, checkpoint: Checkpoint) -> None:
        event = WebhookEvent.OPENED if checkpoint.state is CheckpointState.OPEN else WebhookEvent.CLOSED
        for webhook in self._webhooks:
            if any(is_asked(approver, checkpoint) for approver in webhook.approvers):
                await self._take_on(webhook, checkpoint, event)

    async def _take_on(self, webhook: Webhook, checkpoint: Checkpoint, event: WebhookEvent) -> None:
        key, now = (webhook.name, checkpoint.checkpoint_id, event), self._clock.now()
        opening = self._under_way.get((webhook.name, checkpoint.checkpoint_id, WebhookEvent.OPENED))
        if event is WebhookEvent.CLOSED and opening is not None:
            opening.cancel()
        crowded = sum(name == webhook.name for name, _, _ in self._under_way) >= MOST_UNDER_WAY
        if crowded or key in self._under_way or self._leave_until.get(key, 0.0) > now:
            return
        expires_at = max(now, checkpoint.expires_at) + _REMEMBERED_S
        claimed = await self._store.claim_delivery(*key, now=now, until=now + CLAIM_S, expires_at=expires_at)
        if not claimed:
            # Another replica is at it, or it is done: looking again before its claim can have run out is in vain.
            self._leave_until[key] = now + CLAIM_S
            return
        task = asyncio.create_task(self._deliver(webhook, checkpoint, event))
        self._under_way[key] = task
        task.add_done_callback(lambda _: self._under_way.pop(key, None))

    async def _deliver(self, webhook: Webhook, checkpoint: Checkpoint, event: WebhookEvent) -> None:
        key = (webhook.name, checkpoint.checkpoint_id, event)
        about = {"webhook": webhook.name, "checkpoint": checkpoint.checkpoint_id, "event": event.value}
        try:
            body = await self._body(webhook, checkpoint, event)
            identity, attempts = message_id(), 0
            while True:
                async with self._turns[webhook.name]:
                    attempt = await post(self._client, webhook, identity, body, self._clock.now())
                attempts += 1
                again = attempt.posted is Posted.AGAIN and not self._is_late(checkpoint, event, attempts)
                self._posts.note(webhook, attempt.posted, goes_on=again)
                if not again:
                    break
                _log.warning("a webhook was not reached", extra={**about, "problem": attempt.why})
                await self._store.hold_delivery(*key, self._clock.now() + CLAIM_S)
                await asyncio.sleep(pause_after(attempts))
            if attempt.posted is not Posted.DONE:
                _log.error("a webhook was given up", extra={**about, "problem": attempt.why, "attempts": attempts})
            await self._store.delivered(*key, self._clock.now())
            self._leave_until[key] = self._clock.now() + _REMEMBERED_S
        except StateError as error:
            _log.warning("a delivery was left for later", extra={**about, "problem": str(error)})

    async def _body(self, webhook: Webhook, checkpoint: Checkpoint, event: WebhookEvent) -> bytes:
        opened = event is WebhookEvent.OPENED
        links = await self._links.make(webhook, checkpoint) if webhook.links and opened else ()
        if webhook.is_slack:
            return slack.message(event, checkpoint, links)
        answer_url = f"{self._public_url}/approvals/answers/{webhook.name}"
        return payload(event, checkpoint, answer_url, links, self._clock.now())

    def _is_late(self, checkpoint: Checkpoint, event: WebhookEvent, attempts: int) -> bool:
        if event is WebhookEvent.CLOSED:
            return attempts >= CLOSED_ATTEMPTS
        return self._clock.now() >= checkpoint.expires_at
