"""Buttons in Slack, and links that answer once (CHK-8)."""

import asyncio
import json
import re
from collections.abc import AsyncIterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from interlock_gateway.core.checkpoint import CheckpointState
from webhook_reach import Reached, good, reached, sent_links

pytestmark = pytest.mark.req("CHK-8")


@pytest.fixture
async def to(socket_directory: Path) -> AsyncIterator[Reached]:
    async with reached(socket_directory) as made:
        yield made


def texts(block: Any, kinds: set[str]) -> None:
    """Collect which kinds of text objects a message is made of."""
    if isinstance(block, dict):
        if isinstance(block.get("text"), str):
            kinds.add(str(block.get("type", "fallback")))
        for value in block.values():
            texts(value, kinds)
    elif isinstance(block, list):
        for item in block:
            texts(item, kinds)


@pytest.mark.req("CHK-10")
async def test_a_slack_message_has_buttons_and_no_text_that_slack_would_read_as_markup(to: Reached) -> None:
    await to.ask()
    message = (await to.chat.next()).json
    kinds: set[str] = set()
    texts(message["blocks"], kinds)
    assert kinds == {"plain_text", "text"}
    assert "<!channel>" not in message["text"]
    buttons = next(block for block in message["blocks"] if block["type"] == "actions")["elements"]
    assert [(one["action_id"], one["value"]) for one in buttons] == [
        ("interlock.approve", f"chk-1:{1:064x}"),
        ("interlock.deny", f"chk-1:{1:064x}"),
    ]
    assert "\\u001b" not in json.dumps(message)


async def test_a_button_pressed_in_slack_answers_for_the_configured_person(to: Reached) -> None:
    await to.ask(1)
    await to.ask(2)
    said = await to.doors.pressed("chat", "U0ALICE", "interlock.approve", f"chk-1:{1:064x}")
    assert said.json() == {"checkpoint_id": "chk-1", "state": "approved"}
    said = await to.doors.pressed("chat", "U0BOB", "interlock.deny", f"chk-2:{2:064x}", reason="use staging")
    assert said.json()["state"] == "denied"
    kept = (await to.state(2)).answers[0]
    assert (kept.approver, kept.reason) == ("bob", "use staging")


@pytest.mark.req("REL-2")
@pytest.mark.parametrize(
    ("press", "how", "status"),
    [
        (("U0ALICE", "interlock.approve", f"chk-1:{1:064x}"), {"secret": "wrong"}, 401),
        (("U0ALICE", "interlock.approve", f"chk-1:{1:064x}"), {"ago_s": 400}, 401),
        (("U0ALICE", "interlock.approve", f"chk-1:{1:064x}"), {"body": b"payload=%7B%7D"}, 401),
        (("U0MALLORY", "interlock.approve", f"chk-1:{1:064x}"), {}, 403),
        (("", "interlock.approve", f"chk-1:{1:064x}"), {}, 403),
        (("U0ALICE", "interlock.approve", f"chk-1:{2:064x}"), {}, 409),
        (("U0ALICE", "interlock.approve", "chk-1:"), {}, 409),
        (("U0ALICE", "interlock.approve", "chk-1"), {}, 400),
        (("U0ALICE", "interlock.edit", f"chk-1:{1:064x}"), {}, 400),
    ],
)
async def test_a_press_that_is_not_right_decides_nothing(
    to: Reached, press: tuple[str, str, str], how: dict[str, Any], status: int
) -> None:
    await to.ask()
    said = await to.doors.pressed("chat", *press, **how)
    assert said.status_code == status, said.text
    assert (await to.state()).answers == ()


async def test_a_press_does_not_count_at_the_other_door(to: Reached) -> None:
    await to.ask()
    assert (await to.doors.pressed("tickets", "U0ALICE", "interlock.approve", f"chk-1:{1:064x}")).status_code == 404
    assert (await to.doors.signed("chat", good())).status_code == 404


async def test_a_link_shows_what_it_asks_and_answers_only_when_it_is_confirmed_once(to: Reached) -> None:
    await to.ask(1, approvers=("dba",))
    links = await sent_links(to)
    assert sorted(links) == [("alice", "approve"), ("alice", "deny")]
    url = links["alice", "approve"]
    for _ in range(3):
        page = await to.doors.client.get(url)
        assert page.status_code == 200
    assert "DROP TABLE users &lt;!channel&gt;" in page.text
    assert "\x1b" not in page.text
    assert "\u202e" not in page.text
    assert "default-src 'none'" in page.headers["content-security-policy"]
    assert page.headers["cache-control"] == "no-store"
    assert (await to.state()).answers == ()
    assert (await to.doors.client.post(url, data={"reason": "looks right"})).status_code == 200
    assert (await to.doors.client.post(url)).status_code == 409
    assert (await to.doors.client.get(url)).status_code == 409
    assert (await to.doors.client.post(links["alice", "deny"])).status_code == 409
    kept = await to.state()
    assert [(one.approver, one.reason) for one in kept.answers] == [("alice", "looks right")]
    assert kept.state is CheckpointState.APPROVED


async def test_of_many_who_follow_a_link_at_once_one_answers(to: Reached) -> None:
    await to.ask(1, quorum=3)
    url = (await sent_links(to))["alice", "approve"]
    ended = await asyncio.gather(*(to.doors.client.post(url) for _ in range(10)))
    assert sorted(one.status_code for one in ended) == [200, *[409] * 9]
    assert len((await to.state()).answers) == 1


async def test_a_link_ends_with_its_checkpoint_and_a_guessed_one_is_none(to: Reached) -> None:
    await to.ask()
    url = (await sent_links(to))["bob", "deny"]
    guessed = re.sub("[^/]+$", "A" * 43, url)
    for one in (guessed, url + "x", re.sub("[^/]+$", "%00", url), re.sub("[^/]+$", "A" * 5000, url)):
        assert (await to.doors.client.post(one)).status_code == 404
    to.at.clock.ahead_s = 700
    assert (await to.doors.client.get(url)).status_code == 409
    assert (await to.doors.client.post(url)).status_code == 409
    assert (await to.state()).answers == ()


async def test_of_a_links_token_the_database_holds_a_hash_alone(to: Reached, socket_directory: Path) -> None:
    await to.ask()
    tokens = [url.rpartition("/")[2] for url in (await sent_links(to)).values()]
    kept = b"".join(path.read_bytes() for path in (socket_directory / "state").glob("state.db*"))
    assert [token for token in tokens if token.encode() in kept] == []
    assert sha256(tokens[0].encode()).hexdigest().encode() in kept
