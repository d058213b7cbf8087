"""Every answer to `resolve` says what was asked for, and about what, whatever came of it (PREV-9)."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from asked_people import person
from gateway_bench import Bench, Ledger, bench, ledger_tools
from interlock import CallStatus
from interlock.provider import DryRunResult, Tool, ToolContext, ToolResult, tool
from interlock.provider import PendingAction as Pushed
from interlock_gateway.config import PolicyConfig
from interlock_gateway.core.checkpoint import ApproverDecision

EXTRA = {"ticket": 7}
ABOUT = {"sourceToolName": "replace_value", "label": "replace first by b"}


def details(action: str, reason: str, **more: Any) -> dict[str, Any]:
    return {"action": action, "reason": reason, "extra": EXTRA, **more}


def at_apply(directory: Path, verdict: str) -> PolicyConfig:
    """Policies that say `verdict` about every apply."""
    custom = directory / "overlay" / "custom"
    custom.mkdir(parents=True)
    (custom / "at_apply.rego").write_text(
        "# METADATA\n# title: What is said about applies\npackage interlock.custom\n\n"
        f'findings contains {{"verdict": "{verdict}", "code": "frozen", "message": "the system is frozen", '
        '"rule": "custom/at_apply"} if {\n\tinput.call.phase == "apply"\n}\n'
    )
    return PolicyConfig(overlays=(directory / "overlay",))


@pytest.mark.req("PREV-9", "PREV-5")
async def test_a_fresh_preview_in_the_place_of_an_apply_says_what_was_asked_for(at: Bench) -> None:
    session = at.agent.session("s")
    await session.call("replace_value", {"value": "b"})
    at.ledger.value = "meanwhile"

    fresh = await session.resolve("apply", "go", EXTRA)

    assert fresh.status is CallStatus.PREVIEW
    assert fresh.details == details("apply", "go", **ABOUT)


@pytest.mark.req("PREV-9", "PREV-6")
async def test_an_apply_that_policy_denies_says_what_was_asked_for(socket_directory: Path) -> None:
    async with bench(socket_directory, policy=at_apply(socket_directory, "deny")) as at:
        session = at.agent.session("s")
        await session.call("replace_value", {"value": "b"})

        denied = await session.resolve("apply", "go", EXTRA, call_id="denied")

        assert denied.status is CallStatus.DENIED
        assert denied.details == details("apply", "go", **ABOUT)
        assert (await session.resolve("apply", "go", EXTRA, call_id="denied")).details == denied.details


@pytest.mark.req("PREV-9", "PREV-6", "CHK-7")
async def test_an_apply_that_a_person_denies_says_what_was_asked_for(socket_directory: Path) -> None:
    policy = at_apply(socket_directory, "checkpoint")
    async with bench(socket_directory, policy=policy) as at, person(at.gateway) as bob:
        session = at.agent.session("s")
        await session.call("replace_value", {"value": "b"})
        applying = asyncio.create_task(session.resolve("apply", "go", EXTRA))
        await bob.says(ApproverDecision.DENY, await bob.asked(), reason="not today")

        denied = await applying

        assert denied.status is CallStatus.DENIED
        assert {name: denied.details.get(name) for name in ("action", "reason", "extra", *ABOUT)} == details(
            "apply", "go", **ABOUT
        )


@pytest.mark.req("PREV-9", "PREV-2", "PREV-4")
async def test_a_refused_resolution_says_what_was_asked_for(at: Bench) -> None:
    session = at.agent.session("s")
    await session.call("replace_value", {"value": "b"})

    not_the_top = await session.resolve("apply", "go", EXTRA, pending_id="another")
    discarded = await session.resolve("discard", "no", EXTRA)
    nothing = await session.resolve("apply", "go", EXTRA)

    assert not_the_top.is_error
    assert not_the_top.details == details("apply", "go", **ABOUT)
    assert discarded.details == details("discard", "no", **ABOUT)
    assert nothing.details == details("apply", "go")


@pytest.mark.req("PREV-9", "PREV-13")
async def test_who_comes_second_is_told_what_was_asked_for(at: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    session = at.agent.session("s")
    await session.call("replace_value", {"value": "b"})

    async def claimed(*_: object) -> None:
        return None

    monkeypatch.setattr(at.gateway.rooms.store.pending, "claim_pending", claimed)

    second = await session.resolve("apply", "go", EXTRA)

    assert second.decision.reasons[0].code == "already_claimed"
    assert second.details == details("apply", "go", **ABOUT)


@pytest.mark.req("PREV-11")
async def test_the_source_of_what_a_tool_pushes_is_custom_tool_unless_it_says_another(socket_directory: Path) -> None:
    def tools(ledger: Ledger) -> list[Tool[..., Any]]:
        @tool(destructive=False, reversible=True)
        def plan() -> ToolResult:
            """Push a pending action."""
            return ToolResult(content="planned", pending_action=Pushed(label="a plan", token="1"))

        @plan.apply
        def apply(token: str) -> str:
            return f"did {token}"

        return [*ledger_tools(ledger), plan]

    async with bench(socket_directory, tools=tools) as at:
        session = at.agent.session("s")

        pushed = await session.call("plan", {})
        listed = (await session.pending()).actions
        applied = await session.resolve("apply", "go")

        assert pushed.pending is not None
        assert pushed.pending.source_tool == "custom_tool"
        assert [one.source_tool for one in listed] == ["custom_tool"]
        assert applied.details["sourceToolName"] == "custom_tool"


@pytest.mark.req("PREV-3")
@pytest.mark.parametrize("extra", [EXTRA, {"big": 2**53 - 1, "nested": {"a": [1.5, None, "\u00e9"]}}, {}, None])
async def test_the_tool_that_applies_what_was_previewed_gets_the_reason_and_extra_untouched(
    socket_directory: Path, extra: dict[str, Any] | None
) -> None:
    seen: list[tuple[str, object]] = []

    def tools(_: Ledger) -> list[Tool[..., Any]]:
        @tool(destructive=True)
        def change(context: ToolContext) -> str:
            """Change something, after a preview."""
            seen.append((context.reason, context.extra))
            return "done"

        @change.dry_run
        def would(context: ToolContext) -> DryRunResult:
            if not context.pending_id:
                seen.append((context.reason, context.extra))
            return DryRunResult(preview="+ 1", state_token="same", label="one")

        return [change]

    async with bench(socket_directory, tools=tools) as at:
        session = at.agent.session("s")
        await session.call("change", {})
        assert (await session.resolve("apply", "looks right", extra)).text == "done"
    assert seen == [("", None), ("looks right", extra)]
