"""Links that answer once: made for one approver and one answer, kept as hashes, good until the checkpoint ends."""

import secrets
from dataclasses import dataclass
from hashlib import sha256

from interlock_gateway.approvals.answers import Said, check
from interlock_gateway.approvals.desk import ApprovalDesk
from interlock_gateway.approvals.handlers import is_asked
from interlock_gateway.approvals.records import AnswerLink, ApprovalStore
from interlock_gateway.approvals.webhooks.payloads import SentLink
from interlock_gateway.approvals.webhooks.targets import Webhook
from interlock_gateway.core.checkpoint import ApproverDecision, Checkpoint
from interlock_gateway.core.clock import Clock
from interlock_gateway.core.session import Principal
from interlock_gateway.errors import RequestError, RequestFault
from interlock_gateway.pipeline.ports import StateError

PATH = "/approvals/links/"
DEFAULT_DENIAL = "denied by link"
_DECISIONS = (ApproverDecision.APPROVE, ApproverDecision.DENY)
_LONGEST_TOKEN = 128


@dataclass(frozen=True, slots=True)
class FollowedLink:
    """A link that somebody has followed: what it would say, in whose name, about what."""

    link: AnswerLink
    approver: Principal
    checkpoint: Checkpoint


class AnswerLinks:
    """Makes links and takes their answers. Tokens are 256 random bits, so a plain hash cannot be guessed back."""

    def __init__(
        self, store: ApprovalStore, desk: ApprovalDesk, clock: Clock, webhooks: tuple[Webhook, ...], public_url: str
    ) -> None:
        self._store = store
        self._desk = desk
        self._clock = clock
        self._webhooks = {webhook.name: webhook for webhook in webhooks}
        self._public_url = public_url

    async def make(self, webhook: Webhook, checkpoint: Checkpoint) -> tuple[SentLink, ...]:
        """For each approver who is asked a link to approve and one to deny."""
        made: list[SentLink] = []
        kept: list[AnswerLink] = []
        for approver in webhook.approvers:
            for decision in _DECISIONS if is_asked(approver, checkpoint) else ():
                token = secrets.token_urlsafe(32)
                made.append(SentLink(approver.id, decision, f"{self._public_url}{PATH}{token}"))
                kept.append(
                    AnswerLink(
                        _hash(token),
                        checkpoint.checkpoint_id,
                        webhook.name,
                        approver.id,
                        decision,
                        checkpoint.expires_at,
                    )
                )
        await self._store.add_links(kept)
        return tuple(made)

    async def follow(self, token: str) -> FollowedLink:
        """What a link is for; nothing is decided. Raises `RequestError`: it is not one, is used, or has expired."""
        link = await self._store.find_link(_hash(token)) if len(token) <= _LONGEST_TOKEN else None
        if link is None:
            raise RequestError(RequestFault.CHECKPOINT_NOT_FOUND, "there is no such link")
        webhook = self._webhooks.get(link.channel)
        approver = webhook.approver(link.approver) if webhook is not None and webhook.links else None
        if link.used_at is not None or link.expires_at <= self._clock.now() or approver is None:
            raise RequestError(RequestFault.CHECKPOINT_NOT_OPEN, "this link was used, or is not valid any more")
        return FollowedLink(link, approver, await self._desk.look(approver, link.checkpoint_id))

    async def answer(self, token: str, reason: str) -> Checkpoint:
        """Say what the link says, once; the checkpoint as it is then. Raises `RequestError`."""
        followed = await self.follow(token)
        link = followed.link
        denies = link.decision is ApproverDecision.DENY
        said = Said(
            link.checkpoint_id,
            link.decision,
            reason=reason.strip() or (DEFAULT_DENIAL if denies else ""),
            call_digest=followed.checkpoint.digest,
            channel="webhook",
        )
        check(said)
        if not await self._store.use_link(link.token_sha256, self._clock.now()):
            raise RequestError(RequestFault.CHECKPOINT_NOT_OPEN, "this link was used, or is not valid any more")
        try:
            return await self._desk.decide(followed.approver, said)
        except StateError:
            await self._store.give_back_link(link.token_sha256)
            raise


def _hash(token: str) -> str:
    return sha256(token.encode(errors="surrogatepass")).hexdigest()
