"""What people said about a call stands, however often the agent asks for the same call again."""

from pathlib import Path

import pytest
from asked_people import asking, person
from gateway_bench import bench
from interlock import CallStatus
from interlock.errors import GatewayUnavailableError
from interlock_gateway.core.checkpoint import ApproverDecision
from interlock_gateway.pipeline.ports import StateUnavailableError

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


@pytest.mark.req("PIPE-10", "PREV-1")
async def test_a_preview_that_cannot_be_kept_under_its_id_is_not_answered(
    socket_directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Asked again, perhaps at another replica, there would be another one."""
    async with bench(socket_directory) as at:
        calls, session = at.gateway.rooms.store.calls, at.agent.session("s")

        async def lost(_record: object) -> None:
            raise StateUnavailableError("the database is gone")

        with monkeypatch.context() as broken:
            broken.setattr(calls, "record_outcome", lost)
            with pytest.raises(GatewayUnavailableError):
                await session.call("replace_value", {"value": "b"}, call_id="c", timeout=1.0)
        again = await session.call("replace_value", {"value": "b"}, call_id="c")
        assert (await session.call("replace_value", {"value": "b"}, call_id="c")).pending == again.pending
        assert (await session.resolve("apply", "as asked")).text == "now b"
    assert at.ledger.names() == ["replace_value"]
