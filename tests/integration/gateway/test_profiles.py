"""What the profiles change, through a real gateway: `observe` enforces nothing but gateway errors (POL-5)."""

import json
from pathlib import Path
from typing import Any

import pytest
from audited_calls import receipts_in
from gateway_bench import Ledger, bench
from interlock import CallStatus, Verdict
from interlock.provider import Tool, ToolResult, tool
from interlock.v1 import tool_pb2
from interlock_gateway.config import PendingConfig, PendingMode, PolicyConfig
from interlock_gateway.core.decision import DecisionError, GatewayErrorCode
from raw_provider import operating, raw_bench, reading
from scraping import samples_in, scraped, value

OBSERVE = PolicyConfig(profile="observe")
OBLIGING = """package interlock.custom

# METADATA
# title: All that can be obliged
# description: Every obligation that would change a call or its result.
findings contains {
	"verdict": "none",
	"rule": "custom/obliging",
	"obligations": {
		"strip": ["note"],
		"set": {"name": "somebody else"},
		"redact": ["/phone"],
		"max_result_bytes": 100,
		"timeout_s": 0.001,
		"taint": ["seen"],
	},
} if {
	input.tool.name == "people"
}
"""


def obliging(directory: Path, profile: str) -> PolicyConfig:
    """Policies with a rule that obliges to much."""
    custom = directory / "overlay" / "custom"
    custom.mkdir(parents=True)
    (custom / "obliging.rego").write_text(OBLIGING)
    return PolicyConfig.model_validate({"profile": profile, "overlays": (directory / "overlay",)})


def people_tools(ledger: Ledger) -> list[Tool[..., Any]]:
    @tool(read_only=True)
    def people(name: str, note: str = "") -> ToolResult:
        """Look somebody up."""
        ledger.ran.append(("people", {"name": name, "note": note}))
        return ToolResult(content="long " * 100, data={"name": name, "phone": "555-0100"})

    return [people]


@pytest.mark.req("POL-5")
@pytest.mark.parametrize("profile", ["observe", "standard", "strict"])
async def test_the_active_profile_shows_wherever_decisions_do(socket_directory: Path, profile: str) -> None:
    async with (
        bench(socket_directory, policy=PolicyConfig.model_validate({"profile": profile})) as at,
        operating(at) as admin,
    ):
        allowed = await at.agent.session("s").call("echo", {"text": "x"}, call_id="allowed")
        refused = await at.agent.session("s").call("no_such_tool", {}, call_id="refused")
        assert [result.decision.profile for result in (allowed, refused)] == [profile, profile]
        assert (await admin.policy_status()).profile == profile
        assert (await admin.status()).profile == profile
        assert value(samples_in(await scraped(at)), "interlock_policy_info", profile=profile) == 1
    shown = {name: one["labels"]["profile"] for name, one in receipts_in(socket_directory).items()}
    assert shown == {"allowed": profile, "refused": profile}


@pytest.mark.req("POL-5")
async def test_observe_lets_calls_run_and_records_what_policy_would_have_said(socket_directory: Path) -> None:
    async with bench(socket_directory, policy=OBSERVE) as at:
        session = at.agent.session("s")
        wrecked = await session.call("wreck", {"what": "x"}, call_id="checkpoint")
        assert wrecked.status is CallStatus.COMPLETED
        assert wrecked.decision.verdict is Verdict.CHECKPOINT
        assert wrecked.decision.profile == "observe"
        assert (await session.call("careful", {"text": "unsure"}, call_id="deny")).status is CallStatus.COMPLETED
        replaced = await session.call("replace_value", {"value": "b"}, call_id="preview")
        assert (replaced.status, replaced.decision.verdict) == (CallStatus.COMPLETED, Verdict.PREVIEW)
        assert (await session.call("undeclared", {"text": "x"}, call_id="undeclared")).status is CallStatus.COMPLETED
        assert at.ledger.names() == ["wreck", "careful", "replace_value", "undeclared"]
    receipts = receipts_in(socket_directory)
    assert {name: (one["result"]["verdict"], one["outcome"]["status"]) for name, one in receipts.items()} == {
        "checkpoint": ("checkpoint", "completed"),
        "deny": ("deny", "completed"),
        "preview": ("preview", "completed"),
        "undeclared": ("checkpoint", "completed"),
    }


@pytest.mark.req("POL-5")
async def test_observe_asks_for_no_reverse_thinking(socket_directory: Path) -> None:
    metadata = tool_pb2.ToolMetadata(read_only=True, requires_reverse_thinking=True)
    async with raw_bench(socket_directory, reading("think", metadata=metadata), policy=OBSERVE) as at:
        result = await at.agent.session("s").call("think", {})
        assert (result.status, result.decision.verdict) == (CallStatus.COMPLETED, Verdict.REFLECT)


@pytest.mark.req("POL-5", "PREV-10")
async def test_observe_lets_calls_run_while_a_preview_is_pending_in_mode_enforce(socket_directory: Path) -> None:
    enforcing = PendingConfig(mode=PendingMode.ENFORCE)
    async with bench(socket_directory, policy=OBSERVE, pending=enforcing) as at:
        session = at.agent.session("s")
        await session.call("propose", {"plan": "p"})
        changed = await session.call("set_value", {"value": "b"})
        assert (changed.status, changed.decision.reasons[0].code) == (CallStatus.COMPLETED, "pending_unresolved")
        assert (await session.resolve("apply", "yes")).status is CallStatus.COMPLETED
        assert at.ledger.names() == ["set_value", "apply_plan"]


@pytest.mark.req("POL-5", "TOOL-5")
async def test_observe_runs_a_tool_whose_definition_has_changed_and_says_so(
    socket_directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("interlock_gateway.providers.directory.REFRESH_S", 0.02)
    async with raw_bench(socket_directory, reading("act"), policy=OBSERVE) as at:
        session = at.agent.session("s")
        await at.told(reading("act", description="Act otherwise."))
        result = await session.call("act", {})
        assert (result.status, result.decision.verdict) == (CallStatus.COMPLETED, Verdict.DENY)
        assert [reason.code for reason in result.decision.reasons] == ["tool_changed"]


@pytest.mark.req("POL-5", "CONF-5")
@pytest.mark.parametrize("confidence", [b"99", b"3", b'"sure"'])
async def test_observe_takes_the_reserved_field_away_so_that_the_tool_can_run(
    socket_directory: Path, confidence: bytes
) -> None:
    closed = b'{"type":"object","properties":{"text":{"type":"string"}},"additionalProperties":false}'
    gated = reading("careful", input_schema=closed, capability=tool_pb2.ToolCapability(min_confidence=70))
    async with raw_bench(socket_directory, gated, policy=OBSERVE) as at:
        given = {"text": "x", "_flyto_confidence": json.loads(confidence)}
        result = await at.agent.session("s").call("careful", given)
        assert result.status is CallStatus.COMPLETED
        assert [json.loads(ran.input) for ran in at.provider.ran] == [{"text": "x"}]


@pytest.mark.req("POL-5")
async def test_observe_changes_neither_a_call_nor_its_result_and_notes_what_was_seen(socket_directory: Path) -> None:
    policy = obliging(socket_directory, "observe")
    async with bench(socket_directory, tools=people_tools, policy=policy) as at:
        session = at.agent.session("s")
        result = await session.call("people", {"name": "Ann", "note": "quick"}, call_id="first")
        assert result.status is CallStatus.COMPLETED
        assert at.ledger.ran == [("people", {"name": "Ann", "note": "quick"})]
        assert (result.text, result.data) == ("long " * 100, {"name": "Ann", "phone": "555-0100"})
        assert result.decision.obligations.redact == ("/phone",)
        await session.call("people", {"name": "Ben"}, call_id="second")
    receipts = receipts_in(socket_directory)
    assert receipts["first"]["result"]["obligations"]["set"] == {"name": "somebody else"}
    assert [receipts[name]["input"]["session"]["taints"] for name in ("first", "second")] == [[], ["seen"]]


@pytest.mark.req("POL-5")
async def test_the_same_obligations_bind_under_standard(socket_directory: Path) -> None:
    policy = obliging(socket_directory, "standard")
    source = (socket_directory / "overlay" / "custom" / "obliging.rego").read_text()
    generous = source.replace('"timeout_s": 0.001', '"timeout_s": 5')
    (socket_directory / "overlay" / "custom" / "obliging.rego").write_text(generous)
    async with bench(socket_directory, tools=people_tools, policy=policy) as at:
        result = await at.agent.session("s").call("people", {"name": "Ann", "note": "quick"})
        assert at.ledger.ran == [("people", {"name": "somebody else", "note": ""})]
        assert "truncated" in result.text
        assert result.data != {"name": "somebody else", "phone": "555-0100"}


@pytest.mark.req("POL-5")
async def test_observe_still_refuses_what_the_gateway_itself_does_not_take(socket_directory: Path) -> None:
    async with bench(socket_directory, policy=OBSERVE) as at:
        session = at.agent.session("s")
        for name, given in (("echo", {"text": 3}), ("no_such_tool", {})):
            assert (await session.call(name, given)).status is CallStatus.DENIED
        assert at.ledger.ran == []


@pytest.mark.req("POL-5", "PIPE-6")
async def test_observe_still_denies_what_the_gateway_could_not_decide(
    socket_directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def broken(_input: bytes) -> bytes:
        raise DecisionError(GatewayErrorCode.POLICY_TIMEOUT, "too slow")

    async with bench(socket_directory, policy=OBSERVE) as at:
        monkeypatch.setattr(at.gateway.rooms.engine, "evaluate", broken)
        result = await at.agent.session("s").call("echo", {"text": "x"})
        assert result.status is CallStatus.DENIED
        assert result.decision.reasons[0].code == "gateway_error.policy_timeout"
        assert at.ledger.ran == []


@pytest.mark.req("POL-5")
@pytest.mark.parametrize(("profile", "status"), [("standard", CallStatus.COMPLETED), ("strict", CallStatus.DENIED)])
async def test_strict_asks_a_person_where_standard_allows(
    socket_directory: Path, profile: str, status: CallStatus
) -> None:
    changing = reading("write", metadata=tool_pb2.ToolMetadata(destructive=False))
    async with raw_bench(socket_directory, changing, policy=PolicyConfig.model_validate({"profile": profile})) as at:
        result = await at.agent.session("s").call("write", {})
        assert result.status is status
        codes = [reason.code for reason in result.decision.reasons]
        assert "unguarded_change" in codes
        assert ("checkpoint_unavailable" in codes) == (profile == "strict")


async def test_an_overlay_may_import_rego_v1_and_make_a_decision_stricter(socket_directory: Path) -> None:
    custom = socket_directory / "overlay" / "custom"
    custom.mkdir(parents=True)
    (custom / "quiet.rego").write_text(
        "# METADATA\n# title: Nobody says hush\npackage interlock.custom\n\nimport rego.v1\n\n"
        'findings contains {"verdict": "deny", "code": "hush", '
        '"message": "not that word", "rule": "custom/quiet"} if {\n'
        '\tinput.call.input.text == "hush"\n}\n'
    )
    async with bench(socket_directory, policy=PolicyConfig(overlays=(custom.parent,))) as at:
        session = at.agent.session("s")
        assert (await session.call("echo", {"text": "hello"})).status is CallStatus.COMPLETED
        denied = await session.call("echo", {"text": "hush"})
        assert (denied.status, denied.text) == (CallStatus.DENIED, "not that word")
