"""One attempt to post to a webhook, and when to try again."""

import logging
import uuid
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

import httpx2

from interlock_gateway.approvals.webhooks.signing import sign
from interlock_gateway.approvals.webhooks.targets import Webhook

FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.5, 30.0
_LATER = frozenset({408, 425, 429})
# At other levels these write down whole addresses and headers, which hold secrets.
for _name in ("httpx2", "httpcore2"):
    logging.getLogger(_name).setLevel(logging.WARNING)
_SERVER_ERRORS, _SUCCESSES = range(500, 600), range(200, 300)


class Posted(StrEnum):
    """What came of one attempt."""

    DONE = "done"
    AGAIN = "again"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class Attempt:
    """What came of an attempt, and in words why; the words never hold the address, which may be a secret."""

    posted: Posted
    why: str = ""


class PostCounts:
    """How attempts to post went, by webhook: `done`, `retried`, or `given_up`."""

    def __init__(self, webhooks: Iterable[Webhook]) -> None:
        outcomes = ("done", "retried", "given_up")
        self.counts = Counter({(webhook.name, outcome): 0 for webhook in webhooks for outcome in outcomes})

    def note(self, webhook: Webhook, posted: Posted, *, goes_on: bool) -> None:
        """Count one attempt; `goes_on` when there will be another."""
        outcome = "done" if posted is Posted.DONE else "retried" if goes_on else "given_up"
        self.counts[webhook.name, outcome] += 1


def pause_after(attempts: int) -> float:
    """How many seconds to wait after so many attempts."""
    return min(LONGEST_PAUSE_S, FIRST_PAUSE_S * 2.0 ** min(attempts - 1, 16))


def message_id() -> str:
    """An id for one event; it stays the same at every attempt, so that a receiver can tell a repetition."""
    return f"msg_{uuid.uuid4().hex}"


async def post(client: httpx2.AsyncClient, webhook: Webhook, identity: str, body: bytes, now: float) -> Attempt:
    """Post `body` once, signed as of `now`. Redirects are not followed, and of the answer only the status is read."""
    headers = {"content-type": "application/json", "user-agent": "interlock"}
    if not webhook.is_slack:
        headers |= sign(webhook.key, identity, int(now), body)
    try:
        async with client.stream(
            "POST", webhook.url, content=body, headers=headers, timeout=webhook.timeout_s, follow_redirects=False
        ) as answer:
            return _judged(answer.status_code)
    except httpx2.InvalidURL:
        return Attempt(Posted.REFUSED, "its address is none")
    except httpx2.HTTPError as error:
        # Only the kind: the words of some hold the address.
        return Attempt(Posted.AGAIN, type(error).__name__)


def _judged(status: int) -> Attempt:
    if status in _SUCCESSES:
        return Attempt(Posted.DONE)
    if status in _SERVER_ERRORS or status in _LATER:
        return Attempt(Posted.AGAIN, f"HTTP {status}")
    return Attempt(Posted.REFUSED, f"HTTP {status}")
