"""Applying a preview when a person has to be asked (flows.md, PREV-6 and CHK-1 to CHK-5), by what the provider did."""

import asyncio
from pathlib import Path

import pytest
from asked_people import person
from gateway_bench import Bench, bench
from interlock import CallStatus
from interlock_gateway.config import PolicyConfig
from interlock_gateway.core.call import CallKind
from interlock_gateway.core.checkpoint import ApproverDecision


def asking_at_apply(directory: Path) -> PolicyConfig:
    """Policies under which people are asked when a preview of `replace_value` is applied."""
    custom = directory / "overlay" / "custom"
    custom.mkdir(parents=True)
    (custom / "apply.rego").write_text(
        "package interlock.custom\n\n"
        'findings contains {\n\t"verdict": "checkpoint",\n\t"code": "ask",\n\t"message": "people are asked",\n'
        '\t"rule": "custom/apply",\n} if {\n\tinput.call.phase == "apply"\n}\n'
    )
    return PolicyConfig(overlays=(directory / "overlay",))


async def pending(at: Bench) -> list[str]:
    return [action.label for action in (await at.agent.session("s").pending()).actions]


@pytest.mark.req("PREV-6", "CHK-1", "PREV-9")
async def test_an_apply_waits_for_a_person_and_the_action_stays_pending_meanwhile(socket_directory: Path) -> None:
    async with bench(socket_directory, policy=asking_at_apply(socket_directory)) as at, person(at.gateway) as bob:
        session = at.agent.session("s")
        await session.call("replace_value", {"value": "b"})
        applying = asyncio.create_task(session.resolve("apply", "looks right", extra={"ticket": 7}))
        asked = await bob.asked()
        assert (asked.kind, asked.tool) == (CallKind.APPLY, "replace_value")
        assert asked.rendered_call.startswith("Apply: replace first by b")
        assert asked.preview is not None
        assert asked.preview.preview == "- first\n+ b"
        assert await pending(at) == ["replace first by b"]
        assert at.ledger.ran == []

        await bob.approves(asked)
        result = await applying

        assert (result.status, result.text) == (CallStatus.COMPLETED, "now b")
        assert result.details["reason"] == "looks right"
        assert result.details["extra"] == {"ticket": 7}
        assert await pending(at) == []
    assert at.ledger.ran == [("replace_value", "b")]


@pytest.mark.req("CHK-7", "PREV-7")
async def test_an_apply_that_a_person_denies_leaves_the_action_pending(socket_directory: Path) -> None:
    async with bench(socket_directory, policy=asking_at_apply(socket_directory)) as at, person(at.gateway) as bob:
        session = at.agent.session("s")
        await session.call("replace_value", {"value": "b"})
        applying = asyncio.create_task(session.resolve("apply", "looks right"))
        await bob.says(ApproverDecision.DENY, await bob.asked(), reason="not today")
        result = await applying

        assert result.status is CallStatus.DENIED
        assert "not today" in result.text
        assert "resolve" in "".join(result.steering)
        assert await pending(at) == ["replace first by b"]
        assert (await session.resolve("discard", "then not")).text.startswith("Discarded")
    assert at.ledger.ran == []


@pytest.mark.req("CHK-3", "PREV-13")
async def test_an_approval_is_void_once_its_action_was_discarded(socket_directory: Path) -> None:
    async with bench(socket_directory, policy=asking_at_apply(socket_directory)) as at, person(at.gateway) as bob:
        session = at.agent.session("s")
        await session.call("replace_value", {"value": "b"})
        applying = asyncio.create_task(session.resolve("apply", "looks right"))
        asked = await bob.asked()
        await session.resolve("discard", "changed my mind")
        await session.call("replace_value", {"value": "c"})
        await bob.approves(asked)
        result = await applying

        assert result.status is CallStatus.DENIED
        assert result.decision is not None
        assert [reason.code for reason in result.decision.reasons] == ["approval_void"]
        assert await pending(at) == ["replace first by c"]
    assert at.ledger.ran == []


@pytest.mark.req("CHK-7", "PREV-5")
async def test_what_was_previewed_cannot_be_edited(socket_directory: Path) -> None:
    async with bench(socket_directory, policy=asking_at_apply(socket_directory)) as at, person(at.gateway) as bob:
        session = at.agent.session("s")
        await session.call("replace_value", {"value": "b"})
        applying = asyncio.create_task(session.resolve("apply", "looks right"))
        asked = await bob.asked()
        await asyncio.gather(
            bob.says(ApproverDecision.EDIT, asked, edited_input=b'{"value":"c"}'), return_exceptions=True
        )
        await asyncio.gather(bob.says(ApproverDecision.DENY, asked, reason="no"), return_exceptions=True)
        assert (await applying).status is CallStatus.DENIED
    assert at.ledger.ran == []


@pytest.mark.req("CHK-9", "PREV-13")
async def test_an_apply_that_waits_outlives_the_gateway(socket_directory: Path) -> None:
    policy = asking_at_apply(socket_directory)
    async with bench(socket_directory, policy=policy) as first, person(first.gateway):
        session = first.agent.session("s")
        await session.call("replace_value", {"value": "b"})
        arguments = {"action": "apply", "reason": "looks right"}
        held = await session.call("resolve", arguments, call_id="r", checkpoint_mode="detach")
        assert held.status is CallStatus.AWAITING_CHECKPOINT
        ledger = first.ledger

    async with bench(socket_directory, ledger=ledger, policy=policy) as second, person(second.gateway) as bob:
        await bob.approves_the_next()
        record = await second.agent.session("s").wait_call("r", timeout=20)
        assert record.result is not None
        assert record.result.text == "now b"
        assert await pending(second) == []
    assert ledger.ran == [("replace_value", "b")]
