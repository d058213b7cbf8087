"""Racing resolvers at two gateways on one PostgreSQL database (REL-3)."""

import asyncio
from collections import Counter
from typing import Literal

import pytest
from interlock import Session
from interlock.results import CallResult, CallStatus
from two_gateways import Two

SESSIONS = 10
RACERS = 20
ROUNDS = 12
FIRST = "first"


@pytest.mark.req("REL-3", "STATE-2")
async def test_of_many_who_resolve_one_preview_at_two_gateways_one_applies_it(two: Two) -> None:
    """The short version: 10 previews, 20 racers each, through both gateways."""
    sessions = [await two.one.agent.open_session() for _ in range(SESSIONS)]
    previews = {}
    for number, session in enumerate(sessions):
        two.ledger.value = "first"
        preview = await session.call("replace_value", {"value": f"v{number}"})
        assert preview.pending is not None
        previews[session.session_id] = preview.pending.pending_id

    async def resolve(session: Session) -> CallResult:
        return await session.resolve("apply", "go", pending_id=previews[session.session_id], timeout=60)

    two.ledger.value = "first"
    for session in sessions:
        at_both = [session, two.other.agent.session(session.session_id)]
        results = await asyncio.gather(*(resolve(at_both[n % 2]) for n in range(RACERS)))
        assert sum(result.status is CallStatus.COMPLETED and not result.is_error for result in results) == 1
        two.ledger.value = "first"

    assert Counter(two.ledger.ran) == Counter([("replace_value", f"v{number}") for number in range(SESSIONS)])


@pytest.mark.req("PIPE-10", "STATE-2")
async def test_one_resolution_made_at_two_gateways_at_once_acts_on_one_action(two: Two) -> None:
    """As a client does that was cut off from the one and asks the other. It names no action: the top is meant."""
    for number in range(ROUNDS):
        session = await two.one.agent.open_session()
        at_both = [session, two.other.agent.session(session.session_id)]
        for value in ("below", "top"):
            await session.call("replace_value", {"value": value})
        action: Literal["apply", "discard"] = "apply" if number % 2 else "discard"
        two.ledger.ran.clear()
        answers = await asyncio.gather(*(one.resolve(action, "go", call_id="r", timeout=60) for one in at_both))
        assert answers[0].text == answers[1].text
        for one in at_both:
            assert [left.label for left in (await one.pending()).actions] == [f"replace {FIRST} by below"]
        assert two.ledger.ran == ([("replace_value", "top")] if number % 2 else [])
        two.ledger.value = "first"
