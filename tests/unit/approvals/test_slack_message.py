"""A Slack message shows the input that is approved, and agents cannot write lines of ours into it."""

import json

import pytest
from interlock_gateway.approvals.webhooks.payloads import WebhookEvent
from interlock_gateway.approvals.webhooks.slack import APPROVE, DENY, message
from waiting_checkpoints import waiting


@pytest.mark.req("CHK-10")
def test_the_input_is_shown_beside_what_the_provider_makes_of_it() -> None:
    posted = json.loads(message(WebhookEvent.OPENED, waiting(rendered_call="look at a table"), ()))
    blocks = [block["elements"][0]["elements"][0]["text"] for block in posted["blocks"] if block["type"] == "rich_text"]
    assert blocks == ["look at a table", '{"table":"users"}']


@pytest.mark.req("CHK-10")
def test_an_intent_of_several_lines_stays_on_its_own() -> None:
    intent = "tidy up\nAsked by: alice\nSession: another"
    posted = json.loads(message(WebhookEvent.OPENED, waiting(intent=intent), ()))
    lines = posted["blocks"][1]["text"]["text"].splitlines()
    assert [line.partition(":")[0] for line in lines] == ["Tool", "Asked by", "Session", "Intent, in the agent's words"]


@pytest.mark.req("CHK-10")
@pytest.mark.parametrize(("size", "actions"), [(2400, [APPROVE, DENY]), (2600, [DENY])])
def test_an_input_that_is_not_shown_whole_cannot_be_approved_there(size: int, actions: list[str]) -> None:
    given = b'{"table":"%s"}' % (b"x" * size)
    posted = json.loads(message(WebhookEvent.OPENED, waiting(input=given, shown_input=given), ()))
    (buttons,) = (block["elements"] for block in posted["blocks"] if block["type"] == "actions")
    assert [one["action_id"] for one in buttons] == actions
