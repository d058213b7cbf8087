"""`batch_rename` before a real gateway: a call, its pending action, and what `resolve` makes of it (BOX-8)."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from gateway_bench import Bench, bench
from interlock import CallStatus
from interlock.toolbox import local_operations, toolbox_tools
from interlock_gateway.config import PolicyConfig

SWAP = {"renames": [{"path": "a", "new_path": "b"}, {"path": "b", "new_path": "a"}, {"path": "c", "new_path": "d"}]}


@pytest.fixture
def work(socket_directory: Path) -> Path:
    made = socket_directory / "work"
    made.mkdir()
    for name in ("a", "b", "c"):
        (made / name).write_text(name)
    return made


@pytest.fixture
async def at(socket_directory: Path, work: Path) -> AsyncIterator[Bench]:
    operations = local_operations([work], socket_directory / "vault")
    async with bench(socket_directory, tools=lambda _: toolbox_tools(operations), workspace_roots=(str(work),)) as made:
        yield made


def contents(work: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in sorted(work.iterdir())}


BEFORE = {"a": "a", "b": "b", "c": "c"}
AFTER = {"a": "b", "b": "a", "d": "c"}


@pytest.mark.req("BOX-8", "PREV-11", "UNDO-2")
async def test_a_plan_is_pending_until_it_is_applied_and_can_be_rolled_back(at: Bench, work: Path) -> None:
    session = at.agent.session("s")

    planned = await session.call("batch_rename", SWAP)

    assert (planned.status, planned.is_error) == (CallStatus.COMPLETED, False), planned.text
    assert planned.pending is not None
    assert planned.pending.label == "rename 3 paths"
    assert contents(work) == BEFORE
    applied = await session.resolve("apply", "as planned")
    assert (applied.status, applied.is_error) == (CallStatus.COMPLETED, False), applied.text
    assert applied.details["sourceToolName"] == "batch_rename"
    assert applied.text.startswith("Renamed 3 paths")
    assert contents(work) == AFTER
    lines = [line async for line in session.rollback(count=2, reason="try")]
    assert [line.outcome for line in lines] == ["undone", "undone"], lines
    assert contents(work) == BEFORE
    assert (await session.resolve("apply", "again")).text.startswith("No pending action to resolve.")


@pytest.mark.req("BOX-8", "PREV-8")
async def test_a_discarded_plan_changes_nothing(at: Bench, work: Path) -> None:
    session = at.agent.session("s")
    await session.call("batch_rename", SWAP)

    discarded = await session.resolve("discard", "not now")

    assert discarded.text == "Discarded: rename 3 paths. Reason: not now"
    assert contents(work) == BEFORE


@pytest.mark.req("BOX-8", "PREV-7")
async def test_a_plan_that_things_have_changed_under_is_refused_and_stays_pending(at: Bench, work: Path) -> None:
    session = at.agent.session("s")
    await session.call("batch_rename", SWAP)
    (work / "d").write_text("taken")

    refused = await session.resolve("apply", "as planned")

    assert refused.is_error
    assert "d is already there. Nothing was renamed" in refused.text
    assert contents(work) == {**BEFORE, "d": "taken"}
    assert [one.label for one in (await session.pending()).actions] == ["rename 3 paths"]
    (work / "d").unlink()
    assert not (await session.resolve("apply", "it is free now")).is_error
    assert contents(work) == AFTER


@pytest.mark.req("BOX-8", "BOX-12")
async def test_policy_sees_every_path_of_a_batch(at: Bench, work: Path) -> None:
    session = at.agent.session("s")

    for path, new_path in (("a", "../a"), ("../outside", "x"), ("a", "/etc/a")):
        refused = await session.call("batch_rename", {"renames": [{"path": path, "new_path": new_path}]})
        assert refused.status is CallStatus.DENIED
        assert "outside" in refused.text
    assert contents(work) == BEFORE


@pytest.mark.req("BOX-8", "POL-5")
async def test_the_strict_profile_lets_it_through_because_it_can_be_undone(socket_directory: Path, work: Path) -> None:
    operations = local_operations([work], socket_directory / "vault")
    async with bench(
        socket_directory,
        tools=lambda _: toolbox_tools(operations),
        workspace_roots=(str(work),),
        policy=PolicyConfig(profile="strict"),
    ) as strict:
        session = strict.agent.session("s")
        await session.call("batch_rename", SWAP)
        assert not (await session.resolve("apply", "as planned")).is_error
    assert contents(work) == AFTER
