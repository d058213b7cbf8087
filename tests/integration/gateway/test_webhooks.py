"""People who do not watch: checkpoints are posted to them, and their signed answers count (CHK-8)."""

import base64
import hmac
import json
import logging
import time
from collections.abc import AsyncIterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from gateway_bench import bench
from interlock_gateway.approvals.desk import ApprovalDesk
from interlock_gateway.approvals.webhooks.courier import CLAIM_S
from interlock_gateway.core.change import EVERYTHING
from interlock_gateway.core.checkpoint import Checkpoint, CheckpointState
from interlock_gateway.pipeline.ports import StateUnavailableError
from webhook_reach import Reached, good, reached, sent_links, settings
from webhook_receiver import KEY, SECRET, SLACK_SECRET, Doors, Received, receiver

pytestmark = pytest.mark.req("CHK-8")


@pytest.fixture
async def to(socket_directory: Path) -> AsyncIterator[Reached]:
    async with reached(socket_directory) as made:
        yield made


def verify_as_a_stranger(got: Received) -> None:
    """What the specification of Standard Webhooks says, written out once more."""
    signed = f"{got.headers['webhook-id']}.{got.headers['webhook-timestamp']}.".encode() + got.body
    wanted = "v1," + base64.b64encode(hmac.new(KEY, signed, sha256).digest()).decode()
    assert got.headers["webhook-signature"] == wanted
    assert abs(int(got.headers["webhook-timestamp"]) - time.time()) < 60


async def test_a_checkpoint_is_posted_signed_and_its_end_too(to: Reached) -> None:
    await to.ask()
    got = await to.tickets.next()
    verify_as_a_stranger(got)
    assert got.json["type"] == "checkpoint.opened"
    shown = got.json["data"]["checkpoint"]
    assert (shown["checkpoint_id"], shown["tool"], shown["requester"]) == ("chk-1", "sql", "agent")
    assert shown["call_digest"] == f"{1:064x}"
    assert got.body.isascii()
    assert "\x1b" not in shown["rendered_call"]
    address = to.at.gateway.endpoints.answers
    assert got.json["data"]["answer_url"] == f"http://{address}/approvals/answers/tickets"
    answer = {"checkpoint_id": "chk-1", "decision": "approve", "approver": "alice", "call_digest": f"{1:064x}"}
    said = await to.doors.signed("tickets", answer)
    assert (said.status_code, said.json()) == (200, {"checkpoint_id": "chk-1", "state": "approved"})
    closed = await to.tickets.next()
    verify_as_a_stranger(closed)
    assert (closed.json["type"], closed.json["data"]["checkpoint"]["state"]) == ("checkpoint.closed", "approved")
    kept = (await to.state()).answers[0]
    assert (kept.approver, kept.groups, kept.channel) == ("alice", ("dba",), "webhook")


async def test_a_configured_webhook_makes_somebody_to_ask(to: Reached) -> None:
    desk = to.at.gateway.rooms.approvals.desk
    assert await desk.can_ask("agent", (), ())
    assert await desk.can_ask("agent", ("ops",), ())
    assert not await desk.can_ask("agent", ("board",), ())
    assert await desk.can_ask("alice", (), ())
    assert not await desk.can_ask("alice", ("dba",), ())


async def test_what_nobody_there_may_answer_is_not_posted(to: Reached) -> None:
    await to.ask(1, approvers=("board",))
    await to.ask(2)
    assert (await to.tickets.next()).json["data"]["checkpoint"]["checkpoint_id"] == "chk-2"


async def test_a_receiver_that_fails_is_tried_again_with_the_same_id(to: Reached) -> None:
    to.tickets.statuses = [500, 429]
    await to.ask()
    got = [await to.tickets.next() for _ in range(3)]
    assert len({one.headers["webhook-id"] for one in got}) == 1
    assert len({one.body for one in got}) == 1


async def test_one_that_refuses_is_not(to: Reached) -> None:
    to.tickets.statuses = [410]
    await to.ask(1)
    await to.tickets.next()
    await to.ask(2)
    assert (await to.tickets.next()).json["data"]["checkpoint"]["checkpoint_id"] == "chk-2"


async def test_what_was_not_posted_before_a_restart_is_posted_after_it_and_what_was_is_not(
    socket_directory: Path,
) -> None:
    async with receiver() as tickets, receiver() as chat:
        async with bench(socket_directory) as at:
            before = Reached(at, tickets, chat, Doors("", None))  # type: ignore[arg-type]  # no doors are needed
            await before.ask(1)
        for more in (("chk-1",), ()):
            async with bench(socket_directory, approvals=settings(tickets, chat)) as at:
                for expected in more:
                    assert (await tickets.next()).json["data"]["checkpoint"]["checkpoint_id"] == expected
                again = Reached(at, tickets, chat, Doors("", None))  # type: ignore[arg-type]  # as above
                await again.ask(2 + len(more))
                assert (await tickets.next()).json["data"]["checkpoint"]["checkpoint_id"] == f"chk-{2 + len(more)}"


@pytest.mark.req("CHK-9", "STATE-2")
async def test_what_a_replica_took_on_and_never_posted_is_posted_by_the_next(to: Reached) -> None:
    store, now = to.at.gateway.rooms.store, time.time()
    expires = {"until": now + 100, "expires_at": now + 1000}
    assert await store.approvals.claim_delivery("tickets", "chk-1", "checkpoint.opened", now=now, **expires)
    await to.ask(1)
    assert (await to.chat.next()).json["blocks"]
    await to.ask(2)
    assert (await to.tickets.next()).json["data"]["checkpoint"]["checkpoint_id"] == "chk-2"
    to.at.clock.ahead_s = 2 * CLAIM_S
    store.changes.publish_elsewhere((EVERYTHING,))
    assert (await to.tickets.next()).json["data"]["checkpoint"]["checkpoint_id"] == "chk-1"


@pytest.mark.req("REL-2")
@pytest.mark.parametrize(
    ("answer", "how", "status"),
    [
        (good(), {"key": b"x" * 32}, 401),
        (good(), {"ago_s": 301}, 401),
        (good(), {"ago_s": -301}, 401),
        (good(), {"body": json.dumps(good(decision="deny", reason="x")).encode()}, 401),
        (good(), {"headers": {"webhook-signature": ""}}, 401),
        (good(), {"headers": {"webhook-signature": "v1a,AAAA"}}, 401),
        (good(), {"headers": {"webhook-id": "another"}}, 401),
        (good(), {"headers": {"webhook-timestamp": "now"}}, 401),
        (good(approver="mallory"), {}, 403),
        (good(approver="local-agent"), {}, 403),
        (good(call_digest=f"{2:064x}"), {}, 409),
        (good(call_digest=""), {}, 400),
        (good(checkpoint_id="chk-9"), {}, 404),
        (good(decision="allow"), {}, 400),
        (good(decision="deny"), {}, 400),
        (good(extra=1), {}, 400),
        (good(reason="x" * 5000), {}, 413),
        (good(reason="x" * 2_000_000), {}, 413),
        ([good()], {}, 400),
    ],
)
async def test_an_answer_that_is_not_right_decides_nothing(
    to: Reached, answer: Any, how: dict[str, Any], status: int
) -> None:
    await to.ask()
    said = await to.doors.signed("tickets", answer, **how)
    assert said.status_code == status, said.text
    assert (await to.state()).answers == ()


@pytest.mark.req("REL-2")
async def test_an_answer_counts_once_and_for_its_own_checkpoint(to: Reached) -> None:
    await to.ask(1, quorum=2)
    await to.ask(2, digest=f"{1:064x}")
    assert (await to.doors.signed("tickets", good(), message_id="msg_1")).status_code == 200
    assert (await to.doors.signed("tickets", good(), message_id="msg_1")).status_code == 409
    assert (await to.doors.signed("tickets", good())).status_code == 409
    assert len((await to.state(1)).answers) == 1
    assert (await to.state(2)).answers == ()


@pytest.mark.req("REL-2")
async def test_an_answer_that_the_database_did_not_take_may_be_sent_again(
    to: Reached, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def unavailable(*_: object) -> Checkpoint:
        raise StateUnavailableError("the database is away")

    await to.ask()
    with monkeypatch.context() as away:
        away.setattr(ApprovalDesk, "decide", unavailable)
        assert (await to.doors.signed("tickets", good(), message_id="msg_1")).status_code == 503
    assert (await to.doors.signed("tickets", good(), message_id="msg_1")).status_code == 200
    assert (await to.doors.signed("tickets", good(), message_id="msg_1")).status_code == 409
    assert len((await to.state()).answers) == 1


@pytest.mark.req("CHK-6", "REL-2")
async def test_an_approver_behind_a_webhook_never_answers_their_own_call_nor_that_of_other_groups(to: Reached) -> None:
    await to.ask(1, requester="alice")
    await to.ask(2, approvers=("dba",))
    own = await to.doors.signed("tickets", good())
    other = await to.doors.signed("tickets", good(checkpoint_id="chk-2", approver="bob", call_digest=f"{2:064x}"))
    assert (own.status_code, other.status_code) == (403, 403)
    assert (await to.state(1)).state is (await to.state(2)).state is CheckpointState.OPEN


@pytest.mark.req("CHK-7")
async def test_a_signed_answer_may_edit_and_respond(to: Reached) -> None:
    await to.ask(1)
    await to.ask(2)
    edit = good(decision="edit", edited_input={"sql": "SELECT 1"})
    respond = good(checkpoint_id="chk-2", call_digest=f"{2:064x}", decision="respond", response="It is gone already.")
    for answer in (edit, respond):
        assert (await to.doors.signed("tickets", answer)).status_code == 200
    assert json.loads((await to.state(1)).answers[0].edited_input) == {"sql": "SELECT 1"}
    assert (await to.state(2)).answers[0].response == "It is gone already."


async def test_other_paths_methods_and_forms_lead_nowhere(to: Reached) -> None:
    base = f"http://{to.doors.address}"
    assert (await to.doors.client.get(f"{base}/")).status_code == 404
    assert (await to.doors.client.get(f"{base}/approvals/answers/tickets")).status_code == 405
    assert (await to.doors.client.post(f"{base}/approvals/answers/unknown")).status_code == 404
    assert (await to.doors.client.post(f"{base}/approvals/answers/tickets")).status_code == 401


@pytest.mark.req("SEC-4")
async def test_neither_addresses_nor_secrets_nor_tokens_are_logged(
    to: Reached, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.DEBUG):
        to.tickets.statuses = [500, 400]
        to.chat.statuses = [400]
        await to.ask(1)
        await to.tickets.next()
        await to.tickets.next()
        await to.chat.next()
        await to.ask(2)
        url = (await sent_links(to))["alice", "approve"]
        await to.doors.signed("tickets", good(), key=b"x" * 32)
        await to.doors.client.post(url)
    said = "\n".join(
        f"{record.getMessage()} {record.__dict__}" for record in caplog.records if "httpx" not in record.name
    )
    ours = [text for text in ("SECRET-PATH", SECRET, SLACK_SECRET, url.rpartition("/")[2]) if text in said]
    assert ours == []
    assert "a webhook was given up" in said
