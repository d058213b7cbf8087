"""A gateway with two webhooks and both ends of each, and checkpoints as the pipeline leaves them."""

import json
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from gateway_bench import Bench, bench
from interlock_gateway.config import ApprovalsConfig, WebhookApproverConfig, WebhookConfig
from interlock_gateway.core.call import CallState
from interlock_gateway.core.checkpoint import Checkpoint
from interlock_gateway.core.session import Session
from interlock_gateway.pipeline.ports import CallRecord
from webhook_receiver import SECRET, SLACK_SECRET, Doors, Receiver, doors, receiver

APPROVERS = (
    WebhookApproverConfig(principal="alice", groups=("dba",), slack_user="U0ALICE"),
    WebhookApproverConfig(principal="bob", groups=("ops",), slack_user="U0BOB"),
)


@dataclass
class Reached:
    """A gateway with a generic webhook `tickets` and a Slack one `chat`, and both ends of each."""

    at: Bench
    tickets: Receiver
    chat: Receiver
    doors: Doors

    async def ask(self, number: int = 1, **changes: Any) -> Checkpoint:
        """Leave a checkpoint as the pipeline does."""
        now = time.time()
        raw = json.dumps({"sql": "DROP TABLE users -- <!channel> \u202eevil"}, ensure_ascii=False).encode()
        made = Checkpoint(
            checkpoint_id=f"chk-{number}",
            session_id="s",
            call_id=f"call-{number}",
            request_digest="r",
            requester="agent",
            requester_kind="token",
            tool="sql",
            provider="db",
            pin="p",
            digest=f"{number:064x}",
            policy_revision="rev",
            input=raw,
            shown_input=raw,
            rendered_call="DROP TABLE users <!channel> <https://evil|click>\x1b[2J",
            created_at=now,
            expires_at=now + 600,
        )
        made = replace(made, **changes)
        store = self.at.gateway.rooms.store
        await store.sessions.ensure_session(Session("s", "agent", now))
        record = CallRecord("s", made.call_id, "r", CallState.AWAITING_CHECKPOINT, now)
        assert (await store.checkpoints.open_checkpoint(made, record)).checkpoint is not None
        return made

    async def state(self, number: int = 1) -> Checkpoint:
        found = await self.at.gateway.rooms.store.checkpoints.get_checkpoint(f"chk-{number}")
        assert found is not None
        return found


def settings(tickets: Receiver, chat: Receiver, *, links: bool = True) -> ApprovalsConfig:
    return ApprovalsConfig(
        listen="127.0.0.1:0",
        webhooks=(
            WebhookConfig(name="tickets", url=tickets.url, secret=SECRET, approvers=APPROVERS, links=links),
            WebhookConfig(name="chat", kind="slack", url=chat.url, secret=SLACK_SECRET, approvers=APPROVERS),
        ),
    )


@asynccontextmanager
async def reached(directory: Path) -> AsyncIterator[Reached]:
    async with AsyncExitStack() as stack:
        tickets = await stack.enter_async_context(receiver())
        chat = await stack.enter_async_context(receiver())
        at = await stack.enter_async_context(bench(directory, approvals=settings(tickets, chat)))
        ways = await stack.enter_async_context(doors(at.gateway.endpoints.answers))
        yield Reached(at, tickets, chat, ways)


def good(**changes: Any) -> dict[str, Any]:
    return {
        "checkpoint_id": "chk-1",
        "decision": "approve",
        "approver": "alice",
        "call_digest": f"{1:064x}",
        **changes,
    }


async def sent_links(to: Reached) -> dict[tuple[str, str], str]:
    links = (await to.tickets.next()).json["data"]["links"]
    return {(one["approver"], one["decision"]): one["url"] for one in links}
