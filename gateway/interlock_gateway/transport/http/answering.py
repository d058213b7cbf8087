"""Webhooks as the gateway runs them: the listener for answers, the links, and the courier."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from interlock_gateway.approvals.desk import ApprovalDesk
from interlock_gateway.approvals.records import ApprovalStore
from interlock_gateway.approvals.webhooks.courier import Courier, CourierParts
from interlock_gateway.approvals.webhooks.links import AnswerLinks
from interlock_gateway.approvals.webhooks.posting import PostCounts
from interlock_gateway.approvals.webhooks.targets import Webhook
from interlock_gateway.core.clock import Clock
from interlock_gateway.pipeline.ports import ChangeFeed, CheckpointStore
from interlock_gateway.transport.http.answers import AnswerParts, answers_app
from interlock_gateway.transport.http.listener import address_of, bound, serving


@dataclass(frozen=True, slots=True)
class AnsweringParts:
    """What webhooks need of the gateway. `public_url` is empty when people reach the listener as it listens."""

    desk: ApprovalDesk
    checkpoints: CheckpointStore
    store: ApprovalStore
    changes: ChangeFeed
    clock: Clock
    webhooks: tuple[Webhook, ...]
    listen: str
    public_url: str
    posts: PostCounts


@asynccontextmanager
async def answering(parts: AnsweringParts) -> AsyncIterator[str]:
    """Post to webhooks and take their answers inside the block; where answers come in. Raises `ConfigError`."""
    with bound(parts.listen) as listening:
        address = address_of(listening)
        public_url = parts.public_url.rstrip("/") or f"http://{address}"
        links = AnswerLinks(parts.store, parts.desk, parts.clock, parts.webhooks, public_url)
        courier = Courier(
            CourierParts(
                parts.checkpoints,
                parts.store,
                parts.changes,
                parts.clock,
                links,
                parts.webhooks,
                public_url,
                parts.posts,
            )
        )
        app = answers_app(AnswerParts(parts.desk, parts.store, links, parts.webhooks, parts.clock))
        async with serving(app, listening):
            courier.start()
            try:
                yield address
            finally:
                await courier.close()
