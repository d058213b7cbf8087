"""What people said about a call stands, however often the agent asks for the same call again."""

from pathlib import Path

import pytest
from asked_people import asking, person
from gateway_bench import bench
from interlock import CallStatus
from interlock_gateway.core.checkpoint import ApproverDecision

X = {"text": "x"}


@pytest.mark.req("CHK-3", "CHK-7")
@pytest.mark.parametrize("name", ["echo", "wreck"])
async def test_a_denied_call_is_not_asked_about_again_under_its_id(socket_directory: Path, name: str) -> None:
    """Also one that only reads, and that nobody asked for between the denial and the repetition."""
    arguments = X if name == "echo" else {"what": "x"}
    async with bench(socket_directory, policy=asking(socket_directory, "echo")) as at, person(at.gateway) as bob:
        session = at.agent.session("s")
        await session.call(name, arguments, call_id="c", checkpoint_mode="detach")
        await bob.says(ApproverDecision.DENY, await bob.asked(), reason="not today")
        for _ in range(2):
            again = await session.call(name, arguments, call_id="c", checkpoint_mode="detach")
            assert again.status is CallStatus.DENIED
            assert "not today" in again.text
        assert bob.seen.empty()
    assert at.ledger.ran == []


@pytest.mark.req("CHK-7")
async def test_a_persons_own_words_are_the_answer_to_a_repeated_read(socket_directory: Path) -> None:
    async with bench(socket_directory, policy=asking(socket_directory, "echo")) as at, person(at.gateway) as bob:
        session = at.agent.session("s")
        await session.call("echo", X, call_id="c", checkpoint_mode="detach")
        await bob.says(ApproverDecision.RESPOND, await bob.asked(), response="use y")
        again = await session.call("echo", X, call_id="c", checkpoint_mode="detach")
        assert (again.status, again.text) == (CallStatus.COMPLETED, "use y")
    assert at.ledger.ran == []


@pytest.mark.req("CHK-7")
async def test_an_edit_holds_for_a_repeated_read(socket_directory: Path) -> None:
    async with bench(socket_directory, policy=asking(socket_directory, "echo")) as at, person(at.gateway) as bob:
        session = at.agent.session("s")
        await session.call("echo", X, call_id="c", checkpoint_mode="detach")
        await bob.says(ApproverDecision.EDIT, await bob.asked(), edited_input=b'{"text": "y"}')
        again = await session.call("echo", X, call_id="c", checkpoint_mode="detach")
        assert again.text == "y"
    assert at.ledger.ran == [("echo", "y")]
