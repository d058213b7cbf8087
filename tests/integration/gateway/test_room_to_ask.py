"""How many calls may wait for people: no agent asks without end, and nothing is left over of one that was refused."""

import asyncio
from pathlib import Path

import pytest
from asked_people import person
from gateway_bench import bench
from interlock import CallStatus, Gateway
from interlock.errors import InterlockError
from interlock_gateway.approvals.desk import ApprovalDesk
from interlock_gateway.config import IdentityConfig, LimitsConfig, TokenConfig
from interlock_gateway.core.session import Role
from interlock_gateway.identity.authenticate import new_token

X = {"what": "x"}


@pytest.mark.req("REL-8", "CHK-4")
async def test_a_session_has_no_more_detached_calls_waiting_than_may_be(socket_directory: Path) -> None:
    limits = LimitsConfig(max_open_checkpoints_per_session=2, max_open_checkpoints=3)
    async with bench(socket_directory, limits=limits) as at, person(at.gateway) as bob:
        session, other = at.agent.session("s"), at.agent.session("other")
        for number in range(2):
            await session.call("wreck", X, call_id=f"c{number}", checkpoint_mode="detach")
        with pytest.raises(InterlockError, match="of this session wait for people"):
            await session.call("wreck", X, call_id="c2", checkpoint_mode="detach")
        assert await at.gateway.rooms.store.calls.find_call("s", "c2") is None

        # The next one of another session fills the gateway.
        await other.call("wreck", X, call_id="c0", checkpoint_mode="detach")
        with pytest.raises(InterlockError, match="too many calls wait for people"):
            await other.call("wreck", X, call_id="c1", checkpoint_mode="detach")

        # Who asks for a call that waits is no further one, and what was decided makes room.
        again = await session.call("wreck", X, call_id="c0", checkpoint_mode="detach")
        assert again.status is CallStatus.AWAITING_CHECKPOINT
        await bob.approves_the_next()
        assert (await session.call("wreck", X, call_id="c0", checkpoint_mode="detach")).text == "gone"
        held = await session.call("wreck", X, call_id="c2", checkpoint_mode="detach")
        assert held.status is CallStatus.AWAITING_CHECKPOINT
    assert at.ledger.names() == ["wreck"]


@pytest.mark.req("REL-8", "CHK-4")
async def test_one_agent_with_many_sessions_leaves_room_for_others_to_ask(socket_directory: Path) -> None:
    token, sha256 = new_token()
    limits = LimitsConfig(max_open_checkpoints=10)
    identity = IdentityConfig(tokens=(TokenConfig(principal="mallory", sha256=sha256, roles=(Role.AGENT,)),))
    async with (
        bench(socket_directory, limits=limits, identity=identity) as at,
        person(at.gateway),
        Gateway(at.gateway.endpoints.agents[1], token=token, patience=0) as mallory,
    ):
        for number in range(8):
            await mallory.session(f"m{number}").call("wreck", X, call_id="c", checkpoint_mode="detach")
        with pytest.raises(InterlockError, match="too many of your calls wait for people"):
            await mallory.session("m9").call("wreck", X, call_id="c", checkpoint_mode="detach")
        held = await at.agent.session("s").call("wreck", X, call_id="c", checkpoint_mode="detach")
        assert held.status is CallStatus.AWAITING_CHECKPOINT


@pytest.mark.req("REL-8", "CHK-4")
async def test_who_people_were_asked_for_waits_though_others_took_the_room(
    socket_directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two calls find room for one, before either waits: nobody is asked about a call that nobody holds open."""
    can_ask, both, asking = ApprovalDesk.can_ask, asyncio.Event(), []

    async def together(desk: ApprovalDesk, *of: tuple[str, ...]) -> bool:
        asking.append(of)
        if len(asking) == 2:
            both.set()
        await both.wait()
        return await can_ask(desk, *of)  # type: ignore[arg-type]  # handed on as it came

    monkeypatch.setattr(ApprovalDesk, "can_ask", together)
    async with bench(socket_directory, limits=LimitsConfig(max_waiting_calls=1)) as at, person(at.gateway) as bob:
        calls = [asyncio.create_task(at.agent.session(name).call("wreck", X, call_id="c", timeout=60)) for name in "st"]
        for _ in calls:
            await bob.approves_the_next()
        assert [(await call).text for call in calls] == ["gone", "gone"]
    assert at.ledger.names() == ["wreck", "wreck"]
