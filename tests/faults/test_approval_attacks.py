"""Approvals under attack, in their short versions (quality.md, REL-2 and REL-3)."""

from collections import Counter
from pathlib import Path

import pytest
from approval_attacks import decide_ones_own, mutate_approvals, race_redeemers, race_resolvers
from approval_rig import approval_rig
from postgres_server import PostgresServer

APPROVALS = 20
RACERS = 20


def others(answers: Counter[str]) -> dict[str, int]:
    return {answer: count for answer, count in answers.items() if not answer.startswith("completed: ")}


@pytest.mark.req("REL-3", "CHK-3", "CHK-9")
async def test_of_racing_redeemers_one_runs_each_approved_call_and_all_get_its_outcome(socket_directory: Path) -> None:
    """The short version on SQLite: 20 approvals, 20 racers each, one gateway."""
    async with approval_rig(socket_directory) as rig:
        answers = await race_redeemers(rig, approvals=APPROVALS, racers=RACERS)
    assert Counter(rig.done.ran) == Counter(("wreck", str(n)) for n in range(APPROVALS))
    assert others(answers) == {}
    assert answers == Counter({f"completed: {n} is gone": RACERS for n in range(APPROVALS)})


@pytest.mark.req("REL-3", "CHK-3", "CHK-9")
async def test_of_racing_redeemers_at_two_gateways_one_runs_each_approved_call(
    socket_directory: Path, postgres: PostgresServer
) -> None:
    """The short version on PostgreSQL: 20 approvals, 20 racers each, two gateways."""
    with postgres.database() as url:
        async with approval_rig(socket_directory, databases=(url, url)) as rig:
            answers = await race_redeemers(rig, approvals=APPROVALS, racers=RACERS)
    assert Counter(rig.done.ran) == Counter(("wreck", str(n)) for n in range(APPROVALS))
    assert others(answers) == {}
    assert answers == Counter({f"completed: {n} is gone": RACERS for n in range(APPROVALS)})


@pytest.mark.req("REL-3", "PREV-13")
async def test_of_racing_resolvers_one_applies_each_approved_preview(socket_directory: Path) -> None:
    async with approval_rig(socket_directory) as rig:
        answers = await race_resolvers(rig, approvals=APPROVALS, racers=RACERS)
    assert Counter(rig.done.ran) == Counter(("replace", str(n)) for n in range(APPROVALS))
    assert others(answers) == {}
    assert answers == Counter({f"completed: replaced {n}": RACERS for n in range(APPROVALS)})


@pytest.mark.req("REL-3", "PREV-13")
async def test_of_racing_resolvers_at_two_gateways_one_applies_each_approved_preview(
    socket_directory: Path, postgres: PostgresServer
) -> None:
    with postgres.database() as url:
        async with approval_rig(socket_directory, databases=(url, url)) as rig:
            answers = await race_resolvers(rig, approvals=APPROVALS, racers=RACERS)
    assert Counter(rig.done.ran) == Counter(("replace", str(n)) for n in range(APPROVALS))
    assert others(answers) == {}
    assert answers == Counter({f"completed: replaced {n}": RACERS for n in range(APPROVALS)})


@pytest.mark.req("REL-2", "CHK-3")
async def test_an_approval_for_something_else_runs_nothing(socket_directory: Path) -> None:
    """The short version: each of 15 ways, ten times."""
    async with approval_rig(socket_directory) as rig:
        reasons = await mutate_approvals(rig, attempts=150)
    assert rig.done.ran == []
    assert set(reasons.values()) == {10}
    assert {name.partition(": ")[2] for name in reasons} <= {
        "approval_void",
        "checkpoint_expired",
        "unknown_tool",
        "not_your_session",
        "outside_workspace",
        "awaiting_checkpoint",
    }, reasons


@pytest.mark.req("REL-2", "CHK-6")
async def test_an_agent_never_decides_about_its_own_call(socket_directory: Path) -> None:
    """The short version: 24 calls, with every role and every decision."""
    async with approval_rig(socket_directory) as rig:
        assert await decide_ones_own(rig, attempts=24) == 0
    assert rig.done.ran == []
