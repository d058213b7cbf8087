"""Links to answer with, what was posted to webhooks, and what was answered before (CHK-8)."""

from collections.abc import Sequence

from sqlalchemy import bindparam, delete, select, update

from interlock_gateway.approvals.records import AnswerLink
from interlock_gateway.core.checkpoint import ApproverDecision
from interlock_gateway.state.lane import Lane
from interlock_gateway.state.schema import answer_links, seen_answers, webhook_deliveries
from interlock_gateway.state.transaction import Link, Statement

_ADD_LINK = Statement(
    lambda insert: insert(answer_links).values(
        token_sha256=bindparam("token"),
        checkpoint_id=bindparam("checkpoint"),
        channel=bindparam("channel"),
        approver=bindparam("approver"),
        decision=bindparam("decision"),
        expires_at=bindparam("expiry"),
        used_at=None,
    )
)
_FIND_LINK = Statement(select(*answer_links.c).where(answer_links.c.token_sha256 == bindparam("token")))
_USE_LINK = Statement(
    update(answer_links)
    .where(
        answer_links.c.token_sha256 == bindparam("token"),
        answer_links.c.used_at.is_(None),
        answer_links.c.expires_at > bindparam("now"),
    )
    .values(used_at=bindparam("now"))
)
_GIVE_BACK_LINK = Statement(
    update(answer_links).where(answer_links.c.token_sha256 == bindparam("token")).values(used_at=None)
)
_SEE = Statement(
    lambda insert: (
        insert(seen_answers)
        .values(key_sha256=bindparam("key"), expires_at=bindparam("expiry"))
        .on_conflict_do_nothing()
    )
)
_FORGET_ONE_SEEN = Statement(delete(seen_answers).where(seen_answers.c.key_sha256 == bindparam("key")))
_IS_FREE = webhook_deliveries.c.delivered_at.is_(None) & (webhook_deliveries.c.claimed_until <= bindparam("now"))
_CLAIM = Statement(
    lambda insert: (
        insert(webhook_deliveries)
        .values(
            channel=bindparam("channel"),
            checkpoint_id=bindparam("checkpoint"),
            event=bindparam("event"),
            claimed_until=bindparam("until"),
            expires_at=bindparam("expiry"),
            delivered_at=None,
        )
        .on_conflict_do_update(
            index_elements=["channel", "checkpoint_id", "event"],
            set_={"claimed_until": bindparam("until")},
            where=webhook_deliveries.c.delivered_at.is_(None)
            & (webhook_deliveries.c.claimed_until <= bindparam("now")),
        )
    )
)
_THIS = (
    (webhook_deliveries.c.channel == bindparam("of_channel"))
    & (webhook_deliveries.c.checkpoint_id == bindparam("of_checkpoint"))
    & (webhook_deliveries.c.event == bindparam("of_event"))
)
_HOLD = Statement(update(webhook_deliveries).where(_THIS).values(claimed_until=bindparam("until")))
_DELIVERED = Statement(update(webhook_deliveries).where(_THIS).values(delivered_at=bindparam("now")))
_FORGET_LINKS = Statement(delete(answer_links).where(answer_links.c.expires_at <= bindparam("now")))
_FORGET_SEEN = Statement(delete(seen_answers).where(seen_answers.c.expires_at <= bindparam("now")))
_FORGET_DELIVERIES = Statement(delete(webhook_deliveries).where(webhook_deliveries.c.expires_at <= bindparam("now")))


class StoredApprovals:
    """`ApprovalStore` on a database."""

    def __init__(self, reader: Lane, writer: Lane) -> None:
        self._reader = reader
        self._writer = writer

    async def add_links(self, links: Sequence[AnswerLink]) -> None:
        """Keep new links."""

        def work(link: Link) -> None:
            for one in links:
                link.change(
                    _ADD_LINK,
                    token=one.token_sha256,
                    checkpoint=one.checkpoint_id,
                    channel=one.channel,
                    approver=one.approver,
                    decision=one.decision.value,
                    expiry=one.expires_at,
                )

        await self._writer.submit(work)

    async def find_link(self, token_sha256: str) -> AnswerLink | None:
        """The link, used or not."""

        def work(link: Link) -> AnswerLink | None:
            row = link.row(_FIND_LINK, token=token_sha256)
            if row is None:
                return None
            token, checkpoint_id, channel, approver, decision, expires_at, used_at = row
            return AnswerLink(token, checkpoint_id, channel, approver, ApproverDecision(decision), expires_at, used_at)

        return await self._reader.submit(work)

    async def use_link(self, token_sha256: str, now: float) -> bool:
        """Use it; of many who try, one does. Not once it has expired."""
        return await self._writer.submit(lambda link: link.change(_USE_LINK, token=token_sha256, now=now) == 1)

    async def give_back_link(self, token_sha256: str) -> None:
        """What it was used for did not come about: it may be used again."""
        await self._writer.submit(lambda link: link.change(_GIVE_BACK_LINK, token=token_sha256))

    async def first_use(self, key_sha256: str, expires_at: float) -> bool:
        """Whether this key is seen for the first time; it is remembered until `expires_at` at least."""
        return await self._writer.submit(lambda link: link.change(_SEE, key=key_sha256, expiry=expires_at) == 1)

    async def give_back_use(self, key_sha256: str) -> None:
        """What came with this key did not come about: it may come again."""
        await self._writer.submit(lambda link: link.change(_FORGET_ONE_SEEN, key=key_sha256))

    async def claim_delivery(
        self, channel: str, checkpoint_id: str, event: str, *, now: float, until: float, expires_at: float
    ) -> bool:
        """Take it on to post an event; of many replicas one does, until it is done or the claim has run out."""
        values = {"channel": channel, "checkpoint": checkpoint_id, "event": event}
        values_at = {"now": now, "until": until, "expiry": expires_at}
        return await self._writer.submit(lambda link: link.change(_CLAIM, **values, **values_at) == 1)

    async def hold_delivery(self, channel: str, checkpoint_id: str, event: str, until: float) -> None:
        """Whoever claimed it is still at it."""
        where = {"of_channel": channel, "of_checkpoint": checkpoint_id, "of_event": event}
        await self._writer.submit(lambda link: link.change(_HOLD, **where, until=until))

    async def delivered(self, channel: str, checkpoint_id: str, event: str, now: float) -> None:
        """It was posted, or given up: nobody posts it again."""
        where = {"of_channel": channel, "of_checkpoint": checkpoint_id, "of_event": event}
        await self._writer.submit(lambda link: link.change(_DELIVERED, **where, now=now))

    async def sweep(self, now: float) -> None:
        """Forget what has expired."""

        def work(link: Link) -> None:
            for statement in (_FORGET_LINKS, _FORGET_SEEN, _FORGET_DELIVERIES):
                link.change(statement, now=now)

        await self._writer.submit(work)
