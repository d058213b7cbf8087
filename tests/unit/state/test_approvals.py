"""Links answer once, answers count once, deliveries are made by one replica, watches are seen at the others (CHK-8)."""

import asyncio
from dataclasses import replace

import pytest
from interlock_gateway.approvals.records import AnswerLink
from interlock_gateway.core.checkpoint import ApproverDecision
from interlock_gateway.state.store import SqlStateStore

pytestmark = pytest.mark.req("CHK-8", "STATE-1")
NOW = 1_000.0
LINK = AnswerLink("a" * 64, "k", "tickets", "alice", ApproverDecision.APPROVE, NOW + 60)
DELIVERY = ("tickets", "k", "checkpoint.opened")


async def test_a_link_is_used_by_one_of_many_and_not_once_it_has_expired(store: SqlStateStore) -> None:
    approvals = store.approvals
    late = replace(LINK, token_sha256="b" * 64, expires_at=NOW)
    await approvals.add_links([LINK, late])
    assert await approvals.find_link(LINK.token_sha256) == LINK
    assert await approvals.find_link("c" * 64) is None
    used = await asyncio.gather(*(approvals.use_link(LINK.token_sha256, NOW) for _ in range(20)))
    assert used.count(True) == 1
    assert not await approvals.use_link(late.token_sha256, NOW)
    assert await approvals.find_link(LINK.token_sha256) == replace(LINK, used_at=NOW)
    await approvals.give_back_link(LINK.token_sha256)
    assert await approvals.use_link(LINK.token_sha256, NOW)


async def test_an_answer_is_seen_for_the_first_time_once(store: SqlStateStore) -> None:
    seen = await asyncio.gather(*(store.approvals.first_use("k" * 64, NOW + 600) for _ in range(20)))
    assert seen.count(True) == 1
    assert await store.approvals.first_use("l" * 64, NOW + 600)


async def test_a_delivery_is_one_replicas_until_it_is_done_or_its_claim_has_run_out(store: SqlStateStore) -> None:
    claim = store.approvals.claim_delivery
    tried = (claim(*DELIVERY, now=NOW, until=NOW + 10, expires_at=NOW + 99) for _ in range(20))
    claimed = await asyncio.gather(*tried)
    assert claimed.count(True) == 1
    assert not await claim(*DELIVERY, now=NOW + 9, until=NOW + 20, expires_at=NOW + 99)
    await store.approvals.hold_delivery(*DELIVERY, NOW + 30)
    assert not await claim(*DELIVERY, now=NOW + 11, until=NOW + 40, expires_at=NOW + 99)
    assert await claim(*DELIVERY, now=NOW + 30, until=NOW + 40, expires_at=NOW + 99)
    await store.approvals.delivered(*DELIVERY, NOW + 31)
    assert not await claim(*DELIVERY, now=NOW + 90, until=NOW + 95, expires_at=NOW + 99)


async def test_what_has_expired_is_forgotten_and_nothing_else(store: SqlStateStore) -> None:
    approvals = store.approvals
    await approvals.add_links([LINK, replace(LINK, token_sha256="b" * 64, expires_at=NOW)])
    await approvals.first_use("k" * 64, NOW)
    await approvals.claim_delivery(*DELIVERY, now=0, until=1, expires_at=NOW)
    await approvals.delivered(*DELIVERY, 1)
    await approvals.sweep(NOW)
    assert await approvals.find_link("b" * 64) is None
    assert await approvals.find_link(LINK.token_sha256) is not None
    assert await approvals.first_use("k" * 64, NOW + 600)
    assert await approvals.claim_delivery(*DELIVERY, now=NOW, until=NOW + 1, expires_at=NOW + 9)


@pytest.mark.req("CHK-2")
@pytest.mark.parametrize("kind", ["postgresql"], indirect=True)
async def test_a_watch_is_seen_at_other_replicas_while_its_own_lives(migrated: str) -> None:
    async with await SqlStateStore.open(migrated, replica_id="r2") as there:
        async with await SqlStateStore.open(migrated, replica_id="r1") as here:
            await here.join()
            await here.watches.begin_watch("w1", "alice", ("dba", "ops"))
            await here.watches.begin_watch("w2", "bob", ())
            assert await here.watches.watches_elsewhere() == ()
            assert set(await there.watches.watches_elsewhere()) == {("alice", ("dba", "ops")), ("bob", ())}
            await here.watches.end_watch("w1")
            assert await there.watches.watches_elsewhere() == (("bob", ()),)
        # It has left with its watch open, as one that was killed has.
        assert await there.watches.watches_elsewhere() == ()
        async with await SqlStateStore.open(migrated, replica_id="r1") as again:
            await again.join()
            await again.watches.forget_own_watches()
            assert await there.watches.watches_elsewhere() == ()
