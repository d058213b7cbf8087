"""People who sit at an agent's client count as somebody to ask while that client can ask them (CHK-2, CHK-6)."""

import pytest
from interlock_gateway.approvals.at_clients import AtClients, at_client
from interlock_gateway.approvals.desk import ApprovalDesk
from interlock_gateway.approvals.editing import Editor
from interlock_gateway.approvals.watches import Watches
from interlock_gateway.state.store import SqlStateStore
from waiting_checkpoints import StillClock


@pytest.fixture
def people() -> AtClients:
    return AtClients([at_client("agent", "alice", ("dba",)), at_client("other", "bob", ())])


@pytest.fixture
def desk(store: SqlStateStore, clock: StillClock, watches: Watches, editor: Editor, people: AtClients) -> ApprovalDesk:
    return ApprovalDesk(store.checkpoints, clock, watches, editor, channels=(people,))


@pytest.mark.req("CHK-2", "MCP-1")
async def test_they_can_be_asked_about_their_own_agents_calls_while_one_is_under_way(
    desk: ApprovalDesk, people: AtClients
) -> None:
    assert not await desk.can_ask("agent", (), ())
    with people.present("agent"):
        with people.present("agent"):
            assert await desk.can_ask("agent", (), ())
            assert await desk.can_ask("agent", ("dba",), ())
            assert not await desk.can_ask("agent", ("ops",), ())
            assert not await desk.can_ask("other", (), ())
        assert await desk.can_ask("agent", (), ())
    assert not await desk.can_ask("agent", (), ())


@pytest.mark.req("CHK-2", "MCP-1")
async def test_nobody_sits_at_a_client_for_which_the_operator_named_nobody(
    desk: ApprovalDesk, people: AtClients
) -> None:
    with people.present("stranger"):
        assert people.of("stranger") is None
        assert not await desk.can_ask("stranger", (), ())


async def test_who_sits_at_a_client_is_an_approver_and_no_agent(people: AtClients) -> None:
    alice = people.of("agent")

    assert alice is not None
    assert (alice.id, alice.groups, [role.value for role in alice.roles]) == ("alice", ("dba",), ["approver"])
