"""Several replicas on one PostgreSQL database: what they tell each other, and who is alive (STATE-1, STATE-2)."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack

import psycopg
import pytest
from interlock_gateway.core.call import CallState
from interlock_gateway.core.change import EVERYTHING, Change, Topic
from interlock_gateway.core.operation import OperationState
from interlock_gateway.core.pending import PendingState
from interlock_gateway.pipeline.ports import StateUnavailableError
from interlock_gateway.state.store import SqlStateStore
from state_records import NOW, a_denial, a_record, a_session, an_action, an_operation
from waiting import eventually

pytestmark = pytest.mark.parametrize("kind", ["postgresql"], indirect=True)
LEASE_S = 1.0
Join = Callable[..., Awaitable[SqlStateStore]]


@pytest.fixture
async def join(migrated: str) -> AsyncIterator[Join]:
    """Make a replica, with a lease shorter than is good for anything but tests."""
    async with AsyncExitStack() as stack:

        async def made(replica_id: str, lease_s: float = LEASE_S) -> SqlStateStore:
            store = await stack.enter_async_context(await SqlStateStore.open(migrated, replica_id=replica_id))
            await store.join(lease_s)
            return store

        yield made


@pytest.fixture
async def two(join: Join) -> tuple[SqlStateStore, SqlStateStore]:
    """Two replicas, and a session."""
    first, second = await join("r1"), await join("r2")
    await first.sessions.ensure_session(a_session())
    return first, second


def heard_by(store: SqlStateStore, *, elsewhere: bool = False) -> list[Change]:
    heard: list[Change] = []
    (store.changes.subscribe_elsewhere if elsewhere else store.changes.subscribe)(heard.append)
    return heard


async def cut_connections(url: str) -> None:
    """End every connection of every replica, as a failover does."""
    async with await psycopg.AsyncConnection.connect(url, autocommit=True) as connection:
        await connection.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )


def stop_renewing(store: SqlStateStore) -> None:
    """What a replica looks like to the others that was paused: its connections stay, and nothing comes from it."""
    assert store._replica is not None
    keeper = store._replica._presence._keeper
    assert keeper is not None
    keeper.cancel()


@pytest.mark.req("STATE-1")
async def test_a_change_is_told_to_everybody_once(two: tuple[SqlStateStore, SqlStateStore]) -> None:
    first, second = two
    here, there, not_ours = heard_by(first), heard_by(second), heard_by(first, elsewhere=True)

    await first.pending.push_pending(an_action())

    told = Change(Topic.PENDING, "s", "s")
    await eventually(lambda: told in there)
    await second.sessions.close_session("s", NOW)
    await eventually(lambda: Change(Topic.SESSION, "s", "s") in here)
    assert here.count(told) == there.count(told) == 1
    assert not_ours == [Change(Topic.SESSION, "s", "s")]


@pytest.mark.req("STATE-1")
@pytest.mark.parametrize(
    "call_id", ["it's", "''; DROP TABLE sessions; --", "a\\'b", "\\", "é\u2028😀", "%s %(x)s {}", "$1"]
)
async def test_whatever_a_call_is_named_it_is_told_as_it_is(
    two: tuple[SqlStateStore, SqlStateStore], call_id: str
) -> None:
    first, second = two
    there = heard_by(second)

    for n in range(7):  # more often than a driver needs to think of preparing the statement
        await first.calls.record_outcome(a_denial(f"{call_id}{n}"))

    await eventually(lambda: len(there) >= 7)
    assert there == [Change(Topic.CALL, "s", f"{call_id}{n}") for n in range(7)]
    assert await second.sessions.get_session("s") == a_session()


@pytest.mark.req("STATE-1")
async def test_what_was_undone_is_told_to_nobody(two: tuple[SqlStateStore, SqlStateStore]) -> None:
    first, second = two
    there = heard_by(second)
    await first.pending.push_pending(an_action())

    with pytest.raises(Exception, match="taken"):
        await first.pending.push_pending(an_action())
    await first.sessions.close_session("s", NOW)

    await eventually(lambda: Change(Topic.SESSION, "s", "s") in there)
    assert there.count(Change(Topic.PENDING, "s", "s")) == 1


@pytest.mark.req("STATE-1")
async def test_a_replica_that_was_cut_off_says_that_anything_may_have_changed_and_hears_again(
    migrated: str, two: tuple[SqlStateStore, SqlStateStore]
) -> None:
    first, second = two
    there = heard_by(second)

    await cut_connections(migrated)

    await eventually(lambda: EVERYTHING in there)
    await eventually(lambda: first.stands and second.stands)
    await first.pending.push_pending(an_action())
    await eventually(lambda: Change(Topic.PENDING, "s", "s") in there)


@pytest.mark.req("STATE-2", "PIPE-9")
async def test_what_a_dead_replica_was_running_becomes_unknown_once_and_soon(
    two: tuple[SqlStateStore, SqlStateStore], join: Join
) -> None:
    dead, alive = two
    third = await join("r3")
    await dead.calls.begin_call(a_record(), an_operation())
    await dead.pending.push_pending(an_action())
    await dead.pending.claim_pending("p", "somebody", NOW)
    await alive.calls.begin_call(a_record("mine"), an_operation("mine"))
    heard = heard_by(third)

    stop_renewing(dead)

    await eventually(lambda: Change(Topic.CALL, "s", "c") in heard, within_s=5 * LEASE_S)
    record = await alive.calls.find_call("s", "c")
    assert record is not None
    assert record.state is CallState.OUTCOME_UNKNOWN
    assert [action.state for action in await alive.pending.unknown_pending("s")] == [PendingState.OUTCOME_UNKNOWN]
    mine = await alive.calls.find_call("s", "mine")
    assert mine is not None
    assert mine.state is CallState.DISPATCHING
    assert heard.count(Change(Topic.CALL, "s", "c")) == 1
    operation = await alive.journal.get_operation("op-s-c")
    assert operation is not None
    assert operation.state is OperationState.OUTCOME_UNKNOWN


@pytest.mark.req("STATE-2")
async def test_a_replica_that_was_taken_for_dead_changes_nothing(two: tuple[SqlStateStore, SqlStateStore]) -> None:
    paused, _ = two
    await paused.pending.push_pending(an_action())

    stop_renewing(paused)
    await eventually(lambda: not paused.stands)

    with pytest.raises(StateUnavailableError, match="lost its lease"):
        await paused.calls.begin_call(a_record(), an_operation())
    with pytest.raises(StateUnavailableError, match="lost its lease"):
        await paused.pending.claim_pending("p", "me", NOW)
    assert await paused.calls.find_call("s", "c") is None


@pytest.mark.req("STATE-2")
async def test_a_replica_that_believes_in_its_lease_is_stopped_by_the_database(
    two: tuple[SqlStateStore, SqlStateStore], caplog: pytest.LogCaptureFixture
) -> None:
    wrong, _ = two
    stop_renewing(wrong)
    wrong._standing.grant(wrong._standing.incarnation, 1e12, 0)
    await eventually(lambda: "a replica is gone" in caplog.text)

    assert wrong.stands
    with pytest.raises(StateUnavailableError, match="lost its lease"):
        await wrong.calls.begin_call(a_record(), an_operation())


@pytest.mark.req("STATE-2")
async def test_a_replica_that_was_paused_in_a_transaction_takes_nobody_with_it(
    migrated: str, join: Join, caplog: pytest.LogCaptureFixture
) -> None:
    # Long enough that the one that lives does not lose its own for want of a processor.
    paused, alive = await join("r1", 5 * LEASE_S), await join("r2", 5 * LEASE_S)
    before = alive._standing.incarnation
    async with await psycopg.AsyncConnection.connect(migrated, application_name="interlock r1") as transaction:
        await transaction.execute("SELECT 1 FROM replicas WHERE replica_id = 'r1' FOR KEY SHARE")
        stop_renewing(paused)
        await eventually(lambda: "a replica is gone" in caplog.text, within_s=30 * LEASE_S)

        assert alive.stands
        assert alive._standing.incarnation == before
        with pytest.raises(psycopg.OperationalError):
            await transaction.execute("SELECT 1")


@pytest.mark.req("STATE-2")
async def test_a_replica_that_lost_its_lease_gets_another_and_works_again(
    migrated: str, two: tuple[SqlStateStore, SqlStateStore]
) -> None:
    first, _ = two
    before = first._standing.incarnation

    await cut_connections(migrated)
    await eventually(lambda: first._standing.incarnation != before and first.stands)

    assert (await first.calls.begin_call(a_record(), an_operation())).operation is not None


async def test_one_name_is_for_one_replica(two: tuple[SqlStateStore, SqlStateStore], join: Join) -> None:
    assert two[0].stands
    with pytest.raises(StateUnavailableError, match="another gateway is running as replica r1"):
        await join("r1", 0.3)


async def test_a_name_is_free_again_after_its_replica_has_left(join: Join) -> None:
    first = await join("r1")
    await first.close()

    assert not first.stands
    assert (await join("r1")).stands


@pytest.mark.req("PREV-13")
async def test_of_several_replicas_one_has_each_expired_action_to_end(two: tuple[SqlStateStore, SqlStateStore]) -> None:
    names = {f"p{number}" for number in range(20)}
    for name in names:
        await two[0].pending.push_pending(an_action(name, expires_at=NOW + 10))

    swept = await asyncio.gather(*(store.pending.expire_pending(NOW + 10) for store in two * 3))

    ended = [action.pending_id for actions in swept for action in actions]
    assert sorted(ended) == sorted(names), "each once"


@pytest.mark.req("PREV-13", "STATE-2")
async def test_what_is_pending_in_a_session_that_two_replicas_close_is_one_replicas_to_end(
    two: tuple[SqlStateStore, SqlStateStore],
) -> None:
    pushed = await two[0].pending.push_pending(an_action("p"))

    closed = await asyncio.gather(
        *(store.pending.discard_session_pending(pushed.session_id, "session closed", NOW) for store in two)
    )

    assert sorted(len(actions) for actions in closed) == [0, 1]
