"""Every decision says when it was made, whoever made it, and says the same when it is asked for again."""

import time
from collections.abc import Awaitable

import pytest
from asked_people import person
from gateway_bench import Bench
from interlock import CallResult
from interlock.decisions import Decision
from interlock_gateway.core.checkpoint import ApproverDecision


async def answered(asked: Awaitable[CallResult]) -> CallResult:
    began = time.time()
    result = await asked
    assert_made_between(result.decision, began)
    return result


def assert_made_between(decision: Decision, began: float) -> None:
    at = decision.decided_at
    assert at is not None
    assert began - 0.001 <= at.timestamp() <= time.time() + 0.001


@pytest.mark.req("PIPE-12")
@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("echo", {"text": "read"}),
        ("set_value", {"value": "changed"}),
        ("replace_value", {"value": "previewed"}),
        ("wreck", {"what": "nobody to ask"}),
        ("nothing_of_that_name", {}),
        ("echo", {"text": "x" * 70_000, "more": "that does not fit"}),
    ],
)
async def test_a_decision_says_when_it_was_made(at: Bench, tool: str, arguments: dict[str, str]) -> None:
    session = at.agent.session("s")
    first = await answered(session.call(tool, arguments, call_id="c"))
    again = await session.call(tool, arguments, call_id="c")
    assert again.decision.decided_at == first.decision.decided_at


async def test_so_does_one_that_is_asked_for_alone(at: Bench) -> None:
    began = time.time()
    assert_made_between(await at.agent.session("s").evaluate("echo", {"text": "x"}), began)


async def test_so_does_what_becomes_of_what_was_previewed(at: Bench) -> None:
    session = at.agent.session("s")
    for action in ("apply", "discard"):
        await answered(session.call("replace_value", {"value": action}))
        await answered(session.call("resolve", {"action": action, "reason": "seen"}))
    await answered(session.call("resolve", {"action": "apply", "reason": "nothing is left"}))


@pytest.mark.req("CHK-4")
async def test_of_a_call_that_people_denied_it_says_when_they_had_and_not_when_it_came(at: Bench) -> None:
    async with person(at.gateway) as bob:
        session = at.agent.session("s")
        waiting = await answered(session.call("wreck", {"what": "x"}, call_id="c", checkpoint_mode="detach"))
        began = time.time()
        await bob.says(ApproverDecision.DENY, await bob.asked(), reason="no")
        denied = (await session.get_call("c")).result
    assert denied is not None
    assert_made_between(denied.decision, began)
    assert denied.decision.decided_at != waiting.decision.decided_at
