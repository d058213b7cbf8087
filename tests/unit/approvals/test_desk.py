"""Who can be asked, who may look, and whose answer counts (CHK-2, CHK-6, CHK-7)."""

import asyncio
from dataclasses import replace

import pytest
from interlock_gateway.approvals.answers import Said
from interlock_gateway.approvals.desk import ApprovalDesk
from interlock_gateway.approvals.editing import Editor
from interlock_gateway.approvals.handlers import Channel
from interlock_gateway.approvals.watches import Watches
from interlock_gateway.core.checkpoint import ApproverDecision, CheckpointState
from interlock_gateway.core.session import Principal, Role
from interlock_gateway.errors import RequestError, RequestFault
from interlock_gateway.state.store import SqlStateStore
from waiting_checkpoints import AGENT, ALICE, BOB, NOW, StillClock, opened, waiting

APPROVE, DENY = ApproverDecision.APPROVE, ApproverDecision.DENY
EDIT, RESPOND = ApproverDecision.EDIT, ApproverDecision.RESPOND


async def refused(desk: ApprovalDesk, who: Principal, said: Said) -> RequestFault:
    with pytest.raises(RequestError) as caught:
        await desk.decide(who, said)
    return caught.value.fault


@pytest.mark.req("CHK-2")
async def test_nobody_can_be_asked_when_nobody_watches(desk: ApprovalDesk) -> None:
    assert not await desk.can_ask("agent", (), ())


@pytest.mark.req("CHK-2", "CHK-6")
async def test_a_watch_makes_its_approver_somebody_to_ask_for_as_long_as_it_is_open(
    desk: ApprovalDesk, watches: Watches
) -> None:
    watch = desk.watch(ALICE, ())
    assert (await anext(watch)).checkpoint is None
    assert await desk.can_ask("agent", (), ())
    assert await desk.can_ask("agent", ("dba",), ())
    assert await desk.can_ask("agent", ("ops",), ("dba",))
    assert not await desk.can_ask("agent", ("ops",), ())
    assert not await desk.can_ask("alice", (), ())
    await watch.aclose()  # type: ignore[attr-defined]  # an async generator, as every watch is
    assert len(watches) == 0
    assert not await desk.can_ask("agent", (), ())


@pytest.mark.req("CHK-6")
async def test_a_watch_limited_to_a_group_is_asked_for_that_group_alone_and_for_none_it_is_not_in(
    desk: ApprovalDesk,
) -> None:
    both = replace(ALICE, groups=("dba", "ops"))
    watch = desk.watch(both, ("ops", "board"))
    await anext(watch)
    assert await desk.can_ask("agent", ("ops",), ())
    assert not await desk.can_ask("agent", ("dba",), ())
    assert not await desk.can_ask("agent", ("board",), ())
    await watch.aclose()  # type: ignore[attr-defined]  # an async generator


@pytest.mark.req("CHK-2", "CHK-8")
async def test_a_configured_channel_counts_as_somebody_to_ask(
    store: SqlStateStore, clock: StillClock, watches: Watches, editor: Editor
) -> None:
    desk = ApprovalDesk(store.checkpoints, clock, watches, editor, channels=(Channel("ops", (ALICE,)),))
    assert await desk.can_ask("agent", ("dba",), ())
    assert not await desk.can_ask("agent", ("ops",), ())
    assert not await desk.can_ask("alice", ("dba",), ())


@pytest.mark.req("CHK-6", "REL-2")
async def test_an_agents_credential_never_looks_nor_decides_whatever_else_it_is(
    desk: ApprovalDesk, store: SqlStateStore
) -> None:
    await opened(store, waiting())
    both = replace(AGENT, id="somebody", roles=frozenset({Role.AGENT, Role.APPROVER, Role.OPERATOR}))
    for who in (AGENT, both, replace(ALICE, roles=frozenset({Role.OPERATOR}))):
        assert await refused(desk, who, Said("chk-1", APPROVE)) is RequestFault.ROLE_MISSING
        with pytest.raises(RequestError):
            desk.watch(who, ())
        with pytest.raises(RequestError):
            await desk.page(who, (CheckpointState.OPEN,), 10)
        with pytest.raises(RequestError):
            await desk.look(who, "chk-1")


@pytest.mark.req("CHK-6", "REL-2")
async def test_nobody_decides_their_own_call(desk: ApprovalDesk, store: SqlStateStore) -> None:
    await opened(store, waiting(requester="alice"))
    for said in (Said("chk-1", APPROVE), Said("chk-1", DENY, "no"), Said("chk-1", RESPOND, response="yes")):
        assert await refused(desk, ALICE, said) is RequestFault.OWN_CALL
    kept = await desk.look(ALICE, "chk-1")
    assert (kept.state, kept.answers) == (CheckpointState.OPEN, ())


@pytest.mark.req("CHK-6")
async def test_who_is_in_none_of_the_groups_neither_sees_nor_answers(desk: ApprovalDesk, store: SqlStateStore) -> None:
    await opened(store, waiting(approvers=("dba",)))
    assert await refused(desk, BOB, Said("chk-1", APPROVE)) is RequestFault.APPROVER_GROUP_MISSING
    assert (await desk.page(BOB, (CheckpointState.OPEN,), 10)).checkpoints == ()
    assert (await desk.decide(ALICE, Said("chk-1", APPROVE))).state is CheckpointState.APPROVED


@pytest.mark.req("CHK-6")
async def test_the_second_groups_see_before_they_may_answer(
    desk: ApprovalDesk, store: SqlStateStore, clock: StillClock
) -> None:
    await opened(store, waiting(approvers=("dba",), escalate_to=("ops",), escalate_at=NOW + 10))
    assert len((await desk.page(BOB, (CheckpointState.OPEN,), 10)).checkpoints) == 1
    assert await refused(desk, BOB, Said("chk-1", APPROVE)) is RequestFault.APPROVER_GROUP_MISSING
    clock.at = NOW + 11
    await store.checkpoints.escalate_checkpoints(clock.at)
    assert (await desk.decide(BOB, Said("chk-1", APPROVE))).state is CheckpointState.APPROVED


@pytest.mark.req("CHK-6")
async def test_a_quorum_takes_that_many_different_people(desk: ApprovalDesk, store: SqlStateStore) -> None:
    await opened(store, waiting(quorum=2))
    assert (await desk.decide(ALICE, Said("chk-1", APPROVE))).state is CheckpointState.OPEN
    assert await refused(desk, ALICE, Said("chk-1", APPROVE)) is RequestFault.CHECKPOINT_NOT_OPEN
    assert (await desk.decide(BOB, Said("chk-1", APPROVE))).state is CheckpointState.APPROVED


@pytest.mark.req("CHK-3")
async def test_an_answer_for_another_call_than_was_shown_does_not_count(
    desk: ApprovalDesk, store: SqlStateStore
) -> None:
    await opened(store, waiting())
    said = Said("chk-1", APPROVE, call_digest="f" * 64)
    assert await refused(desk, ALICE, said) is RequestFault.STALE_CONFIRMATION
    assert (await desk.decide(ALICE, replace(said, call_digest=f"{1:064x}"))).state is CheckpointState.APPROVED


@pytest.mark.req("CHK-6")
async def test_what_has_expired_or_is_not_there_cannot_be_answered(
    desk: ApprovalDesk, store: SqlStateStore, clock: StillClock
) -> None:
    await opened(store, waiting())
    clock.at = NOW + 61
    assert await refused(desk, ALICE, Said("chk-1", APPROVE)) is RequestFault.CHECKPOINT_NOT_OPEN
    assert await refused(desk, ALICE, Said("chk-2", APPROVE)) is RequestFault.CHECKPOINT_NOT_FOUND


@pytest.mark.req("CHK-9")
async def test_of_many_answers_at_once_one_decides(desk: ApprovalDesk, store: SqlStateStore) -> None:
    await opened(store, waiting())
    people = [Principal(f"p{n}", "token", frozenset({Role.APPROVER})) for n in range(20)]
    said = [Said("chk-1", APPROVE) if n % 2 else Said("chk-1", DENY, reason="no") for n in range(20)]
    ended = await asyncio.gather(*map(desk.decide, people, said), return_exceptions=True)
    assert sum(not isinstance(one, BaseException) for one in ended) == 1
    assert len((await desk.look(ALICE, "chk-1")).answers) == 1


@pytest.mark.req("CHK-7")
@pytest.mark.parametrize(
    ("said", "field"),
    [
        (Said("chk-1", DENY), "reason"),
        (Said("chk-1", DENY, reason=" \n"), "reason"),
        (Said("chk-1", EDIT), "edited_input"),
        (Said("chk-1", APPROVE, edited_input=b"{}"), "edited_input"),
        (Said("chk-1", RESPOND), "response"),
        (Said("chk-1", RESPOND, response=" "), "response"),
        (Said("chk-1", APPROVE, response="x"), "response"),
        (Said("chk-1", APPROVE, reason="x" * 5000), "reason"),
        (Said("chk-1", RESPOND, response="x" * 20_000), "response"),
        (Said("chk-1", EDIT, edited_input=b"[1]"), "edited_input"),
        (Said("chk-1", EDIT, edited_input=b'{"a":1,"a":2}'), "edited_input"),
        (Said("chk-1", EDIT, edited_input=b'{"a":' + b"[" * 60 + b"]" * 60 + b"}"), "edited_input"),
        (Said("chk-1", EDIT, edited_input=b'{"a":"' + b"x" * 70_000 + b'"}'), "edited_input"),
        (Said("chk-1", EDIT, edited_input=b'{"table": "users"}'), "edited_input"),
    ],
)
async def test_an_answer_that_is_not_whole_is_refused_naming_the_field(
    desk: ApprovalDesk, store: SqlStateStore, said: Said, field: str
) -> None:
    await opened(store, waiting())
    with pytest.raises(RequestError) as caught:
        await desk.decide(ALICE, said)
    assert caught.value.field == field
    assert (await desk.look(ALICE, "chk-1")).answers == ()


@pytest.mark.req("CHK-7")
async def test_pages_follow_each_other_by_expiry_and_hold_what_may_be_seen_alone(
    desk: ApprovalDesk, store: SqlStateStore
) -> None:
    for number in range(1, 10):
        await opened(store, waiting(number, approvers=("dba",) if number % 3 else ("ops",)))
    first = await desk.page(ALICE, (CheckpointState.OPEN,), 4)
    second = await desk.page(ALICE, (CheckpointState.OPEN,), 4, after=first.next)
    found = [one.checkpoint_id for one in (*first.checkpoints, *second.checkpoints)]
    assert found == ["chk-1", "chk-2", "chk-4", "chk-5", "chk-7", "chk-8"]
    assert second.next is None
