"""Preview, then resolve (flows.md, PREV-1 to PREV-14), by what the provider really did."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from gateway_bench import Bench, Ledger, MovableClock, bench, config_in, ledger_tools, provided
from interlock import CallStatus
from interlock import Gateway as Client
from interlock.provider import DryRunResult, Tool, tool
from interlock_gateway.app import running
from interlock_gateway.config import PendingConfig, PendingMode
from interlock_gateway.serving import Gateway
from waiting import eventually

REMINDER = (
    "<system-reminder>\n"
    "This is a preview. Call the `resolve` tool to apply or discard these changes.\n"
    "</system-reminder>"
)
NOTHING = "No pending action to resolve. Nothing to apply or discard."


@pytest.mark.req("PREV-1")
async def test_a_preview_shows_what_would_happen_and_changes_nothing(at: Bench) -> None:
    session = at.agent.session("s")
    result = await session.call("replace_value", {"value": "b"})
    assert result.status is CallStatus.PREVIEW
    assert result.preview is not None
    assert result.preview.preview == "- first\n+ b"
    assert result.preview.would_affect == ("value",)
    assert result.preview.estimated_impact == {"values": 1}
    assert result.steering == (REMINDER,)
    assert result.pending is not None
    assert (result.pending.label, result.pending.source_tool) == ("replace first by b", "replace_value")
    assert at.ledger.value == "first"


@pytest.mark.req("PREV-1")
async def test_a_dry_run_that_fails_leaves_nothing_pending_and_its_error_is_the_result(at: Bench) -> None:
    session = at.agent.session("s")
    result = await session.call("replace_value", {"value": "impossible"})
    assert (result.status, result.is_error, result.text) == (CallStatus.COMPLETED, True, "there is no such value")
    assert (await session.pending()).actions == ()


@pytest.mark.req("PREV-5", "PREV-9")
async def test_apply_executes_what_was_previewed(at: Bench) -> None:
    session = at.agent.session("s")
    await session.call("replace_value", {"value": "b"})
    result = await session.resolve("apply", "looks right", extra={"ticket": 7})
    assert (result.status, result.text) == (CallStatus.COMPLETED, "now b")
    assert at.ledger.ran == [("replace_value", "b")]
    assert result.details == {
        "action": "apply",
        "reason": "looks right",
        "extra": {"ticket": 7},
        "sourceToolName": "replace_value",
        "label": "replace first by b",
        "sourceResultDetails": {"by": "replace_value"},
    }
    assert (await session.pending()).actions == ()


@pytest.mark.req("PREV-8", "PREV-9")
async def test_discard_says_what_was_discarded_and_why(at: Bench) -> None:
    session = at.agent.session("s")
    await session.call("replace_value", {"value": "b"})
    result = await session.resolve("discard", "not now")
    assert result.text == "Discarded: replace first by b. Reason: not now"
    assert result.details["action"] == "discard"
    assert at.ledger.ran == []


@pytest.mark.req("PREV-4")
async def test_with_nothing_pending_resolve_says_so(at: Bench) -> None:
    result = await at.agent.session("s").resolve("apply", "why not")
    assert (result.is_error, result.text) == (True, NOTHING)


@pytest.mark.req("PREV-2")
async def test_the_stack_is_last_in_first_out(at: Bench) -> None:
    session = at.agent.session("s")
    first = await session.call("replace_value", {"value": "b"})
    second = await session.call("replace_value", {"value": "c"})
    assert first.pending is not None
    assert second.pending is not None
    assert [action.pending_id for action in (await session.pending()).actions] == [
        second.pending.pending_id,
        first.pending.pending_id,
    ]
    refused = await session.resolve("apply", "the first", pending_id=first.pending.pending_id)
    assert refused.is_error
    assert second.pending.pending_id in refused.text
    assert at.ledger.ran == []
    await session.resolve("discard", "no", pending_id=second.pending.pending_id)
    assert (await session.resolve("apply", "yes", pending_id=first.pending.pending_id)).text == "now b"


@pytest.mark.req("PREV-3")
@pytest.mark.parametrize("reason", ["", "  \n"])
async def test_a_reason_is_required_and_not_blank(at: Bench, reason: str) -> None:
    session = at.agent.session("s")
    await session.call("replace_value", {"value": "b"})
    result = await session.call("resolve", {"action": "apply", "reason": reason})
    assert result.is_error
    assert "input.reason" in result.text
    assert at.ledger.ran == []
    assert len((await session.pending()).actions) == 1


@pytest.mark.req("PREV-3", "PREV-10")
async def test_resolve_is_a_tool_that_is_hidden_while_nothing_is_pending(at: Bench) -> None:
    session = at.agent.session("s")
    before = await session.tools()
    assert "resolve" not in [listed.name for listed in before.tools]
    assert before.required_tool == ""
    await session.call("replace_value", {"value": "b"})
    during = await session.tools()
    assert "resolve" in [listed.name for listed in during.tools]
    assert during.required_tool == "resolve"
    result = await session.call("resolve", {"action": "apply", "reason": "as a tool"})
    assert result.text == "now b"


@pytest.mark.req("PREV-5")
async def test_a_changed_state_applies_nothing_and_a_fresh_preview_takes_its_place(at: Bench) -> None:
    session = at.agent.session("s")
    stale = await session.call("replace_value", {"value": "b"})
    at.ledger.value = "meanwhile"
    result = await session.resolve("apply", "go")
    assert result.status is CallStatus.PREVIEW
    assert "state has changed" in result.text
    assert result.preview is not None
    assert result.preview.preview == "- meanwhile\n+ b"
    assert at.ledger.ran == []
    (fresh,) = (await session.pending()).actions
    assert stale.pending is not None
    assert fresh.pending_id != stale.pending.pending_id
    assert (await session.resolve("apply", "now go")).text == "now b"


@pytest.mark.req("PREV-7")
async def test_a_tools_own_error_passes_through_and_the_action_is_pending_again(at: Bench) -> None:
    session = at.agent.session("s")
    await session.call("replace_value", {"value": "b"})
    at.ledger.fail_apply = "tool"
    failed = await session.resolve("apply", "go")
    assert (failed.is_error, failed.text) == (True, "the tool says no")
    assert REMINDER in failed.steering
    at.ledger.fail_apply = ""
    assert (await session.resolve("apply", "again")).text == "now b"


@pytest.mark.req("PREV-7")
async def test_any_other_failure_becomes_apply_failed(at: Bench) -> None:
    session = at.agent.session("s")
    await session.call("replace_value", {"value": "b"})
    at.ledger.fail_apply = "crash"
    failed = await session.resolve("apply", "go")
    assert failed.text.startswith("Apply failed: ")
    assert "secret internals" not in failed.text
    assert len((await session.pending()).actions) == 1
    assert (await session.resolve("discard", "give up")).text.startswith("Discarded: ")


@pytest.mark.req("PREV-10")
async def test_other_answers_repeat_the_reminder_while_something_is_pending(at: Bench) -> None:
    session = at.agent.session("s")
    await session.call("replace_value", {"value": "b"})
    assert (await session.call("echo", {"text": "x"})).steering == (REMINDER,)
    await session.resolve("discard", "done")
    assert (await session.call("echo", {"text": "x"})).steering == ()


@pytest.mark.req("PREV-10")
async def test_in_mode_enforce_changes_are_denied_while_something_is_pending(socket_directory: Path) -> None:
    async with bench(socket_directory, pending=PendingConfig(mode=PendingMode.ENFORCE)) as at:
        session = at.agent.session("s")
        await session.call("replace_value", {"value": "b"})
        denied = await session.call("set_value", {"value": "c"})
        assert denied.status is CallStatus.DENIED
        assert denied.decision.reasons[0].code == "pending_unresolved"
        assert (await session.call("echo", {"text": "x"})).text == "x"
        assert (await session.resolve("apply", "go")).text == "now b"


@pytest.mark.req("PREV-11", "PREV-9")
async def test_a_provider_may_push_a_pending_action_of_its_own(at: Bench) -> None:
    session = at.agent.session("s")
    pushed = await session.call("propose", {"plan": "move"})
    assert pushed.status is CallStatus.COMPLETED
    assert pushed.pending is not None
    assert (pushed.pending.label, pushed.pending.source_tool) == ("move", "planner")
    result = await session.resolve("apply", "fine", extra={"n": 1})
    assert result.text == "did plan:move"
    assert at.ledger.ran == [("apply_plan", {"token": "plan:move", "reason": "fine", "extra": {"n": 1}})]
    assert result.details["sourceToolName"] == "planner"
    assert result.details["sourceResultDetails"] == {"plan": "plan:move"}


@pytest.mark.req("PREV-8")
@pytest.mark.parametrize(
    ("plan", "text", "is_error"),
    [
        ("quiet", "Discarded: quiet. Reason: no", False),
        ("loud", "the planner heard you", False),
        ("bad", "cannot reject this", True),
    ],
)
async def test_discard_asks_the_provider_and_returns_what_it_says(
    at: Bench, plan: str, text: str, *, is_error: bool
) -> None:
    session = at.agent.session("s")
    await session.call("propose", {"plan": plan})
    result = await session.resolve("discard", "no")
    assert (result.text, result.is_error) == (text, is_error)
    assert at.ledger.rejected == [{"token": f"plan:{plan}", "reason": "no", "extra": None}]


@pytest.mark.req("PREV-12")
async def test_a_standing_handler_answers_only_while_nothing_is_queued_until_it_is_cleared(at: Bench) -> None:
    session = at.agent.session("s")
    await session.call("stand", {"label": "plans"})
    await session.call("replace_value", {"value": "b"})
    assert (await session.resolve("apply", "the queued one")).text == "now b"
    assert (await session.resolve("apply", "the standing one")).text == "stood in for plans"
    assert (await session.resolve("apply", "and again")).text == "stood in for plans"
    await session.call("stand", {"label": "plans", "clear": True})
    assert (await session.resolve("apply", "nobody")).text == NOTHING


@pytest.mark.req("PREV-13", "STATE-1")
async def test_pending_actions_survive_a_restart(socket_directory: Path) -> None:
    ledger = Ledger()
    async with bench(socket_directory, ledger=ledger) as before:
        await before.agent.session("s").call("replace_value", {"value": "b"})
    async with bench(socket_directory, ledger=ledger) as after:
        session = after.agent.session("s")
        assert (await session.call("echo", {"text": "x"})).steering == (REMINDER,)
        assert (await session.resolve("apply", "go")).text == "now b"
    assert ledger.names() == ["echo", "replace_value"]


@pytest.mark.req("PREV-13")
async def test_pending_actions_expire(socket_directory: Path) -> None:
    clock = MovableClock()
    async with bench(socket_directory, clock=clock) as at:
        session = at.agent.session("s")
        await session.call("replace_value", {"value": "b"})
        clock.ahead_s = 1801
        assert (await session.resolve("apply", "too late")).text == NOTHING
        assert at.ledger.ran == []


@pytest.mark.req("PREV-13")
async def test_racing_resolvers_apply_once(at: Bench) -> None:
    session = at.agent.session("s")
    await session.call("replace_value", {"value": "b"})
    results = await asyncio.gather(*(session.resolve("apply", f"racer {n}") for n in range(20)))
    assert max(result.text for result in results) == "now b"
    assert at.ledger.names() == ["replace_value"]


@pytest.mark.req("PREV-5", "TOOL-5")
async def test_a_definition_that_changed_since_the_preview_is_not_applied(socket_directory: Path) -> None:
    ledger = Ledger()

    def described(text: str) -> list[Tool[..., Any]]:
        tools = {made.name: made for made in ledger_tools(ledger)}
        tools["replace_value"].description = text
        return list(tools.values())

    async with running(config_in(socket_directory)) as gateway, Client(gateway.endpoints.agents[0]) as agent:
        session = agent.session("s")
        async with provided(socket_directory, described("as it was")):
            await gateway.providers_settled(5)
            await session.call("replace_value", {"value": "b"})
        async with provided(socket_directory, described("now harmless, promise")):
            await eventually(lambda: _pin_state(gateway, "replace_value") == "changed")
            result = await session.resolve("apply", "go")
            assert "has changed since the preview" in result.text
            assert ledger.ran == []
            denied = await session.call("replace_value", {"value": "c"})
            assert denied.decision.reasons[0].code == "tool_changed"


@pytest.mark.req("PREV-14")
async def test_a_cancelled_apply_is_unknown_until_somebody_says_what_happened(socket_directory: Path) -> None:
    started, ended = asyncio.Event(), asyncio.Event()

    @tool(destructive=True)
    async def slow() -> str:
        """Never finish."""
        started.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()
        return "never"

    @slow.dry_run
    def would() -> DryRunResult:
        return DryRunResult(preview="slowly", state_token="s", label="the slow one")

    async with bench(socket_directory, tools=lambda _: [slow]) as at:
        session = at.agent.session("s")
        await session.call("slow", {})
        applying = asyncio.create_task(session.resolve("apply", "go", timeout=30))
        await asyncio.wait_for(started.wait(), 30)
        applying.cancel()
        await asyncio.wait_for(ended.wait(), 30)
        await asyncio.gather(applying, return_exceptions=True)
        await eventually(at.gateway.idle)
        unknown = await session.resolve("apply", "again")
        assert "The outcome of the slow one is not known" in unknown.text
        assert [action.state for action in (await session.pending()).actions] == ["outcome_unknown"]
        settled = await session.resolve("discard", "looked", extra={"outcome": "not_applied"})
        assert settled.text == "Recorded: the slow one was not applied."
        assert (await session.resolve("apply", "nothing left")).text == NOTHING


@pytest.mark.req("PREV-6", "CHK-2")
async def test_policy_is_asked_again_at_apply(socket_directory: Path) -> None:
    overlay = socket_directory / "overlay"
    (overlay / "custom").mkdir(parents=True)
    (overlay / "custom" / "no_apply.rego").write_text(
        "# METADATA\n# title: Nothing is applied\npackage interlock.custom\n\n"
        'findings contains {"verdict": "deny", "code": "frozen", "message": "the system is frozen", '
        '"rule": "custom/no_apply"} if {\n'
        '\tinput.call.phase == "apply"\n}\n'
    )
    from interlock_gateway.config import PolicyConfig

    async with bench(socket_directory, policy=PolicyConfig(overlays=(overlay,))) as at:
        session = at.agent.session("s")
        await session.call("replace_value", {"value": "b"})
        denied = await session.resolve("apply", "go")
        assert (denied.status, denied.text) == (CallStatus.DENIED, "the system is frozen")
        assert at.ledger.ran == []
        assert len((await session.pending()).actions) == 1


@pytest.mark.req("PREV-13")
async def test_closing_a_session_discards_what_is_pending(at: Bench) -> None:
    session = at.agent.session("s")
    await session.call("replace_value", {"value": "b"})
    await session.close()
    assert at.ledger.ran == []
    from interlock.errors import RequestError

    with pytest.raises(RequestError, match="is closed"):
        await session.resolve("apply", "go")


def _pin_state(gateway: Gateway, tool_name: str) -> str:
    registered = gateway.tool(tool_name)
    return registered.pin_state.value if registered is not None else ""
